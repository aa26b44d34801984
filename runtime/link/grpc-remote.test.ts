// What a person reads of a host that is not there when the run begins: that nobody listens, or what
// the one who does lacks.

import { expect, test } from "bun:test";
import { missingText } from "./grpc-remote.ts";

test.each([
  ["waiting: cannot connect", "nobody who listens there"],
  ["dialing: cannot connect", "nobody who listens there"],
  ["waiting: no welcome within 1000 ms", "waiting: no welcome within 1000 ms"],
])("%p is told as %p", (linkText, told) => {
  expect(missingText(linkText)).toBe(told);
});
