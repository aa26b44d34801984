// The committed code of the policy link is that of the committed text: a change of the one without
// the other is refused.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "./child-process.ts";
import { GENERATED, protoDigest } from "./proto.ts";

const proto = join(ROOT, "runtime/link/policy.proto");

test.each(Object.entries(GENERATED))(
  "the code for %s is of today's policy.proto: else run bun scripts/proto.ts",
  async (_, folder) => {
    const digest = await Bun.file(join(folder, "policy.proto.sha256")).text();
    expect(digest.trim()).toBe(protoDigest(await Bun.file(proto).text()));
  },
);
