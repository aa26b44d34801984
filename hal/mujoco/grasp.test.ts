// Grasping by friction alone: joint targets close the SO-101's jaws on a 30 mm cube, lift it 100 mm
// and hold it. Nothing ties cube and jaws together, on either actuator preset, whatever the weight.

import { beforeAll, expect, test } from "bun:test";
import type { TaskObject } from "../../runtime/contracts/profile.ts";
import { commandVec, duration, radVec } from "../../runtime/contracts/units.ts";
import { loadEngine } from "./engine.ts";
import type { Mujoco } from "./engine.ts";
import { MujocoWorld, POSE_SLOTS, WorldFault } from "./world.ts";

const model = new URL("../../profiles/models/so101.xml", import.meta.url);
const modelXml = await Bun.file(model).text();
const jointNames = [
  "shoulder_pan",
  "shoulder_lift",
  "elbow_flex",
  "wrist_flex",
  "wrist_roll",
  "gripper",
];
const OPEN_RAD = 0.8;
const SHUT_RAD = -0.17;
// Tool 75 mm above the cube, around it, and 115 mm higher and 20 mm nearer.
const above = [-0.4, -0.2056, 0.233, 1.4226, 0];
const around = [-0.4, -0.0321, 0.4953, 1.0368, 0];
const lifted = [-0.4, -0.7527, 0.3505, 1.5022, 0];
// The tool's place in the pose `around`, and the direction in which the jaws open.
const CUBE_X_M = 0.2057;
const CUBE_Y_M = 0.0705;
const CUBE_YAW_RAD = 0.3512;

let engine: Mujoco;
beforeAll(async () => {
  engine = await loadEngine();
});

function cubeOf(massKg: number): TaskObject {
  return {
    name: "cube",
    halfExtentsM: [0.015, 0.015, 0.015],
    massKg,
    rgba: [0.1, 0.4, 0.9, 1],
    placement: { radiusMMin: 0.2, radiusMMax: 0.2, azimuthRadMin: 0, azimuthRadMax: 0 },
  };
}

/** Height of the cube's centre after each of: settling, closing, lifting, holding 3 s, opening. */
function pick(stiffness: number, damping: number, massKg: number, aside: number): number[] {
  const world = new MujocoWorld(engine, {
    modelXml,
    modelPath: "so101.xml",
    jointNames,
    actuators: {
      name: "test",
      stiffnessNmPerRad: jointNames.map(() => stiffness),
      dampingNmSPerRad: jointNames.map(() => damping),
    },
    effortNmMax: jointNames.map(() => 2.94),
    physicsStepNs: duration(2_500_000),
    payloadKg: 0,
    objects: [cubeOf(massKg)],
  });
  const cube = new Float64Array(POSE_SLOTS);
  cube[0] = CUBE_X_M + aside * Math.cos(CUBE_YAW_RAD);
  cube[1] = CUBE_Y_M + aside * Math.sin(CUBE_YAW_RAD);
  cube[2] = 0.015;
  cube[5] = Math.sin(CUBE_YAW_RAD / 2);
  cube[6] = Math.cos(CUBE_YAW_RAD / 2);
  let from = [...above, OPEN_RAD];
  world.reset(radVec(Float64Array.from(from)), cube);
  const target = commandVec(new Float64Array(6));
  const move = (to: readonly number[], tickCount: number): number => {
    for (let tick = 1; tick <= tickCount; tick += 1) {
      const u = tick / tickCount;
      const share = u * u * u * (10 - 15 * u + 6 * u * u);
      for (let joint = 0; joint < 6; joint += 1) {
        target[joint] = from[joint]! + (to[joint]! - from[joint]!) * share;
      }
      world.setCommandRad(target);
      expect(world.step(2)).toBe(WorldFault.None);
    }
    from = [...to];
    world.readObjectInto(cube, 0, 0);
    return cube[2]!;
  };
  const settled = move([...around, OPEN_RAD], 200);
  const closed = move([...around, SHUT_RAD], 140);
  const up = move([...lifted, SHUT_RAD], 200);
  const held = move([...lifted, SHUT_RAD], 600);
  const opened = move([...lifted, OPEN_RAD], 200);
  world.delete();
  return [settled, closed, up, held, opened];
}

test.each([
  ["stiff", 998, 2.731, 0.03, 0],
  ["servo", 35, 0.8, 0.03, 0],
  ["stiff", 998, 2.731, 0.05, 0.01],
  ["servo", 35, 0.8, 0.02, 0.01],
  ["servo", 35, 0.8, 0.05, -0.003],
])(
  "%s preset (%d, %d): a cube of %d kg, %d m aside, is lifted and held",
  (_, kp, kv, kg, aside) => {
    const [settled, closed, up, held, opened] = pick(kp, kv, kg, aside) as [
      number,
      number,
      number,
      number,
      number,
    ];
    expect([Math.abs(settled - 0.015) < 5e-4, Math.abs(closed - 0.015) < 1e-3]).toEqual([
      true,
      true,
    ]);
    expect([up - closed > 0.1, Math.abs(held - up) < 1e-3]).toEqual([true, true]);
    expect(opened < 0.03).toBe(true); // nothing but the jaws held it
  },
);
