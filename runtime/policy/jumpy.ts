// Jumpy: after two seconds, every other decision lies far from where the robot is. The gate must
// refuse or slow it; the arm may never follow such a leap.

import type { ChunkView } from "../contracts/action.ts";
import type { Policy } from "../contracts/policy.ts";
import { GOOD_ACTS, Misbehaving } from "./misbehaving.ts";

// No arm of ours goes this far in a policy's cadence: 60 degrees in 50 ms.
const JUMP_RAD = 1;

export function jumpy(inner: Policy): Policy {
  return new Misbehaving("jumpy", inner, spoil, GOOD_ACTS);
}

function spoil(chunk: ChunkView, badIndex: number): ChunkView {
  if (badIndex % 2 === 1) return chunk;
  const jumpRad = badIndex % 4 === 0 ? JUMP_RAD : -JUMP_RAD;
  const count = chunk.horizon * chunk.width;
  for (let index = 0; index < count; index += 1) chunk.values[index]! += jumpRad;
  return chunk;
}
