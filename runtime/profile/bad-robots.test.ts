// Tests of what the profile loader refuses: a table of robots with one mistake each, made from one
// good robot, and files that are no profile at all. The place that a problem must name is found by
// searching the broken text itself.

import { expect, test } from "bun:test";
import { edit, GOOD, MODEL, placeOf, problemsOf, read } from "./fixtures/two.ts";
import { loadRobot } from "./load.ts";
import { ProfileError } from "./problem.ts";

// What is replaced, by what, a mark at the place that must be named, and what must be said there.
type BadRow = readonly [string, string, string, string];

// biome-ignore format: two lines for one mistake
const badRows: readonly BadRow[] = [
  ["kind: robot", "kind: robots", "robots",
   'kind: expected one of robot, deployment (did you mean "robot"?), found "robots"'],
  ["schema_version: 1", "schema_version: 2", "2\nname",
   "schema_version: expected 1, found 2"],
  ["name: two", "name: Two", "Two\n",
   'name: expected a name of lower-case letters, digits, - and _, a letter first, found "Two"'],
  ["name: two", "name: 2", "2\ndesc",
   "name: expected text, found 2"],
  ["name: two\n", "", "kind: robot",
   "name: expected this key, found nothing"],
  ["control_hz: 200", "control_hz: .nan", ".nan",
   "control_hz: expected a finite number, found .nan"],
  ["control_hz: 200", "control_hz: -.inf", "-.inf",
   "control_hz: expected a finite number, found -.inf"],
  ["control_hz: 200", "control_hz: 1e999", "1e999",
   "control_hz: expected a finite number, found 1e999"],
  ["control_hz: 200", 'control_hz: "200"', '"200"',
   'control_hz: expected a number, found "200"'],
  ["control_hz: 200", "control_hz: 0", "0\npower",
   "control_hz: expected a number above 0, found 0"],
  ["control_hz: 200", "control_hz: 300", "300\n",
   "control_hz: expected a rate whose period is whole nanoseconds, found 300"],
  ["control_hz: 200", "control_hz: 5000", "5000\n",
   "control_hz: expected at most 1000, found 5000"],
  ["control_hz: 200", "control_hz:", "\npower",
   "control_hz: expected a number, found null"],
  ["power_cut: falls", "power_cut: fall", "fall\n",
   'power_cut: expected one of safe, falls (did you mean "falls"?), found "fall"'],
  ["power_cut: falls", "power_cut: falls\npower_off: { relay_ms: 10 }", "{ relay_ms",
   "power_off.drive_ms: expected this key, found nothing"],
  ["power_cut: falls", "power_cut: falls\npower_off: { relay_ms: -1, drive_ms: 2 }", "-1, drive",
   "power_off.relay_ms: expected at least 0, found -1"],
  ["power_cut: falls", "power_cut: falls\npower_off: { relay_ms: 1, drive_ms: 1.0000001 }",
   "1.0000001", "power_off.drive_ms: expected a whole number of nanoseconds, found 1.0000001"],
  ["power_cut: falls", "power_cut: falls\npower_off: { relais_ms: 1, relay_ms: 2, drive_ms: 3 }",
   "relais_ms",
   'power_off.relais_ms: expected a known key (did you mean "relay_ms"?), found the unknown key ' +
     '"relais_ms"'],
  ["safe_actions: { degraded: hold, stop: hold, latch: hold }\n", "", "kind: robot",
   "safe_actions: expected this key, found nothing"],
  ["stop: hold, latch", "latch", "{ degraded",
   "safe_actions.stop: expected this key, found nothing"],
  ["degraded: hold", "degraded: sit", "sit, stop",
   'safe_actions.degraded: expected one of hold, brake, found "sit"'],
  ["stop: hold", "stop: zero_torque", "zero_torque, latch",
   'safe_actions.stop: expected one that holds, as power_cut is falls, found "zero_torque"'],
  ["latch: hold", "latch: zero_torque", "zero_torque }",
   'safe_actions.latch: expected one that holds, as power_cut is falls, found "zero_torque"'],
  ["latch: hold", "latch: sit", "kind: robot",
   "sit_ms: expected this key where an action is sit, found nothing"],
  ["latch: hold", "latch: land", "kind: robot",
   "land: expected this key where an action is land, found nothing"],
  ["gripper: second", "gripper: second\nsit_ms: 1000", "1000\nsources",
   "sit_ms: expected this key only where an action is sit, found 1000"],
  ["latch: hold }",
   "latch: land }\nland: { joint: second, velocity_rad_per_s: 5, ground_rad: 0 }", "second, vel",
   'land.joint: expected a velocity joint, found "second", a position joint'],
  ["latch: hold }",
   "latch: land }\nland: { joint: second, velocity_rad_per_s: 5, ground_rad: 0 }", "5, ground",
   "land.velocity_rad_per_s: expected at most the joint's velocity (4), found 5"],
  ["default_task: none", "default_task: nine", "nine",
   "default_task: expected one of none, reach, reach_far, pick_place (did you mean " +
     '"none"?), found "nine"'],
  ["power_cut: falls", "power_cut: falls\npower_cut: safe", "power_cut: safe",
   'power_cut: expected each key once, found a second "power_cut"'],
  ["home_rad: 0.5", "home_rad: 0.5\n    home_rad: 0.4", "home_rad: 0.4",
   'joints[0].home_rad: expected each key once, found a second "home_rad"'],
  ["droop_rad: 0.08", "drop_rad: 0.08", "drop_rad",
   'joints[0].drop_rad: expected a known key (did you mean "droop_rad"?), found the unknown ' +
     'key "drop_rad"'],
  ["gripper: second", "gripper: second\ncolour: red", "colour",
   'colour: expected a known key, found the unknown key "colour"'],
  ["gripper: second", "__proto__: second", "__proto__",
   '__proto__: expected a known key, found the unknown key "__proto__"'],
  ["[0, 0, 0.1]", "[0, 0]", "[0, 0]\n",
   "joints[0].origin_m: expected 3 entries, found a list of 2"],
  ["[0, 0, 0.1]", "[0, 0, high]", "high",
   'joints[0].origin_m[2]: expected a number, found "high"'],
  ["[0, 0, 0.1]", "{ z: 0.1 }", "{ z",
   "joints[0].origin_m: expected a list, found a mapping"],
  ["axis: [0, 0, 1]", "axis: [0, 0, 2]", "[0, 0, 2]",
   "joints[0].axis: expected a vector of length 1, found length 2"],
  ["axis: [0, 0, 1]", "axis: [0, 0, 0]", "[0, 0, 0]",
   "joints[0].axis: expected a vector of length 1, found length 0"],
  ["[0.70711, 0.70711, 0, 0]", "[0.7, 0.6, 0, 0]", "[0.7, 0.6",
   "joints[1].origin_wxyz: expected a vector of length 1, found length 0.921954"],
  ["position_rad_max: 1.25", "position_rad_max: -1.75", "-1.75",
   "joints[0].position_rad_max: expected more than position_rad_min (-1.5), found -1.75"],
  ["position_rad_max: 1.25", "position_rad_max: true", "true\n    vel",
   "joints[0].position_rad_max: expected a number, found true"],
  ["velocity_rad_per_s_max: 3", "velocity_rad_per_s_max: -3", "-3\n",
   "joints[0].velocity_rad_per_s_max: expected a number above 0, found -3"],
  ["acceleration_rad_per_s2: 30", "acceleration_rad_per_s2: 14", "14, jerk",
   "joints[0].stop.acceleration_rad_per_s2: expected at least " +
     "motion.acceleration_rad_per_s2 (15), found 14"],
  ["jerk_rad_per_s3: 3000", "jerk_rad_per_s3: 599", "599",
   "joints[0].stop.jerk_rad_per_s3: expected at least motion.jerk_rad_per_s3 (600), found 599"],
  ["jerk_rad_per_s3: 600 ", "jerk_rad_per_s3: 0.1 ",
   "0.1 }\n    stop: { acceleration_rad_per_s2: 30",
   "joints[0].motion.jerk_rad_per_s3: expected at least 0.24, so that a stop from 3 rad/s ramps " +
     "up within 1000 control periods, found 0.1"],
  ["velocity_rad_per_s_max: 4", "velocity_rad_per_s_max: 1e9", "601 }",
   "joints[1].motion.jerk_rad_per_s3: expected at least 80000000, so that a stop from " +
     "1000000000 rad/s ramps up within 1000 control periods, found 601"],
  ["park_ms: 4321", "park_ms: 1e-300", "1e-300",
   "park_ms: expected a whole number of nanoseconds, found 1e-300"],
  ["park_ms: 4321", "park_ms: 4321.0000004", "4321.0000004",
   "park_ms: expected a whole number of nanoseconds, found 4321.0000004"],
  ["description: Two joints", 'description: "\\e[2J\\e]0;owned\\a"', '"\\e[2J',
   "description: expected text on one line, without control characters, " +
     'found "\\u001b[2J\\u001b]0;owned\\u0007"'],
  ["description: Two joints", "description: |\n  Two\n  joints", "|\n  Two",
   "description: expected text on one line, without control characters, " +
     'found "Two\\njoints\\n"'],
  ["description: Two joints", "description: |+\n  Two joints\n", "|+\n  Two",
   "description: expected text on one line, without control characters, " +
     'found "Two joints\\n\\n"'],
  ["description: Two joints", 'description: "Two joints\\n"', '"Two joints',
   "description: expected text on one line, without control characters, " +
     'found "Two joints\\n"'],
  ["description: Two joints", 'description: "\\x9b2J \\u202e"', '"\\x9b',
   "description: expected text on one line, without control characters, " +
     'found "\\u009b2J \\u202e"'],
  ["gripper: second", '"\\e[2J": second', '"\\e[2J"',
   "\\u001b[2J: expected text on one line, without control characters, " +
     'found "\\u001b[2J"'],
  ["jerk_rad_per_s3: 600 ", "jerk_rad_per_s3: 0 ", "0 }\n    stop: { acceleration_rad_per_s2: 30",
   "joints[0].motion.jerk_rad_per_s3: expected a number above 0, found 0"],
  ["effort_nm_max: 2.9", "effort_nm_max: 0", "0\n    lead_ms: 60",
   "joints[0].effort_nm_max: expected at least 0.000001, found 0"],
  ["lead_ms: 60\n", "lead_ms: 4\n", "4\n    droop",
   "joints[0].lead_ms: expected at least one control period (5 ms), found 4"],
  ["lead_ms: 60\n", "lead_ms: 60.0000003\n", "60.0000003",
   "joints[0].lead_ms: expected a whole number of nanoseconds, found 60.0000003"],
  ["home_rad: 0.5", "home_rad: 1.3", "1.3\n",
   "joints[0].home_rad: expected -1.5 to 1.25, found 1.3"],
  ["rest_rad: -0.5", "rest_rad: -1.6", "-1.6",
   "joints[0].rest_rad: expected -1.5 to 1.25, found -1.6"],
  ["    rest_rad: -0.5\n", "", "name: first\n    command",
   "joints[0].rest_rad: expected this key, found nothing"],
  ["park_ms: 4321\n", "", "kind: robot",
   "park_ms: expected this key where power_cut is falls and no action is land, found nothing"],
  ["power_cut: falls", "power_cut: safe", "4321",
   "park_ms: expected this key only where power_cut is falls and no action is land, found 4321"],
  ["park_ms: 4321", "park_ms: 5001", "5001",
   "park_ms: expected at most 5000, found 5001"],
  ["name: second", "name: first", "first\n    parent",
   'joints[1].name: expected a name of its own, found a second "first"'],
  ["parent: first", "parent: thrid", "thrid",
   'joints[1].parent: expected a joint above, found "thrid"'],
  ["parent: first", "parent: second", "second\n    comm",
   'joints[1].parent: expected a joint above, found "second"'],
  ["name: first",
   "name: first\n    parent: second", "second\n    command: position\n    origin_m: [0, 0",
   'joints[0].parent: expected no parent for the first joint, found "second"'],
  ["tool: { parent: second", "tool: { parent: secand", "secand",
   'tool.parent: expected one of first, second (did you mean "second"?), found "secand"'],
  ["gripper: second", "gripper: jaw", "jaw",
   'gripper: expected one of first, second, found "jaw"'],
  ["joints: [first, second]", "joints: [first]", "- id: enc",
   "sources: expected every joint in a proprio source, found none for second"],
  ["joints: [first, second]", "joints: [first, second, first]", "first]",
   'sources[0].joints[2]: expected each joint read once, found "first", also read by encoders'],
  ["joints: [first, second]", "joints: [first, second, third]", "third]",
   'sources[0].joints[2]: expected one of first, second, found "third"'],
  ["    measures_effort: false\n", "", "id: enc",
   "sources[0].measures_effort: expected this key in a proprio source, found nothing"],
  ["validity_ms: 15", "validity_ms: 4", "4\n    frame",
   "sources[0].validity_ms: expected at least period_ms (5), found 4"],
  ["window_ms: 200", "window_ms: 14", "14, quality",
   "state.window_ms: expected at least validity_ms (15), found 14"],
  ["max_m: [0.5, 0.4, 0.6]", "max_m: [0.5, 0.4, 0]", "0] }\n  tool_speed",
   "gate.workspace.max_m[2]: expected more than min_m[2] (0), found 0"],
  ["min_m: [-0.5, -0.4, 0], ", "", "{ max_m",
   "gate.workspace.min_m: expected this key, found nothing"],
  ["tool_speed_m_per_s_max: 1.5", "tool_speed_m_per_s_max: 0", "0\nstate",
   "gate.tool_speed_m_per_s_max: expected a number above 0, found 0"],
  ["parent: first\n    command: position", "parent: first\n    command: velocity", "{ min_m",
   'gate.workspace: expected a robot of position joints, found "second", a velocity joint'],
  ["quality_ratio_min: 0.5", "quality_ratio_min: 50", "50 }\npolicy",
   "state.quality_ratio_min: expected at most 1, found 50"],
  ["hz: 20, ", "hz: 400, ", "400",
   "policy.hz: expected at most control_hz (200), found 400"],
  ["horizon: 16", "horizon: 2", "2, dt",
   "policy.horizon: expected horizon times dt_ms of at least one policy period (50 ms), " +
     "found 40 ms"],
  ["horizon: 16", "horizon: 16.5", "16.5",
   "policy.horizon: expected a whole number, found 16.5"],
  ["dt_ms: 20", "dt_ms: 4", "4, anch",
   "policy.dt_ms: expected at least one control period (5 ms), found 4"],
  ["horizon: 16", "horizon: 65", "65, dt",
   "policy.horizon: expected at most 64, found 65"],
  ["dt_ms: 20", "dt_ms: 1001", "1001, anch",
   "policy.dt_ms: expected at most 1000, found 1001"],
  ["lead_ms: 60\n", "lead_ms: 1001\n", "1001\n    droop",
   "joints[0].lead_ms: expected at most 1000, found 1001"],
  ["{ validity_ms: 14", "{ validity_ms: 4", "4, window",
   "state.validity_ms: expected at least one control period (5 ms), found 4"],
  ["    period_ms: 5\n    validity_ms: 15", "    period_ms: 3\n    validity_ms: 4", "4\n    frame",
   "sources[0].validity_ms: expected at least one control period (5 ms), found 4"],
  ["blend_ms: 0", "blend_ms: 400", "400",
   "policy.blend_ms: expected at most a chunk's length (320 ms), found 400"],
  ["anchoring: arrival", "anchoring: late", "late, interp",
   'policy.anchoring: expected one of observation, arrival, found "late"'],
  ["blend_ms: 0", "blend_ms: 0, ensemble_ms: 123", "123",
   "policy.ensemble_ms: expected anchoring: observation, so that rows have a time, found 123"],
  ["anchoring: arrival, interpolation: linear", "interpolation: linear, ensemble_ms: 124", "124",
   "policy.ensemble_ms: expected anchoring: observation, so that rows have a time, found 124"],
  ["blend_ms: 0", "blend_ms: 0, picture_encoding: lossy", "lossy",
   'policy.picture_encoding: expected one of rgb8, jpeg, found "lossy"'],
  ["blend_ms: 0", "blend_ms: 0, ensemble_ms: -7", "-7",
   "policy.ensemble_ms: expected a number above 0, found -7"],
  ["starts_in: starting", "starts_in: running", "running\n  start",
   'supervisor.starts_in: expected starting, as power_cut is falls, found "running"'],
  ["miss_window_ticks: 199", "miss_window_ticks: 10", "10\n  coast",
   "supervisor.miss_window_ticks: expected more than supervisor.miss_count_max (10), found 10"],
  ["coast_ticks: 0", "coast_ticks: 5", "5\nsim",
   "supervisor.coast_ticks: expected at most 4, found 5"],
  ["model: two.xml", "model: nix.xml", "nix.xml",
   "sim.model: expected a model file, by its path from this file, found nothing at robots/nix.xml"],
  ["physics_step_ms: 2.5", "physics_step_ms: 2.4", "2.4",
   "sim.physics_step_ms: expected a divisor of the control period (5 ms), found 2.4"],
  ["physics_step_ms: 2.5", "physics_step_ms: 0.05", "0.05\n",
   "sim.physics_step_ms: expected at least 0.1, found 0.05"],
  ["payload_kg_max: 0.5", "payload_kg_max: 101", "101\n",
   "sim.payload_kg_max: expected at most 100, found 101"],
  ["[35, 36]", "[35, 1000001]", "1000001]",
   "sim.actuators[0].stiffness_nm_per_rad[1]: expected at most 1000000, found 1000001"],
  ["payload_kg: 0.01", "payload_kg: 0.6", "0.6\n",
   "sim.payload_kg: expected at most payload_kg_max (0.5), found 0.6"],
  ["payload_kg: 0.01", "payload_kg: -1", "-1\n",
   "sim.payload_kg: expected at least 0, found -1"],
  ["default_actuators: soft", "default_actuators: sift", "sift",
   'sim.default_actuators: expected "soft" (did you mean "soft"?), found "sift"'],
  ["[35, 36]", "[35]", "[35]",
   "sim.actuators[0].stiffness_nm_per_rad: expected one entry per joint (2), found a list of 1"],
  ["id: scene", "id: scenery", "scenery",
   'sim.camera.id: expected a camera of the model, found "scenery", which it has not'],
  ["gripper: second", "gripper: &grip second", "second\nsources",
   "gripper: expected no anchor, found one"],
  ["gripper: second", "gripper: !!str second", "second\nsources",
   "gripper: expected no tag, found tag:yaml.org,2002:str"],
  ["gripper: second", "1: second", "1: second",
   "expected keys that are text, found another key"],
  ["hz: 20, ", "hz: 20, hz: 20, ", "hz: 20, hor",
   'policy.hz: expected each key once, found a second "hz"'],
  ["gripper: second", "gripper: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "[[1]",
   `gripper${"[0]".repeat(16)}: expected at most 16 levels, found a deeper nesting`],
];

test.each(badRows)("refused by name and place: %#", (from, to, mark, message) => {
  const text = edit(GOOD, from, to);
  const { line, column } = placeOf(text, mark);
  const said = problemsOf(() => loadRobot("robots/two.yaml", read(text))).map(
    (problem) => new ProfileError([problem]).message,
  );
  const place = `robots/two.yaml:${line}:${column}: `;
  expect(said).toContain(place + message);
});

test("the good profile that all bad ones were made from has no problem", () => {
  expect(problemsOf(() => loadRobot("robots/two.yaml", read(GOOD)))).toEqual([]);
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
    "robots/two.yaml:16:5: joints[0].positon_rad_max: expected a known key (did you mean " +
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
  const model = edit(MODEL, '<joint name="second"/>', '<!-- <joint name="second"/> -->');
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

// biome-ignore format: one mistake after the other
const lonely: readonly (readonly [string, string, string])[] = [
  ["control_hz: 200", "control_hz: 0", "control_hz: expected a number above 0, found 0"],
  ["control_hz: 200", "control_hz: -5", "control_hz: expected a number above 0, found -5"],
  ["{ hz: 20, ", "{ hz: 0, ", "policy.hz: expected a number above 0, found 0"],
  ["dt_ms: 20", "dt_ms: -1", "policy.dt_ms: expected a number above 0, found -1"],
  ["position_rad_min: -1.5", "position_rad_min: 2",
    "joints[0].position_rad_max: expected more than position_rad_min (2), found 1.25"],
];

test.each(lonely)(
  "nothing follows from a number that is noted already: %#",
  (from, to, message) => {
    const problems = problemsOf(() => loadRobot("robots/two.yaml", read(edit(GOOD, from, to))));
    expect(
      problems.map(
        ({ field, expected, found }) => `${field}: expected ${expected}, found ${found}`,
      ),
    ).toEqual([message]);
  },
);

// biome-ignore format: one model per line
const noModels: readonly (readonly [string, string])[] = [
  ["", "nothing"],
  ["<!-- <mujoco></mujoco> -->", "nothing"],
  ["a picture", "no element <mujoco>"],
  ["<robot name='urdf'></robot>", "no element <mujoco>"],
  [MODEL.slice(0, MODEL.indexOf("<joint")), "no </mujoco> at the end"],
  [MODEL.replace("<joint", "<include file='rest.xml'/><joint"), "an <include>"],
];

test.each(noModels)(
  "what is no model at all is one problem, not one per joint: %#",
  (model, why) => {
    const load = () => loadRobot("robots/two.yaml", read(GOOD, "robots/two.yaml", model));
    expect(problemsOf(load)).toEqual([
      {
        file: "robots/two.yaml",
        ...placeOf(GOOD, "two.xml"),
        field: "sim.model",
        expected: "an MJCF model in one file",
        found: `${why}, in two.xml`,
      },
    ]);
  },
);

// biome-ignore format: one broken file per line
const brokenFiles: readonly (readonly [string, string, string])[] = [
  ["a: [1", "broken.yaml:1:6", "a syntax error"],
  ["a: 1\n\tb: 2", "broken.yaml:2:1", "a syntax error"],
  ["kind: robot\n---\nkind: robot", "broken.yaml:2:1", "one YAML document in the file"],
  ["%YAML 1.1\n---\nkind: robot", "broken.yaml:1:1", "no %YAML directive"],
  ["# one\n%TAG ! tag:x,2000:\n---\nkind: robot", "broken.yaml:2:1", "no %TAG directive"],
  ["%FOO bar\n---\nkind: robot", "broken.yaml:1:1", "no %FOO directive"],
  ["%FOO bar\n---\n", "broken.yaml:1:1", "no %FOO directive"],
  ["", "broken.yaml:1:1: kind", "found nothing"],
  ["- kind: robot", "broken.yaml:1:1: kind", "found nothing"],
  ["a: &a [x]\nb: [*a, *a]", "broken.yaml:2:5: b[0]", "found an alias"],
  ["{".repeat(100_000), "broken.yaml", "at most 64 brackets"],
  ["- ".repeat(100_000), "broken.yaml", "list marks in a row"],
  [`# ${"x".repeat(300_000)}`, "broken.yaml", "expected at most 262144 bytes"],
];

test.each(brokenFiles)("what is no profile at all is refused: %#", (text, place, why) => {
  const load = () => loadRobot("broken.yaml", read(text, "broken.yaml"));
  expect(load).toThrow(ProfileError);
  expect(load).toThrow(place);
  expect(load).toThrow(why);
});
