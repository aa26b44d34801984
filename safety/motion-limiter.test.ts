// Tests of the limiter alone: exact passage of what is allowed, and how it chases what is not.
// The oracles add up outputs; none uses the limiter's own curve.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { commandVec, milliseconds, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { ToolGuard } from "./tool-guard.ts";

const DT = 0.005;
const rates = (acceleration: number, jerk = 1e4) => ({
  accelerationRadPerS2: acceleration,
  jerkRadPerS3: jerk,
});
const slow = testJoint({ velocityRadPerSMax: 1.5, motion: rates(5), stop: rates(10) });
const fast = testJoint({ velocityRadPerSMax: 6, motion: rates(60), stop: rates(60) });
const arm: readonly JointProfile[] = [testJoint(), slow, fast];

const near = (value: number) => expect.closeTo(value, 9) as number;

function limiterAt(joints: readonly JointProfile[], ...startRad: number[]): MotionLimiter {
  const profile = testProfile(joints);
  const limits = new JointLimits(profile);
  const limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
  limiter.seed(radVec(Float64Array.from(startRad)));
  return limiter;
}

const speeds = (limiter: MotionLimiter) => limiter.strideRad.map((stride) => stride / DT);

/** Follows with a robot that is always where it was told to be. */
function follow(limiter: MotionLimiter, ...target: number[]): number {
  return followAt(limiter, target, [...limiter.command], [...speeds(limiter)]);
}

/** Follows with a robot that was measured there. */
function followAt(
  limiter: MotionLimiter,
  target: readonly number[],
  measuredRad: readonly number[],
  measuredRadPerS: readonly number[] = measuredRad.map(() => 0),
): number {
  return limiter.follow(
    commandVec(Float64Array.from(target)),
    radVec(Float64Array.from(measuredRad)),
    radPerSVec(Float64Array.from(measuredRadPerS)),
  );
}

/** How far a joint goes when it sheds one step of velocity before each further tick. */
function stopDistance(velocity: number, step: number): number {
  let distance = 0;
  for (let left = velocity; left > 0; left -= step) distance += left * DT;
  return distance;
}

test("a trajectory within the limits passes bit for bit, without a repair", () => {
  const limiter = limiterAt(arm, 0, 0, 0);
  for (let tick = 0; tick < 2_000; tick += 1) {
    const swing = 0.5 * (1 - Math.cos(2 * tick * DT)); // at most 1 rad/s and 2 rad/s2
    expect(follow(limiter, swing, -swing, 0.3 * swing)).toBe(0);
    expect([...limiter.command]).toEqual([swing, -swing, 0.3 * swing]);
  }
});

test("a trajectory at the very limits of velocity, acceleration and jerk passes too", () => {
  const limiter = limiterAt([testJoint({ positionRadMax: 10 })], 0);
  let target = 0;
  let speed = 0;
  let acceleration = 0;
  // 3 rad/s2 a tick up to 15, there for 35 ticks, and down again: 3 rad/s. Then the same to rest.
  const jerks = [
    ...[1, 1, 1, 1, 1, ...Array(35).fill(0), -1, -1, -1, -1, -1, ...Array(100).fill(0)],
    ...[-1, -1, -1, -1, -1, ...Array(35).fill(0), 1, 1, 1, 1, 1, ...Array(10).fill(0)],
  ] as number[];
  let fastest = 0;
  for (const jerk of jerks) {
    acceleration += jerk * 3;
    speed += acceleration * DT;
    target += speed * DT;
    fastest = Math.max(fastest, speed);
    expect(follow(limiter, target)).toBe(0);
    expect(limiter.command[0]).toBe(target);
  }
  expect(fastest).toBeCloseTo(3, 9);
  expect(speed).toBeCloseTo(0, 9);
});

