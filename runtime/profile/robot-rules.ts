// What must hold in a robot profile beyond its schema: limits in order, names that exist, every
// joint read exactly once, times that fit the control grid, a model that knows the joints.

import { jerkRadPerS3Min, RAMP_TICKS_MAX } from "../contracts/stop-ramp.ts";
import { NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import {
  checkAbove,
  checkAtLeast,
  checkDurations,
  checkUnique,
  checkUnit,
  checkWithin,
} from "./common-rules.ts";
import { oneOf, show } from "./problem.ts";
import type { Tree } from "./tree.ts";

/** Notes every broken rule but those of the model's content. */
export function checkRobot(tree: Tree): void {
  checkDurations(tree);
  const joints = checkJoints(tree);
  checkUnit(tree, "/tool/orientation_wxyz");
  checkJointName(tree, "/tool/parent", joints);
  checkJointName(tree, "/gripper", joints);
  checkWorkspace(tree);
  checkSafeActions(tree, joints);
  checkParking(tree);
  checkStart(tree);
  checkSources(tree, joints);
  checkTimes(tree);
  checkSim(tree, joints);
}

function checkJoints(tree: Tree): string[] {
  const names: string[] = [];
  checkUnique(tree, "/joints", "name");
  for (const joint of tree.each("/joints")) {
    checkUnit(tree, `${joint}/axis`);
    checkUnit(tree, `${joint}/origin_wxyz`);
    checkAbove(tree, `${joint}/position_rad_min`, `${joint}/position_rad_max`);
    for (const rate of ["acceleration_rad_per_s2", "jerk_rad_per_s3"]) {
      checkAtLeast(tree, `${joint}/stop/${rate}`, `${joint}/motion/${rate}`);
    }
    for (const pose of ["home_rad", "rest_rad"]) {
      const limits = [`${joint}/position_rad_min`, `${joint}/position_rad_max`] as const;
      checkWithin(tree, `${joint}/${pose}`, ...limits);
    }
    const parent = tree.text(`${joint}/parent`);
    if (parent !== "" && !names.includes(parent)) {
      const expected = names.length === 0 ? "no parent for the first joint" : "a joint above";
      tree.report(`${joint}/parent`, expected, show(parent));
    }
    names.push(tree.text(`${joint}/name`));
  }
  return names;
}

/** Once the control rate is judged: a stop from full speed may not take forever to begin. */
function checkRamps(tree: Tree): void {
  // As the gate has it, to the bit.
  const periodS = NS_PER_S / tree.number("/control_hz") / NS_PER_S;
  for (const joint of tree.each("/joints")) {
    const velocityRadPerSMax = tree.number(`${joint}/velocity_rad_per_s_max`);
    const jerk = `${joint}/motion/jerk_rad_per_s3`;
    const min = jerkRadPerS3Min({ velocityRadPerSMax }, periodS);
    if (!(tree.number(jerk) < min)) continue;
    const why = `so that a stop from ${velocityRadPerSMax} rad/s ramps up`;
    tree.report(jerk, `at least ${min}, ${why} within ${RAMP_TICKS_MAX} control periods`);
  }
}

/** An action brings what it needs, and what no action needs is not there. */
function checkSafeActions(tree: Tree, joints: readonly string[]): void {
  const actions = ["stop", "latch"].map((severity) => tree.text(`/safe_actions/${severity}`));
  for (const [action, key] of [
    ["sit", "/sit_ms"],
    ["land", "/land"],
  ] as const) {
    const isAsked = actions.includes(action);
    if (isAsked && !tree.has(key)) tree.report(key, `this key where an action is ${action}`);
    if (!isAsked && tree.has(key)) tree.report(key, `this key only where an action is ${action}`);
  }
  checkJointName(tree, "/land/joint", joints);
  const name = tree.text("/land/joint");
  const joint = tree.each("/joints").find((each) => tree.text(`${each}/name`) === name);
  if (joint === undefined || name === "") return;
  if (tree.text(`${joint}/command`) === "position") {
    tree.report("/land/joint", "a velocity joint", `${show(name)}, a position joint`);
  }
  const limit = tree.number(`${joint}/velocity_rad_per_s_max`);
  if (tree.number("/land/velocity_rad_per_s") > limit) {
    tree.report("/land/velocity_rad_per_s", `at most the joint's velocity (${limit})`);
  }
}

/** What falls without power is held up by software's faults, and laid down or landed at the end. */
function checkParking(tree: Tree): void {
  const where = "where power_cut is falls and no action is land";
  const falls = tree.text("/power_cut") === "falls";
  const actions = ["stop", "latch"].map((severity) => tree.text(`/safe_actions/${severity}`));
  const parks = falls && !actions.includes("land");
  for (const severity of falls ? ["stop", "latch"] : []) {
    const at = `/safe_actions/${severity}`;
    if (tree.text(at) !== "zero_torque") continue;
    tree.report(at, "one that holds, as power_cut is falls");
  }
  if (parks && !tree.has("/park_ms")) tree.report("/park_ms", `this key ${where}`);
  if (!parks && tree.has("/park_ms")) tree.report("/park_ms", `this key only ${where}`);
}

/** Running from the first tick believes one reading, and waits for nobody. */
function checkStart(tree: Tree): void {
  const falls = tree.text("/power_cut") === "falls";
  if (!falls || tree.text("/supervisor/starts_in") !== "running") return;
  tree.report("/supervisor/starts_in", "starting, as power_cut is falls");
}

/** Walls in order, and a tool whose place is known: a wheel's is not. */
function checkWorkspace(tree: Tree): void {
  const at = "/gate/workspace";
  if (!tree.has(at)) return;
  for (const axis of [0, 1, 2]) {
    checkAbove(tree, `${at}/min_m/${axis}`, `${at}/max_m/${axis}`);
  }
  for (const joint of tree.each("/joints")) {
    if (tree.text(`${joint}/command`) === "velocity") {
      const name = show(tree.text(`${joint}/name`));
      tree.report(at, "a robot of position joints", `${name}, a velocity joint`);
    }
  }
}

function checkJointName(tree: Tree, pointer: string, joints: readonly string[]): void {
  const name = tree.text(pointer);
  if (name !== "" && !joints.includes(name)) tree.report(pointer, oneOf(joints, name));
}

function checkSources(tree: Tree, joints: readonly string[]): void {
  const readBy = new Map<string, string>();
  checkUnique(tree, "/sources", "id");
  for (const source of tree.each("/sources")) {
    const isProprio = tree.text(`${source}/kind`) === "proprio";
    checkAtLeast(tree, `${source}/validity_ms`, `${source}/period_ms`);
    checkAtLeast(tree, "/state/window_ms", `${source}/validity_ms`);
    for (const key of ["joints", "measures_velocity", "measures_effort"]) {
      const pointer = `${source}/${key}`;
      if (isProprio && !tree.has(pointer)) tree.report(pointer, "this key in a proprio source");
      if (!isProprio && tree.has(pointer)) tree.report(pointer, "this key in proprio sources only");
    }
    if (!isProprio) continue;
    for (const entry of tree.each(`${source}/joints`)) {
      const name = tree.text(entry);
      checkJointName(tree, entry, joints);
      if (readBy.has(name)) {
        tree.report(
          entry,
          "each joint read once",
          `${show(name)}, also read by ${readBy.get(name)}`,
        );
      }
      readBy.set(name, tree.text(`${source}/id`));
    }
  }
  const unread = joints.filter((name) => name !== "" && !readBy.has(name));
  if (tree.count("/sources") > 0 && unread.length > 0) {
    tree.report("/sources", "every joint in a proprio source", `none for ${unread.join(", ")}`);
  }
}

function checkTimes(tree: Tree): void {
  if (!Number.isInteger(NS_PER_S / tree.number("/control_hz")) && tree.number("/control_hz") > 0) {
    tree.report("/control_hz", "a rate whose period is whole nanoseconds");
  }
  checkRamps(tree);
  const controlHz = tree.number("/control_hz");
  const periodMs = NS_PER_S / controlHz / NS_PER_MS;
  checkTick(tree, "/policy/dt_ms", periodMs);
  for (const joint of tree.each("/joints")) checkTick(tree, `${joint}/lead_ms`, periodMs);
  const policyHz = tree.number("/policy/hz");
  if (policyHz > controlHz) tree.report("/policy/hz", `at most control_hz (${controlHz})`);
  const chunkMs = tree.number("/policy/horizon") * tree.number("/policy/dt_ms");
  if (chunkMs < 1_000 / policyHz) {
    const needed = `horizon times dt_ms of at least one policy period (${1_000 / policyHz} ms)`;
    tree.report("/policy/horizon", needed, `${chunkMs} ms`);
  }
  checkTick(tree, "/state/validity_ms", periodMs);
  for (const source of tree.each("/sources")) checkTick(tree, `${source}/validity_ms`, periodMs);
  checkAtLeast(tree, "/state/window_ms", "/state/validity_ms");
  if (tree.number("/policy/blend_ms") > chunkMs) {
    tree.report("/policy/blend_ms", `at most a chunk's length (${chunkMs} ms)`);
  }
  const ensembles = tree.has("/policy/ensemble_ms");
  if (ensembles && tree.text("/policy/anchoring") !== "observation") {
    tree.report("/policy/ensemble_ms", "anchoring: observation, so that rows have a time");
  }
  checkAbove(tree, "/supervisor/miss_count_max", "/supervisor/miss_window_ticks");
}

function checkTick(tree: Tree, pointer: string, periodMs: number): void {
  if (tree.number(pointer) < periodMs) {
    tree.report(pointer, `at least one control period (${periodMs} ms)`);
  }
}

function checkSim(tree: Tree, joints: readonly string[]): void {
  if (!tree.has("/sim")) return;
  const stepNs = Math.round(tree.number("/sim/physics_step_ms") * NS_PER_MS);
  const periodNs = NS_PER_S / tree.number("/control_hz");
  if (stepNs > 0 && periodNs > 0 && periodNs % stepNs !== 0) {
    const expected = `a divisor of the control period (${periodNs / NS_PER_MS} ms)`;
    tree.report("/sim/physics_step_ms", expected);
  }
  const payloadKgMax = tree.number("/sim/payload_kg_max");
  if (tree.number("/sim/payload_kg") > payloadKgMax) {
    tree.report("/sim/payload_kg", `at most payload_kg_max (${payloadKgMax})`);
  }
  checkUnique(tree, "/sim/actuators", "name");
  const presets = tree.each("/sim/actuators");
  for (const preset of presets) {
    for (const key of ["stiffness_nm_per_rad", "damping_nm_s_per_rad"]) {
      const count = tree.count(`${preset}/${key}`);
      if (Array.isArray(tree.at(`${preset}/${key}`)) && count !== joints.length) {
        const expected = `one entry per joint (${joints.length})`;
        tree.report(`${preset}/${key}`, expected, `a list of ${count}`);
      }
    }
  }
  const names = presets.map((preset) => tree.text(`${preset}/name`));
  const chosen = tree.text("/sim/default_actuators");
  if (chosen !== "" && !names.includes(chosen)) {
    tree.report("/sim/default_actuators", oneOf(names, chosen));
  }
}

/** Notes what the profile names and its MJCF text has not: a joint or a camera. */
export function checkModel(tree: Tree, modelXml: string): void {
  const plain = modelXml.replaceAll(/<!--[\s\S]*?-->/g, "");
  const why = whyNoModel(plain);
  if (why !== undefined) {
    tree.report("/sim/model", "an MJCF model in one file", `${why}, in ${tree.text("/sim/model")}`);
    return;
  }
  const joints = namesOf(plain, "joint");
  for (const joint of tree.each("/joints")) {
    const name = tree.text(`${joint}/name`);
    if (name !== "" && !joints.has(name)) {
      tree.report(`${joint}/name`, "a joint of the model", `${show(name)}, which it has not`);
    }
  }
  const camera = tree.text("/sim/camera/id");
  if (camera !== "" && !namesOf(plain, "camera").has(camera)) {
    tree.report("/sim/camera/id", "a camera of the model", `${show(camera)}, which it has not`);
  }
}

/** What keeps a text from having any names at all: one problem, not one per joint. */
function whyNoModel(xml: string): string | undefined {
  if (xml.trim() === "") return "nothing";
  if (!/<mujoco[\s/>]/.test(xml)) return "no element <mujoco>";
  if (!/<\/mujoco\s*>\s*$/.test(xml)) return "no </mujoco> at the end";
  if (/<include[\s/>]/.test(xml)) return "an <include>";
  return undefined;
}

function namesOf(xml: string, element: string): Set<string> {
  const names = new Set<string>();
  for (const [, attributes] of xml.matchAll(new RegExp(`<${element}\\s([^>]*)>`, "g"))) {
    const name = /(?:^|\s)name\s*=\s*["']([^"']*)["']/.exec(attributes ?? "")?.[1];
    if (name !== undefined) names.add(name);
  }
  return names;
}
