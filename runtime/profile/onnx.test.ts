// The YAML beside an ONNX model: a good one arrives whole, and a copy that is wrong in one way is
// refused at its line and column with what was expected and found.

import { expect, test } from "bun:test";
import { duration } from "../contracts/units.ts";
import { loadOnnxMapping, loadProfile } from "./load.ts";

const GOOD = `kind: policy
schema_version: 1
name: look
description: Two inputs and a plan.
joints: [a, b]
inputs:
  - name: state
    shape: [1, 11]
    from: [position_rad, command_rad, field:cube_pose]
    mean: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  - name: image
    shape: [1, 3, 224, 224]
    from: [image:scene]
    pixels: x/127.5-1
    std: [1, 2, 3]
output:
  name: actions
  shape: [1, 16, 2]
  space: joint_pos
  dt_ms: 50
  std: [1, 2]
accepts_jpeg: true
`;

const read = (text: string) => (path: string) => (path === "./m.yaml" ? text : undefined);

test("a mapping arrives whole", () => {
  const mapping = loadOnnxMapping("./m.yaml", read(GOOD));
  const joints = (part: string) => ({ kind: "joints", part });
  expect(mapping as unknown).toEqual({
    name: "look",
    description: "Two inputs and a plan.",
    path: "./m.yaml",
    joints: ["a", "b"],
    acceptsJpeg: true,
    inputs: [
      {
        name: "state",
        shape: [1, 11],
        valueOffset: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        valueFactor: [],
        content: {
          kind: "vector",
          parts: [
            joints("position_rad"),
            joints("command_rad"),
            { kind: "field", field: "cube_pose" },
          ],
        },
      },
      {
        name: "image",
        shape: [1, 3, 224, 224],
        valueOffset: [],
        valueFactor: [1, 2, 3],
        content: { kind: "picture", source: "scene", order: "chw", pixels: "x/127.5-1" },
      },
    ],
    output: {
      name: "actions",
      shape: [1, 16, 2],
      horizon: 16,
      widthCount: 2,
      space: "joint_pos",
      frame: undefined,
      dtNs: duration(50e6),
      valueOffset: [],
      valueFactor: [1, 2],
    },
  });
  expect(loadProfile("./m.yaml", read(GOOD))).toEqual({ kind: "policy", policy: mapping });
});

const mistakes: readonly [from: string, to: string, words: string][] = [
  [
    "kind: policy",
    "kind: polcy",
    '1:7: kind: expected "policy" (did you mean "policy"?), found "polcy"',
  ],
  ["schema_version: 1", "schema_version: 2", "2:17: schema_version: expected 1, found 2"],
  [
    "joints: [a, b]",
    "joints: [a, a]",
    '5:13: joints[1]: expected each joint once, found a second "a"',
  ],
  [
    "name: image",
    "name: state",
    '11:11: inputs[1].name: expected a name of its own, found a second "state"',
  ],
  [
    "from: [position_rad",
    "from: [positon_rad",
    "9:12: inputs[0].from[0]: expected one of position_rad, velocity_rad_per_s, command_rad",
  ],
  [
    "[image:scene]",
    "[image:scene, command_rad]",
    '13:12: inputs[1].from[0]: expected an image alone, or no image, found "image:scene"',
  ],
  [
    "    pixels: x/127.5-1\n",
    "",
    "11:5: inputs[1].pixels: expected this key of an image: x/127.5-1 or x/255, found nothing",
  ],
  ["x/127.5-1", "x/256", "14:13: inputs[1].pixels: expected one of x/127.5-1, x/255"],
  [
    "    mean: [1,",
    "    pixels: x/255\n    mean: [1,",
    '10:13: inputs[0].pixels: expected nothing here: it is of an image, found "x/255"',
  ],
  [
    "[1, 3, 224, 224]",
    "[1, 3, 96, 96]",
    "12:12: inputs[1].shape: expected 1 x 3 x 224 x 224 or 1 x 224 x 224 x 3",
  ],
  [
    ", 10, 11]",
    ", 10]",
    "10:11: inputs[0].mean: expected 11 numbers, one for each value, found 10",
  ],
  [
    "std: [1, 2, 3]",
    "std: [1, 0, 3]",
    "15:14: inputs[1].std[1]: expected a number above 0, found 0",
  ],
  [
    "std: [1, 2]\n",
    "std: [1, 2, 3]\n",
    "21:8: output.std: expected 2 numbers, one for each value, found 3",
  ],
  ["[1, 16, 2]", "[16]", "18:10: output.shape: expected horizon and width last, 1 before them"],
  ["[1, 16, 2]", "[2, 16, 2]", "18:10: output.shape: expected horizon and width last"],
  ["[1, 16, 2]", "[1, 65, 2]", "18:10: output.shape: expected horizon and width last"],
  [
    "joint_pos",
    "ee_pose_delta",
    "17:3: output.frame: expected this key of tool deltas: base or tool, found nothing",
  ],
  [
    "joint_pos",
    "joint_pos\n  frame: base",
    '20:10: output.frame: expected nothing here: it is of tool deltas, found "base"',
  ],
  ["dt_ms: 50", "dt_ms: 1001", "20:10: output.dt_ms: expected at most 1000, found 1001"],
  ["dt_ms: 50", "dt_ms: 0", "20:10: output.dt_ms: expected a number above 0, found 0"],
  [
    "accepts_jpeg: true",
    "accepts_jpeg: often",
    '22:15: accepts_jpeg: expected true or false, found "often"',
  ],
  ["dt_ms: 50", "dt_ms: 0.0000001", "20:10: output.dt_ms: expected a whole number of nanoseconds"],
];

test.each(mistakes)("%s as %s is refused at its place", (from, to, words) => {
  expect(GOOD).toContain(from);
  let message = "nothing";
  try {
    loadOnnxMapping("./m.yaml", read(GOOD.replace(from, () => to)));
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain(`./m.yaml:${words}`);
});

test("a model accepts JPEG only where it says so, and only if it looks at pictures", () => {
  const blind = GOOD.replace(/ {2}- name: image\n(?: {4}.*\n)+/, "");
  const load = (text: string) => loadOnnxMapping("./m.yaml", read(text));
  expect(load(GOOD.replace("accepts_jpeg: true\n", "")).acceptsJpeg).toBe(false);
  expect(load(blind.replace("accepts_jpeg: true\n", "")).acceptsJpeg).toBe(false);
  expect(() => load(blind)).toThrow(
    "./m.yaml:17:15: accepts_jpeg: expected nothing here: no input is an image, found true",
  );
});
