// Tests of the tool's limits, on the SO-101 as it ships. The tool is known by a second, plain way
// of forward kinematics that this file writes out: matrices, and the engine's sine and cosine.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { commandVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { ToolGuard } from "./tool-guard.ts";

const DT = 0.005;
const so101 = loadRobot("so101");
/** Rounding of the kinematics, in m/s: a picometre in a tick would already be 2e-10. */
const EPSILON = 1e-5;

/** The same robot whose joints may lead by far, so that only the tool is limited. */
function robotWith(gate: Partial<RobotProfile["gate"]>): RobotProfile {
  return { ...so101, gate: { ...so101.gate, ...gate } };
}

type Vector = [number, number, number];
type Matrix = [Vector, Vector, Vector];
const apply = (m: Matrix, v: Vector): Vector =>
  m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Vector;
const product = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) =>
    [0, 1, 2].map((c) => row[0] * b[0][c]! + row[1] * b[1][c]! + row[2] * b[2][c]!),
  ) as Matrix;
const turnOf = ([w, x, y, z]: readonly number[]): Matrix => [
  [1 - 2 * (y! * y! + z! * z!), 2 * (x! * y! - w! * z!), 2 * (x! * z! + w! * y!)],
  [2 * (x! * y! + w! * z!), 1 - 2 * (x! * x! + z! * z!), 2 * (y! * z! - w! * x!)],
  [2 * (x! * z! - w! * y!), 2 * (y! * z! + w! * x!), 1 - 2 * (x! * x! + y! * y!)],
];
const add = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];

/** Where the tool is, of a chain whose joints stand in order. */
function toolOf(robot: RobotProfile, positionRad: ArrayLike<number>): Vector {
  let [turn, at]: [Matrix, Vector] = [turnOf([1, 0, 0, 0]), [0, 0, 0]];
  for (const [index, joint] of robot.joints.slice(0, 5).entries()) {
    at = add(at, apply(turn, [...joint.originM]));
    turn = product(turn, turnOf(joint.originWxyz));
    const half = positionRad[index]! / 2;
    const [x, y, z] = joint.axis;
    const sine = Math.sin(half);
    turn = product(turn, turnOf([Math.cos(half), x * sine, y * sine, z * sine]));
  }
  return add(at, apply(turn, [...robot.toolM]));
}

function limiterOf(robot: RobotProfile, isReduced = false) {
  const limits = new JointLimits(robot);
  const guard = new ToolGuard(robot, limits);
  guard.slowDown(isReduced);
  const limiter = new MotionLimiter(limits, guard);
  limiter.seed(radVec(Float64Array.from(robot.joints, (joint) => joint.homeRad)));
  const follow = (target: readonly number[]): number =>
    limiter.follow(
      commandVec(Float64Array.from(target)),
      radVec(limiter.command.slice()),
      radPerSVec(limiter.strideRad.map((stride) => stride / DT)),
    );
  return { guard, limiter, follow };
}

/** A joint target anywhere within the limits. */
const drawn = (robot: RobotProfile, random: SeededRandom): number[] =>
  robot.joints.map(
    ({ positionRadMin, positionRadMax }) =>
      positionRadMin + (positionRadMax - positionRadMin) * random.next(),
  );

/** Fastest tool of a run through random targets, m/s, and how far outside its joints' limits. */
function fastest(robot: RobotProfile, isReduced: boolean, ticks: number): number {
  const random = new SeededRandom(5);
  const { limiter, follow } = limiterOf(robot, isReduced);
  let last = toolOf(robot, limiter.command);
  let most = 0;
  let target = drawn(robot, random);
  for (let tick = 0; tick < ticks; tick += 1) {
    if (random.next() < 0.01) target = drawn(robot, random);
    follow(target);
    const now = toolOf(robot, limiter.command);
    most = Math.max(most, Math.hypot(now[0] - last[0], now[1] - last[1], now[2] - last[2]) / DT);
    last = now;
  }
  return most;
}

test("reduced motion keeps the tool at 250 mm/s, and uses them", () => {
  expect(fastest(so101, false, 4_000)).toBeGreaterThan(0.8);
  const reduced = fastest(so101, true, 8_000);
  expect(reduced).toBeLessThanOrEqual(0.25 + EPSILON);
  expect(reduced).toBeGreaterThan(0.22);
});

