// The section `openpi` of a deployment: a good one arrives whole, and a copy that is wrong in one
// way is refused at its line and column with what was expected and found.

import { expect, test } from "bun:test";
import { duration } from "../contracts/units.ts";
import { builtinFiles } from "./builtin.ts";
import { loadDeployment } from "./load.ts";

const SOURCES = new Map(
  ["so101-openpi-velocities", "ur5e-openpi-tool", "so101-openpi-positions"].map((name) => [
    name,
    builtinFiles.get(`profiles/deployments/${name}.yaml`)!,
  ]),
);

/** What a copy is refused with in which `from` was replaced by `to`, once. */
function refusal(name: string, from: string, to: string): string {
  const text = SOURCES.get(name)!;
  expect(text).toContain(from);
  const changed = text.replace(from, () => to);
  try {
    loadDeployment("./copy.yaml", (path) => (path === "./copy.yaml" ? changed : undefined));
    return "nothing";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Where `word` stands in a copy, as an editor counts. */
function placeOf(name: string, from: string, to: string, word: string): string {
  const lines = SOURCES.get(name)!
    .replace(from, () => to)
    .split("\n");
  const line = lines.findIndex((each) => each.includes(word));
  return `./copy.yaml:${line + 1}:${lines[line]!.indexOf(word) + 1}`;
}

test("a section arrives whole, in our units", () => {
  const mapping = loadDeployment("so101-openpi-velocities").openpi!;
  expect(mapping).toMatchObject({
    promptKey: "prompt",
    space: "joint_vel",
    frame: undefined,
    eachRowFrom: undefined,
    horizon: 10,
    executedRowCount: 8,
    dtNs: duration(66_666_667),
  });
  expect(mapping.vectors[1]).toEqual({
    inside: undefined,
    key: "observation/gripper_position",
    values: [{ kind: "joint", joint: "gripper", scaleFactor: -1.919863, offset: 1.74533 }],
  });
  expect(mapping.pictures).toEqual([
    {
      inside: undefined,
      key: "observation/exterior_image_1_left",
      source: "scene",
      order: "hwc",
    },
  ]);
  expect(mapping.columns.slice(-2)).toEqual([
    { to: "wrist_roll", isPosition: false, scaleFactor: 1, offset: 0 },
    { to: "gripper", isPosition: true, scaleFactor: -1.919863, offset: 1.74533 },
  ]);
});

test("a deployment without the section has none", () => {
  expect(loadDeployment("so101-servo").openpi).toBeUndefined();
});

const SPEEDS = "so101-openpi-velocities";
const TOOL = "ur5e-openpi-tool";
const POSITIONS = "so101-openpi-positions";

const wrong: readonly [string, string, string, string, string][] = [
  [SPEEDS, "joint: wrist_roll", "joint: wrist_rol", "wrist_rol ", 'did you mean "wrist_roll"'],
  [SPEEDS, "{ to: wrist_roll }", "{ to: wrist_rol }", "wrist_rol ", 'did you mean "wrist_roll"'],
  [SPEEDS, "{ to: elbow_flex }", "{ to: wrist_flex }", "wrist_flex }\n", "each target once"],
  [
    SPEEDS,
    "      - { to: elbow_flex }\n",
    "",
    "- { to: shoulder_pan }",
    "found none to elbow_flex",
  ],
  [SPEEDS, "executed_rows: 8", "executed_rows: 11", "11", "expected at most horizon (10)"],
  [SPEEDS, "dt_ms: 66.666667", "dt_ms: 2000", "2000", "expected at most 1000"],
  [SPEEDS, "dt_ms: 66.666667", "dt_ms: 66.66666667", "66.66666667", "whole number of nanoseconds"],
  [SPEEDS, "source: scene", "source: wrist", "wrist }", 'expected "scene"'],
  [SPEEDS, "space: joint_vel", "space: joint_speed", "joint_speed", "expected one of joint_pos"],
  [SPEEDS, "space: joint_vel", "space: joint_pos", "position,", "only among joint velocities"],
  [SPEEDS, "space: joint_vel", "space: joint_delta", "space:", "of deltas: state or row_before"],
  [SPEEDS, "scale: -1.919863", "scale: 0", "0, offset", "a number other than 0"],
  [SPEEDS, "as: position", "as: velocity", "velocity", "expected"],
  [SPEEDS, "observation/gripper_position", "prompt", "prompt\n", "each key once"],
  [SPEEDS, "    prompt: prompt", "    promt: prompt", "promt", 'did you mean "prompt"'],
  [TOOL, "    frame: base\n", "", "space:", "of tool deltas: base or tool"],
  [TOOL, "{ to: rz, scale: 0.5 }", "{ to: wrist_3 }", "wrist_3", "expected one of tx, ty"],
  [TOOL, "{ tool: rz }", "{ tool: rw }", "rw", "expected one of x, y, z"],
  [TOOL, "{ tool: rz }", "{ tool: rz, joint: elbow }", "{ tool: rz,", "found joint and tool"],
  [TOOL, "{ tool: rz }", "{ scale: 2 }", "{ scale: 2 }", "found none of them"],
  [TOOL, "{ tool: rz }", "{ field: cube }", "{ field: cube }", "which value of the field"],
  [POSITIONS, "inside: images", "inside: state", "state, key", "no value of its own"],
  [POSITIONS, "order: chw", "order: cwh", "cwh", "expected one of hwc, chw"],
  [POSITIONS, "horizon: 50", "horizon: 0", "0\n", "expected at least 1"],
];

test.each(wrong)("%s: %s becomes %s", (name, from, to, word, expected) => {
  const message = refusal(name, from, to);
  expect(message).toContain(expected);
  expect(message.split("\n")).toHaveLength(1);
  const whole = word.endsWith("\n") ? word.trimEnd() : word;
  const [, line, column] = /^\.\/copy\.yaml:(\d+):(\d+): openpi\./.exec(message) ?? [];
  expect([line, column]).not.toContain(undefined);
  const text = SOURCES.get(name)!
    .replace(from, () => to)
    .split("\n");
  const found = text[Number(line) - 1]!.slice(Number(column) - 1);
  if (!found.startsWith(whole)) {
    // A missing key has no place of its own: the map that lacks it has.
    expect(placeOf(name, from, to, word)).toBe(`./copy.yaml:${line}:${column}`);
  }
});

test("a robot without a camera has no pictures to send", () => {
  const text = SOURCES.get(SPEEDS)!.replace("robot: so101", "robot: ./blind.yaml");
  const blind = builtinFiles.get("profiles/so101.yaml")!.replace(/^ {2}camera: .*\n/m, "");
  const model = builtinFiles.get("profiles/models/so101.xml")!;
  const files = new Map([
    ["./copy.yaml", text],
    ["blind.yaml", blind],
    ["models/so101.xml", model],
  ]);
  expect(() => loadDeployment("./copy.yaml", (path) => files.get(path))).toThrow(
    "openpi.observation.pictures[0].source: expected a robot with a camera",
  );
});
