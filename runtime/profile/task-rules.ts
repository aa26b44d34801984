// What must hold in a task profile beyond its schema, and what a task asks of the robot it is run
// with. A task alone does not know its robot, so the second part is a check of its own.

import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { checkAbove, checkAtLeast, checkDurations, checkUnique } from "./common-rules.ts";
import { ProfileError } from "./problem.ts";
import type { ProfileProblem } from "./problem.ts";
import type { Tree } from "./tree.ts";

/** Notes every broken rule of a task. */
export function checkTask(tree: Tree): void {
  checkDurations(tree);
  checkUnique(tree, "/objects", "name");
  checkUnique(tree, "/sources", "id");
  for (const object of tree.each("/objects")) {
    const place = `${object}/placement`;
    checkAbove(tree, `${place}/radius_m_min`, `${place}/radius_m_max`);
    checkAbove(tree, `${place}/azimuth_rad_min`, `${place}/azimuth_rad_max`);
  }
  for (const source of tree.each("/sources")) {
    checkAtLeast(tree, `${source}/validity_ms`, `${source}/period_ms`);
  }
  const required = new Set<string>();
  for (const entry of tree.each("/requires")) {
    const id = tree.text(entry);
    if (required.has(id)) tree.report(entry, "each source once", `a second "${id}"`);
    required.add(id);
  }
  if (tree.text("/task_kind") === "pick_place" && Array.isArray(tree.at("/objects"))) {
    if (tree.count("/objects") === 0) tree.report("/objects", "an object to pick");
  }
  checkAbove(tree, "/dwell_ms", "/time_limit_ms");
}

/** Throws a ProfileError when this robot cannot do this task. */
export function requireFit(robot: RobotProfile, task: TaskProfile): void {
  const problems: ProfileProblem[] = [];
  const say = (field: string, expected: string, found: string) =>
    problems.push({ file: task.path, line: 0, column: 0, field, expected, found });
  const robotIds = robot.sources.map((source) => source.id);
  const taskIds = task.sources.map((source) => source.id);
  const known = [...robotIds, ...taskIds, robot.sim?.camera?.id];
  for (const id of task.requires) {
    if (known.includes(id)) continue;
    const ofRobot = `sources or the camera of robot ${robot.name}`;
    say("requires", `sources of task ${task.name}, or ${ofRobot}`, `"${id}"`);
  }
  for (const id of taskIds) {
    if (robotIds.includes(id)) say("sources", `ids that ${robot.name} does not use`, `"${id}"`);
  }
  for (const source of task.sources) {
    if (source.validityNs > robot.state.windowNs) {
      say("sources", `validity within ${robot.name}'s state window`, `"${source.id}" beyond it`);
    }
    if (source.validityNs < robot.periodNs) {
      say("sources", `validity of a period of ${robot.name}'s control`, `"${source.id}" below it`);
    }
  }
  if (task.kind === "pick_place" && robot.gripper === undefined) {
    say("task_kind", "a robot with a gripper", `${robot.name} without one`);
  }
  if (problems.length > 0) throw new ProfileError(problems);
}
