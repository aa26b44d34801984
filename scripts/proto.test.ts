// The committed code of the policy link is that of the committed text: a change of the one without
// the other is refused.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "./child-process.ts";
import { protoDigest } from "./proto.ts";

test("the messages are of today's policy.proto: else run bun scripts/proto.ts", async () => {
  const link = join(ROOT, "runtime/link");
  const text = await Bun.file(join(link, "policy.proto")).text();
  const digest = await Bun.file(join(link, "generated/policy.proto.sha256")).text();
  expect(digest.trim()).toBe(protoDigest(text));
});
