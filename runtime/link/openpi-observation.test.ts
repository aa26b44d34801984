// What an openpi server is shown of a state, read back by another decoder: names, order, units, the
// tool's pose by kinematics, pictures both ways round, and what there is when something is missing.

import { expect, test } from "bun:test";
import { decode } from "@msgpack/msgpack";
import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import type { OpenpiMapping } from "../contracts/openpi.ts";
import type { PictureReader } from "../contracts/policy.ts";
import { StateLayout } from "../contracts/state.ts";
import { Chain } from "../kinematics/chain.ts";
import { testState } from "../policy/fixture.ts";
import { setTurn } from "../policy/turn.ts";
import { loadDeployment, loadTask } from "../profile/load.ts";
import { layoutOf } from "../workers/plan.ts";
import { OpenpiObservation } from "./openpi-observation.ts";

type Sent = { readonly data: Uint8Array; readonly dtype: string; readonly shape: number[] };

const pixels = Uint8Array.from({ length: OBS_SIZE_BYTES }, (_, index) => (index * 7) % 251);
const pictures: PictureReader = { transformed: () => pixels };

function scene(name: string, change: Partial<OpenpiMapping> = {}) {
  const { robot, openpi, task } = loadDeployment(name);
  const seen = loadTask(task);
  const layout = layoutOf({ robot, task: { ...seen, requires: ["scene"] } });
  return { robot, layout, mapping: { ...openpi!, ...change } };
}

function sent(bytes: unknown): Record<string, unknown> {
  const key = (value: unknown): string =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  return decode(bytes as Uint8Array, { mapKeyConverter: key }) as Record<string, unknown>;
}

const floats = (array: unknown): number[] => [
  ...new Float32Array(Uint8Array.from((array as Sent).data).buffer),
];

test("positions in their order and units, the task as prompt, colours as planes", () => {
  const { robot, layout, mapping } = scene("so101-openpi-positions");
  const observation = new OpenpiObservation(mapping, robot, layout, pictures);
  const state = testState(layout, [0.5, -0.25, 0.125, 1, -1, 1.74533], 1e9);
  const message = sent(observation.encode(state));
  expect(Object.keys(message)).toEqual(["state", "images", "prompt"]);
  expect((message["state"] as Sent).shape).toEqual([6]);
  expect(floats(message["state"]).slice(0, 5)).toEqual([0.5, -0.25, 0.125, 1, -1]);
  expect(floats(message["state"])[5]!).toBeCloseTo(1, 6); // open
  expect(message["prompt"]).toBe("Move the tool to the marker and stay there.");
  const { cam_high: camera } = message["images"] as { cam_high: Sent };
  expect([camera.dtype, camera.shape]).toEqual(["|u1", [3, OBS_SIDE_PX, OBS_SIDE_PX]]);
  const [row, column] = [17, 200];
  for (const colour of [0, 1, 2]) {
    const plane = colour * OBS_SIDE_PX * OBS_SIDE_PX;
    const at = row * OBS_SIDE_PX + column;
    expect(camera.data[plane + at]).toBe(pixels[3 * at + colour]!);
  }
});

test("a flat key with a slash, a picture as rows of pixels, a gripper the other way round", () => {
  const { robot, layout, mapping } = scene("so101-openpi-velocities");
  const observation = new OpenpiObservation(mapping, robot, layout, pictures);
  const message = sent(observation.encode(testState(layout, [0, 0, 0, 0, 0, 1.74533], 1e9)));
  expect(Object.keys(message)).toEqual([
    "observation/joint_position",
    "observation/gripper_position",
    "observation/exterior_image_1_left",
    "prompt",
  ]);
  expect(floats(message["observation/gripper_position"])[0]!).toBeCloseTo(0, 6); // open
  const camera = message["observation/exterior_image_1_left"] as Sent;
  expect(camera.shape).toEqual([OBS_SIDE_PX, OBS_SIDE_PX, 3]);
  expect(Buffer.compare(camera.data, pixels)).toBe(0);
});

test("the tool's pose is that of forward kinematics; constants stand for what is not there", () => {
  const { robot, layout, mapping } = scene("ur5e-openpi-tool");
  const observation = new OpenpiObservation(mapping, robot, layout, pictures);
  const joints = [-1.2, -1.4, 1.5, -1.6, -1.5, 0.3];
  const message = sent(observation.encode(testState(layout, joints, 1e9)));
  const [x, y, z, rx, ry, rz, ...fingers] = floats(message["observation/state"]);
  const pose = new Float64Array(7);
  new Chain(robot).forwardInto(pose, Float64Array.from(joints));
  for (const [axis, value] of [x, y, z].entries()) expect(value!).toBeCloseTo(pose[axis]!, 6);
  const turn = new Float64Array(7);
  setTurn(turn, rx!, ry!, rz!);
  const sign = Math.sign(turn[6]! * pose[6]!) || 1;
  for (const slot of [3, 4, 5, 6]) expect(turn[slot]! * sign).toBeCloseTo(pose[slot]!, 5);
  expect(fingers).toEqual([Math.fround(0.04), Math.fround(-0.04)]);
});

test("a value of a field, and nothing at all where the field is absent", () => {
  const vectors: OpenpiMapping["vectors"] = [
    {
      inside: undefined,
      key: "cube",
      values: [{ kind: "field", field: "cube_pose", index: 6, scaleFactor: 0.5, offset: 0 }],
    },
  ];
  const { robot, openpi } = loadDeployment("so101-openpi-positions");
  const task = loadTask("pick_place");
  const layout = layoutOf({ robot, task });
  const mapping = { ...openpi!, vectors, pictures: [], promptKey: undefined };
  const observation = new OpenpiObservation(mapping, robot, layout, undefined);
  const state = testState(layout, [0, 0, 0, 0, 0, 0], 1e9);
  const message = sent(observation.encode(state));
  expect(Object.keys(message)).toEqual(["cube"]);
  expect(floats(message["cube"])).toEqual([2]);
  state.field("cube_pose")!.clear();
  expect(observation.encode(state)).toEqual({
    missing: "a field that the mapping names is absent",
  });
});

test("a picture that was overwritten meanwhile is no observation", () => {
  const { robot, layout, mapping } = scene("ur5e-openpi-tool");
  const gone: PictureReader = { transformed: () => null };
  const observation = new OpenpiObservation(mapping, robot, layout, gone);
  const state = testState(layout, [0, 0, 0, 0, 0, 0], 1e9);
  expect(observation.encode(state)).toEqual({
    missing: "a picture was overwritten before it was sent",
  });
});

test("what the state cannot have is refused when the policy is opened", () => {
  const { robot, layout, mapping } = scene("ur5e-openpi-tool");
  const blind = new StateLayout(robot, robot.sources, "");
  expect(() => new OpenpiObservation(mapping, robot, blind, pictures)).toThrow("expected pictures");
  expect(() => new OpenpiObservation(mapping, robot, layout, undefined)).toThrow("streaming");
  const value = { kind: "field", index: 9, scaleFactor: 1, offset: 0 } as const;
  const asks = (field: string, index: number): OpenpiMapping => ({
    ...mapping,
    vectors: [{ inside: undefined, key: "k", values: [{ ...value, field, index }] }],
  });
  const open = (asked: OpenpiMapping) => () =>
    new OpenpiObservation(asked, robot, layout, pictures);
  expect(open(asks("cube_pose", 0))).toThrow('expected the field "cube_pose", found scene');
  expect(open(asks("scene", 0))).toThrow('expected the field "scene"');
});