test("a target that bends too sharply is followed in a curve, and caught again bit for bit", () => {
  const limiter = limiterAt([testJoint({ positionRadMax: 10 })], 0);
  let target = 0;
  let worstRad = 0;
  const repairs: number[] = [];
  let [last, speed, acceleration] = [0, 0, 0];
  for (let tick = 0; tick < 40; tick += 1) {
    target += tick < 20 ? 0 : 0.06 * DT; // a corner of 12 rad/s2 for one tick
    repairs.push(follow(limiter, target));
    worstRad = Math.max(worstRad, Math.abs(limiter.command[0]! - target));
    const newSpeed = (limiter.command[0]! - last) / DT;
    const newAcceleration = (newSpeed - speed) / DT;
    expect(Math.abs(newAcceleration - acceleration)).toBeLessThanOrEqual(3 + 1e-6);
    [last, speed, acceleration] = [limiter.command[0]!, newSpeed, newAcceleration];
  }
  expect(repairs.slice(0, 20)).toEqual(Array(20).fill(0));
  expect(repairs[20]).toBe(RepairBit.Jerk);
  expect(repairs.slice(32)).toEqual(Array(8).fill(0));
  expect(limiter.command[0]).toBe(target);
  expect(worstRad).toBeLessThan(0.001);
});

test("a jump is walked in a straight line, without overshoot, and ends there at rest", () => {
  const random = new SeededRandom(2);
  const draw = () => random.next() * 4 - 2;
  for (let round = 0; round < 60; round += 1) {
    const start = [draw(), draw(), draw()];
    const goal = [draw(), draw(), draw()];
    const limiter = limiterAt(arm, ...start);
    let before = 0;
    let ticks = 0;
    for (; ticks < 1_000 && (ticks === 0 || !limiter.atRest); ticks += 1) {
      follow(limiter, ...goal);
      const shares = goal.map(
        (value, joint) => (limiter.command[joint]! - start[joint]!) / (value - start[joint]!),
      );
      // Each joint has come the same share of its way, and the share only grows, up to one.
      for (const share of shares) expect(Math.abs(share - shares[0]!)).toBeLessThan(1e-9);
      expect(shares[0]!).toBeGreaterThanOrEqual(before - 1e-12);
      expect(shares[0]!).toBeLessThanOrEqual(1 + 1e-12);
      before = shares[0]!;
    }
    expect([...limiter.command]).toEqual(goal);
    // The slowest joint alone: 4 rad at 1.5 rad/s, 0.3 s to speed up and 0.3 s to slow down.
    expect(ticks * DT).toBeLessThan(4 / 1.5 + 0.35);
  }
});

test("a jump is as fast as the limits allow: to the tick, for one joint", () => {
  const limiter = limiterAt([testJoint()], -1);
  let ticks = 0;
  for (; ticks < 1_000 && (ticks === 0 || !limiter.atRest); ticks += 1) follow(limiter, 1);
  // Without a limit of jerk 174: 40 ticks to 3 rad/s, 94 there, 39 to stop, one at rest. The
  // ramps of acceleration cost 15 / 600 = 25 ms.
  expect(ticks).toBe(174 + 5);
});

test("a goal that moves is caught without overshoot and then followed bit for bit", () => {
  const limiter = limiterAt([testJoint({ positionRadMax: 10 })], 0);
  let exact = 0;
  for (let tick = 0; tick < 400; tick += 1) {
    const goal = 0.5 + 1.5 * tick * DT;
    follow(limiter, goal);
    expect(limiter.command[0]! - goal).toBeLessThan(1e-9);
    exact = limiter.command[0] === goal ? exact + 1 : 0;
  }
  expect(exact).toBeGreaterThan(250);
});

test("a joint that can still stop at a new goal does, whatever the other joints have to do", () => {
  const random = new SeededRandom(3);
  const draw = () => random.next() * 3.6 - 1.8;
  let worstRad = 0;
  for (let round = 0; round < 50; round += 1) {
    const limiter = limiterAt(arm, draw(), draw(), draw());
    for (let leg = 0; leg < 3; leg += 1) {
      const goal = [draw(), draw(), draw()];
      for (let tick = 20 + random.next() * 200; tick > 0; tick -= 1) follow(limiter, ...goal);
    }
    const goal = [draw(), draw(), draw()];
    const side = goal.map((value, joint) => Math.sign(value - limiter.command[joint]!));
    const stoppable = goal.map((value, joint) => {
      const speed = speeds(limiter)[joint]! * side[joint]!;
      const step = arm[joint]!.motion.accelerationRadPerS2 * DT;
      return stopDistance(speed, step) <= Math.abs(value - limiter.command[joint]!);
    });
    for (let tick = 0; tick < 800; tick += 1) {
      follow(limiter, ...goal);
      for (const [joint, value] of goal.entries()) {
        const pastRad = (limiter.command[joint]! - value) * side[joint]!;
        if (stoppable[joint]) worstRad = Math.max(worstRad, pastRad);
      }
    }
    expect([...limiter.command]).toEqual(goal);
  }
  expect(worstRad).toBeLessThan(1e-9);
});

