// Tests of the policy side against what a policy may throw, answer or pretend: objects that refuse
// to be looked at, records of another size, promises and resets that fail. Each costs a decision.

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