test("a profile's own limit of tool speed holds, and reduced motion is never faster", () => {
  const robot = robotWith({ toolSpeedMPerSMax: 0.5 });
  expect(fastest(robot, false, 4_000)).toBeLessThanOrEqual(0.5 + EPSILON);
  expect(fastest(robot, false, 4_000)).toBeGreaterThan(0.45);
  expect(fastest(robotWith({ toolSpeedMPerSMax: 0.1 }), true, 2_000)).toBeLessThan(0.1 + EPSILON);
});

test("a tool that is limited still walks a jump in a straight line, to its end", () => {
  const { limiter, follow } = limiterOf(so101, true);
  const start = [...limiter.command];
  const goal = start.map((rad, joint) => rad + [0.6, 0.3, -0.4, -0.2, 0.5, 0.1][joint]!);
  let bits = 0;
  let ticks = 0;
  for (; ticks < 2_000 && (ticks === 0 || !limiter.atRest); ticks += 1) {
    bits |= follow(goal);
    const shares = start.map(
      (rad, joint) => (limiter.command[joint]! - rad) / (goal[joint]! - rad),
    );
    for (const share of shares) expect(Math.abs(share - shares[0]!)).toBeLessThan(1e-6);
  }
  expect([...limiter.command]).toEqual(goal);
  expect(bits & RepairBit.Velocity).toBe(RepairBit.Velocity);
  expect(ticks * DT).toBeGreaterThan(0.5);
});

test("a tool that is limited goes on evenly, a little below its limit", () => {
  const { limiter, follow } = limiterOf(so101, true);
  const goal = so101.joints.map((joint) => joint.homeRad);
  goal[0] = 1.8;
  let last = toolOf(so101, limiter.command);
  const speeds: number[] = [];
  for (let tick = 0; tick < 200; tick += 1) {
    follow(goal);
    const now = toolOf(so101, limiter.command);
    speeds.push(Math.hypot(now[0] - last[0], now[1] - last[1], now[2] - last[2]) / DT);
    last = now;
  }
  // It speeds up within 0.15 s, and 1.8 rad last far longer.
  const even = speeds.slice(30);
  expect(Math.max(...even)).toBeLessThanOrEqual(0.25 * 0.92 + EPSILON);
  expect(Math.min(...even)).toBeGreaterThan(0.25 * 0.92 - 0.001);
});

test("slowed down in full motion, the tool brakes as a stop does until it is slow", () => {
  const { guard, limiter, follow } = limiterOf(so101);
  const goal = so101.joints.map((joint) => joint.homeRad);
  goal[0] = 1.8;
  for (let tick = 0; tick < 60; tick += 1) follow(goal);
  guard.slowDown(true);
  let last = toolOf(so101, limiter.command);
  const speeds: number[] = [];
  for (let tick = 0; tick < 60; tick += 1) {
    follow(goal);
    const now = toolOf(so101, limiter.command);
    speeds.push(Math.hypot(now[0] - last[0], now[1] - last[1], now[2] - last[2]) / DT);
    last = now;
  }
  // 3 rad/s at 30 rad/s2 are gone within 23 ticks.
  expect(speeds[0]).toBeGreaterThan(0.4);
  for (const speed of speeds.slice(23)) expect(speed).toBeLessThanOrEqual(0.25 + EPSILON);
  expect(speeds.at(-1)).toBeGreaterThan(0.2);
});

const home = toolOf(
  so101,
  so101.joints.map((joint) => joint.homeRad),
);
const box = {
  minM: [home[0] - 0.08, home[1] - 0.08, home[2] - 0.05],
  maxM: [home[0] + 0.08, home[1] + 0.08, home[2] + 0.1],
} as const;

