// Tests of forward kinematics and Jacobian against second implementations made here: the UR5e from
// the manufacturer's Denavit-Hartenberg rows, the SO-101 from its table of body frames, both as
// 4x4 matrices with the engine's own sine. Nothing of the profile's geometry is used in them.

import { expect, test } from "bun:test";
import { loadRobot } from "../profile/load.ts";
import { Chain } from "./chain.ts";

type Matrix = readonly (readonly number[])[];

const multiply = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) => [0, 1, 2, 3].map((c) => row.reduce((sum, x, k) => sum + x * b[k]![c]!, 0)));

/** Classic rows: turn about z, shift along z, shift along x, turn about x. */
function denavitHartenberg(a: number, d: number, alpha: number, theta: number): Matrix {
  const [ct, st, ca, sa] = [Math.cos(theta), Math.sin(theta), Math.cos(alpha), Math.sin(alpha)];
  return [
    [ct, -st * ca, st * sa, a * ct],
    [st, ct * ca, -ct * sa, a * st],
    [0, sa, ca, d],
    [0, 0, 0, 1],
  ];
}

function ur5eFlange(q: readonly number[]): Matrix {
  const half = Math.PI / 2;
  return multiply(
    multiply(
      multiply(denavitHartenberg(0, 0.1625, half, q[0]!), denavitHartenberg(-0.425, 0, 0, q[1]!)),
      multiply(denavitHartenberg(-0.3922, 0, 0, q[2]!), denavitHartenberg(0, 0.1333, half, q[3]!)),
    ),
    multiply(denavitHartenberg(0, 0.0997, -half, q[4]!), denavitHartenberg(0, 0.0996, 0, q[5]!)),
  );
}

/** A body frame from its table row: position, then quaternion w x y z, normalised here. */
function frame(position: readonly number[], wxyz: readonly number[]): Matrix {
  const length = Math.sqrt(wxyz.reduce((sum, part) => sum + part * part, 0));
  const [w, x, y, z] = wxyz.map((part) => part / length) as [number, number, number, number];
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), position[0]!],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), position[1]!],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), position[2]!],
    [0, 0, 0, 1],
  ];
}

const turn = (angle: number): Matrix => denavitHartenberg(0, 0, 0, angle);

// 0.707107 in the table.
const HALF = Math.SQRT1_2;

const so101Rows: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [0.0388353, 0, 0.0624],
    [0, 0, -1, 0],
  ],
  [
    [-0.0303992, -0.0182778, -0.0542],
    [0.5, -0.5, -0.5, -0.5],
  ],
  [
    [-0.11257, -0.028, 0],
    [HALF, 0, 0, HALF],
  ],
  [
    [-0.1349, 0.0052, 0],
    [HALF, 0, 0, -HALF],
  ],
  [
    [0, -0.0611, 0.0181],
    [0.0172091, -0.0172091, 0.706897, 0.706897],
  ],
];

function so101Tool(q: readonly number[]): Matrix {
  let tool = frame([0, 0, 0], [1, 0, 0, 0]);
  for (const [index, [position, wxyz]] of so101Rows.entries()) {
    tool = multiply(multiply(tool, frame(position, wxyz)), turn(q[index]!));
  }
  return multiply(tool, frame([-0.0079, -0.000218, -0.0981274], [HALF, 0, HALF, 0]));
}