test("a command that passes its goals exactly, in motion, comes back to them", () => {
  const limiter = limiterAt([testJoint(), testJoint()], 0, 0);
  follow(limiter, 1, 0); // a jump, and the next tick asks for what that tick reached
  const goal = [...limiter.command];
  for (let tick = 0; tick < 20; tick += 1) {
    const before = [...limiter.changeRad];
    follow(limiter, ...goal);
    for (const [joint, change] of limiter.changeRad.entries()) {
      expect(Math.abs(change - before[joint]!)).toBeLessThanOrEqual(600 * DT ** 3 + 1e-12);
    }
  }
  expect([...limiter.command]).toEqual(goal);
});

test("the bits say which limits a step would have broken", () => {
  const bits = (target: number, measured = 0, joint = testJoint()) =>
    followAt(limiterAt([joint], 0), [target], [measured]);
  const { Acceleration, Lead, Position, Velocity } = RepairBit;
  const { Jerk } = RepairBit;
  expect(bits(0.000_07)).toBe(0);
  expect(bits(0.000_08)).toBe(Jerk); // 3 rad/s2 in a tick
  expect(bits(0.000_37)).toBe(Jerk);
  expect(bits(0.001)).toBe(Acceleration | Jerk);
  expect(bits(0.016)).toBe(Velocity | Acceleration | Jerk);
  expect(bits(0.3)).toBe(Velocity | Acceleration | Jerk | Lead); // 3 rad/s x 60 ms + 0.08 rad
  expect(bits(3)).toBe(Position | Velocity | Acceleration | Jerk | Lead);
  expect(bits(0, 0.27)).toBe(Lead);
  expect(bits(0.3, 0.3)).toBe(Velocity | Acceleration | Jerk); // the command comes back anyway
  const even = { velocityRadPerSMax: 4, leadNs: milliseconds(62.5), droopRad: 0.25 };
  expect(bits(0, 0.5, testJoint(even))).toBe(0); // 4 rad/s x 62.5 ms + 0.25 rad, to the bit
  expect(bits(0, 0.500_001, testJoint(even))).toBe(Lead);
});

test("a position limit ahead slows the command in time, also at full speed", () => {
  const limiter = limiterAt([testJoint()], 0);
  let last = 0;
  let target = 0;
  let repaired = 0;
  for (let tick = 0; tick < 300; tick += 1) {
    // The target speeds up to the joint's full speed and stops dead at the limit.
    target = Math.min(2, target + Math.min(3, 15 * DT * tick) * DT);
    if ((follow(limiter, target) & RepairBit.Position) !== 0) repaired += 1;
    const velocity = (limiter.command[0]! - last) / DT;
    last = limiter.command[0]!;
    expect(last).toBeLessThanOrEqual(2);
    expect(stopDistance(velocity - 30 * DT, 30 * DT)).toBeLessThanOrEqual(2 - last + 1e-9);
  }
  expect(last).toBe(2);
  // 3 rad/s at 0.15 rad/s a tick, and two ticks for the ramps: each is a repair, and no other.
  expect(repaired).toBeGreaterThanOrEqual(20);
  expect(repaired).toBeLessThanOrEqual(22);
});

test("a joint found outside its limits comes back slowly and never goes further out", () => {
  const limiter = limiterAt([testJoint()], 2.3);
  limiter.brake();
  expect(limiter.command[0]).toBe(2.3);
  let last = 2.3;
  for (let tick = 0; tick < 400; tick += 1) {
    follow(limiter, 5);
    const step = limiter.command[0]! - last;
    expect(step).toBeLessThanOrEqual(0);
    expect(step).toBeGreaterThanOrEqual(-3 * DT * (1 + 1e-9));
    last = limiter.command[0]!;
  }
  expect(last).toBe(2);
});

