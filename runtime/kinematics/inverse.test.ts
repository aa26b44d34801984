// Tests of inverse kinematics: whatever forward kinematics can reach, inverse kinematics finds;
// what it cannot reach it names and leaves alone; joint limits hold always.

import { expect, test } from "bun:test";
import { WIDTH_MAX } from "../contracts/action.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { FULL_POSE, InverseResult, InverseSolver, POSITION_ONLY } from "./inverse.ts";
import type { InverseOptions } from "./inverse.ts";

const POSE_COUNT = 1_000;
const NO_RESTART: InverseOptions = { ...FULL_POSE, restartCountMax: 0 };

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** Solves for poses drawn in joint space, counts results and measures what was found. */
function roundTrips(robotName: string, options: InverseOptions) {
  const robot = loadRobot(robotName);
  const solver = new InverseSolver(robot);
  const random = seeded(3);
  const results = [0, 0, 0];
  let distanceM = 0;
  let turnRad = 0;
  let outsideCount = 0;
  const found = new Float64Array(7);
  const target = new Float64Array(7);
  for (let trial = 0; trial < POSE_COUNT; trial += 1) {
    const draw = () =>
      Float64Array.from(
        robot.joints,
        (joint) => joint.positionRadMin + random() * (joint.positionRadMax - joint.positionRadMin),
      );
    solver.chain.forwardInto(target, draw());
    const position = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    const result = solver.solveInto(position, target, options);
    results[result] = results[result]! + 1;
    if (result !== InverseResult.Ok) continue;
    solver.chain.forwardInto(found, position);
    distanceM = Math.max(distanceM, Math.hypot(...[0, 1, 2].map((i) => found[i]! - target[i]!)));
    const dot = [3, 4, 5, 6].reduce((sum, i) => sum + found[i]! * target[i]!, 0);
    turnRad = Math.max(turnRad, 2 * Math.acos(Math.min(1, Math.abs(dot))));
    for (const [joint, { positionRadMin, positionRadMax }] of robot.joints.entries()) {
      const at = position[joint]!;
      if (!(at >= positionRadMin && at <= positionRadMax)) outsideCount += 1;
    }
  }
  return { results, distanceM, turnRad, outsideCount };
}

test.each(["ur5e", "so101"])("%s finds every pose that its joints can reach", (name) => {
  const { results, distanceM, turnRad, outsideCount } = roundTrips(name, FULL_POSE);
  expect(results).toEqual([POSE_COUNT, 0, 0]);
  expect(distanceM).toBeLessThanOrEqual(1e-5);
  expect(turnRad).toBeLessThan(1.01e-4);
  expect(outsideCount).toBe(0);
});

test("position alone is found for every reachable point, whatever the orientation", () => {
  const { results, distanceM, outsideCount } = roundTrips("so101", POSITION_ONLY);
  expect({ results, outsideCount }).toEqual({ results: [POSE_COUNT, 0, 0], outsideCount: 0 });
  expect(distanceM).toBeLessThanOrEqual(1e-5);
});

test("from a near start, and with no other allowed, the solution stays near", () => {
  const robot = loadRobot("ur5e");
  const solver = new InverseSolver(robot);
  const position = Float64Array.from(robot.joints, (joint) => joint.homeRad);
  const home = position.slice();
  const target = new Float64Array(7);
  solver.chain.forwardInto(target, position);
  target[0] = target[0]! + 0.01;
  target[2] = target[2]! - 0.01;
  expect(solver.solveInto(position, target, NO_RESTART)).toBe(InverseResult.Ok);
  expect(Math.max(...position.map((at, i) => Math.abs(at - home[i]!)))).toBeLessThan(0.05);
});

test("a point beyond the reach is unreachable and the joints stay as they were", () => {
  for (const name of ["so101", "ur5e"]) {
    const solver = new InverseSolver(loadRobot(name));
    const position = new Float64Array(solver.chain.jointCount).fill(0.1);
    const before = position.slice();
    const target = Float64Array.of(2, 0, 0.2, 0, 0, 0, 1);
    expect(solver.solveInto(position, target, POSITION_ONLY)).toBe(InverseResult.Unreachable);
    expect(position).toEqual(before);
  }
});

test("a point that only a joint beyond its limit could reach is unreachable", () => {
  const robot = loadRobot("so101");
  const solver = new InverseSolver(robot);
  const target = new Float64Array(7);
  solver.chain.forwardInto(target, Float64Array.of(2.6, 0, 0, 0.5, 0, 0));
  const position = new Float64Array(6);
  expect(solver.solveInto(position, target, FULL_POSE)).toBe(InverseResult.Unreachable);
  expect(solver.solveInto(position, target, NO_RESTART)).toBe(InverseResult.Unreachable);
  expect(position).toEqual(new Float64Array(6));
});

