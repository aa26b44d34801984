// Whatever the loader accepts can be run, and what it refuses is refused at its place: one number
// of a shipped file at a time is moved by powers of ten, and what is accepted must be built as a
// run builds it and tick twice. Anything but a ProfileError is a number that the loader let by.
// A refusal must stand where the number stands in the text, by a count of lines made here, or at
// what the number contradicts, by a table made here. The numbers are found in the text by the YAML
// library, so a new field is swept from the day it is written.

import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { duration } from "../runtime/contracts/units.ts";
import { AliveMonitor } from "../runtime/core/alive.ts";
import { PolicyError } from "../runtime/policy/policy-error.ts";
import { builtinFiles } from "../runtime/profile/builtin.ts";
import { loadProfile, loadRobot, loadTask } from "../runtime/profile/load.ts";
import { ProfileError } from "../runtime/profile/problem.ts";
import { requireFit } from "../runtime/profile/task-rules.ts";
import { aliveTable } from "../runtime/workers/alive-table.ts";
import { arenaParts } from "../runtime/workers/plan.ts";
import type { RobotAndTask } from "../runtime/workers/plan.ts";
import { oneThreadRun } from "./one-thread-run.ts";

const TICK_COUNT = 2;
const SEED = 1;
/** Of each number, besides one step up and one down. */
const FAR_COUNT = 2;
const EXPONENT_MAX = 12;
/** What only the physics looks at; without it a world costs 1 ms instead of 50. */
const PHYSICS_KEYS = ["sim", "control_hz", "effort_nm_max", "home_rad", "payload_kg"];
const NO_TASK = loadTask("none");

type Found = { readonly from: number; readonly until: number; readonly value: unknown };
type Fields = ReadonlyMap<string, Found>;

/** Every value of a text by its field, as people write it: `joints[2].axis[0]`. */
function fieldsIn(text: string): Fields {
  const found = new Map<string, Found>();
  const walk = (node: unknown, field: string): void => {
    if (!isNode(node)) return;
    const [from = 0, until = 0] = node.range ?? [];
    found.set(field, { from, until, value: isScalar(node) ? node.value : undefined });
    if (isSeq(node))
      for (const [index, item] of node.items.entries()) walk(item, `${field}[${index}]`);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      walk(value, `${field}${field === "" ? "" : "."}${String(key)}`);
    }
  };
  walk(parseDocument(text).contents, "");
  return found;
}

const numbersIn = (text: string): readonly (readonly [string, Found])[] =>
  [...fieldsIn(text)].filter(([, { value }]) => typeof value === "number");

/** Line and column of an offset, as editors count them. */
function placeAt(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  return `${lines.length}:${lines.at(-1)!.length + 1}`;
}

/** One step up, one down, and some far away; from zero all of them lead somewhere. */
function movedFrom(value: number, random: SeededRandom): readonly number[] {
  const far = Array.from({ length: FAR_COUNT }, () =>
    Math.floor((2 * random.next() - 1) * EXPONENT_MAX),
  );
  return [-1, 1, ...far].map((exponent) => Number(`${value === 0 ? 1 : value}e${exponent}`));
}

/** The pair that a changed text runs as, or why it is refused. */
function loaded(path: string, text: string): RobotAndTask | ProfileError | undefined {
  const changed = changedPath(path);
  try {
    const profile = loadProfile(changed, (asked) =>
      asked === changed ? text : builtinFiles.get(asked),
    );
    if (profile.kind === "robot") return { robot: profile.robot, task: NO_TASK };
    if (profile.kind === "deployment") return { robot: profile.deployment.robot, task: NO_TASK };
    if (profile.kind !== "task") return undefined;
    const robot = loadRobot(profile.task.name === "reach_far" ? "ur5e" : "so101");
    requireFit(robot, profile.task);
    return { robot, task: profile.task };
  } catch (error) {
    if (error instanceof ProfileError) return error;
    throw error;
  }
}

const changedPath = (path: string): string => `${dirname(path)}/changed.yaml`;

