// Bytes that came while the chip stood still: whole frames only, the newest, at a host's own pace,
// so that neither a silence nor a burst is made up.

import { expect, test } from "bun:test";
import { LateLine } from "./late-line.ts";

const kept = (line: LateLine, bytes: readonly number[], nowUs: number): readonly number[] => [
  ...line.keep(Uint8Array.from(bytes), nowUs),
];

test("of several frames the newest is kept, with what has begun behind it", () => {
  expect(kept(new LateLine(), [0, 1, 2, 0, 0, 3, 4, 0], 0)).toEqual([0, 3, 4, 0]);
  expect(kept(new LateLine(), [0, 1, 2, 0, 0, 3], 0)).toEqual([0, 1, 2, 0, 0, 3]);
  expect(kept(new LateLine(), [7, 0, 0, 3, 0, 0, 5], 0)).toEqual([0, 3, 0, 0, 5]);
});

test("nothing whole: nothing, but for a frame's beginning", () => {
  expect(kept(new LateLine(), [], 0)).toEqual([]);
  expect(kept(new LateLine(), [1, 2, 0], 0)).toEqual([]);
  expect(kept(new LateLine(), [0], 0)).toEqual([]);
  expect(kept(new LateLine(), [1, 2], 0)).toEqual([1, 2]);
});

test("frames are kept no closer together than a host sends them, in the chip's time", () => {
  const line = new LateLine();
  const frame = [0, 9, 0];
  expect(kept(line, frame, 1_000)).toEqual(frame);
  expect(kept(line, frame, 5_499)).toEqual([]);
  expect(kept(line, frame, 5_500)).toEqual(frame);
  line.note(8_000); // one that came in time
  expect(kept(line, frame, 12_000)).toEqual([]);
  expect(kept(line, frame, 12_500)).toEqual(frame);
});
