// The limiter where a motion breaks off: coasting, standing without power, and a tick that cannot
// keep what it must. What is expected is counted by hand, or is what another limiter does that
// never broke off.

import { expect, test } from "bun:test";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { commandVec, milliseconds, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { ToolPoint } from "../runtime/kinematics/tool-point.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { SLACK_RATIO } from "./chase.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { ToolGuard } from "./tool-guard.ts";

const DT = 0.005;
const wheel = testJoint({ command: "velocity", leadNs: milliseconds(30) });

function limiterOf(profile: RobotProfile, startRad: readonly number[]): MotionLimiter {
  const limits = new JointLimits(profile);
  const limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
  limiter.seed(radVec(Float64Array.from(startRad)));
  return limiter;
}

const limiterAt = (joints: readonly JointProfile[], ...startRad: number[]): MotionLimiter =>
  limiterOf(testProfile(joints), startRad);

/** Follows with a robot that is where it was told to be, unless it was measured elsewhere. */
function follow(
  limiter: MotionLimiter,
  target: readonly number[],
  measuredRad: readonly number[] = [...limiter.command],
  measuredRadPerS: readonly number[] = target.map(() => 0),
): number {
  return limiter.follow(
    commandVec(Float64Array.from(target)),
    radVec(Float64Array.from(measuredRad)),
    radPerSVec(Float64Array.from(measuredRadPerS)),
  );
}

const measured = (limiter: MotionLimiter) => radVec(limiter.command.slice());

/** Ways to end a motion, until it stands. */
const ends: readonly (readonly [string, (limiter: MotionLimiter) => void])[] = [
  ["lost its power", (limiter) => limiter.stand()],
  ["braked", (limiter) => limiter.brake()],
  ["coasted", (limiter) => limiter.coast(measured(limiter))],
  ["arrived", (limiter) => follow(limiter, [0.2, -0.3])],
];

test.each(ends)("what %s goes on as if it had never moved", (_name, end) => {
  const random = new SeededRandom(1);
  const draw = (): number[] => [random.next() * 3 - 1.5, random.next() * 3 - 1.5];
  const arm = [testJoint(), testJoint({ velocityRadPerSMax: 1 })];
  const used = limiterAt(arm, 0, 0);
  for (let time = 0; time < 100; time += 1) {
    const goal = draw();
    const driftRad = random.next() * 0.01;
    for (let tick = random.next() * 60; tick > 0; tick -= 1) {
      follow(
        used,
        goal.map((rad) => rad + driftRad * tick),
      );
    }
    for (let tick = 0; tick < 1_000 && (tick === 0 || !used.atRest); tick += 1) end(used);
    const start = [...used.command];
    const fresh = limiterAt(arm, ...start);
    // Near enough to go there by itself, or far enough to walk.
    const near = random.next() < 0.5 ? 1e-3 : 0.5;
    const next = draw().map((rad, joint) => start[joint]! + near * rad);
    for (let tick = 0; tick < 10; tick += 1) {
      expect(follow(used, next)).toBe(follow(fresh, next));
      expect([...used.command]).toEqual([...fresh.command]);
    }
  }
});

/** A wheel at full speed, suddenly measured too near its limit, beside a joint at 1 rad/s. */
function infeasible(): MotionLimiter {
  const limiter = limiterAt([wheel, testJoint()], 0, -1.5);
  let goal = -1.5;
  for (let tick = 1; tick < 140; tick += 1) {
    goal += Math.min(1, tick / 100) * DT;
    follow(limiter, [3, goal], [-50, goal]);
  }
  expect([limiter.infeasible, limiter.command[1]]).toEqual([false, goal]);
  follow(limiter, [3, goal + DT], [1.9, goal]);
  expect(limiter.infeasible).toBe(true);
  return limiter;
}

test("a tick that cannot keep one joint's limit brakes every joint", () => {
  const limiter = infeasible();
  // At full speed: 3,000 rad/s3 are 15 rad/s2 in a tick.
  expect(limiter.command[0]).toBeCloseTo(3 - 15 * DT, 12);
  expect(limiter.strideRad[1]! / DT).toBeCloseTo(1 - 15 * DT, 10);
});

test("what could not be kept is forgotten by the next tick, whatever that does", () => {
  for (const go of [
    (limiter: MotionLimiter) => limiter.brake(),
    (limiter: MotionLimiter) => limiter.stand(),
    (limiter: MotionLimiter) => limiter.coast(radVec(Float64Array.of(-50, 0))),
    (limiter: MotionLimiter) => follow(limiter, [0, 0], [-50, 0]),
  ]) {
    const limiter = infeasible();
    go(limiter);
    expect(limiter.infeasible).toBe(false);
  }
});

test("a motion that coasts for ever still ends within its position limit", () => {
  for (let ticks = 100; ticks < 320; ticks += 1) {
    const limiter = limiterAt([testJoint()], -1.5);
    // The goal goes on at full speed, as far as the limit.
    let goal = -1.5;
    for (let tick = 0; tick < ticks; tick += 1) {
      goal = Math.min(2, goal + Math.min(3, 15 * DT * tick) * DT);
      const speed = limiter.strideRad[0]! / DT;
      follow(limiter, [goal], [...limiter.command], [speed]);
    }
    for (let tick = 0; tick < 60; tick += 1) {
      limiter.coast(measured(limiter));
      expect(limiter.command[0]).toBeLessThanOrEqual(2);
    }
  }
});

test("a joint found outside only comes back, whatever it is told and wherever it brakes", () => {
  const random = new SeededRandom(3);
  const draw = (from: number, to: number): number => from + (to - from) * random.next();
  let inside = 0;
  for (let round = 0; round < 300; round += 1) {
    const side = round % 2 === 0 ? 1 : -1;
    const acceleration = draw(3, 43);
    const jerk = acceleration * draw(15, 115);
    const joint = testJoint({
      motion: { accelerationRadPerS2: acceleration, jerkRadPerS3: jerk },
      stop: { accelerationRadPerS2: acceleration * draw(1, 3), jerkRadPerS3: jerk * draw(1, 6) },
    });
    const limiter = limiterAt([joint], side * draw(2, 2.5));
    let target = draw(-3, 3);
    for (let tick = 0; tick < 200; tick += 1) {
      const outside = side * limiter.command[0]! - 2;
      if (random.next() < 0.05) target = draw(-3, 3);
      if (random.next() < 0.1) limiter.brake();
      else follow(limiter, [target]);
      expect(limiter.infeasible).toBe(false);
      const now = side * limiter.command[0]! - 2;
      if (outside > 0) expect(now).toBeLessThanOrEqual(outside + 1e-12);
      else expect(now).toBeLessThanOrEqual(0);
      if (now <= 0) inside += 1;
    }
  }
  expect(inside).toBeGreaterThan(10_000);
});

test("a wheel that coasts towards its limit stops before it, too", () => {
  const limiter = limiterAt([wheel], 0);
  for (let tick = 0; tick < 60; tick += 1) follow(limiter, [3], [-50]);
  // 90 mrad are on their way, and a stop takes 158 more; by motion's limits it would take 308.
  let position = 1.74;
  for (let tick = 0; tick < 100; tick += 1) {
    limiter.coast(radVec(Float64Array.of(position)));
    position += limiter.command[0]! * DT;
  }
  expect(position).toBeLessThanOrEqual(2);
});

const so101 = loadRobot("so101");
const home = so101.joints.map((joint) => joint.homeRad);
const turned = home.map((rad, joint) => (joint === 0 ? 1.8 : rad));

test("an arm that coasts below its tool's limit coasts as if it had none", () => {
  const limited = { ...so101, gate: { ...so101.gate, toolSpeedMPerSMax: 0.25 } };
  const limiter = limiterOf(limited, home);
  for (let tick = 0; tick < 80; tick += 1) follow(limiter, turned);
  const free = limiterOf(so101, [...limiter.command]);
  free.strideRad.set(limiter.strideRad);
  free.changeRad.set(limiter.changeRad);
  for (let tick = 0; tick < 30; tick += 1) {
    limiter.coast(measured(limiter));
    free.coast(measured(free));
    expect([...limiter.command]).toEqual([...free.command]);
  }
});

test("an arm that coasts above its tool's limit brakes as a stop does", () => {
  const limits = new JointLimits(so101);
  const tool = new ToolPoint(so101);
  const [before, now] = [new Float64Array(3), new Float64Array(3)];
  const speedOf = (isReduced: boolean): number => {
    const guard = new ToolGuard(so101, limits);
    const limiter = new MotionLimiter(limits, guard);
    limiter.seed(radVec(Float64Array.from(home)));
    for (let tick = 0; tick < 60; tick += 1) {
      const speeds = limiter.strideRad.map((stride) => stride / DT);
      follow(limiter, turned, [...limiter.command], [...speeds]);
    }
    guard.slowDown(isReduced);
    // From 0.45 m/s, twice as hard as motion brakes.
    for (let tick = 0; tick < 12; tick += 1) {
      tool.placeInto(before, limiter.command);
      limiter.coast(measured(limiter));
      tool.placeInto(now, limiter.command);
    }
    return Math.hypot(...now.map((at, axis) => at - before[axis]!)) / DT;
  };
  expect(speedOf(false)).toBeGreaterThan(0.3);
  expect(speedOf(true)).toBeWithin(0.01, 0.25 + 1e-5);
});

test("a goal that moves by just what its joint can is followed; a farther one jumps", () => {
  const joints = [testJoint(), testJoint()];
  const most = new JointLimits(testProfile(joints)).strideRadMax[0]! * SLACK_RATIO;
  // The other joint is at its goal at once, or keeps its share of the way.
  const otherAt = (rad: number): number => {
    const limiter = limiterAt(joints, 0, 0);
    follow(limiter, [rad, 5e-5]);
    return limiter.command[1]!;
  };
  expect(otherAt(most)).toBe(5e-5);
  expect(otherAt(-most)).toBe(5e-5);
  expect(otherAt(most * (1 + 1e-12))).toBeLessThan(1e-6);
});

test("wheels that follow all they are told stop in time, by all that is on its way", () => {
  for (const side of [1, -1]) {
    const limiter = limiterAt([wheel, wheel], 0, 0);
    const lag = [0, 1].map(() => Array<number>(6).fill(0)); // the 30 ms that the profile states
    const position = [-1.8 * side, -1.5 * side];
    for (let tick = 1; tick < 1_000; tick += 1) {
      const speed = side * Math.min(3, 0.014 * tick);
      follow(limiter, [speed, speed], position);
      for (const joint of [0, 1]) {
        lag[joint]!.push(limiter.command[joint]!);
        position[joint]! += lag[joint]!.shift()! * DT;
        expect(side * position[joint]!).toBeLessThanOrEqual(2 + 1e-9);
      }
    }
    for (const rad of position) expect(side * rad).toBeGreaterThan(1.9);
  }
});

test("two wheels, each seen through its own lag, both stop in time for their limits", () => {
  const limiter = limiterAt([wheel, wheel], 0, 0);
  const lag = [0, 1].map(() => [0, 0, 0, 0]); // 20 ms; the profile states 30
  const position = [0, 0.3];
  for (let tick = 0; tick < 1_000; tick += 1) {
    follow(limiter, [3, 3], position);
    for (const joint of [0, 1]) {
      lag[joint]!.push(limiter.command[joint]!);
      position[joint]! += lag[joint]!.shift()! * DT;
      expect(position[joint]!).toBeLessThanOrEqual(2 + 1e-9);
    }
  }
  for (const rad of position) expect(rad).toBeGreaterThan(1.9);
});
