// How much a joint may gain or lose in one tick on its way: round limits, so that each answer can
// be counted on fingers. Its ways as a whole are judged through the limiter and by the oracles.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import { Chase } from "./chase.ts";
import type { JointLimits } from "./limits.ts";

/** Per tick: strides up to 100, changes up to 4 by 1 a tick; a stop's up to 8 by 2. */
const limits = {
  jointCount: 1,
  isVelocity: Uint8Array.of(0),
  strideRadMax: Float64Array.of(100),
  motionChangeRadMax: Float64Array.of(4),
  motionJerkRad: Float64Array.of(1),
  stopChangeRadMax: Float64Array.of(8),
  stopJerkRad: Float64Array.of(2),
} as unknown as JointLimits;

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
])("%s", (_name, strideRad, nowRad, highestRad) => {
  const chase = new Chase(limits);
  expect(chase.highest(0, strideRad, nowRad)).toBe(highestRad);
  expect(chase.lowest(0, -strideRad, -nowRad)).toBe(-highestRad);
});

test.each([
  ["it gains what its goal gains, whatever that is", 3, 3, 0],
  ["a step of jerk to a goal that stands", 1, 0, 0],
  ["more than a step to a goal that stands", 3, 0, RepairBit.Jerk],
  ["against a goal that loses as much", 3, -3, RepairBit.Jerk],
])("a wheel that arrives at its speed: %s", (_name, changeRad, feedRad, broken) => {
  expect(new Chase(limits).brokenAfterTurn(0, changeRad, feedRad)).toBe(broken);
});
