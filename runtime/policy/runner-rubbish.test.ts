// Tests of the policy side against what a policy may throw, answer or pretend: objects that refuse
// to be looked at, records of another size, promises and resets that fail. Each costs a decision.
// What it says of itself, and what it does with what it is told, costs not even that.

import { expect, test } from "bun:test";
import { ChunkView } from "../contracts/action.ts";
import { reasonNames } from "../contracts/reason.ts";
import { Hypothesis, StateSlot } from "../contracts/state.ts";
import type { StateView } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ActionAdapter } from "./adapter.ts";
import { testContext, testState, TestPolicy } from "./fixture.ts";
import { PolicyRunner } from "./runner.ts";

const robot = loadRobot("so101");
const context = testContext(robot, loadTask("none"));
const home = robot.joints.map((joint) => joint.homeRad);

function makeRunner() {
  const policy = new TestPolicy(context);
  const runner = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout: context.layout,
    everyTicks: 10,
    requires: [],
    qualityRatioMin: 0.5,
  });
  runner.beginEpoch(1);
  return { policy, runner };
}

/** Runs ticks with a fresh state in each, changed by `spoil`. Answers what came out. */
function run(
  runner: PolicyRunner,
  ticks: readonly number[],
  spoil: (state: StateView) => void = () => {},
) {
  const out = new ChunkView();
  const arrived: { tick: number; epoch: number; seq: number }[] = [];
  for (const tick of ticks) {
    const nowNs = instant(tick * robot.periodNs);
    const state = testState(context.layout, home, nowNs);
    spoil(state);
    runner.observe(state);
    runner.step(tick, nowNs);
    while (runner.takeInto(out, nowNs)) arrived.push({ tick, epoch: out.epoch, seq: out.seq });
  }
  return arrived;
}

const counts = (record: Float64Array) =>
  Object.fromEntries(
    [...record.entries()].filter(([, n]) => n > 0).map(([r, n]) => [reasonNames[r], n]),
  );

const hostile = () => {
  throw Object.create(null);
};
const chunkWith = (parts: PropertyDescriptorMap) => Object.defineProperties(new ChunkView(), parts);

test.each<[string, () => unknown]>([
  ["a thrown object without a prototype", hostile],
  [
    "an error whose message throws",
    () => {
      throw Object.defineProperty(new Error("x"), "message", { get: hostile });
    },
  ],
  ["a chunk whose parts throw", () => chunkWith({ record: { get: hostile } })],
  ["a chunk that refuses to be looked at", () => new Proxy(new ChunkView(), { get: hostile })],
  ["an answer that refuses its type", () => new Proxy({}, { getPrototypeOf: hostile })],
  ["a record that is too long", () => chunkWith({ record: { value: new Float64Array(5_000) } })],
  ["a record that is too short", () => chunkWith({ record: { value: new Float64Array(3) } })],
  ["a record that is no array", () => chunkWith({ record: { value: null } })],
  ["something with the parts of a chunk", () => ({ ...new ChunkView() })],
])(
  "rubbish costs a decision and nothing else, answered or promised: %s",
  async (_what, rubbish) => {
    for (const isPromised of [false, true]) {
      const { policy, runner } = makeRunner();
      const decide = policy.answer;
      policy.answer = () => (isPromised ? Promise.resolve().then(rubbish) : rubbish()) as never;
      expect(run(runner, [0])).toEqual([]);
      await runner.settled();
      expect([counts(runner.safeTicks), runner.lastError.length > 0]).toEqual([
        { policy_threw: 1 },
        true,
      ]);
      policy.answer = decide;
      expect(run(runner, [10])).toEqual([{ tick: 10, epoch: 1, seq: 1 }]);
    }
  },
);

test("a promise whose `then` throws is a throw", async () => {
  const { policy, runner } = makeRunner();
  policy.answer = () =>
    // biome-ignore lint/suspicious/noThenProperty: that it is one is the point
    Object.defineProperty(Promise.resolve(null), "then", { value: hostile });
  run(runner, [0]);
  await runner.settled();
  policy.answer = () =>
    Object.defineProperty(Promise.resolve(null), "constructor", { get: hostile });
  run(runner, [10]);
  await runner.settled();
  expect(counts(runner.safeTicks)).toEqual({ policy_threw: 1 });
});

test("a chunk that lies about its own parts is read as its record says", () => {
  const { policy, runner } = makeRunner();
  policy.answer = (state) =>
    Object.defineProperties(policy.decide(state), {
      values: { get: hostile },
      horizon: { get: hostile },
      copyFrom: { value: hostile },
    });
  expect(run(runner, [0])).toEqual([{ tick: 0, epoch: 1, seq: 1 }]);
});

test("selecting modes with an error is a throw", () => {
  const { policy, runner } = makeRunner();
  Object.defineProperty(policy, "selectsMode", { get: hostile });
  run(runner, [0], (state) => {
    state.record[StateSlot.hypothesis] = Hypothesis.Multi;
  });
  expect(counts(runner.safeTicks)).toEqual({ policy_threw: 1 });
});