test("lead bounds the command by a blocked robot: it slows for the border and stands on it", () => {
  const limiter = limiterAt([testJoint()], 0);
  const leadRad = 3 * 0.06 + 0.08;
  let last = 0;
  let before = 0;
  let most = 0;
  for (let tick = 0; tick < 200; tick += 1) {
    followAt(limiter, [1.5], [0]);
    const velocity = (limiter.command[0]! - last) / DT;
    expect(Math.abs(velocity - before)).toBeLessThanOrEqual(30 * DT + 1e-9);
    last = limiter.command[0]!;
    before = velocity;
    most = Math.max(most, last);
  }
  expect(last).toBeCloseTo(leadRad, 12);
  expect(most).toBeCloseTo(leadRad, 12);
});

test("lead pulls a command back to a robot that was pushed away, without swinging", () => {
  const limiter = limiterAt([testJoint()], 0);
  let swings = 0;
  for (let tick = 0; tick < 400; tick += 1) {
    const last = limiter.command[0]!;
    const velocity = speeds(limiter)[0]!;
    followAt(limiter, [0], [-1]);
    if (limiter.command[0]! > last + 1e-12) swings += 1;
    expect(last - limiter.command[0]!).toBeLessThanOrEqual(3 * DT + 1e-12);
    expect(Math.abs(speeds(limiter)[0]! - velocity)).toBeLessThanOrEqual(30 * DT + 1e-9);
  }
  expect(swings).toBe(0);
  expect(limiter.command[0]).toBeCloseTo(-1 + 3 * 0.06 + 0.08, 12);
});

test("a robot that lags by a servo's 40 ms still gets full speed through lead", () => {
  const limiter = limiterAt([testJoint({ positionRadMin: -9, positionRadMax: 9 })], -8);
  let measured = -8;
  let fastest = 0;
  for (let tick = 0; tick < 1_200; tick += 1) {
    const velocity = (limiter.command[0]! - measured) / 0.04;
    const from = measured;
    followAt(limiter, [8], [measured], [velocity]);
    measured += velocity * DT;
    fastest = Math.max(fastest, (measured - from) / DT);
  }
  expect(fastest).toBeGreaterThan(0.99 * 3);
  expect(limiter.command[0]).toBe(8);
});

test("a measured velocity that is no number does not open the lead", () => {
  const limiter = limiterAt([testJoint()], 0);
  for (let tick = 0; tick < 200; tick += 1) followAt(limiter, [1.5], [0], [Number.NaN]);
  expect(limiter.command[0]).toBeCloseTo(3 * 0.06 + 0.08, 12);
});

test("a brake sheds stop acceleration every tick, to exactly zero, and then stands", () => {
  for (const side of [1, -1]) {
    const limiter = limiterAt([testJoint()], -side);
    for (let tick = 0; tick < 50; tick += 1) follow(limiter, side);
    const speeds: number[] = [];
    let last = limiter.command[0]!;
    while (!limiter.atRest && speeds.length < 100) {
      limiter.brake();
      speeds.push(((limiter.command[0]! - last) / DT) * side);
      last = limiter.command[0]!;
    }
    // 15 rad/s2 more each tick up to 30, and less each tick down to 0.
    expect(speeds.slice(0, 3)).toEqual([2.925, 2.775, 2.625].map((speed) => near(speed)));
    expect(speeds.filter((speed) => speed > 1e-9).length).toBe(20);
    expect(speeds[19]).toBeCloseTo(0.075, 9);
    expect(speeds.length).toBeLessThanOrEqual(23); // and what is left of the brake
    limiter.brake();
    expect(limiter.command[0]).toBe(last);
  }
});

test("after a brake the goal's old velocity is forgotten", () => {
  const limiter = limiterAt([testJoint()], 0);
  let target = 0;
  for (let tick = 1; tick <= 60; tick += 1) {
    target += Math.min(0.3, 0.01 * tick) * DT;
    expect(follow(limiter, target)).toBe(0);
  }
  while (!limiter.atRest) limiter.brake();
  const standing = limiter.command[0]!;
  expect(standing).toBeGreaterThan(target);
  expect(follow(limiter, standing)).toBe(0);
  expect([limiter.command[0], speeds(limiter)[0]]).toEqual([standing, 0]);
});

