// Bytes for a chip whose time stood still: whole frames are left out, the oldest first, one for
// each period, and nothing else is.

import { expect, test } from "bun:test";
import { LateLine } from "./late-line.ts";

const frames = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => [0, from + at, 0]).flat();

function passed(line: LateLine, bytes: readonly number[]): readonly number[] {
  return [...line.pass(Uint8Array.from(bytes), 1_000)];
}

test("in time everything passes, whole or not", () => {
  for (const bytes of [[], [0], [1, 2], [1, 2, 0], [0, 1, 2, 0, 0, 3], frames(1, 9)]) {
    expect(passed(new LateLine(), bytes)).toEqual(bytes);
  }
});

test("for each period that the chip stood still the oldest frame is left out", () => {
  const line = new LateLine();
  line.slip(12_000);
  expect(passed(line, [...frames(1, 3), 0, 7])).toEqual([...frames(3, 1), 0, 7]);
  expect(passed(line, frames(4, 1))).toEqual(frames(4, 1)); // 2 ms are owed
  line.slip(3_000);
  expect(passed(line, frames(5, 1))).toEqual([]);
  expect(passed(line, frames(6, 1))).toEqual(frames(6, 1));
});

test("what has begun is never cut in two", () => {
  const line = new LateLine();
  line.slip(5_000);
  expect(passed(line, [0, 1, 2])).toEqual([0, 1, 2]);
  line.slip(5_000);
  expect(passed(line, [3, 0, 0, 4, 5, 0, 0, 6])).toEqual([0, 6]);
});

test("a burst stays one, less what a healthy host would have sent meanwhile", () => {
  const line = new LateLine();
  line.slip(60_000);
  expect(passed(line, frames(1, 21))).toEqual(frames(13, 9));
});

test("what a silent host never sent is not left out of what it sends next", () => {
  const line = new LateLine();
  line.slip(400_000);
  expect(passed(line, [])).toEqual([]);
  expect(passed(line, frames(1, 1))).toEqual(frames(1, 1));
  line.slip(7_000);
  expect(passed(line, [])).toEqual([]);
  expect(passed(line, frames(2, 1))).toEqual([]); // that may have been sent meanwhile
});
