// Tests of the grasp solver against forward kinematics: every place and turn of the object that the
// pick_place task may draw can be grasped, its goal be reached, and the ways up be straight.

import { expect, test } from "bun:test";
import { Chain } from "../kinematics/chain.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { GraspSolver } from "./grasp-solver.ts";

const robot = loadRobot("so101");
const task = loadTask("pick_place");
const chain = new Chain(robot);
const solver = new GraspSolver(robot);
const home = () => Float64Array.from(robot.joints, (joint) => joint.homeRad);

/** Place of the tool, and its x and z axes, in the base frame. */
function toolAt(rad: Float64Array) {
  const pose = new Float64Array(7);
  chain.forwardInto(pose, rad);
  const [px = 0, py = 0, pz = 0, x = 0, y = 0, z = 0, w = 0] = pose;
  return {
    place: [px, py, pz],
    out: [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    opening: [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
  };
}
const apart = (from: readonly number[], to: readonly number[]) =>
  Math.hypot(...from.map((value, axis) => value - to[axis]!));
const isInside = (rad: Float64Array) =>
  robot.joints.every(
    (joint, index) => rad[index]! >= joint.positionRadMin && rad[index]! <= joint.positionRadMax,
  );

/** A grid over the ring sector the task draws from, both ends included. */
function* places() {
  const { radiusMMin, radiusMMax, azimuthRadMin, azimuthRadMax } = task.objects[0]!.placement;
  for (let i = 0; i <= 6; i += 1) {
    for (let j = 0; j <= 6; j += 1) {
      const radiusM = radiusMMin + ((radiusMMax - radiusMMin) * i) / 6;
      const azimuthRad = azimuthRadMin + ((azimuthRadMax - azimuthRadMin) * j) / 6;
      yield [radiusM * Math.cos(azimuthRad), radiusM * Math.sin(azimuthRad)] as const;
    }
  }
}

test("every object of the task can be grasped straight down between two of its faces", () => {
  for (const [x, y] of places()) {
    for (let turn = 0; turn < 8; turn += 1) {
      const yawRad = (turn * Math.PI) / 16;
      const point = Float64Array.of(x, y, task.objects[0]!.halfExtentsM[2]);
      // One of the four faces: the jaws need not reach every turn.
      const fits = [0, 1, 2, 3].filter((face) => {
        const rad = home();
        const faceRad = yawRad + (face * Math.PI) / 2;
        if (!solver.reachInto(rad, point, faceRad)) return false;
        const { place, out, opening } = toolAt(rad);
        expect(isInside(rad)).toBe(true);
        expect(apart(place, [...point])).toBeLessThan(6e-4);
        const level = [Math.cos(faceRad), Math.sin(faceRad), 0];
        return apart(out, [0, 0, -1]) < 0.04 && apart(opening, level) < 0.04;
      });
      expect(fits.length).toBeGreaterThan(0);
    }
  }
});

test("from every grasp the way up is straight and 60 mm long", () => {
  const rows = Array.from({ length: 8 }, home);
  for (const [x, y] of places()) {
    const grasp = home();
    const point = Float64Array.of(x, y, 0.015);
    expect(solver.reachInto(grasp, point, undefined)).toBe(true);
    expect(solver.lineUpInto(rows, grasp, 0.06, 8)).toBe(8);
    let before = grasp;
    for (const [index, row] of rows.entries()) {
      expect(apart(toolAt(row).place, [x, y, 0.015 + 0.0075 * (index + 1)])).toBeLessThan(1e-3);
      expect(isInside(row)).toBe(true);
      expect(Math.max(...row.map((rad, joint) => Math.abs(rad - before[joint]!)))).toBeLessThan(
        0.3,
      );
      before = row;
    }
  }
});

test("the goal is within reach, the jaws down, whatever their yaw", () => {
  const [x, y] = task.goalM;
  const rad = home();
  expect(solver.reachInto(rad, Float64Array.of(x, y, 0.018), undefined)).toBe(true);
  expect(apart(toolAt(rad).out, [0, 0, -1])).toBeLessThan(0.04);
});

test("beyond the reach of jaws that point down they lean outward, no more than needed", () => {
  const reach = (radiusM: number) => {
    const rad = home();
    const found = solver.reachInto(rad, Float64Array.of(radiusM, 0, 0.06), undefined);
    return found ? Math.asin(toolAt(rad).out[0]!) : undefined;
  };
  expect(reach(0.2)!).toBeLessThan(0.05);
  const lean = [0.31, 0.33, 0.35].map((radiusM) => reach(radiusM)!);
  expect(lean[0]!).toBeGreaterThan(0.05);
  expect(lean).toEqual(lean.toSorted((a, b) => a - b));
  expect(reach(0.8)).toBeUndefined();
});

test("a lean is in the arm's own plane, whatever the azimuth", () => {
  for (const azimuthRad of [-1, -0.4, 0.6, 1.1]) {
    const rad = home();
    const level = [Math.cos(azimuthRad), Math.sin(azimuthRad), 0];
    const [rootX = 0, rootY = 0] = chain.rootM;
    const point = Float64Array.of(rootX + 0.3 * level[0]!, rootY + 0.3 * level[1]!, 0.06);
    expect(solver.reachInto(rad, point, undefined)).toBe(true);
    const [x = 0, y = 0] = toolAt(rad).out;
    expect(Math.hypot(x, y)).toBeGreaterThan(0.1);
    expect(Math.abs(Math.atan2(y, x) - azimuthRad)).toBeLessThan(0.3);
  }
});

test("what cannot be reached leaves the joints as they were, and a line ends where it must", () => {
  const rad = home();
  expect(solver.reachInto(rad, Float64Array.of(0.9, 0, 0.1), undefined)).toBe(false);
  expect(rad).toEqual(home());
  const rows = Array.from({ length: 8 }, home);
  const reachable = solver.lineUpInto(rows, home(), 2, 8);
  expect(reachable).toBeLessThan(8);
  expect(solver.lineUpInto(rows, home(), 0.05, 0)).toBe(0);
});
