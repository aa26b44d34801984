// Tests of text in a record: what a policy threw crosses to the report as it was written, and is
// cut where the record ends.

import { expect, test } from "bun:test";
import { textFrom, textInto } from "./lockstep-plan.ts";

test.each(["", "no idea", "zu spät: ½ m, 🤖", "left\u0000right"])("%j survives", (text) => {
  const record = new Float64Array(40).fill(Number.NaN);
  textInto(record, "an older and longer text");
  textInto(record, text);
  expect(textFrom(record)).toBe(text);
});

test("a text that is too long is cut, and a record of zeros is empty", () => {
  const record = new Float64Array(4);
  expect(textFrom(record)).toBe("");
  textInto(record, "abcdef");
  expect(textFrom(record)).toBe("abc");
});
