// Tests of the picture: ray hits against the physics library's own ray caster, where things appear
// against a projection done here, shadows, and that looking has no influence and no randomness.

import { beforeAll, expect, test } from "bun:test";
import type { TaskObject } from "../../runtime/contracts/profile.ts";
import { duration, radVec } from "../../runtime/contracts/units.ts";
import { CameraRenderer } from "./camera.ts";
import { loadEngine } from "./engine.ts";
import type { Mujoco } from "./engine.ts";
import type { MujocoModelError } from "./model-error.ts";
import { NO_SHAPE, RayGrid } from "./ray-grid.ts";
import { FrameSlot, frameSlotCount, SceneSource, SHAPE_COUNT_MAX } from "./scene.ts";
import type { GoalMarker } from "./scene.ts";
import { MujocoWorld } from "./world.ts";

const models = new URL("../../profiles/models/", import.meta.url);
const so101Xml = await Bun.file(new URL("so101.xml", models)).text();
const ur5eXml = await Bun.file(new URL("ur5e.xml", models)).text();
// One of every shape, turned, at every edge of the picture, one of them behind the camera.
const shapesXml = `<mujoco><worldbody>
  <camera name="scene" pos="0 -2 1" xyaxes="1 0 0 0 0.35 0.94" fovy="50"/>
  <geom type="plane" size="1.5 0.8 0.1" pos="0 0 -0.2" euler="4 3 0"/>
  <geom type="sphere" size="0.2" pos="-0.8 0 0.5"/>
  <geom type="ellipsoid" size="0.3 0.1 0.2" pos="0.1 0.2 0.7" euler="20 30 40"/>
  <geom type="capsule" size="0.1 0.3" pos="0.7 -0.2 0.3" euler="50 10 0"/>
  <geom type="cylinder" size="0.15 0.2" pos="-0.3 -0.4 0.2" euler="35 0 15"/>
  <geom type="box" size="0.1 0.2 0.15" pos="0.3 -0.5 0.1" euler="10 20 30"/>
  <geom type="box" size="0.3 0.3 0.3" pos="0 -2.2 2"/>
  <body name="tool"/>
</worldbody></mujoco>`;
const cube: TaskObject = {
  name: "cube",
  halfExtentsM: [0.015, 0.015, 0.015],
  massKg: 0.03,
  rgba: [0.1, 0.3, 0.9, 1],
  placement: { radiusMMin: 0.2, radiusMMax: 0.2, azimuthRadMin: 0, azimuthRadMax: 0 },
};
const jointNames: Readonly<Record<string, readonly string[]>> = {
  so101: ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"],
  ur5e: ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"],
  shapes: [],
};

let engine: Mujoco;
beforeAll(async () => {
  engine = await loadEngine();
});

function build(robot: string, modelXml: string): MujocoWorld {
  const names = jointNames[robot]!;
  const world = new MujocoWorld(engine, {
    modelXml,
    modelPath: `${robot}.xml`,
    jointNames: names,
    actuators: {
      name: "test",
      stiffnessNmPerRad: names.map(() => 100),
      dampingNmSPerRad: names.map(() => 1),
    },
    effortNmMax: names.map(() => 3),
    physicsStepNs: duration(2_500_000),
    payloadKg: 0,
    objects: [cube],
  });
  const angles = names.map((_, joint) => 0.3 * Math.sin(joint + 1));
  world.reset(radVec(Float64Array.from(angles)), Float64Array.of(0.2, 0.1, 0.015, 0, 0, 0, 1));
  return world;
}

function picture(world: MujocoWorld, side: 1 | 2, goal?: GoalMarker): Uint8Array {
  const source = new SceneSource(world, "scene", goal);
  const frame = new Float64Array(frameSlotCount(source.scene));
  source.frameInto(frame);
  const rgb = new Uint8Array(64 * 48 * 3);
  const size = { widthPx: 64, heightPx: 48, raysPerPixelSide: side };
  new CameraRenderer(source.scene, size).renderInto(rgb, frame);
  return rgb;
}

test.each([
  ["so101", so101Xml],
  ["ur5e", ur5eXml],
  ["shapes", shapesXml],
])("%s: rays hit what the physics library's rays hit, as far away", (robot, modelXml) => {
  const world = build(robot, modelXml);
  const source = new SceneSource(world, "scene", undefined);
  const frame = new Float64Array(frameSlotCount(source.scene));
  source.frameInto(frame);
  const width = 120;
  const height = 90;
  const grid = new RayGrid(width, height, false);
  const pitch = (2 * source.scene.lensRatio) / height;
  const ray = new Float64Array(3 * width * height);
  for (let axis = 0; axis < 3; axis += 1) {
    const [right, up, back] = [0, 1, 2].map((k) => frame[FrameSlot.cameraMatrix + 3 * axis + k]!);
    grid.rays[axis] = frame[FrameSlot.cameraPosition + axis]!;
    grid.rays[9 + axis] = -back! + (up! * (height - 1) - right! * (width - 1)) * (pitch / 2);
    grid.rays[12 + axis] = right! * pitch;
    grid.rays[15 + axis] = -up! * pitch;
    for (let cell = 0; cell < width * height; cell += 1) {
      const column = cell % width;
      const row = (cell - column) / width;
      const step = grid.rays[9 + axis]! + column * right! * pitch - row * up! * pitch;
      ray[3 * cell + axis] = step;
    }
  }
  grid.cast(source.scene, frame);
  // One at a time: the library's many-ray call skips some thin boxes that its single ray hits.
  const geom = new engine.IntBuffer(1);
  const normal = new engine.DoubleBuffer(3);
  const origin = [...grid.rays.slice(0, 3)];
  const groups = [1, 1, 1, 0, 0, 0];
  const expected = new Float64Array(width * height);
  for (let cell = 0; cell < width * height; cell += 1) {
    const direction = [...ray.slice(3 * cell, 3 * cell + 3)];
    expected[cell] = engine.mj_ray(
      world.compiled.model,
      world.data,
      origin,
      direction,
      groups,
      true,
      -1,
      geom,
      normal,
    );
  }
  let wrongCount = 0;
  let hitCount = 0;
  for (let cell = 0; cell < width * height; cell += 1) {
    const isHit = grid.shape[cell] !== NO_SHAPE;
    if (isHit) hitCount += 1;
    if (isHit !== expected[cell]! >= 0) wrongCount += 1;
    else if (isHit && Math.abs(grid.depth[cell]! - expected[cell]!) > 1e-6) wrongCount += 1;
  }
  geom.delete();
  normal.delete();
  world.delete();
  expect([wrongCount, hitCount > 2_000]).toEqual([0, true]);
});

