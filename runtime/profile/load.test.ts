// Tests of the profile loader: the built-in profiles give the numbers they are known for, and each
// way to write a bad one is refused with its exact place. Places are found in the test by searching
// the broken text itself.

import { expect, test } from "bun:test";
import { duration } from "../contracts/units.ts";
import { builtinFiles, robotNames, taskNames } from "./builtin.ts";
import { loadDeployment, loadProfile, loadRobot, loadTask } from "./load.ts";
import { ProfileError } from "./problem.ts";
import type { ProfileProblem } from "./problem.ts";

const GOOD = `kind: robot
schema_version: 1
name: two
description: Two joints
control_hz: 200
power_cut: falls
safe_action: hold
default_task: none
joints:
  - name: first
    command: position
    origin_m: [0, 0, 0.1]
    origin_wxyz: [1, 0, 0, 0]
    axis: [0, 0, 1]
    position_rad_min: -1.5
    position_rad_max: 1.25
    velocity_rad_per_s_max: 3
    motion: { acceleration_rad_per_s2: 15, jerk_rad_per_s3: 600 }
    stop: { acceleration_rad_per_s2: 30, jerk_rad_per_s3: 3000 }
    effort_nm_max: 2.9
    lead_ms: 60
    droop_rad: 0.08
    following_error_rad_max: 0.22
    start_mismatch_rad_max: 0.3
    home_rad: 0.5
    rest_rad: -0.5
  - name: second
    parent: first
    command: position
    origin_m: [0.1, 0, 0]
    origin_wxyz: [0.70711, 0.70711, 0, 0]
    axis: [0, 1, 0]
    position_rad_min: -2
    position_rad_max: 2
    velocity_rad_per_s_max: 4
    motion: { acceleration_rad_per_s2: 16, jerk_rad_per_s3: 601 }
    stop: { acceleration_rad_per_s2: 31, jerk_rad_per_s3: 3001 }
    effort_nm_max: 2.8
    lead_ms: 61
    droop_rad: 0.09
    following_error_rad_max: 0.23
    start_mismatch_rad_max: 0.31
    home_rad: 0
    rest_rad: 0
tool: { parent: second, position_m: [0, 0, 0.2], orientation_wxyz: [1, 0, 0, 0] }
gripper: second
sources:
  - id: encoders
    kind: proprio
    period_ms: 5
    validity_ms: 15
    frame: joint
    joints: [first, second]
    measures_velocity: true
    measures_effort: false
gate: { start_mismatch: refuse, following_error_ticks: 20 }
state: { validity_ms: 14, window_ms: 200, quality_ratio_min: 0.5 }
policy: { hz: 20, horizon: 16, dt_ms: 20, anchoring: arrival, interpolation: linear, blend_ms: 0 }
supervisor:
  starts_in: starting
  start_timeout_ms: 10000
  no_action_persist_ms: 500
  stale_state_persist_ms: 201
  relapse_count: 3
  relapse_window_ms: 60000
  late_ms_max: 12
  miss_count_max: 10
  miss_window_ticks: 199
  coast_ticks: 0
sim:
  model: two.xml
  physics_step_ms: 2.5
  payload_kg: 0.01
  default_actuators: soft
  actuators:
    - name: soft
      stiffness_nm_per_rad: [35, 36]
      damping_nm_s_per_rad: [0.8, 0]
  camera: { id: scene, width_px: 224, height_px: 225, period_ms: 50 }
`;
const MODEL =
  '<mujoco><camera name="scene"/><joint range="0 1" name="first"/><joint name="second"/></mujoco>';

/** A disk with one robot file on it. */
function read(text: string, path = "robots/two.yaml", model: string | undefined = MODEL) {
  return (asked: string) =>
    asked === path ? text : asked === "robots/two.xml" ? model : undefined;
}

function problemsOf(load: () => unknown): readonly ProfileProblem[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ProfileError) return error.problems;
    throw error;
  }
  return [];
}

/** Replaces the only occurrence of `from`. */
function edit(text: string, from: string, to: string): string {
  expect(text.split(from).length).toBe(2);
  return text.replace(from, () => to);
}