test("the tool stays inside its box, and comes to its walls", () => {
  const robot = robotWith({ workspace: box });
  const random = new SeededRandom(7);
  const { limiter, follow } = limiterOf(robot);
  let target = drawn(robot, random);
  let repaired = 0;
  const reached = [0, 0, 0, 0, 0, 0];
  for (let tick = 0; tick < 8_000; tick += 1) {
    if (random.next() < 0.01) target = drawn(robot, random);
    if (random.next() < 0.01) target = robot.joints.map((joint) => joint.homeRad);
    if ((follow(target) & RepairBit.Workspace) !== 0) repaired += 1;
    for (const [axis, at] of toolOf(robot, limiter.command).entries()) {
      expect(at).toBeGreaterThanOrEqual(box.minM[axis]! - 2e-3);
      expect(at).toBeLessThanOrEqual(box.maxM[axis]! + 2e-3);
      if (at > box.maxM[axis]! - 0.01) reached[axis]! += 1;
      if (at < box.minM[axis]! + 0.01) reached[axis + 3]! += 1;
    }
  }
  expect(repaired).toBeGreaterThan(500);
  expect(reached.filter((ticks) => ticks > 0).length).toBeGreaterThanOrEqual(4);
});

test("a tool found outside its box may come back in, and goes no further out", () => {
  const maxM = [home[0] - 0.02, 1, 1] as const;
  const robot = robotWith({ workspace: { minM: [-1, -1, -1], maxM } });
  const { follow, limiter } = limiterOf(robot);
  const out = so101.joints.map((joint) => joint.homeRad);
  out[1]! += 0.5; // forward
  for (let tick = 0; tick < 100; tick += 1) {
    follow(out);
    expect(toolOf(robot, limiter.command)[0]).toBeLessThanOrEqual(home[0] + 1e-4);
  }
  const back = so101.joints.map((joint) => joint.homeRad);
  back[1]! -= 0.6;
  for (let tick = 0; tick < 400; tick += 1) follow(back);
  expect([...limiter.command]).toEqual(back);
});

test("walls out of order and a tool that may not move are our own mistake", () => {
  const make = (gate: Partial<RobotProfile["gate"]>) => () => {
    const robot = robotWith(gate);
    return new ToolGuard(robot, new JointLimits(robot));
  };
  const flat = { minM: [0, 0, 0], maxM: [1, 0, 1] } as const;
  expect(make({ workspace: flat })).toThrow("the walls of the workspace are in order");
  expect(make({ toolSpeedMPerSMax: 0 })).toThrow("the tool may move");
});

test("a smooth motion that only the tool is too fast for is slowed, and only then", () => {
  const swing = (tick: number): number => 0.8 * (1 - Math.cos(2.5 * tick * DT));
  for (const isReduced of [false, true]) {
    const { limiter, follow } = limiterOf(so101, isReduced);
    const home = [...limiter.command];
    let last = toolOf(so101, home);
    let [most, bits] = [0, 0];
    for (let tick = 1; tick < 900; tick += 1) {
      bits |= follow(home.map((rad, joint) => (joint === 0 ? rad + swing(tick) : rad)));
      const now = toolOf(so101, limiter.command);
      most = Math.max(most, Math.hypot(...now.map((at, axis) => at - last[axis]!)) / DT);
      last = now;
    }
    if (isReduced) expect(bits & RepairBit.Velocity).not.toBe(0);
    else expect(bits).toBe(0);
    if (isReduced) expect(most).toBeLessThanOrEqual(0.25 + EPSILON);
    else expect(most).toBeGreaterThan(0.3);
  }
});

test("what a wide box and a fast tool allow passes; a step that passes keeps its 8 %", () => {
  const wide = { minM: [-5, -5, -5], maxM: [5, 5, 5] } as const;
  const swing = (tick: number): number => 0.8 * (1 - Math.cos(2.5 * tick * DT));
  for (const [toolSpeedMPerSMax, isLimited] of [
    [5, false],
    [0.25, true],
  ] as const) {
    const { limiter, follow } = limiterOf(robotWith({ toolSpeedMPerSMax, workspace: wide }));
    const start = [...limiter.command];
    let last = toolOf(so101, start);
    let repaired = 0;
    for (let tick = 1; tick < 900; tick += 1) {
      const goal = start.map((rad, joint) => (joint === 0 ? rad + swing(tick) : rad));
      const bits = follow(goal);
      const now = toolOf(so101, limiter.command);
      const speed = Math.hypot(...now.map((at, axis) => at - last[axis]!)) / DT;
      last = now;
      if (bits !== 0) repaired += 1;
      else expect([...limiter.command]).toEqual(goal);
      if (bits === 0) expect(speed).toBeLessThanOrEqual(0.92 * toolSpeedMPerSMax + EPSILON);
    }
    expect(repaired > 0).toBe(isLimited);
  }
});