test("a reset that promises and fails refuses every act of its epoch, and no other's", async () => {
  const { policy, runner } = makeRunner();
  const reset = policy.reset.bind(policy);
  policy.reset = (() => Promise.reject(new Error("no host"))) as never;
  runner.beginEpoch(2);
  await Promise.resolve();
  expect(run(runner, [0])).toEqual([]);
  expect([counts(runner.safeTicks), runner.lastError]).toEqual([
    { policy_threw: 1 },
    expect.stringMatching(/^no host/),
  ]);
  runner.beginEpoch(3); // fails too, after the next has begun
  policy.reset = reset;
  runner.beginEpoch(4);
  await Promise.resolve();
  expect(run(runner, [10])).toEqual([{ tick: 10, epoch: 4, seq: 1 }]);
});

const broken = (words: string) => () => {
  throw new Error(words);
};
const MEGABYTES = "x".repeat(10 << 20);

type Said = readonly [what: string, says: PropertyDescriptor, shown: string, error: RegExp];
const said: readonly Said[] = [
  ["nothing", { value: undefined }, "", /^$/],
  ["null", { value: null }, "", /^$/],
  ["an error", { get: broken("no display") }, "", /^PART: no display \(.*runner-rubbish/],
  [
    "an object without a prototype",
    { get: hostile },
    "",
    /^PART: a thrown value that has no text$/,
  ],
  ["a number", { value: 7 }, "", /^PART: expected a string, found number$/],
  ["an object", { value: { toString: hostile } }, "", /^PART: expected a string, found object$/],
  ["10 MB", { value: MEGABYTES }, `${"x".repeat(299)}…`, /^$/],
  ["what steers a terminal", { value: "a\u001b[2J\n\u202eb\u2028c" }, "a [2J b c", /^$/],
];

test.each(["statusText", "trouble"] as const)(
  "whatever %s says, it is a short line, and what cannot be read an error of the policy",
  (part) => {
    for (const [what, says, shown, error] of said) {
      const { policy, runner } = makeRunner();
      Object.defineProperty(policy, part, says);
      const arrived = run(runner, [0]);
      const pattern = new RegExp(error.source.replace("PART", part));
      expect([what, runner[part], runner.lastError]).toEqual([
        what,
        shown,
        expect.stringMatching(pattern),
      ]);
      expect(arrived).toEqual([{ tick: 0, epoch: 1, seq: 1 }]);
      expect(counts(runner.safeTicks)).toEqual({});
    }
  },
);

test.each<[string, PropertyDescriptor, boolean, RegExp]>([
  ["yes", { value: true }, true, /^$/],
  ["no", { value: false }, false, /^$/],
  ["nothing", { value: undefined }, false, /^$/],
  ["a text", { value: "yes" }, false, /^isSlow: expected a boolean, found string$/],
  ["an error", { get: broken("no clock") }, false, /^isSlow: no clock \(/],
])("whether it is slow is true or false: %s", (_what, says, isSlow, error) => {
  const { policy, runner } = makeRunner();
  Object.defineProperty(policy, "isSlow", says);
  expect([runner.isSlow, runner.lastError]).toEqual([isSlow, expect.stringMatching(error)]);
});

test("an error of what it says is one, however often it is asked, and hides no act's", () => {
  const { policy, runner } = makeRunner();
  Object.defineProperty(policy, "statusText", { get: broken("no display") });
  policy.answer = broken("no model");
  const errors = new Set<string>();
  for (let tick = 0; tick < 100; tick += 1) {
    run(runner, [tick]);
    errors.add(runner.lastError.replace(/ \(.*/, ""));
    expect(runner.trouble).toMatch(/^the policy threw: no model \(/);
    expect(runner.statusText).toBe("");
    errors.add(runner.lastError.replace(/ \(.*/, ""));
  }
  expect([...errors]).toEqual(["no model", "statusText: no display"]);
  expect(runner.lastError).toMatch(/^no model/);
});

test.each<[string, () => unknown]>([
  ["throws", broken("no log")],
  ["promises and fails", () => Promise.reject(new Error("no log"))],
  [
    "promises what throws at a look",
    () => Object.defineProperty(Promise.resolve(), "constructor", { get: broken("no log") }),
  ],
])("a policy that is told something and %s decides on", async (_what, hears) => {
  for (const part of ["receipt", "close"] as const) {
    const { policy, runner } = makeRunner();
    Object.assign(policy, { [part]: hears });
    if (part === "receipt") runner.receipt(1, 1, 1, instant(1));
    else runner.close();
    for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
    expect(runner.lastError).toMatch(new RegExp(`^${part}: no log \\(`));
    expect(run(runner, [0])).toEqual([{ tick: 0, epoch: 1, seq: 1 }]);
    expect(runner.trouble).toBe("");
  }
});

test("a receipt that is no function is an error of the policy", () => {
  const { policy, runner } = makeRunner();
  Object.assign(policy, { receipt: 7 });
  runner.receipt(1, 1, 1, instant(1));
  expect(runner.lastError).toMatch(/^receipt: /);
});
