// Whatever the loader accepts can be run: one number of a shipped file at a time is moved by powers
// of ten, and what is accepted must be built as a run builds it and tick twice. Anything but a
// ProfileError is a number that the loader let through. The numbers are found in the text by the
// YAML library, so a new field is swept from the day it is written.

import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { isPair, isScalar, parseDocument, visit } from "yaml";
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

type Place = { readonly keys: string; readonly from: number; readonly until: number };
type Found = Place & { readonly value: number };

function numbersIn(text: string): readonly Found[] {
  const found: Found[] = [];
  visit(parseDocument(text), {
    Scalar(_key, node, path) {
      if (typeof node.value !== "number" || !node.range) return;
      const pairs = path.filter((each) => isPair(each));
      const keys = pairs.map(({ key }) => (isScalar(key) ? String(key.value) : "")).join(".");
      found.push({ keys, from: node.range[0], until: node.range[1], value: node.value });
    },
  });
  return found;
}

/** One step up, one down, and some far away; from zero all of them lead somewhere. */
function movedFrom(value: number, random: SeededRandom): readonly number[] {
  const far = Array.from({ length: FAR_COUNT }, () =>
    Math.floor((2 * random.next() - 1) * EXPONENT_MAX),
  );
  return [-1, 1, ...far].map((exponent) => Number(`${value === 0 ? 1 : value}e${exponent}`));
}

/** The pair that a changed text runs as, or nothing when it is refused with its place. */
function loaded(path: string, text: string): RobotAndTask | undefined {
  const changed = `${dirname(path)}/changed.yaml`;
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
    if (error instanceof ProfileError) return undefined;
    throw error;
  }
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
  for (const { keys, from, until, value } of numbersIn(text)) {
    for (const moved of movedFrom(value, random)) {
      const pair = loaded(path, text.slice(0, from) + String(moved) + text.slice(until));
      if (pair === undefined) {
        refusedCount += 1;
        continue;
      }
      ranCount += 1;
      const failure = await failureOf(hasPhysics(keys) ? pair : withoutPhysics(pair));
      if (failure !== "") failures.push(`${keys}: ${moved}: ${failure}`);
    }
  }
  expect(failures).toEqual([]);
  // Neither side of the border is empty: a version is never another.
  expect([ranCount > 0, refusedCount > 0]).toEqual([numbersIn(text).length > 1, true]);
});

const hasPhysics = (keys: string): boolean =>
  keys.split(".").some((key) => PHYSICS_KEYS.includes(key));

const withoutPhysics = ({ robot, task }: RobotAndTask): RobotAndTask => ({
  robot: task === NO_TASK ? { ...robot, sim: undefined } : robot,
  task,
});
