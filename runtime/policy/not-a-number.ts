// Nan: after two seconds, one value of every decision is not a number. The buffer must refuse it by
// name, and nothing may be computed from it.

import type { ChunkView } from "../contracts/action.ts";
import type { Policy } from "../contracts/policy.ts";
import { GOOD_ACTS, Misbehaving } from "./misbehaving.ts";

export function notANumber(inner: Policy): Policy {
  return new Misbehaving("nan", inner, spoil, GOOD_ACTS);
}

/** In turn every value, so that no check of only some of them is enough. */
function spoil(chunk: ChunkView, badIndex: number): ChunkView {
  chunk.values[badIndex % (chunk.horizon * chunk.width)] = Number.NaN;
  return chunk;
}
