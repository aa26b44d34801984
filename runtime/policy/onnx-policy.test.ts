// A model from an ONNX file as a policy: what it is given and what becomes of its answers, against
// values worked out here, with a real model in the real engine; and all that does not fit, each
// with its place in the YAML.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChunkView } from "../contracts/action.ts";
import { OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { openOnnx } from "../workers/onnx-file.ts";
import { policyContext } from "./context.ts";
import { testContext, testState } from "./fixture.ts";
import { onnxModel, onnxTypes } from "./onnx-author.ts";
import type { AuthoredModel } from "./onnx-author.ts";

const folder = mkdtempSync(join(tmpdir(), "hf-onnx-"));
afterAll(() => rmSync(folder, { recursive: true }));

const robot = loadRobot("so101");
const names = robot.joints.map(({ name }) => name);
/** The order of the model is not that of the robot. */
const theirs = names.toReversed();
const context = testContext(robot, loadTask("pick_place"));
const round = Math.fround;

const HORIZON = 3;
const offsets = Array.from({ length: HORIZON * 6 }, (_, index) => round(0.01 * index));

/** actions = joints + offset. */
const NUDGE: AuthoredModel = {
  nodes: [{ op: "Add", inputs: ["joints", "offset"], output: "actions" }],
  constants: { offset: { shape: [1, HORIZON, 6], rows: offsets } },
  inputs: [{ name: "joints", shape: ["batch", 6] }],
  outputs: [{ name: "actions", shape: ["batch", HORIZON, 6] }],
};

const YAML = `kind: policy
schema_version: 1
name: nudge
description: Holds the pose and adds what it learned.
joints: [${theirs.join(", ")}]
inputs:
  - name: joints
    shape: [1, 6]
    from: [position_rad]
output:
  name: actions
  shape: [1, ${HORIZON}, 6]
  space: joint_pos
  dt_ms: 40
`;

let count = 0;
async function written(model: AuthoredModel | string, yaml: string): Promise<string> {
  count += 1;
  const path = join(folder, `model-${count}.onnx`);
  await Bun.write(path, typeof model === "string" ? model : onnxModel(model));
  await Bun.write(path.replace(".onnx", ".yaml"), yaml);
  return path;
}

const positions = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
function stateOf(own = context) {
  const state = testState(own.layout, positions, 1e9);
  state.command.set(positions.map((each) => each + 1));
  for (const field of state.fields) field.values.set([7, 8, 9].slice(0, field.values.length));
  return state;
}

async function decide(model: AuthoredModel, yaml: string, state = stateOf(), own = context) {
  const policy = await openOnnx(await written(model, yaml), own);
  policy.reset(5, new SequenceAllocator(5));
  return { policy, chunk: await policy.act(state, instant(1e9)) };
}

test("each joint finds its value by name, there and back, with the model's own plan", async () => {
  const { policy, chunk } = await decide(NUDGE, YAML);
  expect([policy.name, policy.schema]).toEqual(["nudge", context.jointPositions]);
  expect(policy.plan).toEqual({ horizon: HORIZON, dtNs: 40_000_000 as never });
  expect(chunk).toBeInstanceOf(ChunkView);
  const { epoch, seq, horizon, width, dtNs, stateStampNs, values } = chunk!;
  expect([epoch, seq, horizon, width, dtNs, stateStampNs]).toEqual([5, 1, HORIZON, 6, 4e7, 1e9]);
  for (let row = 0; row < HORIZON; row += 1) {
    const expected = positions.map((position, joint) => {
      const column = 5 - joint; // theirs is ours backwards
      return round(round(position) + offsets[row * 6 + column]!);
    });
    expect([...values.subarray(row * 6, row * 6 + 6)]).toEqual(expected);
  }
});

/** actions = the first six of all that the model is given. */
const ECHO: AuthoredModel = {
  nodes: [{ op: "Concat", inputs: ["a", "b"], output: "actions", attributes: { axis: 1 } }],
  inputs: [
    { name: "a", shape: [1, 2, 6] },
    { name: "b", shape: [1, 1, 6] },
  ],
  outputs: [{ name: "actions", shape: [1, 3, 6] }],
};
const ECHO_YAML = `kind: policy
schema_version: 1
name: echo
description: Gives back what it is given.
joints: [${names.join(", ")}]
inputs:
  - name: a
    shape: [1, 2, 6]
    from: [command_rad, position_rad]
    mean: [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    std: [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
  - name: b
    shape: [1, 1, 6]
    from: [velocity_rad_per_s]
output:
  name: actions
  shape: [1, 3, 6]
  space: joint_pos
  dt_ms: 50
  mean: [0, 0, 0, 0, 0, 10]
  std: [1, 1, 1, 1, 1, 4]
`;

test("parts follow each other, with mean and std on both sides", async () => {
  const state = stateOf();
  state.record[11] = 1; // StateSlot.hasVelocity
  state.velocityRadPerS.set([1, 2, 3, 4, 5, 6]);
  const { chunk } = await decide(ECHO, ECHO_YAML, state);
  const rows = [0, 1, 2].map((row) => [...chunk!.values.subarray(row * 6, row * 6 + 6)]);
  const scaled = (row: number[]) => row.map((v, i) => (i === 5 ? round(v) * 4 + 10 : round(v)));
  expect(rows).toEqual([
    scaled(positions.map((each) => (each + 1 - 1) / 2)),
    scaled(positions),
    scaled([1, 2, 3, 4, 5, 6]),
  ]);
});

test("without a measured velocity that it wants it decides nothing", async () => {
  expect((await decide(ECHO, ECHO_YAML)).chunk).toBeNull();
});

/** actions = the field, once as a row. */
const FIELD: AuthoredModel = {
  nodes: [{ op: "Identity", inputs: ["pose"], output: "actions" }],
  inputs: [{ name: "pose", shape: [1, 7] }],
  outputs: [{ name: "actions", shape: [1, 7] }],
};
const TOOL_YAML = `kind: policy
schema_version: 1
name: tool
description: Tool deltas from the pose of the cube.
joints: [${names.join(", ")}]
inputs:
  - name: pose
    shape: [1, 7]
    from: [field:cube_pose]
output:
  name: actions
  shape: [1, 7]
  space: ee_pose_delta
  frame: tool
  dt_ms: 50
`;

test("a field goes in, tool deltas and the gripper come out", async () => {
  const { policy, chunk } = await decide(FIELD, TOOL_YAML);
  expect(policy.schema.columns).toEqual(["tx", "ty", "tz", "rx", "ry", "rz", "gripper"]);
  expect(policy.schema.frame).toBe("tool");
  expect([...chunk!.values.subarray(0, 7)]).toEqual([7, 8, 9, 0, 0, 0, 1]);
  const state = stateOf();
  state.field("cube_pose")!.clear();
  expect((await decide(FIELD, TOOL_YAML, state)).chunk).toBeNull();
});

/** actions = the largest value of each colour, twice. */
function picture(order: "chw" | "hwc"): AuthoredModel {
  const axes = order === "chw" ? [2, 3] : [1, 2];
  const shape = order === "chw" ? [1, 3, 224, 224] : [1, 224, 224, 3];
  const attributes = { axes, keepdims: 0 };
  return {
    nodes: [
      { op: "ReduceMax", inputs: ["image"], output: "colours", attributes },
      {
        op: "Concat",
        inputs: ["colours", "colours"],
        output: "actions",
        attributes: { axis: 1 },
      },
    ],
    inputs: [{ name: "image", shape }],
    outputs: [{ name: "actions", shape: [1, 6] }],
  };
}
const pictureYaml = (shape: string, pixels: string): string => `kind: policy
schema_version: 1
name: look
description: Means of colours.
joints: [${names.join(", ")}]
inputs:
  - name: image
    shape: ${shape}
    from: [image:scene]
    pixels: ${pixels}
    mean: [0.5, 0, 0]
    std: [0.25, 1, 1]
output:
  name: actions
  shape: [1, 6]
  space: joint_delta
  dt_ms: 50
`;

const see = { ...loadTask("none"), requires: ["scene"] };
const scene = { id: "scene", kind: "image", frame: "base", periodNs: 1, validityNs: 1 } as const;

/** Red 51, green 102, blue 255 everywhere. */
const pixels = Uint8Array.from({ length: OBS_SIZE_BYTES }, (_, at) => [51, 102, 255][at % 3]!);

test.each([
  ["chw", "[1, 3, 224, 224]", "x/127.5-1", (byte: number) => byte / 127.5 - 1],
  ["hwc", "[1, 224, 224, 3]", "x/255", (byte: number) => byte / 255],
] as const)(
  "a picture as %s %s is scaled by %s, each colour by its own",
  async (order, shape, rule, scaled) => {
    const layout = testContext(robot, { ...see, sources: [scene as never] }).layout;
    const own = policyContext(robot, see, layout, { transformed: () => pixels });
    const state = testState(layout, positions, 1e9);
    const { chunk } = await decide(picture(order), pictureYaml(shape, rule), state, own);
    const [red, green, blue] = [51, 102, 255].map(scaled);
    const colours = [round((red! - 0.5) / 0.25), round(green!), round(blue!)];
    expect([...chunk!.values.subarray(0, 6)]).toEqual([...colours, ...colours]);
  },
);

test("JPEG is accepted by a model that says so, and by one that sees nothing", async () => {
  const layout = testContext(robot, { ...see, sources: [scene as never] }).layout;
  const own = policyContext(robot, see, layout, { transformed: () => null });
  const yaml = pictureYaml("[1, 3, 224, 224]", "x/255");
  const accepts = async (model: AuthoredModel, text: string) =>
    (await openOnnx(await written(model, text), own)).acceptsJpeg;
  expect(await accepts(picture("chw"), yaml)).toBe(false);
  expect(await accepts(picture("chw"), `${yaml}accepts_jpeg: true\n`)).toBe(true);
  expect(await accepts(NUDGE, YAML)).toBe(true);
});

test("while a picture is overwritten it decides nothing", async () => {
  const layout = testContext(robot, { ...see, sources: [scene as never] }).layout;
  const own = policyContext(robot, see, layout, { transformed: () => null });
  const yaml = pictureYaml("[1, 3, 224, 224]", "x/255");
  const { chunk } = await decide(picture("chw"), yaml, testState(layout, positions, 1e9), own);
  expect(chunk).toBeNull();
});

test("what is not finite goes on, to be refused where every chunk is", async () => {
  const bad = {
    ...NUDGE,
    constants: { offset: { shape: [1, 3, 6], rows: [Number.NaN, ...offsets.slice(1)] } },
  };
  const { chunk } = await decide(bad, YAML);
  expect(chunk!.values[5]).toBeNaN();
});

test("two acts at once answer each for itself", async () => {
  const policy = await openOnnx(await written(NUDGE, YAML), context);
  policy.reset(1, new SequenceAllocator(1));
  const abandoned = policy.act(stateOf(), instant(1e9)) as Promise<ChunkView>;
  policy.reset(2, new SequenceAllocator(2));
  const current = policy.act(stateOf(), instant(1e9)) as Promise<ChunkView>;
  expect([(await abandoned).epoch, (await current).epoch]).toEqual([1, 2]);
});

/** [what, model, yaml, what the refusal says behind the file] */
const refused: readonly [string, AuthoredModel | string, string, string][] = [
  [
    "no such input",
    NUDGE,
    YAML.replace("- name: joints", "- name: joint"),
    ":7:11: inputs[0].name: expected a name of the model: joints, found joint",
  ],
  [
    "another size",
    NUDGE,
    YAML.replace("[1, 6]", "[1, 6, 1]"),
    ":8:12: inputs[0].shape: expected the model's batch x 6, found 1 x 6 x 1",
  ],
  [
    "too few values",
    { ...NUDGE, inputs: [{ name: "joints", shape: ["batch", "any"] }] },
    YAML.replace("[1, 6]", "[1, 5]"),
    ":8:12: inputs[0].shape: expected 6 values of position_rad, found 5 values",
  ],
  [
    "another dtype",
    {
      ...ECHO,
      nodes: [{ op: "Cast", inputs: ["a"], output: "actions", attributes: { to: 1 } }],
      inputs: [{ name: "a", shape: [1, 6], typeCode: onnxTypes.int64 }],
      outputs: [{ name: "actions", shape: [1, 6] }],
    },
    YAML.replace("name: joints", "name: a").replace("[1, 3, 6]", "[1, 6]"),
    ":7:11: inputs[0].name: expected float32 in the model, found int64",
  ],
  [
    "no such output",
    NUDGE,
    YAML.replace("name: actions", "name: action"),
    ":11:9: output.name: expected a name of the model: actions, found action",
  ],
  [
    "another horizon",
    NUDGE,
    YAML.replace("[1, 3, 6]", "[1, 4, 6]"),
    ":12:10: output.shape: expected the model's 1 x 3 x 6, found 1 x 4 x 6",
  ],
  [
    "another width",
    NUDGE,
    YAML.replace("[1, 3, 6]", "[1, 3, 5]"),
    ":12:10: output.shape: expected the model's 1 x 3 x 6, found 1 x 3 x 5",
  ],
  [
    "tool deltas of joint width",
    NUDGE,
    YAML.replace("joint_pos", "ee_pose_delta\n  frame: base"),
    ":12:10: output.shape: expected rows of 7 values, found rows of 6 values",
  ],
  [
    "other joints",
    NUDGE,
    YAML.replace("gripper, ", ""),
    ":5:9: joints: expected the joints of so101: ",
  ],
  [
    "a field that the task has not",
    FIELD,
    TOOL_YAML.replace("cube_pose", "cup_pose"),
    ":9:12: inputs[0].from[0]: expected a field of this task: cube_pose, found field:cup_pose",
  ],
  [
    "a camera that is not there",
    picture("chw"),
    pictureYaml("[1, 3, 224, 224]", "x/255"),
    ":9:12: inputs[0].from[0]: expected the picture of a camera",
  ],
  [
    "an input without an entry",
    ECHO,
    ECHO_YAML.replace(/ {2}- name: b\n.*\n.*\n/, ""),
    ":7:3: inputs: expected an entry for each input of the model, also b, found a",
  ],
];

test.each(refused)(
  "a mapping with %s is refused at its place",
  async (_what, model, yaml, words) => {
    const path = await written(model, yaml);
    const error = await openOnnx(path, context).catch((caught: unknown) => caught);
    const [first] = (error as Error).message.split("\n");
    expect(first).toStartWith(`${path.replace(".onnx", ".yaml")}${words}`);
  },
);

test("all that does not fit is told at once", async () => {
  const yaml = YAML.replace("name: joints", "name: joint").replace("name: actions", "name: action");
  const error = await openOnnx(await written(NUDGE, yaml), context).catch(
    (caught: unknown) => caught,
  );
  expect((error as Error).message.split("\n")).toHaveLength(2);
});

test("what is no model, or answers another size, is refused with the engine's words", async () => {
  const refusal = async (model: AuthoredModel | string, yaml = YAML): Promise<string> => {
    const error = await openOnnx(await written(model, yaml), context).catch(
      (caught: unknown) => caught,
    );
    return (error as Error).message;
  };
  expect(await refusal("not a model")).toContain("expected a model that onnxruntime runs, found ");
  const turned: AuthoredModel = {
    nodes: [{ op: "Transpose", inputs: ["joints"], output: "actions" }],
    inputs: [{ name: "joints", shape: ["a", "b"] }],
    outputs: [{ name: "actions", shape: ["b", "a"] }],
  };
  expect(await refusal(turned, YAML.replace("[1, 3, 6]", "[1, 6]"))).toContain(
    'expected an answer to zeros, found the model\'s output "actions" has another size: ' +
      "expected 1 x 6, found 6 x 1",
  );
});

test("a model without its YAML is refused by the name of that file", async () => {
  const path = join(folder, "alone.onnx");
  await Bun.write(path, onnxModel(NUDGE));
  const error = await openOnnx(path, context).catch((caught: unknown) => caught);
  expect((error as Error).message).toBe(
    `${path.replace(".onnx", ".yaml")}: expected a file, found nothing there`,
  );
});
