// Tests of compileModel and MujocoWorld on the robots' own models: kinematics against matrices
// multiplied here, determinism, snapshots, faults, power, and everything that must be refused.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TaskObject } from "../../runtime/contracts/profile.ts";
import { commandVec, duration, nmVec, radPerSVec, radVec } from "../../runtime/contracts/units.ts";
import type { WorldOptions } from "./compile-model.ts";
import { loadEngine } from "./engine.ts";
import type { Mujoco } from "./engine.ts";
import { MujocoModelError } from "./model-error.ts";
import { MujocoWorld, POSE_SLOTS, WorldFault } from "./world.ts";

const models = new URL("../../profiles/models/", import.meta.url);
const so101Xml = await Bun.file(new URL("so101.xml", models)).text();
const ur5eXml = await Bun.file(new URL("ur5e.xml", models)).text();

const cube: TaskObject = {
  name: "cube",
  halfExtentsM: [0.015, 0.015, 0.015],
  massKg: 0.03,
  rgba: [0.1, 0.4, 0.9, 1],
  placement: { radiusMMin: 0.2, radiusMMax: 0.2, azimuthRadMin: 0, azimuthRadMax: 0 },
};

function options(xml: string, jointNames: readonly string[], gain: number): WorldOptions {
  return {
    modelXml: xml,
    modelPath: "model.xml",
    jointNames,
    actuators: {
      name: "test",
      stiffnessNmPerRad: jointNames.map(() => gain),
      dampingNmSPerRad: jointNames.map(() => gain / 365),
    },
    effortNmMax: jointNames.map(() => 2.94),
    physicsStepNs: duration(2_500_000),
    payloadKg: 0,
    objects: [cube],
  };
}

const so101Joints = [
  "shoulder_pan",
  "shoulder_lift",
  "elbow_flex",
  "wrist_flex",
  "wrist_roll",
  "gripper",
];
const ur5eJoints = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"];
const so101 = options(so101Xml, so101Joints, 998);
const ur5e = options(ur5eXml, ur5eJoints, 3500);
const onTable = Float64Array.of(0.22, 0.05, 0.015, 0, 0, 0, 1);

let engine: Mujoco;
const worlds: MujocoWorld[] = [];
beforeAll(async () => {
  engine = await loadEngine();
});
afterAll(() => {
  for (const world of worlds) world.delete();
});
function build(from: WorldOptions): MujocoWorld {
  const world = new MujocoWorld(engine, from);
  worlds.push(world);
  return world;
}

