// Parking alone, tick by tick: how long it may take, when a robot counts as lying, and what each
// kind of fault leaves of it. Whole ways through the core are in `firmware-tests/`.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { milliseconds, radVec } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { Parking } from "./parking.ts";
import { ToolGuard } from "./tool-guard.ts";

const { Hold, Park, ZeroTorque } = CommandKind;
const SETTLED_TICKS = 20;
const FALLS: Partial<RobotProfile> = { powerCut: "falls", parkNs: milliseconds(1_000) };

/** A robot that falls unless it is said, at this angle, its command too; one tick after another. */
function bench(
  rad: number,
  joint: Partial<JointProfile> = {},
  falls: Partial<RobotProfile> = FALLS,
) {
  const profile = testProfile([testJoint(joint)], falls);
  const limits = new JointLimits(profile);
  const limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
  const parking = new Parking(profile, limits);
  const state = testState(profile, [rad]);
  limiter.seed(radVec(Float64Array.of(rad)));
  /** The kind of command, the robot having been measured there. */
  const tick = (measuredRad = limiter.command[0]!, sees = true): CommandKind => {
    state.positionRad[0] = measuredRad;
    const kind = parking.step(limiter, state, sees);
    parking.count();
    return kind;
  };
  /** How many ticks pass before it lets go. */
  const ticksToRelease = (): number => {
    for (let ticks = 0; ticks < 1_000; ticks += 1) if (tick() === ZeroTorque) return ticks;
    return Number.POSITIVE_INFINITY;
  };
  return { limiter, parking, tick, ticksToRelease };
}

test("a way that is blocked lets go while a stop from full speed would still end in time", () => {
  // 3 rad/s at 10 rad/s2 that is reached at 100 rad/s3: 400 ms; and two whole ticks.
  const stop = { accelerationRadPerS2: 10, jerkRadPerS3: 100 };
  const { parking, ticksToRelease } = bench(1, { motion: stop, stop });
  parking.begin();
  parking.heed(1 << Fault.FollowingError);
  expect(ticksToRelease()).toBe(200 - 82);
});

test("a robot lies once it stood at its rest pose for 20 ticks, each time anew", () => {
  const { parking, ticksToRelease } = bench(0);
  for (let time = 0; time < 2; time += 1) {
    parking.begin();
    expect([parking.isOn, ticksToRelease()]).toEqual([true, SETTLED_TICKS - 1]);
    parking.end();
    expect(parking.isOn).toBe(false);
  }
});

test("a robot that still swings, or lies farther off than droop explains, is held on", () => {
  const { parking, tick, ticksToRelease } = bench(0, { droopRad: 0.08 });
  parking.begin();
  for (let count = 0; count < 60; count += 1) {
    expect(tick(count % 2 === 0 ? 0 : 0.0021)).toBe(Park); // 2 mrad are its own resolution
  }
  expect(tick(0.081)).toBe(Park);
  for (let count = 0; count < 30; count += 1) expect(tick(0.081)).toBe(Park);
  expect(ticksToRelease()).toBe(SETTLED_TICKS - 1);
  const near = bench(0, { droopRad: 0.08 });
  near.parking.begin();
  for (let count = 1; count < SETTLED_TICKS; count += 1) {
    expect(near.tick(count % 2 === 0 ? 0.08 : 0.0781)).not.toBe(ZeroTorque);
  }
});

test("blind, or with the host unwell, it waits; a fault of the robot ends the way for good", () => {
  const { limiter, parking, tick } = bench(1);
  parking.begin();
  expect(tick()).toBe(Park);
  expect(tick(1, false)).toBe(Hold);
  expect(tick()).toBe(Park);
  parking.heed(1 << Fault.ControlAway);
  expect(tick()).toBe(Hold);
  parking.heed(1 << Fault.OperatorStop);
  expect(tick()).toBe(Park);
  parking.heed(1 << Fault.FollowingError);
  expect(tick()).toBe(Hold);
  parking.heed(0);
  while (!limiter.atRest) expect(tick()).toBe(Hold);
  const standing = limiter.command[0]!;
  expect([tick(), limiter.command[0]]).toEqual([Hold, standing]);
  // Another time it tries anew.
  parking.end();
  parking.begin();
  expect(tick()).toBe(Park);
});

test("what paused one parking does not pause the next", () => {
  const { parking, tick } = bench(1);
  parking.begin();
  parking.heed(1 << Fault.ControlAway);
  expect(tick()).toBe(Hold);
  parking.end();
  parking.begin();
  expect(tick()).toBe(Park);
});

test.each([Fault.EstopOpen, Fault.EstopNotArmed])(
  "without power, fault %d, it lets go",
  (fault) => {
    const { parking, tick } = bench(1);
    parking.begin();
    expect(tick()).toBe(Park);
    parking.heed(1 << fault);
    expect(tick()).toBe(ZeroTorque);
  },
);

test("a second wish changes nothing, and a robot that does not fall ignores every one", () => {
  const { parking, ticksToRelease } = bench(1);
  parking.begin();
  parking.heed(1 << Fault.FollowingError);
  for (let count = 0; count < 50; count += 1) parking.count();
  parking.begin();
  // 3 rad/s at 30 rad/s2 that is reached at 3,000 rad/s3: 110 ms, and two whole ticks.
  expect(ticksToRelease()).toBe(200 - 24 - 50);
  const safe = bench(1, {}, {});
  safe.parking.begin();
  expect(safe.parking.isOn).toBe(false);
});

test("the way ends at the rest pose, wherever that is, and counts from where it stands", () => {
  for (const restRad of [0.5, -0.5]) {
    const { limiter, parking, ticksToRelease } = bench(0, { restRad });
    parking.begin();
    const ticks = ticksToRelease();
    expect(ticks).toBeGreaterThan(SETTLED_TICKS);
    expect(ticks).toBeLessThan(150); // before its time is up
    expect([limiter.atRest, limiter.command[0]]).toEqual([true, restRad]);
  }
});

/** After how many ticks, robot and command standing so, it lets go; 100 for later. */
function released(measuredRad: readonly number[], joint: Partial<JointProfile>, more = FALLS) {
  const { parking, tick } = bench(0, joint, more);
  parking.begin();
  for (let count = 1; count < 100; count += 1) {
    if (tick(measuredRad[count % measuredRad.length]) === ZeroTorque) return count;
  }
  return 100;
}

test("near and still are exact; a jaw may stand open, and a wheel anywhere", () => {
  expect(released([0.08], { droopRad: 0.08 })).toBe(SETTLED_TICKS);
  expect(released([0.0801], { droopRad: 0.08 })).toBe(100);
  expect(released([0.002, 0], {})).toBe(SETTLED_TICKS);
  expect(released([0.0021, 0], {})).toBe(100);
  expect(released([0.2], {}, { ...FALLS, gripper: "joint" })).toBe(SETTLED_TICKS);
  expect(released([0.2], {}, { ...FALLS, gripper: "jaw" })).toBe(100);
  // A wheel has no pose, and is told to stand.
  expect(released([1, -1], { command: "velocity", restRad: 1 })).toBe(SETTLED_TICKS);
});

test("a robot that cannot be seen, or whose command still moves, does not lie", () => {
  const { limiter, parking, tick } = bench(0);
  parking.begin();
  for (let count = 0; count < 60; count += 1) expect(tick(0, false)).toBe(Hold);
  expect(limiter.atRest).toBe(true);
});