const wheel = testJoint({ command: "velocity", leadNs: milliseconds(30) });

test("a velocity joint is limited in speed and in change of speed", () => {
  const limiter = limiterAt([wheel], 1);
  expect(limiter.command[0]).toBe(0);
  const tell = (speed: number) => followAt(limiter, [speed], [0]);
  expect(tell(0.014)).toBe(0); // 2.8 rad/s2 after one tick
  expect(limiter.command[0]).toBe(0.014);
  expect(tell(9)).toBe(RepairBit.Velocity | RepairBit.Acceleration | RepairBit.Jerk);
  expect(limiter.command[0]).toBeCloseTo(0.014 + 5.8 * DT, 12);
  for (let tick = 0; tick < 100; tick += 1) tell(9);
  expect(limiter.command[0]).toBe(3);
  limiter.brake();
  expect(limiter.command[0]).toBeCloseTo(3 - 15 * DT, 12);
  limiter.brake();
  expect(limiter.command[0]).toBeCloseTo(3 - 45 * DT, 12);
});

test("wheels share a step, so that a turn keeps its curve", () => {
  const limiter = limiterAt([wheel, wheel], 0, 0);
  for (let tick = 0; tick < 60; tick += 1) {
    followAt(limiter, [2, -0.5], [0, 0]);
    expect(limiter.command[1]! * 4 + limiter.command[0]!).toBeCloseTo(0, 9);
  }
  expect([...limiter.command]).toEqual([2, -0.5]);
});

test("a velocity joint stops in time for its position limit, seen through its own lag", () => {
  const limiter = limiterAt([wheel], 0);
  const lag = [0, 0, 0, 0]; // 20 ms from command to motion; the profile states 30
  let position = 0;
  for (let tick = 0; tick < 1_000; tick += 1) {
    followAt(limiter, [3], [position]);
    lag.push(limiter.command[0]!);
    position += lag.shift()! * DT;
    expect(position).toBeLessThanOrEqual(2 + 1e-9);
  }
  expect(position).toBeGreaterThan(1.9);
  const back = followAt(limiter, [-0.05], [2.1]);
  expect([back & RepairBit.Position, limiter.command[0]! <= 0]).toEqual([0, true]);
});

test("a robot that is suddenly too near its limit makes the brake begin, and says so", () => {
  const limiter = limiterAt([wheel], 0);
  for (let tick = 0; tick < 100; tick += 1) followAt(limiter, [3], [-50]);
  expect([limiter.command[0], limiter.infeasible]).toEqual([3, false]);
  // 1.9 rad, 0.1 rad before the limit; the stop alone takes 0.15 rad.
  followAt(limiter, [3], [1.9]);
  expect(limiter.infeasible).toBe(true);
  expect(limiter.command[0]).toBeCloseTo(3 - 15 * DT, 12);
  followAt(limiter, [3], [-50]);
  expect(limiter.infeasible).toBe(false);
});

test("vectors of another length and a seed in motion are our own mistake", () => {
  expect(() => follow(limiterAt(arm, 0, 0, 0), 0)).toThrow("one target per joint");
  expect(() => limiterAt(arm, 0)).toThrow("one measured position per joint");
  const moving = limiterAt([testJoint()], 0);
  follow(moving, 1);
  expect(() => moving.seed(radVec(Float64Array.of(0)))).toThrow("only at rest");
});

test.each([1, -1])(
  "a command that is faster than its limit comes back below it, direction %p",
  (way) => {
    const limiter = limiterAt([slow], 0);
    const maxRad = 1.5 * DT;
    limiter.strideRad[0] = way * 2 * maxRad;
    let fastest = 2 * maxRad;
    for (let tick = 0; tick < 60; tick += 1) {
      const bits = follow(limiter, limiter.command[0]! + way * maxRad);
      expect([bits & RepairBit.Position, limiter.infeasible]).toEqual([0, false]);
      const stride = way * limiter.strideRad[0]!;
      expect(stride).toBeLessThanOrEqual(fastest + 1e-12);
      fastest = stride;
    }
    expect(fastest).toBeLessThanOrEqual(maxRad + 1e-12);
    expect(fastest).toBeGreaterThan(0.9 * maxRad);
  },
);