/** A small repeatable source of numbers from −1 to 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return (2 * state) / 2_147_483_647 - 1;
  };
}

type Matrix = readonly (readonly number[])[];
const multiply = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) =>
    [0, 1, 2, 3].map((column) => row.reduce((sum, x, k) => sum + x * b[k]![column]!, 0)),
  );

function poseMatrix(at: readonly number[], wxyz: readonly number[]): Matrix {
  const norm = Math.hypot(...wxyz);
  const [w, x, y, z] = wxyz.map((part) => part / norm) as [number, number, number, number];
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), at[0]!],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), at[1]!],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), at[2]!],
    [0, 0, 0, 1],
  ];
}

function turnZ(angle: number): Matrix {
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  return [
    [c, -s, 0, 0],
    [s, c, 0, 0],
    [0, 0, 1, 0],
    [0, 0, 0, 1],
  ];
}

// The published chain of the SO-101, up to the gripper body, then the tool frame in it.
const so101Chain: readonly (readonly [readonly number[], readonly number[]])[] = [
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
    [1, 0, 0, 1],
  ],
  [
    [-0.1349, 0.0052, 0],
    [1, 0, 0, -1],
  ],
  [
    [0, -0.0611, 0.0181],
    [0.0172091, -0.0172091, 0.706897, 0.706897],
  ],
];
const so101Tool = poseMatrix([-0.0079, -0.000218, -0.0981274], [1, 0, 1, 0]);

function so101Forward(angles: readonly number[]): Matrix {
  let pose = turnZ(0);
  for (const [joint, [at, wxyz]] of so101Chain.entries()) {
    pose = multiply(multiply(pose, poseMatrix(at, wxyz)), turnZ(angles[joint]!));
  }
  return multiply(pose, so101Tool);
}

// The manufacturer's Denavit-Hartenberg rows: a, d, alpha.
const ur5eRows: readonly (readonly [number, number, number])[] = [
  [0, 0.1625, Math.PI / 2],
  [-0.425, 0, 0],
  [-0.3922, 0, 0],
  [0, 0.1333, Math.PI / 2],
  [0, 0.0997, -Math.PI / 2],
  [0, 0.0996, 0],
];

function ur5eForward(angles: readonly number[]): Matrix {
  let pose = turnZ(0);
  for (const [joint, [a, d, alpha]] of ur5eRows.entries()) {
    const c = Math.cos(alpha);
    const s = Math.sin(alpha);
    const link: Matrix = [
      [1, 0, 0, a],
      [0, c, -s, 0],
      [0, s, c, d],
      [0, 0, 0, 1],
    ];
    pose = multiply(multiply(pose, turnZ(angles[joint]!)), link);
  }
  return pose;
}

test.each([
  ["so101", so101, so101Forward, 1.6],
  ["ur5e", ur5e, ur5eForward, 3.1],
] as const)(
  "%s: the tool is where the published frames put it, 1000 poses",
  (_, from, forward, reach) => {
    const world = build(from);
    const next = seeded(7);
    const tool = new Float64Array(POSE_SLOTS);
    let worstM = 0;
    let worstTurn = 0;
    for (let pose = 0; pose < 1_000; pose += 1) {
      const angles = from.jointNames.map(() => reach * next());
      world.reset(radVec(Float64Array.from(angles)), onTable);
      world.toolPoseInto(tool);
      const expected = forward(angles);
      const found = poseMatrix([...tool.slice(0, 3)], [tool[6]!, tool[3]!, tool[4]!, tool[5]!]);
      const away = [0, 1, 2].map((row) => found[row]![3]! - expected[row]![3]!);
      worstM = Math.max(worstM, Math.hypot(...away));
      for (let row = 0; row < 3; row += 1) {
        for (let column = 0; column < 3; column += 1) {
          worstTurn = Math.max(worstTurn, Math.abs(found[row]![column]! - expected[row]![column]!));
        }
      }
    }
    expect([worstM < 1e-4, worstTurn < 1e-4]).toEqual([true, true]);
  },
);

function wave(world: MujocoWorld, tick: number): void {
  const target = commandVec(new Float64Array(6));
  for (let joint = 0; joint < 6; joint += 1) target[joint] = 0.5 * Math.sin(tick / 30 + joint);
  world.setCommandRad(target);
  expect(world.step(2)).toBe(WorldFault.None);
}

test("two worlds with equal inputs are equal in every byte after 2,000 steps", () => {
  const first = build(so101);
  const second = build(so101);
  for (const world of [first, second]) {
    world.reset(radVec(new Float64Array(6)), onTable);
    for (let tick = 0; tick < 1_000; tick += 1) wave(world, tick);
  }
  expect(first.snapshot()).toEqual(second.snapshot());
  expect(first.timeNs).toBe(duration(5_000_000_000));
});

test("a restored world goes on as the snapshot's own world did, bit for bit", () => {
  const world = build(so101);
  const other = build(so101);
  world.reset(radVec(new Float64Array(6)), onTable);
  for (let tick = 0; tick < 300; tick += 1) wave(world, tick);
  const taken = world.snapshot();
  for (let tick = 300; tick < 600; tick += 1) wave(world, tick);
  other.setPowered(false);
  other.restore(taken);
  expect([other.snapshot(), other.powered]).toEqual([taken, true]);
  for (let tick = 300; tick < 600; tick += 1) wave(other, tick);
  expect(other.snapshot()).toEqual(world.snapshot());
});

test("looking at poses between steps changes nothing", () => {
  const quiet = build(so101);
  const watched = build(so101);
  const pose = new Float64Array(POSE_SLOTS);
  for (const world of [quiet, watched]) world.reset(radVec(new Float64Array(6)), onTable);
  for (let tick = 0; tick < 200; tick += 1) {
    wave(quiet, tick);
    wave(watched, tick);
    watched.toolPoseInto(pose);
    watched.readObjectInto(pose, 0, 0);
    watched.snapshot();
  }
  expect(watched.snapshot()).toEqual(quiet.snapshot());
});

test("a pose that is not finite is a fault that lasts until a reset", () => {
  const world = build(so101);
  world.reset(radVec(new Float64Array(6)), onTable);
  world.placeObject(0, Float64Array.of(0.2, Number.NaN, 0.1, 0, 0, 0, 1), 0);
  const faults = [world.fault, world.step(2), world.timeNs];
  expect(faults).toEqual([WorldFault.NotFinite, WorldFault.NotFinite, duration(0)]);
  world.reset(radVec(new Float64Array(6)), onTable);
  expect([world.step(2), world.fault]).toEqual([WorldFault.None, WorldFault.None]);
});

test("an integration that blows up is a fault, not a silent reset", () => {
  const world = build({ ...options(so101Xml, so101Joints, 1e6), effortNmMax: Array(6).fill(1e6) });
  world.reset(radVec(new Float64Array(6)), onTable);
  world.setCommandRad(commandVec(Float64Array.of(1, 1, -1, 1, -1, 1)));
  let fault: WorldFault = WorldFault.None;
  for (let tick = 0; tick < 400 && fault === WorldFault.None; tick += 1) fault = world.step(2);
  expect(fault === WorldFault.Unbounded || fault === WorldFault.NotFinite).toBe(true);
});

test.each(["8K", "24K", "32K"])("a model with %s of scratch memory is out of room", (memory) => {
  const modelXml = so101Xml.replace("<default>", `<size memory="${memory}"/><default>`);
  const objects = [0, 1, 2, 3, 4, 5].map((index) => ({ ...cube, name: `cube_${index}` }));
  const world = build({ ...so101, modelXml, objects });
  const poses = objects.flatMap((_, index) => [0.2, 0.05 * index, 0.014, 0, 0, 0, 1]);
  world.reset(radVec(new Float64Array(6)), Float64Array.from(poses));
  expect([world.fault, world.step(2)]).toEqual([WorldFault.OutOfRoom, WorldFault.OutOfRoom]);
});

test("objects that fall into a heap too big for the memory are a fault within 64 steps", () => {
  const modelXml = so101Xml.replace("<default>", '<size memory="32K"/><default>');
  const objects = [0, 1, 2, 3, 4, 5].map((index) => ({ ...cube, name: `cube_${index}` }));
  const world = build({ ...so101, modelXml, objects });
  const poses = objects.flatMap((_, index) => [0.2, 0.05 * index, 0.016, 0, 0, 0, 1]);
  world.reset(radVec(new Float64Array(6)), Float64Array.from(poses));
  const before = world.fault;
  for (let tick = 0; tick < 40; tick += 1) world.step(2);
  expect([before, world.fault]).toEqual([WorldFault.None, WorldFault.OutOfRoom]);
});

test("a command that is not finite is refused and the former one stays", () => {
  const world = build(so101);
  world.reset(radVec(new Float64Array(6)), onTable);
  const before = world.snapshot();
  const bad = commandVec(Float64Array.of(0.5, 0, 0, 0, 0, Number.NaN));
  expect(world.setCommandRad(bad)).toBe(false);
  expect(world.snapshot()).toEqual(before);
});

test("a servo never exerts more than its effort limit, and nothing without power", () => {
  const world = build(so101);
  const position = radVec(new Float64Array(6));
  const velocity = radPerSVec(new Float64Array(6));
  const effort = nmVec(new Float64Array(6));
  world.reset(radVec(Float64Array.of(0, 0.6, -0.6, 0, 0, 0)), onTable);
  world.setCommandRad(commandVec(Float64Array.of(1, 1, -1, 1, 1, 1)));
  let most = 0;
  for (let tick = 0; tick < 100; tick += 1) {
    world.step(2);
    world.readJointsInto(position, velocity, effort);
    most = Math.max(most, ...effort.map(Math.abs));
  }
  expect(most).toBe(2.94);
  world.reset(radVec(Float64Array.of(0, 0.6, -0.6, 0, 0, 0)), onTable);
  world.setPowered(false);
  for (let tick = 0; tick < 200; tick += 1) world.step(2);
  world.readJointsInto(position, velocity, effort);
  expect([...effort]).toEqual([0, 0, 0, 0, 0, 0]);
  expect(position[1]! > 0.7).toBe(true); // the arm has sunk
});

test("gains, effort limit, step and payload are those asked for", () => {
  const droopRad = (payloadKg: number): number => {
    const world = build({ ...options(so101Xml, so101Joints, 35), payloadKg });
    const pose = Float64Array.of(0, 0, 0, 0, 0, 0);
    world.reset(radVec(pose), onTable);
    for (let tick = 0; tick < 600; tick += 1) world.step(2);
    const position = radVec(new Float64Array(6));
    world.readJointsInto(position, radPerSVec(new Float64Array(6)), nmVec(new Float64Array(6)));
    return position[1]!;
  };
  // 0.2 kg at the tool, 0.322 m in front of the shoulder: 0.632 Nm on 35 Nm/rad, friction aside.
  const moreRad = droopRad(0.2) - droopRad(0);
  expect(Math.abs(moreRad - 0.632 / 35) < 0.052 / 35 + 0.0005).toBe(true);
});

test("an object's pose comes back as it was put, quaternion last", () => {
  const world = build(so101);
  const put = Float64Array.of(0.3, -0.1, 0.4, 0.5, -0.5, 0.5, 0.5);
  world.reset(radVec(new Float64Array(6)), onTable);
  world.placeObject(0, put, 0);
  const read = new Float64Array(POSE_SLOTS + 2);
  world.readObjectInto(read, 2, 0);
  expect([...read]).toEqual([0, 0, ...put]);
  for (let tick = 0; tick < 200; tick += 1) world.step(2);
  world.readObjectInto(read, 2, 0);
  expect(Math.abs(read[4]! - 0.015) < 0.001).toBe(true); // fallen flat on the table
});

test("deleted worlds give their memory back", () => {
  const sizeBytes = (): number => {
    const world = new MujocoWorld(engine, so101);
    const { byteLength } = (world.data.qpos as Float64Array).buffer;
    world.delete();
    world.delete();
    return byteLength;
  };
  for (let round = 0; round < 10; round += 1) sizeBytes();
  const before = sizeBytes();
  for (let round = 0; round < 40; round += 1) sizeBytes();
  expect(sizeBytes()).toBe(before);
});

test("views survive growth of the library's memory", () => {
  const world = build(so101);
  world.reset(radVec(Float64Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)), onTable);
  const view: Float64Array = world.data.qpos;
  // Other tests may have made it large already.
  const blocks = [];
  while (view.length > 0 && blocks.length < 32) blocks.push(new engine.DoubleBuffer(8_000_000));
  expect(view.length).toBe(0); // it did grow
  for (const block of blocks) block.delete();
  const position = radVec(new Float64Array(6));
  world.readJointsInto(position, radPerSVec(new Float64Array(6)), nmVec(new Float64Array(6)));
  expect([...position]).toEqual([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
});

const twice = [cube, cube];
const named = (name: string): readonly TaskObject[] => [{ ...cube, name }];
test.each([
  ["no XML", { modelXml: "not a model" }, "model_invalid"],
  ["an unknown element", { modelXml: so101Xml.replace("<inertial", "<inertia") }, "model_invalid"],
  ["a joint the model lacks", { jointNames: [...so101Joints.slice(1), "tail"] }, "joint_missing"],
  [
    "no actuator",
    { modelXml: so101Xml.replace(/<actuator>[\s\S]*<\/actuator>/, "") },
    "actuator_missing",
  ],
  [
    "no effort range",
    { modelXml: so101Xml.replace('forcerange="-2.94 2.94"', "") },
    "actuator_missing",
  ],
  ["no tool", { modelXml: so101Xml.replace('name="tool"', 'name="tip"') }, "body_missing"],
  ["two objects of one name", { objects: twice }, "object_name"],
  ["an object named as a body", { objects: named("gripper") }, "object_name"],
  ["markup as a name", { objects: named('a"/><body name="b') }, "object_name"],
  ["a payload that is NaN", { payloadKg: Number.NaN }, "parameter"],
  ["an infinite mass", { objects: [{ ...cube, massKg: Number.POSITIVE_INFINITY }] }, "parameter"],
  ["a physics step of nothing", { physicsStepNs: duration(0) }, "parameter"],
  ["one gain too few", { actuators: { ...so101.actuators, stiffnessNmPerRad: [1] } }, "parameter"],
] as const)("refused: %s", (_, change, code) => {
  let found: unknown;
  try {
    build({ ...so101, ...change });
  } catch (error) {
    found = error;
  }
  expect(found).toBeInstanceOf(MujocoModelError);
  const { code: foundCode, modelPath } = found as MujocoModelError;
  expect([foundCode, modelPath]).toEqual([code, "model.xml"]);
});
