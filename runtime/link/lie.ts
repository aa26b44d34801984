// Lies: a true chunk, made wrong in one way, for hosts that misbehave on purpose. What an edge
// makes of each is proved by tests and tried by people with `holdfast host --lie`.

import { create } from "@bufbuild/protobuf";
import { ChunkSchema } from "./generated/policy_pb.js";
import type { Chunk } from "./generated/policy_pb.js";
import type { Lie } from "./mischief.ts";

/** More than an edge takes in one message. */
const HUGE_COUNT = 2_600_000;

/** Messages to send instead of a true one, and bytes that are none. */
export type Told = { readonly chunks: readonly Chunk[]; readonly isGarbage: boolean };

const one = (chunk: Chunk): Told => ({ chunks: [chunk], isGarbage: false });

const tellers: Readonly<Record<Lie, (chunk: Chunk) => Told>> = {
  epoch: (chunk) => one({ ...chunk, epoch: chunk.epoch + 1n }),
  session: (chunk) => one({ ...chunk, linkSession: chunk.linkSession + 1n }),
  order: (chunk) => one({ ...chunk, observationId: chunk.observationId - 1n }),
  twice: (chunk) => ({ chunks: [chunk, chunk], isGarbage: false }),
  schema: (chunk) => {
    return one({ ...chunk, actionSchemaFingerprint: chunk.actionSchemaFingerprint + 1n });
  },
  long: (chunk) => {
    const values = [...chunk.values, ...chunk.values];
    return one({ ...chunk, horizon: 2 * chunk.horizon, values });
  },
  wide: (chunk) => {
    const width = chunk.width + 1;
    const values = Array.from({ length: chunk.horizon * width }, () => 0);
    return one({ ...chunk, width, values });
  },
  nan: (chunk) => one({ ...chunk, values: chunk.values.map(() => Number.NaN) }),
  huge: (chunk) => {
    return one({ ...chunk, values: Array.from({ length: HUGE_COUNT }, () => 0.1) });
  },
  garbage: () => ({ chunks: [], isGarbage: true }),
};

export function told(chunk: Chunk, lie: Lie): Told {
  const answer = tellers[lie](chunk);
  return { ...answer, chunks: answer.chunks.map((each) => create(ChunkSchema, each)) };
}
