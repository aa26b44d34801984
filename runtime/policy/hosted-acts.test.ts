// A policy as a host asks it, against what a policy may do: an answer is a copy of the caller's
// own, and whatever is wrong is one line of the act that it is wrong in.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { testContext, testState, TestPolicy } from "./fixture.ts";
import { HostedActs } from "./hosted-acts.ts";

const robot = loadRobot("so101");
const context = testContext(robot, loadTask("none"));
const home = robot.joints.map((joint) => joint.homeRad);
const state = testState(context.layout, home, 0);

function hosted() {
  const policy = new TestPolicy(context);
  const acts = new HostedActs(policy);
  const act = (): Promise<ChunkView | string | null> =>
    acts.act(state, instant(0)).catch((error: Error) => error.message);
  acts.reset(1);
  return { policy, acts, act };
}

const broken = (words: string) => () => {
  throw new Error(words);
};

test("an answer is the caller's own, and none is none", async () => {
  const { policy, act } = hosted();
  const [first, second] = (await Promise.all([act(), act()])) as ChunkView[];
  expect([first!.seq, second!.seq]).toEqual([1, 2]);
  expect([...first!.values.subarray(0, 6)]).toEqual(home);
  expect(first).not.toBe(policy.writer.chunk);
  policy.answer = () => null;
  expect(await act()).toBeNull();
});

const headed = (slot: keyof typeof ChunkSlot, value: number) => (policy: TestPolicy) => () => {
  const chunk = policy.decide(state);
  chunk.record[ChunkSlot[slot]] = value;
  return chunk;
};

test.each<[string, (policy: TestPolicy) => () => unknown, RegExp]>([
  ["an error", () => broken("no model"), /^act threw: no model \(.*hosted-acts\.test\.ts/],
  ["a promise that fails", () => () => Promise.reject(new Error("oh")), /^act threw: oh \(/],
  ["something else", () => () => ({}), /^act answered neither a chunk, nor null/],
  ["nothing", () => () => undefined, /^act answered neither a chunk, nor null/],
  [
    "a chunk with another record",
    () => () => Object.defineProperty(new ChunkView(), "record", { value: new Float64Array(3) }),
    /^act answered a chunk whose record has not \d+ slots$/,
  ],
  [
    "a chunk that refuses to be looked at",
    () => () => Object.defineProperty(new ChunkView(), "record", { get: broken("hands off") }),
    /^act threw: hands off \(/,
  ],
  ["half a row", headed("horizon", 1.5), /head of no whole numbers: horizon 1\.5, width 6/],
  ["no rows", headed("horizon", 0), /horizon 0, /],
  ["more rows than there are", headed("horizon", 1e9), /horizon 1000000000, /],
  ["a width of no number", headed("width", Number.NaN), /width NaN/],
  ["a step of no number", headed("dtNs", Number.NaN), /dtNs NaN/],
  ["a step that is no whole number", headed("dtNs", 0.5), /dtNs 0\.5/],
  ["a beginning of no number", headed("validFromNs", Number.NaN), /validFromNs NaN/],
  ["a beginning at no time", headed("validFromNs", Infinity), /validFromNs Infinity/],
])("an act that answers %s fails, and the next does not", async (_what, answer, words) => {
  const { policy, act } = hosted();
  const { answer: good } = policy;
  policy.answer = answer(policy) as never;
  expect(await act()).toMatch(words);
  policy.answer = good;
  expect(await act()).toBeInstanceOf(ChunkView);
});

test("a head that only lies goes on: it is refused by name elsewhere", async () => {
  const { policy, act } = hosted();
  policy.answer = headed("horizon", 65)(policy);
  expect(((await act()) as ChunkView).horizon).toBe(65);
});

test.each<[string, () => unknown]>([
  ["throws", broken("no model")],
  ["promises and fails", () => Promise.reject(new Error("no model"))],
])("a reset that %s fails every act of its epoch, and no other's", async (_what, reset) => {
  const { policy, acts, act } = hosted();
  const good = policy.reset.bind(policy);
  policy.reset = reset as never;
  acts.reset(2);
  await Promise.resolve();
  for (let count = 0; count < 2; count += 1) {
    expect(await act()).toMatch(/^reset threw: no model \(/);
  }
  acts.reset(3); // may fail after the next has begun
  policy.reset = good;
  acts.reset(4);
  await Promise.resolve();
  expect(((await act()) as ChunkView).epoch).toBe(4);
});
