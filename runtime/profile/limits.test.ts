// That the schemas ask for what the program can take: each bound is read from the schema and given
// to the code that has to live with it, which must take the bound and refuse what lies beyond.

import { expect, test } from "bun:test";
import { compileModel } from "../../hal/mujoco/compile-model.ts";
import type { WorldOptions } from "../../hal/mujoco/compile-model.ts";
import type { Mujoco } from "../../hal/mujoco/engine.ts";
import { MujocoModelError } from "../../hal/mujoco/model-error.ts";
import { JointLimits } from "../../safety/limits.ts";
import { DT_NS_MAX, HORIZON_MAX, jointSchema, WIDTH_MAX } from "../contracts/action.ts";
import { jerkRadPerS3Min } from "../contracts/stop-ramp.ts";
import { duration, milliseconds, NS_PER_MS } from "../contracts/units.ts";
import { ActionAdapter } from "../policy/adapter.ts";
import { ChunkWriter } from "../policy/context.ts";
import { loadRobot, loadTask } from "./load.ts";
import { schemas } from "./schema-check.ts";

const { properties, $defs } = schemas.robot;
const preset = $defs.actuators.properties;
const object = schemas.task.$defs.object.properties;
const robot = loadRobot("so101");
const [cube] = loadTask("pick_place").objects;

const good: WorldOptions = {
  ...robot.sim!,
  jointNames: ["one"],
  actuators: { name: "a", stiffnessNmPerRad: [1], dampingNmSPerRad: [1] },
  effortNmMax: [1],
  objects: [],
};

/** Whether the simulation takes the numbers, judged before the engine is asked for anything. */
function isTaken(change: Partial<WorldOptions>): boolean {
  try {
    compileModel({} as Mujoco, { ...good, ...change });
  } catch (error) {
    if (error instanceof MujocoModelError) return error.code !== "parameter";
    throw error;
  }
  return true;
}

type Bounds = { readonly minimum?: number; readonly maximum: number };
const bounds: readonly [string, Bounds, (value: number) => Partial<WorldOptions>][] = [
  [
    "physics_step_ms",
    properties.sim.properties.physics_step_ms,
    (value) => ({ physicsStepNs: milliseconds(value) }),
  ],
  ["payload_kg", $defs.mass, (value) => ({ payloadKg: value })],
  ["payload_kg of a deployment", schemas.deployment.$defs.mass, (value) => ({ payloadKg: value })],
  [
    "stiffness_nm_per_rad",
    preset.stiffness_nm_per_rad.items,
    (value) => ({ actuators: { ...good.actuators, stiffnessNmPerRad: [value] } }),
  ],
  [
    "damping_nm_s_per_rad",
    preset.damping_nm_s_per_rad.items,
    (value) => ({ actuators: { ...good.actuators, dampingNmSPerRad: [value] } }),
  ],
  ["effort_nm_max", $defs.joint.properties.effort_nm_max, (value) => ({ effortNmMax: [value] })],
  ["mass_kg", object.mass_kg, (value) => ({ objects: [{ ...cube!, massKg: value }] })],
  [
    "half_extents_m",
    schemas.task.$defs.extents.items,
    (value) => ({ objects: [{ ...cube!, halfExtentsM: [value, value, value] }] }),
  ],
];

test.each(bounds)("the simulation takes %s to its bounds and no further", (_name, at, change) => {
  const { minimum, maximum } = at;
  expect([isTaken(change(maximum)), isTaken(change(maximum * 1.000_1))]).toEqual([true, false]);
  if (minimum === undefined) return;
  const below = minimum === 0 ? -1e-9 : minimum * 0.999_9;
  expect([isTaken(change(minimum)), isTaken(change(below))]).toEqual([true, false]);
});

test.each([200, 62.5, 1])("the gate takes the lowest jerk that a file may have at %d Hz", (hz) => {
  const periodNs = duration(1e9 / hz);
  const joint = { ...robot.joints[0]!, velocityRadPerSMax: 3.3 };
  const isTakenWith = (jerkRadPerS3: number): boolean => {
    const motion = { ...joint.motion, jerkRadPerS3 };
    const joints = [{ ...joint, motion, stop: { ...joint.stop, jerkRadPerS3: 1e6 } }];
    try {
      return new JointLimits({ ...robot, controlHz: hz, periodNs, joints }).jointCount === 1;
    } catch {
      return false;
    }
  };
  const min = jerkRadPerS3Min(joint, 1 / hz);
  expect([isTakenWith(min), isTakenWith(min * (1 - 1e-12))]).toEqual([true, false]);
});

test("a chunk has room for the longest horizon and no more", () => {
  const horizon = properties.policy.properties.horizon.maximum;
  const schema = jointSchema("joint_pos", ["one"]);
  const make = (rows: number) => new ChunkWriter(schema, { horizon: rows, dtNs: duration(1) });
  expect([make(horizon).horizon, horizon]).toEqual([HORIZON_MAX, HORIZON_MAX]);
  expect(() => make(horizon + 1)).toThrow();
});

test("a row has room for the most joints and no more", () => {
  const count = properties.joints.maxItems;
  const make = (joints: number) => {
    const names = Array.from({ length: joints }, (_, index) => `joint-${index}`);
    const many = names.map((name) => ({ ...robot.joints[0]!, name }));
    return new ActionAdapter(jointSchema("joint_pos", names), { ...robot, joints: many });
  };
  expect(make(count).inputFingerprint).toBeGreaterThan(0);
  expect(count).toBe(WIDTH_MAX);
  expect(() => make(count + 1)).toThrow(`at most ${WIDTH_MAX} columns`);
  const lists = [preset.stiffness_nm_per_rad, preset.damping_nm_s_per_rad];
  const listed = $defs.source.properties.joints;
  expect([...lists, listed].map((list) => list.maxItems)).toEqual([count, count, count]);
});

test("rows may be as far apart as the buffer allows", () => {
  expect(properties.policy.properties.dt_ms).toEqual({ $ref: "#/$defs/second" });
  expect($defs.second.maximum * NS_PER_MS).toBe(DT_NS_MAX);
});