/** Line and column of the only occurrence of `mark`, counted from one. */
function placeOf(text: string, mark: string): { line: number; column: number } {
  expect(text.split(mark).length).toBe(2);
  const before = text.slice(0, text.indexOf(mark)).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

// from, to, a mark at the place that must be named, field, expected, found
type BadRow = readonly [string, string, string, string, string, string];

const P = "joints[0]";
// biome-ignore format: one bad profile per line
const badRows: readonly BadRow[] = [
  ["kind: robot", "kind: robots", "robots", "kind", 'one of robot, deployment (did you mean "robot"?)', '"robots"'],
  ["schema_version: 1", "schema_version: 2", "2\nname", "schema_version", "1", "2"],
  ["name: two", "name: Two", "Two\n", "name", "a name of lower-case letters, digits, - and _, a letter first", '"Two"'],
  ["name: two", "name: 2", "2\ndesc", "name", "text", "2"],
  ["name: two\n", "", "kind: robot", "name", "this key", "nothing"],
  ["control_hz: 200", "control_hz: .nan", ".nan", "control_hz", "a finite number", ".nan"],
  ["control_hz: 200", "control_hz: -.inf", "-.inf", "control_hz", "a finite number", "-.inf"],
  ["control_hz: 200", "control_hz: 1e999", "1e999", "control_hz", "a finite number", "1e999"],
  ["control_hz: 200", 'control_hz: "200"', '"200"', "control_hz", "a number", '"200"'],
  ["control_hz: 200", "control_hz: 0", "0\npower", "control_hz", "a number above 0", "0"],
  ["control_hz: 200", "control_hz: 300", "300\n", "control_hz", "a rate whose period is whole nanoseconds", "300"],
  ["control_hz: 200", "control_hz: 5000", "5000\n", "control_hz", "at most 1000", "5000"],
  ["control_hz: 200", "control_hz:", "\npower", "control_hz", "a number", "null"],
  ["power_cut: falls", "power_cut: fall", "fall\n", "power_cut", 'one of safe, falls (did you mean "falls"?)', '"fall"'],
  ["safe_action: hold", "safe_action: land", "land", "safe_action", '"hold"', '"land"'],
  ["default_task: none", "default_task: nine", "nine", "default_task", 'one of none, reach, reach_far, pick_place (did you mean "none"?)', '"nine"'],
  ["power_cut: falls", "power_cut: falls\npower_cut: safe", "power_cut: safe", "power_cut", "each key once", 'a second "power_cut"'],
  ["home_rad: 0.5", "home_rad: 0.5\n    home_rad: 0.4", "home_rad: 0.4", `${P}.home_rad`, "each key once", 'a second "home_rad"'],
  ["droop_rad: 0.08", "drop_rad: 0.08", "drop_rad", `${P}.drop_rad`, 'a known key (did you mean "droop_rad"?)', 'the unknown key "drop_rad"'],
  ["gripper: second", "gripper: second\ncolour: red", "colour", "colour", "a known key", 'the unknown key "colour"'],
  ["gripper: second", "__proto__: second", "__proto__", "__proto__", "a known key", 'the unknown key "__proto__"'],
  ["[0, 0, 0.1]", "[0, 0]", "[0, 0]\n", `${P}.origin_m`, "3 entries", "a list of 2"],
  ["[0, 0, 0.1]", "[0, 0, high]", "high", `${P}.origin_m[2]`, "a number", '"high"'],
  ["[0, 0, 0.1]", "{ z: 0.1 }", "{ z", `${P}.origin_m`, "a list", "a mapping"],
  ["axis: [0, 0, 1]", "axis: [0, 0, 2]", "[0, 0, 2]", `${P}.axis`, "a vector of length 1", "length 2"],
  ["axis: [0, 0, 1]", "axis: [0, 0, 0]", "[0, 0, 0]", `${P}.axis`, "a vector of length 1", "length 0"],
  ["[0.70711, 0.70711, 0, 0]", "[0.7, 0.6, 0, 0]", "[0.7, 0.6", "joints[1].origin_wxyz", "a vector of length 1", "length 0.921954"],
  ["position_rad_max: 1.25", "position_rad_max: -1.75", "-1.75", `${P}.position_rad_max`, "more than position_rad_min (-1.5)", "-1.75"],
  ["position_rad_max: 1.25", "position_rad_max: true", "true\n    vel", `${P}.position_rad_max`, "a number", "true"],
  ["velocity_rad_per_s_max: 3", "velocity_rad_per_s_max: -3", "-3\n", `${P}.velocity_rad_per_s_max`, "a number above 0", "-3"],
  ["acceleration_rad_per_s2: 30", "acceleration_rad_per_s2: 14", "14, jerk", `${P}.stop.acceleration_rad_per_s2`, "at least motion.acceleration_rad_per_s2 (15)", "14"],
  ["jerk_rad_per_s3: 3000", "jerk_rad_per_s3: 599", "599", `${P}.stop.jerk_rad_per_s3`, "at least motion.jerk_rad_per_s3 (600)", "599"],
  ["jerk_rad_per_s3: 600 ", "jerk_rad_per_s3: 0 ", "0 }\n    stop: { acceleration_rad_per_s2: 30", `${P}.motion.jerk_rad_per_s3`, "a number above 0", "0"],
  ["effort_nm_max: 2.9", "effort_nm_max: 0", "0\n    lead_ms: 60", `${P}.effort_nm_max`, "a number above 0", "0"],
  ["lead_ms: 60\n", "lead_ms: 4\n", "4\n    droop", `${P}.lead_ms`, "at least one control period (5 ms)", "4"],
  ["lead_ms: 60\n", "lead_ms: 60.0000003\n", "60.0000003", `${P}.lead_ms`, "a whole number of nanoseconds", "60.0000003"],
  ["home_rad: 0.5", "home_rad: 1.3", "1.3\n", `${P}.home_rad`, "-1.5 to 1.25", "1.3"],
  ["rest_rad: -0.5", "rest_rad: -1.6", "-1.6", `${P}.rest_rad`, "-1.5 to 1.25", "-1.6"],
  ["name: second", "name: first", "first\n    parent", "joints[1].name", "a name of its own", 'a second "first"'],
  ["parent: first", "parent: thrid", "thrid", "joints[1].parent", "a joint above", '"thrid"'],
  ["parent: first", "parent: second", "second\n    comm", "joints[1].parent", "a joint above", '"second"'],
  ["name: first", "name: first\n    parent: second", "second\n    command: position\n    origin_m: [0, 0", `${P}.parent`, "no parent for the first joint", '"second"'],
  ["tool: { parent: second", "tool: { parent: secand", "secand", "tool.parent", 'one of first, second (did you mean "second"?)', '"secand"'],
  ["gripper: second", "gripper: jaw", "jaw", "gripper", "one of first, second", '"jaw"'],
  ["joints: [first, second]", "joints: [first]", "- id: enc", "sources", "every joint in a proprio source", "none for second"],
  ["joints: [first, second]", "joints: [first, second, first]", "first]", "sources[0].joints[2]", "each joint read once", '"first", also read by encoders'],
  ["joints: [first, second]", "joints: [first, second, third]", "third]", "sources[0].joints[2]", "one of first, second", '"third"'],
  ["    measures_effort: false\n", "", "id: enc", "sources[0].measures_effort", "this key in a proprio source", "nothing"],
  ["validity_ms: 15", "validity_ms: 4", "4\n    frame", "sources[0].validity_ms", "at least period_ms (5)", "4"],
  ["window_ms: 200", "window_ms: 14", "14, quality", "state.window_ms", "at least validity_ms (15)", "14"],
  ["quality_ratio_min: 0.5", "quality_ratio_min: 50", "50 }\npolicy", "state.quality_ratio_min", "at most 1", "50"],
  ["hz: 20, ", "hz: 400, ", "400", "policy.hz", "at most control_hz (200)", "400"],
  ["horizon: 16", "horizon: 2", "2, dt", "policy.horizon", "horizon times dt_ms of at least one policy period (50 ms)", "40 ms"],
  ["horizon: 16", "horizon: 16.5", "16.5", "policy.horizon", "a whole number", "16.5"],
  ["dt_ms: 20", "dt_ms: 4", "4, anch", "policy.dt_ms", "at least one control period (5 ms)", "4"],
  ["blend_ms: 0", "blend_ms: 400", "400", "policy.blend_ms", "at most a chunk's length (320 ms)", "400"],
  ["miss_window_ticks: 199", "miss_window_ticks: 10", "10\n  coast", "supervisor.miss_window_ticks", "more than supervisor.miss_count_max (10)", "10"],
  ["coast_ticks: 0", "coast_ticks: 5", "5\nsim", "supervisor.coast_ticks", "at most 4", "5"],
  ["model: two.xml", "model: nix.xml", "nix.xml", "sim.model", "a model file", "nothing at robots/nix.xml"],
  ["physics_step_ms: 2.5", "physics_step_ms: 2.4", "2.4", "sim.physics_step_ms", "a divisor of the control period (5 ms)", "2.4"],
  ["payload_kg: 0.01", "payload_kg: -1", "-1\n", "sim.payload_kg", "at least 0", "-1"],
  ["default_actuators: soft", "default_actuators: sift", "sift", "sim.default_actuators", '"soft" (did you mean "soft"?)', '"sift"'],
  ["[35, 36]", "[35]", "[35]", "sim.actuators[0].stiffness_nm_per_rad", "one entry per joint (2)", "a list of 1"],
  ["id: scene", "id: scenery", "scenery", "sim.camera.id", "a camera of the model", '"scenery", which it has not'],
  ["gripper: second", "gripper: &grip second", "second\nsources", "gripper", "no anchor", "one"],
  ["gripper: second", "gripper: !!str second", "second\nsources", "gripper", "no tag", "tag:yaml.org,2002:str"],
  ["gripper: second", "1: second", "1: second", "", "keys that are text", "another key"],
  ["hz: 20, ", "hz: 20, hz: 20, ", "hz: 20, hor", "policy.hz", "each key once", 'a second "hz"'],
  ["gripper: second", "gripper: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "[[1]", "gripper" + "[0]".repeat(16), "at most 16 levels", "a deeper nesting"],
];

test.each(badRows)("refused by name and place: %#", (from, to, mark, field, expected, found) => {
  const text = edit(GOOD, from, to);
  const file = "robots/two.yaml";
  const problem = { file, ...placeOf(text, mark), field, expected, found };
  expect(problemsOf(() => loadRobot(file, read(text)))).toContainEqual(problem);
});

test("the good profile that all bad ones were made from has no problem", () => {
  expect(problemsOf(() => loadRobot("robots/two.yaml", read(GOOD)))).toEqual([]);
  expect(badRows.length).toBeGreaterThanOrEqual(60);
});

test("one mistake is one problem, and the message is a line that an editor can jump to", () => {
  const text = edit(GOOD, "position_rad_max: 1.25", "positon_rad_max: 1.25");
  expect(() => loadRobot("robots/two.yaml", read(text))).toThrow(
    new ProfileError([
      {
        file: "robots/two.yaml",
        line: 16,
        column: 5,
        field: "joints[0].positon_rad_max",
        expected: 'a known key (did you mean "position_rad_max"?)',
        found: 'the unknown key "positon_rad_max"',
      },
    ]),
  );
  expect(() => loadRobot("robots/two.yaml", read(text))).toThrow(
    'robots/two.yaml:16:5: joints[0].positon_rad_max: expected a known key (did you mean ' +
      '"position_rad_max"?), found the unknown key "positon_rad_max"',
  );
});

test("all problems of a file come at once, in the order of the file", () => {
  let text = edit(GOOD, "control_hz: 200", "control_hz: .inf");
  text = edit(text, "axis: [0, 1, 0]", "axis: [0, 3, 0]");
  text = edit(text, "droop_rad: 0.09", "drop_rad: 0.09");
  text = edit(text, "model: two.xml", "model: nix.xml");
  const fields = problemsOf(() => loadRobot("robots/two.yaml", read(text))).map((p) => p.field);
  expect(fields).toEqual(["control_hz", "joints[1].axis", "joints[1].drop_rad", "sim.model"]);
});

test("a model without one of the joints is refused at that joint's name", () => {
  const model = MODEL.replace('<joint name="second"/>', '<!-- <joint name="second"/> -->');
  const load = () => loadRobot("robots/two.yaml", read(GOOD, "robots/two.yaml", model));
  const problem = {
    file: "robots/two.yaml",
    ...placeOf(GOOD, "second\n    parent"),
    field: "joints[1].name",
    expected: "a joint of the model",
    found: '"second", which it has not',
  };
  expect(problemsOf(load)).toEqual([problem]);
});

// biome-ignore format: one broken file per line
const brokenFiles: readonly (readonly [string, string, string])[] = [
  ["a: [1", "broken.yaml:1:6", "a syntax error"],
  ["a: 1\n\tb: 2", "broken.yaml:2:1", "a syntax error"],
  ["kind: robot\n---\nkind: robot", "broken.yaml:2:1", "a syntax error"],
  ["%YAML 1.1\n---\nkind: robot", "broken.yaml:1:1", "no %YAML directive"],
  ["", "broken.yaml:1:1: kind", "found nothing"],
  ["- kind: robot", "broken.yaml:1:1: kind", "found nothing"],
  ["a: &a [x]\nb: [*a, *a]", "broken.yaml:2:5: b[0]", "found an alias"],
  ["{".repeat(100_000), "broken.yaml", "at most 64 open brackets"],
  ["- ".repeat(100_000), "broken.yaml:1:", "nested too deep"],
  [`# ${"x".repeat(300_000)}`, "broken.yaml", "expected at most 262144 bytes"],
];

test.each(brokenFiles)("what is no profile at all is refused: %#", (text, place, why) => {
  const load = () => loadRobot("broken.yaml", read(text, "broken.yaml"));
  expect(load).toThrow(ProfileError);
  expect(load).toThrow(place);
  expect(load).toThrow(why);
});

test("an unknown name, a missing file and a folder are refused", () => {
  const messages = ["so102", "./nowhere.yaml", "/"].map((name) => {
    try {
      return String(loadRobot(name));
    } catch (error) {
      return error instanceof ProfileError ? error.message : String(error);
    }
  });
  expect(messages).toEqual([
    `so102: expected one of ${robotNames.join(", ")} (did you mean "so101"?), or a path, found an unknown name`,
    "./nowhere.yaml: expected a file, found nothing there",
    "/: expected a regular file, found something else",
  ]);
});

test("a checked robot has our units, unit quaternions and every field of its file", () => {
  const robot = loadRobot("robots/two.yaml", read(GOOD));
  const half = Math.SQRT1_2;
  expect(robot.joints[1]!.originWxyz.map((part) => Number(part.toFixed(15)))).toEqual(
    [half, half, 0, 0].map((part) => Number(part.toFixed(15))),
  );
  const joint = {
    command: "position",
    originM: [0, 0, 0.1],
    originWxyz: [1, 0, 0, 0],
    axis: [0, 0, 1],
    positionRadMin: -1.5,
    positionRadMax: 1.25,
    velocityRadPerSMax: 3,
    motion: { accelerationRadPerS2: 15, jerkRadPerS3: 600 },
    stop: { accelerationRadPerS2: 30, jerkRadPerS3: 3000 },
    effortNmMax: 2.9,
    leadNs: duration(60_000_000),
    droopRad: 0.08,
    followingErrorRadMax: 0.22,
    startMismatchRadMax: 0.3,
    homeRad: 0.5,
    restRad: -0.5,
  };
  expect({ ...robot, joints: [robot.joints[0]] } as object).toEqual({
    name: "two",
    description: "Two joints",
    path: "robots/two.yaml",
    defaultTask: "none",
    controlHz: 200,
    periodNs: 5_000_000,
    powerCut: "falls",
    safeAction: "hold",
    joints: [{ name: "first", ...joint }],
    toolParent: "second",
    toolM: [0, 0, 0.2],
    toolWxyz: [1, 0, 0, 0],
    gripper: "second",
    sources: [
      {
        id: "encoders",
        kind: "proprio",
        periodNs: 5_000_000,
        validityNs: 15_000_000,
        joints: ["first", "second"],
        measuresVelocity: true,
        measuresEffort: false,
        frame: "joint",
      },
    ],
    gate: { startMismatch: "refuse", followingErrorTicks: 20 },
    state: { validityNs: 14_000_000, windowNs: 200_000_000, qualityRatioMin: 0.5 },
    policy: {
      hz: 20,
      horizon: 16,
      dtNs: 20_000_000,
      anchoring: "arrival",
      interpolation: "linear",
      blendNs: 0,
    },
    supervisor: {
      startsIn: "Starting",
      startTimeoutNs: 10_000_000_000,
      noActionPersistNs: 500_000_000,
      staleStatePersistNs: 201_000_000,
      relapseCount: 3,
      relapseWindowNs: 60_000_000_000,
      lateNsMax: 12_000_000,
      missCountMax: 10,
      missWindowTicks: 199,
      coastTicks: 0,
    },
    sim: {
      modelXml: MODEL,
      modelPath: "robots/two.xml",
      physicsStepNs: 2_500_000,
      actuators: { name: "soft", stiffnessNmPerRad: [35, 36], dampingNmSPerRad: [0.8, 0] },
      camera: { id: "scene", widthPx: 224, heightPx: 225, periodNs: 50_000_000 },
      payloadKg: 0.01,
    },
  });
});

test("every built-in name loads, and from a path the same file gives the same robot", () => {
  for (const name of robotNames) expect(loadRobot(name).joints.length).toBeGreaterThan(0);
  for (const name of taskNames) expect(loadTask(name).name).toBe(name);
  const path = "elsewhere/so101.yaml";
  const texts = new Map([
    [path, builtinFiles.get("profiles/so101.yaml")],
    ["elsewhere/models/so101.xml", builtinFiles.get("profiles/models/so101.xml")],
  ]);
  const copy = loadRobot(path, (asked) => texts.get(asked));
  const original = loadRobot("so101");
  const sim = { ...original.sim, modelPath: "elsewhere/models/so101.xml" };
  expect(copy as object).toEqual({ ...original, path, sim });
});

test("document-one has the numbers of the behaviour tests", () => {
  const robot = loadRobot("document-one");
  const { positionRadMax, velocityRadPerSMax, motion, stop, leadNs, droopRad } = robot.joints[0]!;
  expect({ positionRadMax, velocityRadPerSMax, motion, stop, leadNs, droopRad } as object).toEqual({
    positionRadMax: 100,
    velocityRadPerSMax: 5,
    motion: { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 },
    stop: { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 },
    leadNs: 20_000_000,
    droopRad: 0,
  });
  expect(robot.controlHz).toBe(50);
  expect(robot.sim).toBeUndefined();
  expect([robot.supervisor.startsIn, robot.policy.interpolation]).toEqual(["Running", "hold"]);
});

test("a deployment chooses preset and payload and leaves the rest of the robot alone", () => {
  const plain = loadDeployment("so101");
  const soft = loadDeployment("so101-servo-payload");
  const { actuators } = soft.robot.sim!;
  expect(actuators.stiffnessNmPerRad).toEqual([35, 35, 35, 35, 35, 35]);
  expect(plain.robot.sim!.actuators.stiffnessNmPerRad).toEqual([998, 998, 998, 998, 998, 998]);
  const sim = { ...plain.robot.sim!, actuators, payloadKg: 0.2 };
  expect(soft as object).toEqual({
    name: "so101-servo-payload",
    description: "SO-101 with a real servo's droop and 0.2 kg at the tool",
    path: "profiles/deployments/so101-servo-payload.yaml",
    robot: { ...plain.robot, sim },
    task: "pick_place",
  });
  expect(loadRobot("so101-servo-payload")).toEqual(soft.robot);
});

test("a deployment file names its robot by path and its problems by place", () => {
  const head = "kind: deployment\nschema_version: 1\nname: mine\ndescription: Mine\n";
  const disk = (extra: string) => (asked: string) =>
    asked === "sites/mine.yaml" ? head + extra : read(GOOD)(asked);
  const good = "robot: ../robots/two.yaml\npolicy: sine\npayload_kg: 0.3\n";
  const { robot, task, policy } = loadDeployment("sites/mine.yaml", disk(good));
  expect([robot.name, robot.sim?.payloadKg, task, policy]).toEqual(["two", 0.3, "none", "sine"]);
  const bad = (extra: string) => problemsOf(() => loadRobot("sites/mine.yaml", disk(extra)))[0];
  expect(bad("robot: ../robots/two.yaml\nactuators: hard\n")).toMatchObject({
    line: 6,
    column: 12,
    field: "actuators",
    expected: '"soft"',
    found: '"hard"',
  });
  expect(bad("robot: document-one\npayload_kg: 1\n")).toMatchObject({ line: 6, field: "payload_kg" });
  expect(bad("robot: so101-servo\n")).toMatchObject({ file: "so101-servo", line: 0 });
  expect(bad("robot: so101\ntask: pickplace\n")).toMatchObject({ line: 6, field: "task" });
});

test("loadProfile says what a file is, and a file of another kind is refused", () => {
  expect(loadProfile("reach").kind).toBe("task");
  expect(loadProfile("ur5e").kind).toBe("robot");
  expect(loadProfile("so101-servo").kind).toBe("deployment");
  const text = builtinFiles.get("profiles/tasks/reach.yaml")!;
  expect(problemsOf(() => loadRobot("my/reach.yaml", () => text))).toEqual([
    {
      file: "my/reach.yaml",
      ...placeOf(text, "task\nschema"),
      field: "kind",
      expected: "one of robot, deployment",
      found: '"task"',
    },
  ]);
});
