// The change from which a stop still ends before a goal: against whole stops that are counted by
// hand, and, from anywhere, against where the stop after the answer ends and what a little more
// would do. Where that is, is walked by the rule of the brake, step by step.

import { expect, test } from "bun:test";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { Chase } from "./chase.ts";
import type { JointLimits } from "./limits.ts";
import { brakeChange, stopWayBound } from "./stop-profile.ts";

/** What is asked here knows no joint. */
const chase = new Chase({ jointCount: 1 } as unknown as JointLimits);
/** Changes up to 4, by 1 a tick. */
const MAX = 4;
const JERK = 1;
const SHORT_RAD = 1e-8;
const ROUNDING_RAD = 1e-13;

/** Where a stop ends that begins with this change. */
function endAfter(strideRad: number, changeRad: number, max = MAX, jerk = JERK): number {
  let stride = strideRad + changeRad;
  let change = changeRad;
  let end = stride;
  while (Math.abs(stride) > 1e-16 || Math.abs(change) > 1e-16) {
    change = brakeChange(stride, change, max, jerk);
    stride += change;
    end += stride;
  }
  return end;
}

// From 6 a tick, losing 2: by 3, 2 and 1 a tick it rests after 3 + 1 + 0.
test.each([
  ["it ends on the goal", 4, 4],
  ["it ends up to 10 nrad short of it", 4 + 5e-9, 4],
  ["it ends beyond by rounding", 4 - 5e-14, 4],
  ["it ends farther short", 4 + 2e-8, undefined],
  ["it ends beyond by more", 4 - 1e-9, undefined],
])("a stop that is under way goes on when %s", (_name, wayRad, endRad) => {
  for (const side of [1, -1]) {
    const low = side > 0 ? -MAX : 1;
    const high = side > 0 ? -1 : MAX;
    const change = chase.nearest(side * wayRad, side * 6, side * -2, low, high, MAX, JERK);
    if (endRad !== undefined) expect(change).toBe(-3 * side);
    else expect(change).not.toBe(-3 * side);
    const shortRad = wayRad - side * endAfter(side * 6, change);
    expect(shortRad).toBeGreaterThan(-ROUNDING_RAD);
    expect(shortRad).toBeLessThan(SHORT_RAD + ROUNDING_RAD);
  }
});

test.each([
  ["the goal is far", 1e3, 6, -2, -3, -1, -1],
  ["it is at rest, far from it", 100, 0, 0, -1, 1, 1],
  ["it would end there even by its highest change", 4, 6, -2, -5, -3, -3],
  [
    "it would end just before by it, for sure",
    1e-9 + stopWayBound(1e-9, 1e-9, 4, 1),
    0,
    0,
    -1,
    1e-9,
    1e-9,
  ],
  ["it ends beyond even by its lowest", 1, 6, -2, -3, -1, -3],
  ["it ends there by its lowest", 4, 6, -2, -3, -1, -3],
  ["it stands on its goal", 0, 0, 0, -1, 1, 0],
  ["the goal is behind, and it cannot be back", -100, 0, 0, -1, 1, -1],
])("when %s", (_name, wayRad, strideRad, nowRad, lowRad, highRad, changeRad) => {
  expect(chase.nearest(wayRad, strideRad, nowRad, lowRad, highRad, MAX, JERK)).toBe(changeRad);
});

test("a goal where it is, and a stop that would end 5 nrad behind: it ends before", () => {
  const stride = 1 + 5e-9;
  const change = chase.nearest(0, stride, 0, -2, 1, MAX, JERK);
  expect(endAfter(stride, change)).toBeLessThanOrEqual(ROUNDING_RAD);
});

test("the stop after the answer ends at the goal or a hair before it, wherever it begins", () => {
  const random = new SeededRandom(1);
  const draw = (most: number): number => most * (2 * random.next() - 1);
  let searched = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const max = JERK * (1 + 7 * random.next());
    const stride = draw(12);
    const now = draw(max);
    const low = Math.max(-max, now - JERK);
    const high = Math.min(max, now + JERK);
    const aim = endAfter(stride, low + (high - low) * (1.4 * random.next() - 0.2), max);
    const way = round % 8 === 0 ? 0 : aim;
    const change = chase.nearest(way, stride, now, low, high, max, JERK);
    const shortRad =
      way < 0 ? endAfter(stride, change, max) - way : way - endAfter(stride, change, max);
    expect(change).toBeGreaterThanOrEqual(low);
    expect(change).toBeLessThanOrEqual(high);
    const isBound = change === low || change === high;
    if (!isBound) {
      searched += 1;
      expect(shortRad).toBeGreaterThan(-1e-12);
      expect(shortRad).toBeLessThan(SHORT_RAD + 1e-12);
    }
    if (change === high) expect(endAfter(stride, high, max) - way).toBeLessThan(1e-8);
    if (change === low) expect(endAfter(stride, low, max) - way).toBeGreaterThan(-1e-8);
  }
  expect(searched).toBeGreaterThan(8_000);
});
