// Tests of the table of policies and of policies from files: what loads, and how the rest is
// refused. Files are written into a folder of their own, and import nothing of this tree.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { testContext, testState } from "./fixture.ts";
import { loadPolicy } from "./load-policy.ts";
import { makeRunner } from "./make-runner.ts";
import { PolicyError } from "./policy-error.ts";
import { policies } from "./registry.ts";

const folder = mkdtempSync(join(tmpdir(), "hf-policy-"));
afterAll(() => rmSync(folder, { recursive: true }));

const robot = loadRobot("so101");
const context = testContext(robot, loadTask("none"));
const home = robot.joints.map((joint) => joint.homeRad);
const state = testState(context.layout, home, 0);

let fileCount = 0;
function file(text: string): string {
  fileCount += 1;
  const path = join(folder, `policy-${fileCount}.ts`);
  writeFileSync(path, text);
  return path;
}

// As a user writes it: typed by use, importing nothing.
const GOOD = `
  export function createPolicy(context) {
    const writer = context.writer(context.jointPositions);
    let allocator;
    return {
      name: "mine",
      schema: writer.schema,
      selectsMode: false,
      reset(_epoch, newAllocator) { allocator = newAllocator; },
      act(state) {
        const values = writer.begin(state, allocator);
        for (let row = 0; row < writer.horizon; row += 1) {
          values.set(state.command, row * writer.width);
        }
        return writer.chunk;
      },
    };
  }`;

const planned = (plan: string): string => GOOD.replace("reset(", `plan: ${plan}, reset(`);

test("a file that imports nothing becomes a policy, through the context alone", async () => {
  const policy = await loadPolicy(file(GOOD), context);
  policy.reset(4, new SequenceAllocator(4));
  const chunk = policy.act(state, instant(0)) as ChunkView;
  expect(policy.name).toBe("mine");
  expect([chunk.epoch, chunk.seq, chunk.horizon, chunk.width]).toEqual([4, 1, 16, 6]);
  expect([...chunk.values.subarray(90, 96)]).toEqual(home);
});

test("a file may build its policy asynchronously", async () => {
  const text = GOOD.replace("export function", "export async function");
  expect((await loadPolicy(file(text), context)).name).toBe("mine");
});

const refused: readonly [string, string, string][] = [
  ["does not parse", "export function {", "a module that loads"],
  ["throws while it loads", 'throw new Error("no weights");', "no weights"],
  [
    "has two mistakes: the first is told, with its place",
    "const one = ;\nexport function {",
    ".ts:1:",
  ],
  ["exports nothing", "const nothing = 1;", "no exports"],
  ["exports something else", "export const policy = 1;", "found policy"],
  [
    "exports a createPolicy that is no function",
    "export const createPolicy = 1;",
    "an export createPolicy(context)",
  ],
  [
    "throws while it builds",
    'export function createPolicy() { throw new Error("no GPU"); }',
    "no GPU",
  ],
  ["builds a function", "export const createPolicy = () => () => 1;", "found a function"],
  [
    "builds something that refuses to be looked at",
    GOOD.replace('name: "mine"', "get name() { throw Object.create(null); }"),
    "a policy whose parts can be read, found a thrown value that has no text",
  ],
  ["builds nothing", "export function createPolicy() {}", "found undefined"],
  ["has no name", GOOD.replace("name:", "nom:"), "a policy with a name"],
  ["has no schema", GOOD.replace("schema:", "scheme:"), "a policy with a schema"],
  [
    "has a schema without columns",
    GOOD.replace("writer.schema,", '{ space: "joint_pos" },'),
    "a schema with columns",
  ],
  [
    "does not say whether it selects modes",
    GOOD.replace("selectsMode:", "mode:"),
    "selectsMode, true or false",
  ],
  [
    "says of JPEG neither true nor false",
    GOOD.replace("selectsMode:", 'acceptsJpeg: "yes", selectsMode:'),
    "acceptsJpeg, true or false, or without it",
  ],
  [
    "has a schema of other columns than names",
    GOOD.replace("writer.schema,", "{ ...writer.schema, columns: [1] },"),
    "a schema whose columns are names",
  ],
  [
    "has a schema of another kind",
    GOOD.replace("writer.schema,", "{ ...writer.schema, frame: 7 },"),
    "a schema whose frame is a text",
  ],
  ["has a plan of no rows", planned("{ horizon: 0, dtNs: 1e7 }"), "horizon, 1 to 64 rows"],
  ["has a plan of no number", planned("{ horizon: 8, dtNs: NaN }"), "whole ns up to 1 s"],
  ["has a plan of another kind", planned("7"), "a policy with a plan of horizon"],
  [
    "has a plan that cannot be read",
    planned('{ get horizon() { throw new Error("no plan"); } }'),
    "a policy whose parts can be read, found no plan",
  ],
  [
    "builds something that refuses to be listed",
    "export const createPolicy = () => new Proxy({}, { ownKeys() { throw new Error('no'); } });",
    "a policy whose parts can be read, found no (",
  ],
  ["has no reset", GOOD.replace("reset(", "restart("), "reset(epoch, allocator)"],
  ["has no act", GOOD.replace("act(state)", "decide(state)"), "act(state, nowNs)"],
];