test("a stretched arm asked straight inward is singular, and other starts get it out", () => {
  // Two links of 1 m in a plane: at zero neither joint moves the tool along x.
  const [joint] = loadRobot("document-one").joints;
  const shoulder = { ...joint!, name: "shoulder", positionRadMin: -3, positionRadMax: 3 };
  const elbow = { ...shoulder, name: "elbow", parent: "shoulder", originM: [1, 0, 0] as const };
  const solver = new InverseSolver({
    joints: [shoulder, elbow],
    toolParent: "elbow",
    toolM: [1, 0, 0],
    toolWxyz: [1, 0, 0, 0],
  });
  const target = Float64Array.of(1.2, 0, 0, 0, 0, 0, 1);
  const position = new Float64Array(2);
  const stay = { ...POSITION_ONLY, restartCountMax: 0 };
  expect(solver.solveInto(position, target, stay)).toBe(InverseResult.Singular);
  expect(position).toEqual(new Float64Array(2));
  expect(solver.solveInto(position, target, POSITION_ONLY)).toBe(InverseResult.Ok);
  // Law of cosines: 1.2^2 = 2 + 2 cos(elbow).
  expect(Math.abs(position[1]!)).toBeCloseTo(Math.acos(1.2 ** 2 / 2 - 1), 4);
});

test("a weight of zero leaves a turn free and the others exact", () => {
  const robot = loadRobot("so101");
  const solver = new InverseSolver(robot);
  const half = Math.SQRT1_2;
  // Straight down at a place on the table: the tool's x axis along -z of the base.
  const target = Float64Array.of(0.2, 0.05, 0.015, 0, half, 0, half);
  const down: InverseOptions = { ...FULL_POSE, weightRatios: [1, 1, 1, 0, 1, 1] };
  const position = Float64Array.from(robot.joints, (joint) => joint.homeRad);
  expect(solver.solveInto(position, target, down)).toBe(InverseResult.Ok);
  const pose = new Float64Array(7);
  solver.chain.forwardInto(pose, position);
  const [x, y, z, w] = pose.subarray(3) as unknown as [number, number, number, number];
  const approach = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)];
  expect(approach[2]).toBeLessThan(-0.99999);
  expect(Math.hypot(pose[0]! - 0.2, pose[1]! - 0.05, pose[2]! - 0.015)).toBeLessThan(1e-5);
  expect(position[5]).toBe(robot.joints[5]!.homeRad);
});

test("a target that is not a number is refused and changes nothing", () => {
  const solver = new InverseSolver(loadRobot("ur5e"));
  const position = new Float64Array(6).fill(0.2);
  const target = new Float64Array(7).fill(Number.NaN);
  expect(solver.solveInto(position, target, FULL_POSE)).toBe(InverseResult.Unreachable);
  expect(position).toEqual(new Float64Array(6).fill(0.2));
});

test("the same question gets the same bits", () => {
  const answer = () => {
    const robot = loadRobot("ur5e");
    const position = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    const target = Float64Array.of(0.3, 0.3, 0.4, 1, 0, 0, 0);
    new InverseSolver(robot).solveInto(position, target, FULL_POSE);
    return position;
  };
  expect(answer()).toEqual(answer());
});

test("every built-in task lies within reach of its robot", () => {
  for (const name of ["so101", "ur5e"]) {
    const robot = loadRobot(name);
    const solver = new InverseSolver(robot);
    const { goalM } = loadTask(robot.defaultTask);
    const target = Float64Array.of(...goalM, 0, 0, 0, 1);
    const position = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    expect(solver.solveInto(position, target, POSITION_ONLY)).toBe(InverseResult.Ok);
  }
  const { goalM } = loadTask("reach");
  const position = new Float64Array(6);
  const target = Float64Array.of(...goalM, 0, 0, 0, 1);
  const solver = new InverseSolver(loadRobot("so101"));
  expect(solver.solveInto(position, target, POSITION_ONLY)).toBe(InverseResult.Ok);
});

test("the SO-101 grasps straight down everywhere the cube may lie, and over the disc", () => {
  const solver = new InverseSolver(loadRobot("so101"));
  const task = loadTask("pick_place");
  const [{ placement, halfExtentsM }] = task.objects as [(typeof task.objects)[number]];
  const places = [[task.goalM[0], task.goalM[1]]];
  for (const radiusM of [placement.radiusMMin, 0.22, placement.radiusMMax]) {
    for (const azimuthRad of [placement.azimuthRadMin, -0.2, placement.azimuthRadMax]) {
      places.push([radiusM * Math.cos(azimuthRad), radiusM * Math.sin(azimuthRad)]);
    }
  }
  const half = Math.SQRT1_2;
  const down: InverseOptions = { ...FULL_POSE, weightRatios: [1, 1, 1, 0, 1, 1] };
  const results = places.map(([x, y]) => {
    const target = Float64Array.of(x!, y!, halfExtentsM[2], 0, half, 0, half);
    return solver.solveInto(new Float64Array(6), target, down);
  });
  expect(results).toEqual(places.map(() => InverseResult.Ok));
});

test("a robot of as many joints as there may be, one carrying the next, is solved too", () => {
  const robot = loadRobot("ur5e");
  const joints = Array.from({ length: WIDTH_MAX }, (_, index) => ({
    ...robot.joints[index % robot.joints.length]!,
    name: `joint-${index}`,
    ...(index > 0 && { parent: `joint-${index - 1}` }),
  }));
  const toolParent = joints.at(-1)!.name;
  const solver = new InverseSolver({ ...robot, joints, toolParent });
  const position = Float64Array.from(joints, (joint) => joint.homeRad);
  const target = new Float64Array(7);
  solver.chain.forwardInto(target, position);
  expect(solver.solveInto(position, target, FULL_POSE)).toBe(InverseResult.Ok);
});