/** Random numbers in [0, 1), the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function randomPose(robot: ReturnType<typeof loadRobot>, random: () => number): Float64Array {
  return Float64Array.from(
    robot.joints,
    (joint) => joint.positionRadMin + random() * (joint.positionRadMax - joint.positionRadMin),
  );
}

/** Largest distances over 1,000 random poses: of the tool, m, and of its axes, unitless. */
function worst(robotName: string, oracle: (q: readonly number[]) => Matrix) {
  const robot = loadRobot(robotName);
  const chain = new Chain(robot);
  const pose = new Float64Array(7);
  const random = seeded(7);
  let distanceM = 0;
  let axisError = 0;
  for (let trial = 0; trial < 1_000; trial += 1) {
    const position = randomPose(robot, random);
    chain.forwardInto(pose, position);
    const expected = oracle([...position]);
    const [x, y, z, qx, qy, qz, qw] = [...pose] as [number, ...number[]];
    const found = frame([x, y!, z!], [qw!, qx!, qy!, qz!]);
    distanceM = Math.max(
      distanceM,
      Math.hypot(...[0, 1, 2].map((i) => found[i]![3]! - expected[i]![3]!)),
    );
    for (const i of [0, 1, 2]) {
      for (const j of [0, 1, 2]) {
        axisError = Math.max(axisError, Math.abs(found[i]![j]! - expected[i]![j]!));
      }
    }
  }
  return { distanceM, axisError };
}

test("the UR5e's flange is where the manufacturer's DH rows put it, within a nanometre", () => {
  const { distanceM, axisError } = worst("ur5e", ur5eFlange);
  expect(distanceM).toBeLessThan(1e-9);
  expect(axisError).toBeLessThan(1e-9);
});

// The table has six digits; half a metre away the last one is worth a micrometre.
test("the SO-101's tool is where its table of body frames puts it, within two micrometres", () => {
  const { distanceM, axisError } = worst("so101", so101Tool);
  expect(distanceM).toBeLessThan(2e-6);
  expect(axisError).toBeLessThan(5e-6);
});

test("a pose's quaternion has length one and the robot's other joints do not move the tool", () => {
  const robot = loadRobot("so101");
  const chain = new Chain(robot);
  const open = new Float64Array(7);
  const closed = new Float64Array(7);
  chain.forwardInto(open, Float64Array.of(0.3, -0.5, 0.7, 0.2, -1, 1.5));
  chain.forwardInto(closed, Float64Array.of(0.3, -0.5, 0.7, 0.2, -1, 0));
  expect(open).toEqual(closed);
  expect(Math.hypot(...open.subarray(3))).toBeCloseTo(1, 14);
  expect([...chain.path]).toEqual([0, 1, 2, 3, 4]);
});

test.each(["ur5e", "so101"])(
  "the Jacobian of %s is the slope of its forward kinematics",
  (name) => {
    const robot = loadRobot(name);
    const chain = new Chain(robot);
    const count = robot.joints.length;
    const jacobian = new Float64Array(6 * count);
    const before = new Float64Array(7);
    const after = new Float64Array(7);
    const random = seeded(11);
    const half = 1e-5;
    let largest = 0;
    for (let trial = 0; trial < 100; trial += 1) {
      const position = randomPose(robot, random);
      chain.jacobianInto(jacobian, position);
      for (let joint = 0; joint < count; joint += 1) {
        const at = position[joint]!;
        position[joint] = at - half;
        chain.forwardInto(before, position);
        position[joint] = at + half;
        chain.forwardInto(after, position);
        position[joint] = at;
        const slope = slopeOf(before, after, 2 * half);
        for (let row = 0; row < 6; row += 1) {
          largest = Math.max(largest, Math.abs(slope[row]! - jacobian[row * count + joint]!));
        }
      }
    }
    expect(largest).toBeLessThan(1e-8);
  },
);

/** Linear and angular velocity between two near poses: the vector part of dq * conj(q), doubled. */
function slopeOf(before: Float64Array, after: Float64Array, span: number): number[] {
  const [x, y, z, w] = [3, 4, 5, 6].map((i) => (before[i]! + after[i]!) / 2) as [
    number,
    ...number[],
  ];
  const [dx, dy, dz, dw] = [3, 4, 5, 6].map((i) => (after[i]! - before[i]!) / span) as [
    number,
    ...number[],
  ];
  return [
    ...[0, 1, 2].map((i) => (after[i]! - before[i]!) / span),
    2 * (dx * w! - dw! * x - dy! * z! + dz! * y!),
    2 * (dy! * w! - dw! * y! - dz! * x + dx * z!),
    2 * (dz! * w! - dw! * z! - dx * y! + dy! * x),
  ];
}
