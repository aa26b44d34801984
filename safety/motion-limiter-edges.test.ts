// Properties of the limiter that hold between two of them: what is mirrored stays mirrored bit for
// bit, and one that has braked to rest is as good as one that was put there. With the edges of what
// counts as smoothed.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { commandVec, milliseconds, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { brakeChange } from "./stop-profile.ts";
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
  measuredRadPerS: readonly number[] = target.map(() => 0),
): number {
  return limiter.follow(
    commandVec(Float64Array.from(target)),
    radVec(Float64Array.from(measuredRad)),
    radPerSVec(Float64Array.from(measuredRadPerS)),
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

test("a command comes to its lead within the limits of motion, whatever is left of it", () => {
  const [lead] = new JointLimits(testProfile([sharp])).leadRad;
  // Of a robot that stands, and of one that goes on at 1 rad/s.
  for (const side of [1, -1])
    for (const robotRad of [0, DT])
      for (let steps = 0; steps < 12; steps += 0.25) {
        const room = robotRad + steps * STEP_RAD;
        const limiter = limiterAt([sharp], [0]);
        limiter.strideRad[0] = side * robotRad;
        let off = 0;
        for (let tick = 0; tick < 40; tick += 1) {
          const measured = side * (room - lead! + robotRad * tick);
          const ask = [side * (robotRad * tick + 1)];
          follow(limiter, ask, [measured], [(side * robotRad) / DT]);
          off = side * (limiter.command[0]! - measured);
          expect(off).toBeLessThanOrEqual(lead! + 1e-12);
          expect(Math.abs(limiter.changeRad[0]!)).toBeLessThanOrEqual(STEP_RAD * (1 + 1e-9));
        }
        expect(off).toBeCloseTo(lead!, 7);
      }
});

test("a robot that jams at full speed makes the command brake as a stop does", () => {
  for (const side of [1, -1]) {
    const limiter = limiterAt([testJoint({ positionRadMin: -9, positionRadMax: 9 })], [0]);
    const ask = [9 * side];
    for (let tick = 0; tick < 100; tick += 1) {
      const speed = limiter.strideRad[0]! / DT;
      follow(limiter, ask, [...limiter.command], [speed]);
    }
    const jammed = limiter.command[0]!;
    let most = 0;
    for (let tick = 0; tick < 100; tick += 1) {
      follow(limiter, ask, [jammed]);
      most = Math.max(most, side * (limiter.command[0]! - jammed));
    }
    // Motion's own 15 rad/s2 would take 0.3 rad and more; 0.26 rad are allowed.
    expect(most).toBeLessThanOrEqual(3 * 0.06 + 0.08 + 1e-9);
    expect(most).toBeGreaterThan(0.259);
  }
});

test("a robot that seems to run ahead does not let the command pass its lead in that tick", () => {
  const [lead] = new JointLimits(testProfile([sharp])).leadRad;
  for (const side of [1, -1])
    for (const steps of [0, 0.25, 0.5, 1, 4]) {
      const limiter = limiterAt([sharp], [0]);
      follow(limiter, [side], [side * (steps * STEP_RAD - lead!)], [3 * side]);
      expect(side * limiter.command[0]!).toBeCloseTo(Math.min(steps, 1) * STEP_RAD, 12);
    }
});

/** How far a stop still goes on, walked by the rule of the brake. */
function stopWay(strideRad: number, changeRad: number, { stop }: JointProfile): number {
  const [most, jerk] = [stop.accelerationRadPerS2 * DT ** 2, stop.jerkRadPerS3 * DT ** 3];
  let [stride, change, way] = [strideRad, changeRad, 0];
  while (Math.abs(stride) > 1e-15 || Math.abs(change) > 1e-15) {
    change = brakeChange(stride, change, most, jerk);
    stride += change;
    way += stride;
  }
  return way;
}

test("a wall takes no more from a step than it must: a stop from there ends at the wall", () => {
  for (const side of [1, -1]) {
    const joint = testJoint();
    const limiter = limiterAt([joint], [0]);
    let goal = 0;
    let walled = 0;
    for (let tick = 0; tick < 200; tick += 1) {
      // The goal speeds up to the joint's full speed and stops dead at the limit.
      goal = Math.min(2, goal + Math.min(3, 15 * DT * tick) * DT);
      const speed = limiter.strideRad[0]! / DT;
      const bits = follow(limiter, [side * goal], [...limiter.command], [speed]);
      if ((bits & RepairBit.Position) === 0) continue;
      walled += 1;
      const way = stopWay(limiter.strideRad[0]!, limiter.changeRad[0]!, joint);
      const leftRad = 2 - side * (limiter.command[0]! + way);
      expect(leftRad).toBeWithin(-1e-12, 2e-8);
    }
    expect(walled).toBeGreaterThan(15);
  }
});

test("a wheel's wall takes a 4,096th of what lies between too much, and no more", () => {
  const joint = testJoint({ command: "velocity", leadNs: milliseconds(30) });
  for (const side of [1, -1]) {
    const limiter = limiterAt([joint], [0]);
    const onItsWay = Array<number>(6).fill(0);
    let position = 0;
    let walled = 0;
    for (let tick = 0; tick < 400; tick += 1) {
      const before = onItsWay.reduce((sum, strideRad) => sum + strideRad, 0);
      const bits = follow(limiter, [3 * side], [position]);
      const stride = side * limiter.strideRad[0]!;
      if (walled > 0 && stride < 1e-6) break;
      if ((bits & RepairBit.Position) !== 0) {
        walled += 1;
        const way = stride + stopWay(stride, side * limiter.changeRad[0]!, joint);
        expect(2 - side * position - before - way).toBeWithin(-1e-12, 5e-6);
      }
      onItsWay.push(stride);
      position += side * onItsWay.shift()!;
    }
    expect(walled).toBeGreaterThan(15);
  }
});

/** Pushed about, jammed and told to be anywhere: an arm of drawn joints, by differences alone. */
test("no push, jam or target makes a command break the limits of a stop", () => {
  const random = new SeededRandom(7);
  const draw = (from: number, to: number): number => from + (to - from) * random.next();
  for (let round = 0; round < 150; round += 1) {
    const acceleration = draw(3, 43);
    const jerk = acceleration * draw(7, 60);
    const joint = testJoint({
      velocityRadPerSMax: draw(0.5, 2),
      positionRadMin: draw(-3, -0.5),
      positionRadMax: draw(0.5, 3),
      droopRad: draw(0, 0.1),
      motion: { accelerationRadPerS2: acceleration, jerkRadPerS3: jerk },
      stop: { accelerationRadPerS2: acceleration * draw(1, 3), jerkRadPerS3: jerk * draw(1, 6) },
    });
    const limiter = limiterAt([joint], [0]);
    let [target, measured, jam] = [0, 0, 0];
    let [command, stride, change] = [0, 0, 0];
    for (let tick = 0; tick < 400; tick += 1) {
      if (random.next() < 0.03) target = draw(-3, 3);
      if (random.next() < 0.01) jam = 30;
      jam -= 1;
      const speed = jam > 0 ? 0 : 0.3 * (command - measured);
      measured += speed + (random.next() < 0.01 ? draw(-0.5, 0.5) : 0);
      follow(limiter, [target], [measured], [speed / DT]);
      const now = limiter.command[0]!;
      const [nextStride, nextChange] = [now - command, now - command - stride];
      const { accelerationRadPerS2, jerkRadPerS3 } = joint.stop;
      const slack = 1e-12;
      expect(now).toBeWithin(joint.positionRadMin, joint.positionRadMax + slack);
      expect(Math.abs(nextStride)).toBeLessThan(joint.velocityRadPerSMax * DT * (1 + 1e-8) + slack);
      expect(Math.abs(nextChange)).toBeLessThan(
        accelerationRadPerS2 * DT ** 2 * (1 + 1e-8) + slack,
      );
      expect(Math.abs(nextChange - change)).toBeLessThan(
        jerkRadPerS3 * DT ** 3 * (1 + 1e-8) + slack,
      );
      [command, stride, change] = [now, nextStride, nextChange];
    }
  }
});

test("full speed is kept once it is reached, though rounding may put it a hair beyond", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 200; round += 1) {
    const acceleration = 3 + 40 * random.next();
    const rates = { accelerationRadPerS2: acceleration, jerkRadPerS3: 60 * acceleration };
    const velocityRadPerSMax = 0.5 + random.next();
    const side = round % 2 === 0 ? 1 : -1;
    const wheel = testJoint({
      command: "velocity",
      velocityRadPerSMax,
      motion: rates,
      stop: rates,
    });
    // A joint beside it that is never where it shall be, so that no tick passes whole.
    const limiter = limiterAt([wheel, testJoint()], [0, 0]);
    for (let tick = 0; tick < 120; tick += 1) {
      const bits = follow(limiter, [side * 9, tick % 40 < 20 ? 1 : -1], [0, limiter.command[1]!]);
      expect([bits & RepairBit.Position, limiter.infeasible]).toEqual([0, false]);
    }
    expect(Math.abs(limiter.command[0]! - side * velocityRadPerSMax)).toBeLessThan(1e-9);
  }
});
