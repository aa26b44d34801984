// Which column of a decision belongs to which joint, found by name. Every joint of the robot must
// be decided by exactly one column, or by the tool pose; a name the robot lacks, a name given twice
// and a joint nobody decides are refused by name.

import { WIDTH_MAX } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { PolicyError } from "./policy-error.ts";

const TOOL_COLUMNS = ["tx", "ty", "tz", "rx", "ry", "rz"];

/** Column of each joint, in profile order; -1 for a joint that the tool pose decides. */
export function columnsToJoints(schema: ActionSchema, robot: RobotProfile): Int32Array {
  const byTool = schema.space === "ee_pose_delta" ? toolJoints(robot) : new Set<string>();
  checkToolColumns(schema);
  const first = schema.space === "ee_pose_delta" ? TOOL_COLUMNS.length : 0;
  const columns = schema.columns.slice(first);
  if (schema.columns.length > WIDTH_MAX) {
    throw refusal("columns", `at most ${WIDTH_MAX} columns`, `${schema.columns.length}`);
  }
  const names = robot.joints.map((joint) => joint.name);
  for (const [index, name] of columns.entries()) {
    const wanted = names.filter((joint) => !byTool.has(joint));
    if (!wanted.includes(name)) throw refusal(name, `one of ${wanted.join(", ")}`, `"${name}"`);
    if (columns.indexOf(name) !== index) throw refusal(name, "each joint once", `"${name}" twice`);
  }
  return Int32Array.from(robot.joints, (joint) => {
    if (byTool.has(joint.name)) return -1;
    const column = columns.indexOf(joint.name);
    if (column < 0) throw refusal(joint.name, `a column "${joint.name}"`, columns.join(", "));
    if (joint.command === "velocity" && schema.space !== "joint_vel") {
      const expected = `space joint_vel for the velocity joint "${joint.name}"`;
      throw refusal(joint.name, expected, schema.space);
    }
    return first + column;
  });
}

function toolJoints(robot: RobotProfile): Set<string> {
  const names = new Set<string>();
  let name: string | undefined = robot.toolParent;
  while (name !== undefined) {
    const wanted: string = name;
    const joint = robot.joints.find((candidate) => candidate.name === wanted);
    if (joint?.command === "velocity") {
      throw refusal(wanted, "position joints between base and tool", `velocity joint "${wanted}"`);
    }
    names.add(wanted);
    name = joint?.parent;
  }
  return names;
}

function checkToolColumns(schema: ActionSchema): void {
  const isTool = schema.space === "ee_pose_delta";
  const frames = isTool ? ["base", "tool"] : ["joint"];
  if (!frames.includes(schema.frame)) {
    throw refusal("frame", frames.join(" or "), `"${schema.frame}"`);
  }
  if (!isTool) return;
  const found = schema.columns.slice(0, TOOL_COLUMNS.length);
  if (found.join() !== TOOL_COLUMNS.join()) {
    throw refusal("columns", `${TOOL_COLUMNS.join(", ")} first`, found.join(", "));
  }
}

function refusal(place: string, expected: string, found: string): PolicyError {
  return new PolicyError("bad_schema", "Cannot adapt the policy's actions", {
    place,
    expected,
    found,
  });
}
