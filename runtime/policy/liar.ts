// Liar: after two seconds, every other decision has a head that does not fit: the epoch before, an
// order already used, a schema nobody declared, a horizon longer than a chunk, in turn.

import { ChunkSlot, HORIZON_MAX } from "../contracts/action.ts";
import type { ChunkView } from "../contracts/action.ts";
import type { Policy } from "../contracts/policy.ts";
import { GOOD_ACTS, Misbehaving } from "./misbehaving.ts";

export function liar(inner: Policy): Policy {
  return new Misbehaving("liar", inner, spoil, GOOD_ACTS);
}

// biome-ignore format: one lie per line
const lies: readonly ((chunk: ChunkView) => void)[] = [
  (chunk) => { chunk.record[ChunkSlot.epoch]! -= 1; },
  (chunk) => { chunk.record[ChunkSlot.seq]! -= 1; },
  (chunk) => { chunk.record[ChunkSlot.schemaFingerprint]! += 1; },
  (chunk) => { chunk.record[ChunkSlot.horizon] = HORIZON_MAX + 1; },
];

function spoil(chunk: ChunkView, badIndex: number): ChunkView {
  if (badIndex % 2 === 0) lies[(badIndex / 2) % lies.length]?.(chunk);
  return chunk;
}
