// How much a joint may gain or lose in one tick on its way: round limits, so that each answer can
// be counted on fingers. Its ways as a whole are judged through the limiter and by the oracles.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import { Chase, ROUNDING_RAD, SLACK_RATIO } from "./chase.ts";
import type { JointLimits } from "./limits.ts";

const { Acceleration, Jerk, Velocity } = RepairBit;

/** So many joints; a stop may change twice as much, twice as fast. */
function limitsOf(strideRad: number, changeRad: number, jerkRad: number, ...kinds: number[]) {
  const each = (rad: number) => Float64Array.from(kinds, () => rad);
  return {
    jointCount: kinds.length,
    isVelocity: Uint8Array.from(kinds),
    strideRadMax: each(strideRad),
    motionChangeRadMax: each(changeRad),
    motionJerkRad: each(jerkRad),
    stopChangeRadMax: each(2 * changeRad),
    stopJerkRad: each(2 * jerkRad),
  } as unknown as JointLimits;
}

/** Per tick: strides up to 100, changes up to 4 by 1 a tick. */
const limits = limitsOf(100, 4, 1, 0);
/** So near to nothing that rounding is more than the share of a limit. */
const tiny = limitsOf(1e-5, 1e-6, 1e-6, 0);
/** What a limit of 1 allows with its rounding, to the bit. */
const ONE = SLACK_RATIO + ROUNDING_RAD;
const HAIR_RAD = ROUNDING_RAD / 2;

test.each([
  ["at rest: one step of jerk", 0, 0, 1],
  ["at the most: it stays", 0, 4, 4],
  ["a step before the most", 0, 3.5, 4],
  ["losing as hard as it may: one step back", 0, -4, -3],
  ["gaining by a stop's limits: down to its own", 0, 4.5, 4],
  ["far beyond its own: down by a stop's jerk, no more", 0, 7, 5],
  ["losing by a stop's limits: back to its own", 0, -5, -4],
  ["far beyond its own: back by a stop's jerk, no more", 0, -7, -5],
  ["near full speed: what a taper may still add up to, 1", 99, 2, 1],
  ["near full speed: 2 and then 1", 97, 3, 2],
  ["near full speed and losing: still a step of jerk only", 99, -3, -2],
  ["beyond full speed: back to it, a step of jerk at a time", 102, 0, -1],
  ["beyond full speed by 2: back in this tick", 102, -2, -2],
  ["far beyond full speed: as hard as it may", 110, -4, -4],
  [
    "its most within rounding is its own: a step of jerk back",
    0,
    -4 * SLACK_RATIO,
    1 - 4 * SLACK_RATIO,
  ],
  ["and at full speed no more than that step", 100, 4 * SLACK_RATIO, 4 * SLACK_RATIO - 1],
])("%s", (_name, strideRad, nowRad, highestRad) => {
  const chase = new Chase(limits);
  expect(chase.highest(0, strideRad, nowRad)).toBe(highestRad);
  expect(chase.lowest(0, -strideRad, -nowRad)).toBe(-highestRad);
});

test.each([
  ["it gains what its goal gains, whatever that is", 3, 3, 0],
  ["a step of jerk to a goal that stands", 1, 0, 0],
  ["more than a step to a goal that stands", 3, 0, Jerk],
  ["against a goal that loses as much", 3, -3, Jerk],
  ["a step at the border of rounding", ONE, 0, 0],
])("a wheel that arrives at its speed: %s", (_name, changeRad, feedRad, broken) => {
  expect(new Chase(limits).brokenAfterTurn(0, changeRad, feedRad)).toBe(broken);
});

test("a wheel that gains what its goal gains, but for rounding, goes on whatever it may", () => {
  const none = new Chase(limitsOf(1, 1e-15, 1e-15, 1));
  expect(none.brokenAfterTurn(0, 2 * ROUNDING_RAD, ROUNDING_RAD)).toBe(0);
  expect(none.brokenAfterTurn(0, 2.5 * ROUNDING_RAD, ROUNDING_RAD)).toBe(Jerk);
  expect(new Chase(tiny).brokenAfterTurn(0, 1e-6 + HAIR_RAD, 0)).toBe(0);
});

/** Stride, its change, and the change before. */
test.each([
  ["all at their limits", limits, 90, 4, 3, 0],
  ["a stride at its limit", limits, 100, 1, 0, 0],
  ["a stride beyond it", limits, 100.001, 0, 0, Velocity],
  ["4, and then 3, 2 and 1 up to full speed", limits, 94, 4, 4, 0],
  ["the same from a little nearer", limits, 94.001, 4, 4, Velocity],
  ["8, and then 6, 4 and 2 up to full speed", limitsOf(10, 8, 2, 0), -2, 8, 6, 0],
  ["a change beyond its limit", limits, 0, 4.001, 4, Acceleration],
  ["a change that comes too fast", limits, 0, 0.001, -1, Jerk],
  ["rounding of a stride", tiny, 1e-5 + HAIR_RAD, 0, 0, 0],
  ["rounding of a change", tiny, 0, 1e-6 + HAIR_RAD, 1e-6, 0],
  ["rounding of jerk", tiny, 0, 1e-6 + HAIR_RAD, 0, 0],
  ["rounding of a taper", tiny, 1e-5, 1e-6 + 1.5 * ROUNDING_RAD, 1e-6, Acceleration],
  ["a stride at the border of rounding", limits, 100 * SLACK_RATIO + ROUNDING_RAD, 0, 0, 0],
  ["a change at it", limits, 0, 4 * SLACK_RATIO + ROUNDING_RAD, 4, 0],
  ["jerk at it", limits, 0, ONE, 0, 0],
  ["a taper at it", limitsOf(1, 4, 1, 0), ONE, ONE + ROUNDING_RAD, 1, 0],
])("what a step breaks: %s", (_name, of, strideRad, changeRad, nowRad, broken) => {
  const chase = new Chase(of);
  expect(chase.brokenBy(0, strideRad, changeRad, nowRad)).toBe(broken);
  expect(chase.brokenBy(0, -strideRad, -changeRad, -nowRad)).toBe(broken);
});

/** Its change, and what it would still miss. */
test.each([
  ["all that one step of jerk gains", limits, 1, 1, 0],
  ["after a change to the other side", limits, -0.5, 0.5, 0],
  ["more than a step of jerk", limits, 1, 1.001, Jerk],
  ["more than that from what it changes", limits, -0.5, 0.501, Jerk],
  ["as much as it may change, but not at once", limits, 4, 4, Jerk],
  ["more than it may change", limits, 4, 4.001, Acceleration],
  ["rounding, which is nothing to miss", limits, 4, ROUNDING_RAD, 0],
  ["a step at the border of rounding", limits, SLACK_RATIO, SLACK_RATIO, 0],
  ["the same after the other side", limits, -SLACK_RATIO / 2, SLACK_RATIO / 2, 0],
  ["a change at the border of rounding", limits, 4, 4 * SLACK_RATIO, Jerk],
])("what is broken after arriving: %s", (_name, of, changeRad, missRad, broken) => {
  const chase = new Chase(of);
  expect(chase.brokenAfter(0, changeRad, missRad)).toBe(broken);
  expect(chase.brokenAfter(0, -changeRad, -missRad)).toBe(broken);
});
