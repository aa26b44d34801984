// The section `openpi` of a deployment: what must hold in it beyond its schema, given the robot,
// and how it becomes an OpenpiMapping. Every joint is decided by one column, or by the tool.

import { DT_NS_MAX, HORIZON_MAX } from "../contracts/action.ts";
import { openpiToolParts } from "../contracts/openpi.ts";
import type { OpenpiColumn, OpenpiMapping, OpenpiPlace, OpenpiValue } from "../contracts/openpi.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { milliseconds, NS_PER_MS } from "../contracts/units.ts";
import { oneOf } from "./problem.ts";
import type { Tree } from "./tree.ts";

const OBSERVATION = "/openpi/observation";
const ACTIONS = "/openpi/actions";
const COLUMNS = `${ACTIONS}/columns`;
const SPACE = `${ACTIONS}/space`;
const HORIZON = `${ACTIONS}/horizon`;
/** A column of theirs that nothing of ours follows. */
const NONE = "none";
const TOOL_COLUMNS = openpiToolParts.map((part) => (part.length === 1 ? `t${part}` : part));
const VALUE_KINDS = ["joint", "tool", "field", "constant"] as const;

/** Notes every broken rule of the section, if there is one. */
export function checkOpenpi(tree: Tree, robot: RobotProfile): void {
  if (!tree.has("/openpi")) return;
  checkObservation(tree, robot);
  checkPlan(tree);
  checkColumns(tree, robot);
}

function checkObservation(tree: Tree, robot: RobotProfile): void {
  const joints = robot.joints.map(({ name }) => name);
  for (const vector of tree.each(`${OBSERVATION}/vectors`)) {
    for (const value of tree.each(`${vector}/values`)) checkValue(tree, value, joints);
  }
  const camera = robot.sim?.camera;
  const cameras = robot.sources.filter(({ kind }) => kind === "image").map(({ id }) => id);
  if (camera !== undefined) cameras.push(camera.id);
  for (const picture of tree.each(`${OBSERVATION}/pictures`)) {
    const source = tree.text(`${picture}/source`);
    if (source === "" || cameras.includes(source)) continue;
    const expected = cameras.length === 0 ? "a robot with a camera" : oneOf(cameras, source);
    tree.report(`${picture}/source`, expected);
  }
  checkPlaces(tree);
}

function checkValue(tree: Tree, at: string, joints: readonly string[]): void {
  const kinds = VALUE_KINDS.filter((kind) => tree.has(`${at}/${kind}`));
  if (kinds.length !== 1) {
    const found = kinds.length === 0 ? "none of them" : kinds.join(" and ");
    tree.report(at, `one of ${VALUE_KINDS.join(", ")}`, found);
    return;
  }
  checkJoint(tree, `${at}/joint`, joints);
  if (kinds[0] === "field" && !tree.has(`${at}/index`)) {
    tree.report(`${at}/index`, "which value of the field, from 0", "nothing");
  }
  checkScale(tree, at);
}

function checkJoint(tree: Tree, at: string, joints: readonly string[]): void {
  const name = tree.text(at);
  if (name !== "" && !joints.includes(name)) tree.report(at, oneOf(joints, name));
}

function checkScale(tree: Tree, at: string): void {
  if (tree.number(`${at}/scale`) === 0) tree.report(`${at}/scale`, "a number other than 0");
}

/** No two values have the same place. */
function checkPlaces(tree: Tree): void {
  const seen = new Set<string>();
  const prompt = tree.text(`${OBSERVATION}/prompt`);
  if (prompt !== "") seen.add(JSON.stringify(["", prompt]));
  for (const list of ["vectors", "pictures"]) {
    for (const entry of tree.each(`${OBSERVATION}/${list}`)) {
      const place = JSON.stringify([tree.text(`${entry}/inside`), tree.text(`${entry}/key`)]);
      if (seen.has(place)) tree.report(`${entry}/key`, "each key once");
      seen.add(place);
    }
  }
  for (const list of ["vectors", "pictures"]) {
    for (const entry of tree.each(`${OBSERVATION}/${list}`)) {
      const inside = tree.text(`${entry}/inside`);
      if (inside === "" || !seen.has(JSON.stringify(["", inside]))) continue;
      tree.report(`${entry}/inside`, "a key that has no value of its own");
    }
  }
}

function checkPlan(tree: Tree): void {
  const horizon = tree.number(HORIZON);
  const executed = `${ACTIONS}/executed_rows`;
  if (!tree.isNoted(HORIZON) && tree.number(executed) > Math.min(horizon, HORIZON_MAX)) {
    tree.report(executed, `at most horizon (${horizon}) and ${HORIZON_MAX}`);
  }
  const dtMsMax = DT_NS_MAX / NS_PER_MS;
  if (tree.number(`${ACTIONS}/dt_ms`) > dtMsMax) {
    tree.report(`${ACTIONS}/dt_ms`, `at most ${dtMsMax}`);
  }
  if (tree.isNoted(SPACE)) return;
  const space = tree.text(SPACE);
  const isTool = space === "ee_pose_delta";
  askFor(tree, "frame", isTool, "of tool deltas: base or tool");
  const isDelta = isTool || space === "joint_delta";
  askFor(tree, "each_row_from", isDelta, "of deltas: state or row_before");
}