test("the cube appears where a pinhole projects it, in its own colour", () => {
  const world = build("so101", so101Xml);
  world.placeObject(0, Float64Array.of(0.2, -0.2, 0.015, 0, 0, 0, 1), 0);
  const source = new SceneSource(world, "scene", undefined);
  const frame = new Float64Array(frameSlotCount(source.scene));
  source.frameInto(frame);
  const away = [0.2, -0.2, 0.03].map((x, axis) => x - frame[FrameSlot.cameraPosition + axis]!);
  const [right, up, back] = [0, 1, 2].map((k) =>
    away.reduce((sum, x, axis) => sum + x * frame[FrameSlot.cameraMatrix + 3 * axis + k]!, 0),
  ) as [number, number, number];
  const scale = 24 / source.scene.lensRatio;
  const column = Math.floor(32 + (scale * right) / -back);
  const row = Math.floor(24 - (scale * up) / -back);
  const rgb = picture(world, 1);
  const [red, green, blue] = rgb.slice(3 * (64 * row + column), 3 * (64 * row + column) + 3);
  world.delete();
  expect(blue! > 1.5 * green! && green! > red!).toBe(true);
});

test("equal frames give equal pictures, and looking changes nothing in the world", () => {
  const world = build("so101", so101Xml);
  const before = world.snapshot();
  const first = picture(world, 2);
  const second = picture(world, 2);
  expect(second).toEqual(first);
  expect(world.snapshot()).toEqual(before);
  for (let tick = 0; tick < 40; tick += 1) world.step(2);
  world.placeObject(0, Float64Array.of(0.1, -0.2, 0.015, 0, 0, 0, 1), 0);
  expect(picture(world, 2)).not.toEqual(first);
  world.delete();
});

test("a floating cube darkens the table under it and brightens nothing", () => {
  const world = build("so101", so101Xml);
  const far = Float64Array.of(3, 3, 0.015, 0, 0, 0, 1);
  const over = Float64Array.of(0.25, -0.05, 0.3, 0, 0, 0, 1);
  world.placeObject(0, far, 0);
  const without = picture(world, 1);
  world.placeObject(0, over, 0);
  const withCube = picture(world, 1);
  world.delete();
  let darker = 0;
  let brighter = 0;
  for (let byte = 0; byte < without.length; byte += 3) {
    const change = withCube[byte]! - without[byte]!;
    const isGrey = withCube[byte + 2]! < withCube[byte]! + 10; // not the cube itself
    if (isGrey && change < -20) darker += 1;
    if (isGrey && change > 20) brighter += 1;
  }
  expect([darker > 3, brighter]).toEqual([true, 0]);
});

test("a goal is seen and is no part of the world", () => {
  const world = build("so101", so101Xml);
  const plain = picture(world, 1);
  const before = world.snapshot();
  const disc = picture(world, 1, { centreM: [0.15, -0.15, 0], radiusM: 0.05 });
  const ball = picture(world, 1, { centreM: [0.25, -0.1, 0.2], radiusM: 0.03 });
  const greener = (rgb: Uint8Array): number => {
    let count = 0;
    for (let byte = 0; byte < rgb.length; byte += 3) {
      if (rgb[byte + 1]! - rgb[byte]! > plain[byte + 1]! - plain[byte]! + 15) count += 1;
    }
    return count;
  };
  expect([greener(plain), greener(disc) > 20, greener(ball) > 10]).toEqual([0, true, true]);
  expect(world.snapshot()).toEqual(before);
  world.delete();
});

test("an unknown camera, a shape of no known kind and a crowd of them are refused by name", () => {
  const world = build("so101", so101Xml);
  const mesh = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>';
  const withMesh = shapesXml
    .replace("<worldbody>", mesh)
    .replace('<body name="tool"/>', '<body name="tool"/><geom type="mesh" mesh="m"/>');
  const meshWorld = build("shapes", withMesh);
  const geom = '<geom type="sphere" size="0.01"/>';
  const crowd = shapesXml.replace("<worldbody>", `<worldbody>${geom.repeat(SHAPE_COUNT_MAX)}`);
  const crowdWorld = build("shapes", crowd);
  const codes = [
    [world, "side"],
    [meshWorld, "scene"],
    [crowdWorld, "scene"],
  ].map(([from, name]) => {
    try {
      return new SceneSource(from as MujocoWorld, name as string, undefined);
    } catch (error) {
      return (error as MujocoModelError).code;
    }
  });
  world.delete();
  meshWorld.delete();
  crowdWorld.delete();
  expect(codes).toEqual(["camera_missing", "shape_kind", "shape_count"]);
});