test.each(refused)("a file that %s is refused with its path", async (_what, text, words) => {
  const path = file(text);
  const error = await loadPolicy(path, context).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PolicyError);
  const { code, place, message } = error as PolicyError;
  expect([code, place]).toEqual(["bad_module", path]);
  expect(message).toStartWith(`Cannot load policy "${path}": expected `);
  expect(message).toContain(words);
});

// The profile that a run gives to the gate, and the ways a file has of reaching it.
test.each([
  "context.robot.joints[0].velocityRadPerSMax = 1e9",
  "context.robot.joints.pop()",
  "context.task.goalM[0] = 9",
  "context.layout.sources[0].validityNs = 1e18",
  "context.layout.fields.length = 0",
  "context.robot = {}",
])("a policy file cannot change what the gate reads: %s", async (change) => {
  const open = structuredClone({ robot, task: loadTask("none") });
  const before = JSON.stringify(open);
  const layout = testContext(open.robot, open.task).layout;
  const text = GOOD.replace("let allocator;", `let allocator; ${change};`);
  const made = makeRunner({ ...plan, ...open, policy: file(text) }, layout);
  const error = await made.catch((caught: unknown) => caught);
  expect((error as PolicyError).message).toContain("createPolicy not to throw, found ");
  expect(JSON.stringify(open)).toBe(before);
});

test("the profiles of a policy are not the run's own", () => {
  const open = structuredClone({ robot, task: loadTask("none") });
  const own = testContext(open.robot, open.task);
  expect(own.robot.joints).toEqual(open.robot.joints);
  expect(own.robot.joints).not.toBe(open.robot.joints);
  expect(Object.isFrozen(open.robot.joints)).toBe(false);
});

test("a file that is not there is refused with its path", async () => {
  const error = await loadPolicy("./no/such/policy.ts", context).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PolicyError);
  expect((error as PolicyError).message).toContain("no/such/policy.ts");
});

test("an unknown name is refused with the names that are known", async () => {
  const error = await loadPolicy("sin", context).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PolicyError);
  const { code, message } = error as PolicyError;
  expect(code).toBe("unknown_policy");
  for (const { name } of policies) expect(message).toContain(name);
});

test("names are unique and every policy carries the name it is known by", async () => {
  const names = policies.map((entry) => entry.name);
  expect(new Set(names).size).toBe(names.length);
  const taskOf = (name: string) =>
    loadTask(name === "reach" || name === "pick_place" ? name : "none");
  for (const name of names) {
    expect((await loadPolicy(name, testContext(robot, taskOf(name)))).name).toBe(name);
  }
});

