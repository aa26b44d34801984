// Tests of task profiles: what a task file may not say, and what a task asks of the robot that is
// to do it.

import { expect, test } from "bun:test";
import { duration } from "../contracts/units.ts";
import { builtinFiles } from "./builtin.ts";
import { edit, placeOf, problemsOf } from "./fixtures/two.ts";
import { loadRobot, loadTask } from "./load.ts";
import { ProfileError } from "./problem.ts";
import { requireFit } from "./task-rules.ts";

const GOOD = builtinFiles.get("profiles/tasks/pick_place.yaml")!;

// biome-ignore format: two lines for one mistake
const badRows: readonly (readonly [string, string, string, string])[] = [
  ["task_kind: pick_place", "task_kind: pick", "pick\n",
   'task_kind: expected one of none, reach, pick_place, found "pick"'],
  ["radius_m_max: 0.27", "radius_m_max: 0.1", "0.1\n",
   "objects[0].placement.radius_m_max: expected more than placement.radius_m_min (0.18), " +
     "found 0.1"],
  ["azimuth_rad_min: -0.9", "azimuth_rad_min: 0.5", "0.4\n",
   "objects[0].placement.azimuth_rad_max: expected more than placement.azimuth_rad_min (0.5), " +
     "found 0.4"],
  ["mass_kg: 0.03", "mass_kg: 0", "0\n    rgba",
   "objects[0].mass_kg: expected at least 0.0001, found 0"],
  ["half_extents_m: [0.015, 0.015", "half_extents_m: [0.015, -1", "-1, ",
   "objects[0].half_extents_m[1]: expected at least 0.001, found -1"],
  ["kind: localization", "kind: proprio", "proprio",
   'sources[0].kind: expected one of localization, image, found "proprio"'],
  ["validity_ms: 120", "validity_ms: 40", "40\n    frame",
   "sources[0].validity_ms: expected at least period_ms (50), found 40"],
  ["requires: [cube_pose]", "requires: [cube_pose, cube_pose]", "cube_pose]",
   'requires[1]: expected each source once, found a second "cube_pose"'],
  ["time_limit_ms: 30000", "time_limit_ms: 400", "400\n",
   "time_limit_ms: expected more than dwell_ms (500), found 400"],
  ["goal_radius_m: 0.05", "goal_radius_m: .inf", ".inf",
   "goal_radius_m: expected a finite number, found .inf"],
];

test.each(badRows)("refused by name and place: %#", (from, to, mark, message) => {
  const text = edit(GOOD, from, to);
  const { line, column } = placeOf(text, mark);
  const said = problemsOf(() => loadTask("my/task.yaml", () => text)).map(
    (problem) => new ProfileError([problem]).message,
  );
  expect(said).toEqual([`my/task.yaml:${line}:${column}: ${message}`]);
});

test("pick_place puts a 30 mm cube beside the disc and reads it from its own source", () => {
  const task = loadTask("pick_place");
  const [cube] = task.objects;
  expect(cube!.halfExtentsM).toEqual([0.015, 0.015, 0.015]);
  const azimuthRad = Math.atan2(task.goalM[1], task.goalM[0]);
  const apartM =
    2 * cube!.placement.radiusMMin * Math.sin((azimuthRad - cube!.placement.azimuthRadMax) / 2);
  expect(apartM).toBeGreaterThan(task.goalRadiusM + 0.03);
  expect([task.requires, task.sources.map(({ id }) => id)]).toEqual([["cube_pose"], ["cube_pose"]]);
});

test("the SO-101 fits every task, and robots that lack something are told what", () => {
  for (const name of ["none", "reach", "pick_place"])
    requireFit(loadRobot("so101"), loadTask(name));
  const task = loadTask("pick_place");
  const expectRefused = (load: () => void) =>
    expect(problemsOf(load).map(({ expected, found }) => `${expected}, ${found}`));
  expectRefused(() => requireFit(loadRobot("ur5e"), task)).toEqual([
    "a robot with a gripper, ur5e without one",
  ]);
  expectRefused(() => requireFit(loadRobot("so101"), { ...task, sources: [] })).toEqual([
    'sources of task pick_place, or sources or the camera of robot so101, "cube_pose"',
  ]);
  requireFit(loadRobot("so101"), { ...task, requires: ["cube_pose", "scene"] });
  expectRefused(() =>
    requireFit(loadRobot("document-one"), { ...task, requires: ["scene"] }),
  ).toContain(
    'sources of task pick_place, or sources or the camera of robot document-one, "scene"',
  );
  const [source] = task.sources;
  const sources = [{ ...source!, id: "joints", validityNs: loadRobot("so101").periodNs }];
  expectRefused(() => requireFit(loadRobot("so101"), { ...task, requires: [], sources })).toEqual([
    'ids that so101 does not use, "joints"',
  ]);
  const brief = [{ ...source!, validityNs: duration(4_999_999) }];
  expectRefused(() => requireFit(loadRobot("so101"), { ...task, sources: brief })).toEqual([
    'validity of a period of so101\'s control, "cube_pose" below it',
  ]);
  const robot = loadRobot("so101");
  const blind = { ...robot, state: { ...robot.state, windowNs: robot.periodNs } };
  expectRefused(() => requireFit(blind, task)).toEqual([
    'validity within so101\'s state window, "cube_pose" beyond it',
  ]);
});
