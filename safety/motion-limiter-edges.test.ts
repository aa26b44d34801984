// Properties of the limiter that hold between two of them: what is mirrored stays mirrored bit for
// bit, and one that has braked to rest is as good as one that was put there. With the edges of what
// counts as smoothed.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { commandVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { ToolGuard } from "./tool-guard.ts";

const { Acceleration, Jerk, Velocity } = RepairBit;
/** Limits that are the same to both sides; each joint has its own. */
const arm: readonly JointProfile[] = [
  testJoint(),
  testJoint({
    velocityRadPerSMax: 1.5,
    motion: { accelerationRadPerS2: 5, jerkRadPerS3: 300 },
    stop: { accelerationRadPerS2: 10, jerkRadPerS3: 900 },
  }),
];
/** Limited by its acceleration alone, of which one tick from rest gains this. */
const sharp = testJoint({
  motion: { accelerationRadPerS2: 15, jerkRadPerS3: 6e4 },
  stop: { accelerationRadPerS2: 30, jerkRadPerS3: 6e4 },
});
const DT = 0.005;
const STEP_RAD = 15 * DT ** 2;
const wheels = [testJoint({ command: "velocity" }), testJoint({ command: "velocity" })];

function limiterAt(joints: readonly JointProfile[], startRad: readonly number[]): MotionLimiter {
  const profile = testProfile(joints);
  const limits = new JointLimits(profile);
  const limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
  limiter.seed(radVec(Float64Array.from(startRad)));
  return limiter;
}

function follow(
  limiter: MotionLimiter,
  target: readonly number[],
  measuredRad: readonly number[] = [...limiter.command],
): number {
  return limiter.follow(
    commandVec(Float64Array.from(target)),
    radVec(Float64Array.from(measuredRad)),
    radPerSVec(new Float64Array(target.length)),
  );
}

/** Targets that jump, stand and drift, far beyond the limits too. */
class Targets {
  readonly values = [0, 0];
  readonly #random: SeededRandom;
  #driftRad = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  next(): readonly number[] {
    if (this.#random.next() < 0.02) {
      for (const joint of [0, 1]) this.values[joint] = this.#random.next() * 6 - 3;
      this.#driftRad = this.#random.next() < 0.5 ? 0 : this.#random.next() * 0.02 - 0.01;
    }
    for (const joint of [0, 1]) this.values[joint]! += this.#driftRad;
    return this.values;
  }
}

/** Without a sign of zero, which a mirror turns round. */
const mirrored = (values: Iterable<number>): number[] => [...values].map((value) => 0 - value);
const plain = (values: Iterable<number>): number[] => [...values].map((value) => 0 + value);

test.each([arm, wheels])("what is mirrored stays so, bit for bit", (...joints) => {
  const targets = new Targets(1);
  const one = limiterAt(joints, [0, 0]);
  const other = limiterAt(joints, [0, 0]);
  const random = new SeededRandom(2);
  for (let tick = 0; tick < 20_000; tick += 1) {
    const target = targets.next();
    const measured = [...one.command].map((rad) => rad + 0.3 * (random.next() - 0.5));
    const bits = follow(one, target, measured);
    expect(follow(other, mirrored(target), mirrored(measured))).toBe(bits);
    expect(mirrored(other.command)).toEqual(plain(one.command));
  }
});

test("a limiter that has braked to rest goes on as one that was put there", () => {
  const targets = new Targets(3);
  const braked = limiterAt(arm, [0, 0]);
  for (let time = 0; time < 200; time += 1) {
    for (let tick = 0; tick < 100; tick += 1) follow(braked, targets.next());
    while (!braked.atRest) braked.brake();
    const fresh = limiterAt(arm, [...braked.command]);
    for (let tick = 0; tick < 50; tick += 1) {
      const target = targets.next();
      follow(braked, target);
      follow(fresh, target);
      expect([...braked.command]).toEqual([...fresh.command]);
    }
  }
});

test("a corner counts as smoothed up to a fifth of a tick's way at full speed", () => {
  const strideMax = 3 * DT;
  for (const [share, isSmooth] of [
    [0.199, true],
    [0.21, false],
    [0.4, false],
  ] as const) {
    const limiter = limiterAt([sharp], [0]);
    const bits = follow(limiter, [share * strideMax + STEP_RAD]);
    expect(bits).toBe(Acceleration);
    expect([share, limiter.onlySmooths(bits)]).toEqual([share, isSmooth]);
  }
  const edge = limiterAt([sharp], [0]);
  const fifth = 0.2 * strideMax;
  follow(edge, [2 * fifth]);
  edge.command[0] = fifth;
  expect(edge.onlySmooths(Jerk)).toBe(true);
  const still = limiterAt([testJoint()], [0]);
  follow(still, [0]);
  expect(still.onlySmooths(0)).toBe(false);
  expect(still.onlySmooths(Jerk)).toBe(true);
  expect(still.onlySmooths(Jerk | Velocity)).toBe(false);
});

test.each([1, 4])(
  "a goal that turns towards its joint is not passed, rows of %d ticks",
  (rowTicks) => {
    for (const side of [1, -1])
      for (const turn of [2, 3]) {
        const bend = (tick: number): number => -1.5 * tick * DT + (turn / 2) * (tick * DT) ** 2;
        const limiter = limiterAt([testJoint()], [0]);
        for (let tick = 1; tick < 200; tick += 1) {
          const row = Math.floor(tick / rowTicks) * rowTicks;
          const share = (tick - row) / rowTicks;
          const plan = bend(row) + share * (bend(row + rowTicks) - bend(row));
          const goal = side * (tick < 100 ? plan : plan - 0.1);
          follow(limiter, [goal]);
          // As if it did not turn, it would be passed by 11 mrad and more.
          if (tick >= 100) expect(side * (goal - limiter.command[0]!)).toBeLessThan(1e-3);
        }
      }
  },
);

test("a goal near the robot does not hide that a command far from it was held back", () => {
  for (const side of [1, -1]) {
    const limiter = limiterAt([testJoint()], [0]);
    for (let tick = 0; tick < 30; tick += 1) follow(limiter, [side]);
    const from = limiter.command[0]!;
    // 0.26 rad are allowed, and the goal is 0.1 behind.
    const bits = follow(limiter, [from - 0.1 * side], [from - 0.3 * side]);
    expect(bits & RepairBit.Lead).toBe(RepairBit.Lead);
    expect(side * limiter.changeRad[0]!).toBeLessThan(0);
  }
});
