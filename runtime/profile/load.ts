// Loads profiles: finds the file, checks it whole, and gives a typed profile or one ProfileError
// with every problem of that file. Nothing is started here, and nothing partly valid is returned.
// What is returned is frozen: gate, simulation and policy may hold the same object.

import { dirname, isAbsolute, join } from "node:path";
import { assert } from "../contracts/assert.ts";
import { deepFreeze } from "../contracts/frozen.ts";
import type { OnnxMapping, OnnxMisfit } from "../contracts/onnx.ts";
import type { DeploymentProfile, RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { buildDeployment, buildPreset, buildRobot, buildTask } from "./build.ts";
import type { DeploymentChoice } from "./build.ts";
import { builtinFiles, plainRobotNames, robotNames, taskNames } from "./builtin.ts";
import { checkDurations } from "./common-rules.ts";
import { findProfile, isPath, readDisk } from "./files.ts";
import type { ReadText, Source } from "./files.ts";
import { buildOnnx, checkOnnx } from "./onnx-rules.ts";
import { buildOpenpi, checkOpenpi } from "./openpi-rules.ts";
import { oneOf, ProfileError } from "./problem.ts";
import type { ProfileProblem } from "./problem.ts";
import { checkModel, checkRobot } from "./robot-rules.ts";
import { checkSchema, profileKinds } from "./schema-check.ts";
import type { ProfileKind } from "./schema-check.ts";
import { checkTask } from "./task-rules.ts";
import { Tree } from "./tree.ts";

export type LoadedProfile =
  | { readonly kind: "robot"; readonly robot: RobotProfile }
  | { readonly kind: "task"; readonly task: TaskProfile }
  | { readonly kind: "deployment"; readonly deployment: DeploymentProfile }
  | { readonly kind: "policy"; readonly policy: OnnxMapping };

const robotFolders = ["profiles", "profiles/deployments"];
const taskFolders = ["profiles/tasks"];

/** A robot, or the robot of a deployment with its choices applied. */
export function loadRobot(nameOrPath: string, readText: ReadText = readDisk): RobotProfile {
  return loadDeployment(nameOrPath, readText).robot;
}

/** A deployment; a robot alone is one with the robot's own defaults. */
export function loadDeployment(
  nameOrPath: string,
  readText: ReadText = readDisk,
): DeploymentProfile {
  const source = findProfile(nameOrPath, robotNames, robotFolders, readText);
  const tree = new Tree(source.path, source.text);
  const kind = kindOf(tree, ["robot", "deployment"]);
  if (kind === "deployment") return deepFreeze(deploymentFrom(tree, readText));
  const robot = robotFrom(tree, readText).robot;
  const { name, description, path, defaultTask } = robot;
  return deepFreeze({ name, description, path, robot, task: defaultTask });
}

export function loadTask(nameOrPath: string, readText: ReadText = readDisk): TaskProfile {
  const source = findProfile(nameOrPath, taskNames, taskFolders, readText);
  const tree = new Tree(source.path, source.text);
  kindOf(tree, ["task"]);
  return deepFreeze(taskFrom(tree));
}

/** What an ONNX model means, from the YAML beside it. */
export function loadOnnxMapping(path: string, readText: ReadText = readDisk): OnnxMapping {
  const source = findProfile(path, [], [], readText);
  const tree = new Tree(source.path, source.text);
  kindOf(tree, ["policy"]);
  return deepFreeze(policyFrom(tree));
}

/** The error of a mapping that does not fit its model, its robot or its task. */
export function misfitError(
  { path }: { readonly path: string },
  misfits: readonly OnnxMisfit[],
  readText: ReadText = readDisk,
): ProfileError {
  const tree = new Tree(path, readText(path) ?? "");
  for (const { pointer, expected, found } of misfits) tree.report(pointer, expected, found);
  return tree.error();
}

/** The error of a value that only others can judge, at its place in the file of a profile. */
export function fieldError(
  { path }: { readonly path: string },
  pointer: string,
  expected: string,
  found?: string,
  readText: ReadText = readDisk,
): ProfileError {
  const tree = new Tree(path, builtinFiles.get(path) ?? readText(path) ?? "");
  tree.report(pointer, expected, found);
  return tree.error();
}

/** Any profile, by what its file says it is. */
export function loadProfile(nameOrPath: string, readText: ReadText = readDisk): LoadedProfile {
  const names = [...robotNames, ...taskNames];
  const source = findProfile(nameOrPath, names, [...robotFolders, ...taskFolders], readText);
  const tree = new Tree(source.path, source.text);
  const kind = kindOf(tree, profileKinds);
  if (kind === "task") return deepFreeze({ kind, task: taskFrom(tree) });
  if (kind === "policy") return deepFreeze({ kind, policy: policyFrom(tree) });
  if (kind === "robot") return deepFreeze({ kind, robot: robotFrom(tree, readText).robot });
  return deepFreeze({ kind, deployment: deploymentFrom(tree, readText) });
}

function kindOf(tree: Tree, wanted: readonly ProfileKind[]): ProfileKind {
  const kind = wanted.find((word) => word === tree.text("/kind"));
  if (kind !== undefined) return kind;
  tree.report("/kind", oneOf(wanted, tree.text("/kind")));
  throw tree.error();
}

function taskFrom(tree: Tree): TaskProfile {
  checkSchema(tree, "task");
  checkTask(tree);
  tree.throwProblems();
  return buildTask(tree);
}

function policyFrom(tree: Tree): OnnxMapping {
  checkSchema(tree, "policy");
  checkOnnx(tree);
  tree.throwProblems();
  return buildOnnx(tree);
}

/** The tree comes along because a deployment chooses among the presets in it. */
function robotFrom(tree: Tree, readText: ReadText): Base {
  checkSchema(tree, "robot");
  checkRobot(tree);
  checkTaskName(tree, "/default_task");
  const model = findModel(tree, readText);
  if (model !== undefined) checkModel(tree, model.text);
  tree.throwProblems();
  return { robot: buildRobot(tree, model?.text ?? "", model?.path ?? ""), tree };
}

function findModel(tree: Tree, readText: ReadText): Source | undefined {
  const named = tree.text("/sim/model");
  if (named === "") return undefined;
  const path = beside(tree.file, named);
  try {
    const text = builtinFiles.has(tree.file) ? builtinFiles.get(path) : readText(path);
    if (text !== undefined) return { path, text };
    tree.report("/sim/model", "a model file, by its path from this file", `nothing at ${path}`);
  } catch (error) {
    reportUnread(tree, "/sim/model", path, error);
  }
  return undefined;
}

/** A file that cannot be looked into is blamed on the line that names it. */
function reportUnread(tree: Tree, pointer: string, path: string, error: unknown): void {
  const problem = error instanceof ProfileError ? error.problems[0] : undefined;
  if (problem === undefined || problem.line > 0) throw error;
  tree.report(pointer, problem.expected, `${problem.found} at ${path}`);
}

function deploymentFrom(tree: Tree, readText: ReadText): DeploymentProfile {
  checkSchema(tree, "deployment");
  checkDurations(tree);
  checkTaskName(tree, "/task");
  const { base, trees, problems } = robotOf(tree, readText);
  checkChoice(tree, trees, base !== undefined);
  if (base !== undefined) checkOpenpi(tree, base.robot);
  // The robot's file is another one, and a person mends both.
  if (problems.length > 0) throw new ProfileError([...tree.error().problems, ...problems]);
  tree.throwProblems();
  assert(base !== undefined, "a deployment without problems has its robot");
  const choice = buildDeployment(tree);
  const { name, description, policy } = choice;
  const robot = withChoice(choice, base);
  const openpi = buildOpenpi(tree);
  const task = choice.task ?? robot.defaultTask;
  return {
    name,
    description,
    path: tree.file,
    robot,
    task,
    ...(policy !== undefined && { policy }),
    ...(openpi !== undefined && { openpi }),
  };
}

type Base = { readonly robot: RobotProfile; readonly tree: Tree };

type Asked = {
  /** Absent where anything is wrong with it. */
  readonly base?: Base;
  /** Its file as far as it can be read; those that may be meant where its name is wrong. */
  readonly trees: readonly Tree[];
  /** Those of its own file. */
  readonly problems: readonly ProfileProblem[];
};

/** The robot that a deployment asks for. Notes it when the line that names it is wrong. */
function robotOf(tree: Tree, readText: ReadText): Asked {
  const named = tree.text("/robot");
  if (named === "") return { trees: [], problems: [] }; // the schema asks for it
  if (!isPath(named) && !plainRobotNames.includes(named)) {
    tree.report("/robot", `${oneOf(plainRobotNames, named)}, or a path`);
    return { trees: plainRobotTrees(), problems: [] };
  }
  const trees: Tree[] = [];
  try {
    const source = sourceOfRobot(tree, isPath(named) ? beside(tree.file, named) : named, readText);
    if (source === undefined) return { trees, problems: [] };
    const robotTree = new Tree(source.path, source.text);
    trees.push(robotTree);
    kindOf(robotTree, ["robot"]);
    return { base: robotFrom(robotTree, readText), trees, problems: [] };
  } catch (error) {
    if (!(error instanceof ProfileError)) throw error;
    return { trees, problems: error.problems };
  }
}

function sourceOfRobot(tree: Tree, path: string, readText: ReadText): Source | undefined {
  try {
    return findProfile(path, robotNames, ["profiles"], readText);
  } catch (error) {
    reportUnread(tree, "/robot", path, error);
    return undefined;
  }
}

function plainRobotTrees(): readonly Tree[] {
  return plainRobotNames.map((name) => {
    const { path, text } = findProfile(name, robotNames, ["profiles"], readDisk);
    return new Tree(path, text);
  });
}

/** Notes what a deployment chooses and none of these robots has; a file may be wrong elsewhere. */
function checkChoice(tree: Tree, robots: readonly Tree[], isWhole: boolean): void {
  const simulated = robots.filter((robot) => robot.has("/sim"));
  const names = (simulated.length > 0 ? simulated : robots).map((robot) => robot.text("/name"));
  if (simulated.length === 0 && isWhole) {
    const why = `nothing for ${names.join(", ")}, which has no simulation`;
    for (const key of ["/actuators", "/payload_kg"]) if (tree.has(key)) tree.report(key, why);
  }
  const presets = simulated.flatMap((robot) =>
    robot.each("/sim/actuators").map((at) => robot.text(`${at}/name`)),
  );
  const actuators = tree.text("/actuators");
  if (actuators !== "" && presets.length > 0 && !presets.includes(actuators)) {
    tree.report("/actuators", oneOf([...new Set(presets)], actuators));
  }
  const kgMax = Math.max(...simulated.map((robot) => robot.number("/sim/payload_kg_max")));
  if (simulated.length > 0 && tree.number("/payload_kg") > kgMax) {
    tree.report("/payload_kg", `at most payload_kg_max of ${names.join(" or ")} (${kgMax})`);
  }
}

function withChoice({ actuators, payloadKg }: DeploymentChoice, base: Base): RobotProfile {
  const { robot, tree } = base;
  const { sim } = robot;
  if (sim === undefined) return robot;
  const chosen = actuators === undefined ? sim.actuators : buildPreset(tree, actuators);
  return { ...robot, sim: { ...sim, actuators: chosen, payloadKg: payloadKg ?? sim.payloadKg } };
}

function checkTaskName(tree: Tree, pointer: string): void {
  const name = tree.text(pointer);
  if (name !== "" && !taskNames.includes(name)) tree.report(pointer, oneOf(taskNames, name));
}

/** A path in a file is relative to that file. */
function beside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}
