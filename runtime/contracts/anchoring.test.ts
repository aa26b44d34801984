// Tests of anchoring: where a chunk lies in time when it names no window, and that a named window
// stays as it is.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView } from "./action.ts";
import { anchorChunk } from "./anchoring.ts";
import type { Anchoring } from "./profile.ts";
import { instant, milliseconds } from "./units.ts";

/** Five rows of 20 ms, answering the state of 100 ms, arrived at 130 ms. */
function anchored(anchoring: Anchoring, fromNs?: number, untilNs?: number): number[] {
  const chunk = new ChunkView();
  chunk.begin(1, 1, 5, 1, milliseconds(20));
  chunk.record[ChunkSlot.stateStampNs] = milliseconds(100);
  if (fromNs !== undefined) chunk.record[ChunkSlot.validFromNs] = fromNs;
  if (untilNs !== undefined) chunk.record[ChunkSlot.validUntilNs] = untilNs;
  anchorChunk(chunk, instant(milliseconds(130)), anchoring);
  const { record } = chunk;
  const slots = [ChunkSlot.validFromNs, ChunkSlot.validUntilNs, ChunkSlot.arrivedNs];
  return slots.map((slot) => record[slot]! / 1e6);
}

test("observation puts row 0 at the state's stamp, arrival at the moment it came", () => {
  expect(anchored("observation")).toEqual([100, 200, 130]);
  expect(anchored("arrival")).toEqual([130, 230, 130]);
});

test("a start of its own stays, also one in the future, and the end follows from it", () => {
  expect(anchored("observation", 150e6)).toEqual([150, 250, 130]);
  expect(anchored("arrival", 0)).toEqual([0, 100, 130]);
});

test("an end of its own stays", () => {
  expect(anchored("arrival", undefined, 140e6)).toEqual([130, 140, 130]);
});