/** Of which fields a number may be the fault, where it contradicts them: the second one is told. */
const CONTRADICTED: Readonly<Record<string, readonly string[]>> = {
  control_hz: [
    ...["joints[].lead_ms", "policy.hz", "policy.dt_ms"],
    ...["sources[].validity_ms", "state.validity_ms"],
  ],
  "joints[].position_rad_min": ["position_rad_max", "home_rad", "rest_rad"].map(ofJoint),
  "joints[].position_rad_max": ["home_rad", "rest_rad"].map(ofJoint),
  "joints[].velocity_rad_per_s_max": [ofJoint("motion.jerk_rad_per_s3"), "land.velocity_rad_per_s"],
  "joints[].motion.acceleration_rad_per_s2": [ofJoint("stop.acceleration_rad_per_s2")],
  "joints[].motion.jerk_rad_per_s3": [ofJoint("stop.jerk_rad_per_s3")],
  "sources[].period_ms": ["sources[].validity_ms"],
  "sources[].validity_ms": ["state.window_ms"],
  "state.validity_ms": ["state.window_ms"],
  "policy.hz": ["policy.horizon"],
  "openpi.actions.horizon": ["openpi.actions.executed_rows"],
  dwell_ms: ["time_limit_ms"],
  "objects[].placement.radius_m_min": ["objects[].placement.radius_m_max"],
};

function ofJoint(key: string): string {
  return `joints[].${key}`;
}

const anyIndex = (field: string): string => field.replaceAll(/\[\d+\]/g, "[]");
const indexOf = (field: string): string | undefined => /\[(\d+)\]/.exec(field)?.[1];

/** Whether a problem with `field` may come of `moved`: it is that, its list, or contradicts it. */
function mayBlame(moved: string, field: string): boolean {
  if (field === moved || field === moved.replace(/\[\d+\]$/, "")) return true;
  if (CONTRADICTED[anyIndex(moved)]?.includes(anyIndex(field)) !== true) return false;
  const [own, other] = [indexOf(moved), indexOf(field)];
  return own === undefined || other === undefined || own === other;
}

/** What is wrong with a refusal of `text`, in which the field `moved` was. */
function misplaced(error: ProfileError, file: string, text: string, moved: string): string[] {
  const fields = fieldsIn(text);
  return error.problems.flatMap((problem) => {
    const { field, line, column } = problem;
    const from = fields.get(field)?.from;
    const isThere = from !== undefined && placeAt(text, from) === `${line}:${column}`;
    const isClear = !error.message.includes("NaN") && problem.file === file;
    const isMisfit = line === 0 && field === "sources"; // of a task, beside a robot: two files
    return isClear && (isMisfit || (isThere && mayBlame(moved, field))) ? [] : [error.message];
  });
}

/** Builds and ticks as a run does; returns why it could not. */
async function failureOf({ robot, task }: RobotAndTask): Promise<string> {
  const turns = robot.joints.some(({ command }) => command === "velocity");
  const ownPolicy = task === NO_TASK ? "sine" : task.defaultPolicy;
  const plan = {
    robot,
    task,
    policy: turns ? "hold" : ownPolicy,
    seed: SEED,
    faults: [],
    policyLatency: undefined,
    spinTailNs: duration(0),
    isHardware: false,
    estop: undefined,
  };
  try {
    arenaParts(plan);
    new AliveMonitor(aliveTable(robot, true), { read: () => 0, reported: () => 0 }).check();
    return (await oneThreadRun(plan, TICK_COUNT)).lastError;
  } catch (error) {
    // What a policy can do is for the policy to say, in words.
    return error instanceof PolicyError && error.code === "unfit_task" ? "" : String(error);
  }
}

const paths = [...builtinFiles.keys()].filter((path) => path.endsWith(".yaml"));
test.each(paths)("%s with any one number moved is refused or runs", async (path) => {
  const text = builtinFiles.get(path)!;
  const random = new SeededRandom(SEED);
  const failures: string[] = [];
  let ranCount = 0;
  let refusedCount = 0;
  for (const [field, { from, until, value }] of numbersIn(text)) {
    for (const moved of movedFrom(Number(value), random)) {
      const changed = text.slice(0, from) + String(moved) + text.slice(until);
      const pair = loaded(path, changed);
      if (pair instanceof ProfileError) {
        refusedCount += 1;
        const wrong = misplaced(pair, changedPath(path), changed, field);
        failures.push(...wrong.map((each) => `${field}: ${moved}: refused with ${each}`));
      } else if (pair !== undefined) {
        ranCount += 1;
        const failure = await failureOf(hasPhysics(field) ? pair : withoutPhysics(pair));
        if (failure !== "") failures.push(`${field}: ${moved}: ${failure}`);
      }
    }
  }
  expect(failures).toEqual([]);
  // Neither side of the border is empty: a version is never another.
  expect([ranCount > 0, refusedCount > 0]).toEqual([numbersIn(text).length > 1, true]);
});

const hasPhysics = (field: string): boolean =>
  anyIndex(field)
    .split(/[.[\]]+/)
    .some((key) => PHYSICS_KEYS.includes(key));

const withoutPhysics = ({ robot, task }: RobotAndTask): RobotAndTask => ({
  robot: task === NO_TASK ? { ...robot, sim: undefined } : robot,
  task,
});