/** A key that some spaces need and the others may not have. */
function askFor(tree: Tree, key: string, isNeeded: boolean, what: string): void {
  const at = `${ACTIONS}/${key}`;
  if (isNeeded && !tree.has(at)) tree.report(at, `this key ${what}`, "nothing");
  if (!isNeeded && tree.has(at)) tree.report(at, `nothing here: it is ${what}`);
}

function checkColumns(tree: Tree, robot: RobotProfile): void {
  const space = tree.text(SPACE);
  if (tree.isNoted(SPACE)) return;
  const isTool = space === "ee_pose_delta";
  const byTool = isTool ? toolJoints(robot) : new Set<string>();
  const joints = robot.joints.map(({ name }) => name).filter((name) => !byTool.has(name));
  const wanted = [...(isTool ? TOOL_COLUMNS : []), ...joints];
  const seen = new Set<string>();
  let isMisnamed = false;
  for (const column of tree.each(COLUMNS)) {
    const to = tree.text(`${column}/to`);
    checkScale(tree, column);
    if (to === NONE || to === "") continue;
    if (!wanted.includes(to)) tree.report(`${column}/to`, oneOf([...wanted, NONE], to));
    else if (seen.has(to)) tree.report(`${column}/to`, "each target once", `a second "${to}"`);
    if (!wanted.includes(to) || seen.has(to)) isMisnamed = true;
    seen.add(to);
    const takesPosition = joints.includes(to) && (space === "joint_vel" || space === "joint_delta");
    if (tree.has(`${column}/as`) && !takesPosition) {
      tree.report(`${column}/as`, "nothing here: only among joint velocities and deltas");
    }
  }
  const missing = wanted.filter((name) => !seen.has(name));
  // A misspelt target is one mistake, not an unknown one and a missing one.
  if (missing.length > 0 && tree.count(COLUMNS) > 0 && !isMisnamed) {
    tree.report(
      COLUMNS,
      `a column to each of ${wanted.join(", ")}`,
      `none to ${missing.join(", ")}`,
    );
  }
}

function toolJoints({ joints, toolParent }: RobotProfile): Set<string> {
  const names = new Set<string>();
  for (let name: string | undefined = toolParent; name !== undefined; ) {
    const wanted: string = name;
    names.add(wanted);
    name = joints.find((joint) => joint.name === wanted)?.parent;
  }
  return names;
}

/** Call it on a section that was checked. */
export function buildOpenpi(tree: Tree): OpenpiMapping | undefined {
  if (!tree.has("/openpi")) return undefined;
  const word = <const T extends string>(at: string, words: readonly T[]): T | undefined =>
    words.find((each) => each === tree.text(at));
  return {
    promptKey: textAt(tree, `${OBSERVATION}/prompt`),
    vectors: tree.each(`${OBSERVATION}/vectors`).map((at) => ({
      ...placeAt(tree, at),
      values: tree.each(`${at}/values`).map((value) => valueAt(tree, value)),
    })),
    pictures: tree.each(`${OBSERVATION}/pictures`).map((at) => ({
      ...placeAt(tree, at),
      source: tree.text(`${at}/source`),
      order: word(`${at}/order`, ["hwc", "chw"]) ?? "hwc",
    })),
    space: word(`${ACTIONS}/space`, ["joint_vel", "joint_delta", "ee_pose_delta"]) ?? "joint_pos",
    frame: word(`${ACTIONS}/frame`, ["base", "tool"]),
    eachRowFrom: word(`${ACTIONS}/each_row_from`, ["state", "row_before"]),
    horizon: tree.number(`${ACTIONS}/horizon`),
    executedRowCount: tree.number(`${ACTIONS}/executed_rows`),
    dtNs: milliseconds(tree.number(`${ACTIONS}/dt_ms`)),
    columns: tree.each(COLUMNS).map((at): OpenpiColumn => {
      const isPosition = tree.text(`${at}/as`) === "position";
      return { to: tree.text(`${at}/to`), isPosition, ...scaleAt(tree, at) };
    }),
  };
}

function valueAt(tree: Tree, at: string): OpenpiValue {
  const scale = scaleAt(tree, at);
  const part = openpiToolParts.find((each) => each === tree.text(`${at}/tool`));
  if (part !== undefined) return { kind: "tool", part, ...scale };
  const joint = textAt(tree, `${at}/joint`);
  if (joint !== undefined) return { kind: "joint", joint, ...scale };
  const field = textAt(tree, `${at}/field`);
  if (field === undefined) return { kind: "constant", offset: tree.number(`${at}/constant`) };
  return { kind: "field", field, index: tree.number(`${at}/index`), ...scale };
}

function scaleAt(tree: Tree, at: string): { scaleFactor: number; offset: number } {
  const numberOr = (key: string, other: number): number =>
    tree.has(`${at}/${key}`) ? tree.number(`${at}/${key}`) : other;
  return { scaleFactor: numberOr("scale", 1), offset: numberOr("offset", 0) };
}

const placeAt = (tree: Tree, at: string): OpenpiPlace => ({
  inside: textAt(tree, `${at}/inside`),
  key: tree.text(`${at}/key`),
});

const textAt = (tree: Tree, at: string): string | undefined =>
  tree.has(at) ? tree.text(at) : undefined;
