// Bytes that came while the chip stood still: whole frames only, the newest, at a host's own pace,
// so that neither a silence nor a burst is made up, and no burst is hidden.

import { expect, test } from "bun:test";
import { LateLine } from "./late-line.ts";

const LATE_US = 20_000;
const kept = (line: LateLine, bytes: readonly number[], nowUs = 0, lateUs = LATE_US) => [
  ...line.keep(Uint8Array.from(bytes), nowUs, lateUs),
];

test("of several frames the newest is kept, with what has begun behind it", () => {
  expect(kept(new LateLine(), [0, 1, 2, 0, 0, 3, 4, 0])).toEqual([0, 3, 4, 0]);
  expect(kept(new LateLine(), [0, 1, 2, 0, 0, 3])).toEqual([0, 1, 2, 0, 0, 3]);
  expect(kept(new LateLine(), [7, 0, 0, 3, 0, 0, 5])).toEqual([0, 3, 0, 0, 5]);
});

test("nothing whole: nothing, but for a frame's beginning", () => {
  expect(kept(new LateLine(), [])).toEqual([]);
  expect(kept(new LateLine(), [1, 2, 0])).toEqual([]);
  expect(kept(new LateLine(), [0])).toEqual([]);
  expect(kept(new LateLine(), [1, 2])).toEqual([1, 2]);
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

test("a burst is passed on, less what a healthy host would have sent meanwhile", () => {
  const frames = (count: number) => Array.from({ length: count }, (_, at) => [0, at + 1, 0]);
  const line = new LateLine();
  line.note(0);
  for (const [count, lateUs, passed] of [
    [1, 3_000, 0],
    [2, 4_999, 0],
    [4, 3_000, 4],
    [14, 60_000, 0], // two too many: jitter
    [21, 60_000, 9],
  ] as const) {
    const all = frames(count);
    const expected = passed === 0 ? [] : all.slice(-passed);
    expect(kept(line, all.flat(), 100, lateUs)).toEqual(expected.flat());
    line.note(0);
  }
});
