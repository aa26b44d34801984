// Tests of the flat limits: the units they are turned into, and that what makes no sense is refused
// at set-up. Expected numbers are worked out by hand.

import { expect, test } from "bun:test";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";

const rates = (acceleration: number, jerk = 600) => ({
  accelerationRadPerS2: acceleration,
  jerkRadPerS3: jerk,
});

test("limits are counted per tick: 200 Hz makes 3 rad/s a stride of 15 mrad", () => {
  const joint = testJoint({ positionRadMin: -1, positionRadMax: 1.5 });
  const wheel = testJoint({ command: "velocity", leadNs: milliseconds(30) });
  const limits = new JointLimits(testProfile([joint, wheel]));
  const near = (...values: number[]) => values.map((value) => expect.closeTo(value, 15));
  expect([limits.jointCount, limits.periodS]).toEqual([2, 0.005]);
  expect([...limits.isVelocity]).toEqual([0, 1]);
  expect([...limits.positionRadMin]).toEqual([-1, -2]);
  expect([...limits.positionRadMax]).toEqual([1.5, 2]);
  expect([...limits.strideRadMax]).toEqual(near(0.015, 0.015));
  expect([...limits.motionChangeRadMax]).toEqual(near(0.000_375, 0.000_375));
  expect([...limits.motionJerkRad]).toEqual(near(0.000_075, 0.000_075));
  expect([...limits.stopChangeRadMax]).toEqual(near(0.000_75, 0.000_75));
  expect([...limits.stopJerkRad]).toEqual(near(0.000_375, 0.000_375));
  expect([...limits.leadTicks]).toEqual([12, 6]);
  expect([...limits.leadRad]).toEqual(near(0.26, 0.17));
});

test("limits that make no sense are our own mistake", () => {
  const make = (changes: Partial<JointProfile>) => () =>
    new JointLimits(testProfile([testJoint(changes)]));
  expect(make({ positionRadMin: 2 })).toThrow("a joint's position limits are in order");
  expect(make({ velocityRadPerSMax: 0 })).toThrow("a joint may move");
  expect(make({ motion: rates(0) })).toThrow("a joint may accelerate");
  expect(make({ motion: rates(15, 0) })).toThrow("a joint's acceleration may change");
  expect(make({ stop: rates(14, 3_000) })).toThrow("a joint stops at least as hard as it moves");
  expect(make({ stop: rates(30, 599) })).toThrow("a stop begins at least as hard as a motion");
  // The square root of 2 * 3 / jerk is 5 s, 1,000 ticks.
  expect(make({ motion: rates(15, 0.239) })).toThrow("within a bounded number of ticks");
  expect(make({ motion: rates(15, 0.241) })).not.toThrow();
  expect(() => new JointLimits(testProfile([]))).toThrow("a robot has joints");
  const still = { ...testProfile(), periodNs: milliseconds(0) };
  expect(() => new JointLimits(still)).toThrow("the control period is a length of time");
});