test("a policy that does not fit the robot or the task says so before anything moves", async () => {
  const code = async (name: string, robotName: string, taskName: string) => {
    const own = testContext(loadRobot(robotName), loadTask(taskName));
    const error = await loadPolicy(name, own).catch((caught: unknown) => caught);
    return error instanceof PolicyError ? error.code : "fits";
  };
  expect(await code("pick_place", "ur5e", "pick_place")).toBe("unfit_robot");
  expect(await code("pick_place", "so101", "reach")).toBe("unfit_task");
  expect(await code("reach", "so101", "none")).toBe("unfit_task");
  expect(await code("reach", "so101", "reach_far")).toBe("unfit_task");
  expect(await code("reach", "ur5e", "reach_far")).toBe("fits");
});

const plan = { robot, task: loadTask("none"), policy: "hold", seed: 1, policyLatency: undefined };

/** Ticks of the first 25 in which a decision came out. */
async function cadence(hz: number, policyLatency?: string): Promise<number[]> {
  const slower = { ...robot, policy: { ...robot.policy, hz } };
  const runner = await makeRunner({ ...plan, robot: slower, policyLatency }, context.layout);
  runner.beginEpoch(1);
  const seen: number[] = [];
  const out = new ChunkView();
  for (let tick = 0; tick < 25; tick += 1) {
    const nowNs = instant(tick * robot.periodNs);
    runner.observe(testState(context.layout, home, nowNs));
    runner.step(tick, nowNs);
    if (runner.takeInto(out, nowNs)) seen.push(tick);
  }
  return seen;
}

test("a runner acts at the profile's rate at most, and as late as it is told", async () => {
  expect(await cadence(20)).toEqual([0, 10, 20]);
  expect(await cadence(28)).toEqual([0, 8, 16, 24]);
  expect(await cadence(20, "15ms")).toEqual([3, 13, 23]);
});

test("a latency that cannot be read is refused before anything moves", async () => {
  const late = makeRunner({ ...plan, policyLatency: "late" }, context.layout);
  const error = await late.catch((caught: unknown) => caught);
  expect((error as PolicyError).code).toBe("bad_latency");
});

const ONCE = `
  const seen = new Set();
  const once = (part) => { if (seen.has(part)) throw new Error("twice"); seen.add(part); };
`;

/** A policy whose part is this, and throws the second time. */
const fickle = (part: string, first: string): string =>
  GOOD.replace("reset(_epoch", `get ${part}() { once("${part}"); return ${first}; }, reset(_epoch`)
    .replace(`${part}: `, `old_${part}: `)
    .replace("let allocator;", `let allocator; ${ONCE}`);

test.each([
  ["name", '"mine"'],
  ["schema", "writer.schema"],
  ["selectsMode", "false"],
  ["plan", "{ horizon: 8, dtNs: 1e7 }"],
])("what is fixed for its life is read once: a %s that throws the second time", async (...row) => {
  const [part, first] = row;
  const runner = await makeRunner({ ...plan, policy: file(fickle(part, first)) }, context.layout);
  runner.beginEpoch(1);
  runner.observe(state);
  runner.step(0, instant(0));
  expect([
    runner.policyName,
    runner.lastError,
    runner.takeInto(new ChunkView(), instant(0)),
  ]).toEqual(["mine", "", true]);
});

test("what it changes of its schema later has no effect, and a long name is short", async () => {
  const text = GOOD.replace("writer.schema,", "given,")
    .replace("let allocator;", "let allocator; const given = { ...writer.schema };")
    .replace("act(state) {", "act(state) { given.columns = []; given.space = 7;")
    .replace('"mine"', '"m\\n".repeat(1e6)');
  const policy = await loadPolicy(file(text), context);
  policy.reset(1, new SequenceAllocator(1));
  void policy.act(state, instant(0));
  expect(policy.schema).toEqual({
    space: "joint_pos",
    representation: "joint_rad",
    frame: "joint",
    columns: robot.joints.map(({ name }) => name),
  } as never);
  expect([policy.name.length, policy.name.slice(0, 4)]).toEqual([300, "m m "]);
});

test("a file says of JPEG what it takes; without a word it takes none", async () => {
  const saying = GOOD.replace("selectsMode:", "acceptsJpeg: true, selectsMode:");
  const accepts = await Promise.all(
    [GOOD, saying].map(async (text) => (await loadPolicy(file(text), context)).acceptsJpeg),
  );
  expect(accepts).toEqual([false, true]);
});
