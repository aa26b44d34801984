// Means over overlapping chunks against values worked out by hand; what has no mean, and what is no
// chunk at all.

import { expect, test } from "bun:test";
import { ChunkView, toolDeltaSchema } from "../contracts/action.ts";
import { Evidence } from "../contracts/evidence.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { RowInterpolation } from "../contracts/profile.ts";
import { milliseconds, instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { EnsemblePolicy } from "./ensemble.ts";
import { testContext, TestPolicy, testState } from "./fixture.ts";
import { makeRunner } from "./make-runner.ts";
import { PolicyError } from "./policy-error.ts";

const MS = 1e6;
const robot = loadRobot("document-one"); // one joint
const context = testContext(robot, loadTask("none"));
const DT_NS = robot.policy.dtNs;
const HORIZON = robot.policy.horizon;

class World {
  readonly inner = new TestPolicy(context);
  readonly policy: EnsemblePolicy;

  constructor(ensembleMs = 100, interpolation: RowInterpolation = "linear") {
    this.policy = new EnsemblePolicy(this.inner, {
      ensembleNs: milliseconds(ensembleMs),
      interpolation,
    });
    this.policy.reset(1, new SequenceAllocator(1));
  }

  /** What goes on when the policy answers `rowOf` to a state sampled at `ms`. */
  act(ms: number, rowOf: (row: number) => number): number[] {
    this.inner.answer = (state) => this.#rows(state, rowOf);
    const chunk = this.policy.act(this.state(ms), instant(ms * MS)) as ChunkView;
    return [...chunk.values.subarray(0, HORIZON)];
  }

  state(ms: number) {
    return testState(context.layout, [0], ms * MS);
  }

  #rows(state: ReturnType<World["state"]>, rowOf: (row: number) => number): ChunkView {
    const { writer, allocator } = this.inner;
    const values = writer.begin(state, allocator!);
    for (let row = 0; row < HORIZON; row += 1) values[row] = rowOf(row);
    return writer.chunk;
  }
}

const near = (values: readonly number[], expected: readonly number[]): void => {
  for (const [at, value] of expected.entries()) expect(values[at]!).toBeCloseTo(value, 12);
};

test("the first decision goes on as it is, a second is their mean where they overlap", () => {
  const world = new World();
  const dtMs = DT_NS / MS;
  near(
    world.act(1_000, () => 1),
    Array.from({ length: HORIZON }, () => 1),
  );
  // One row later the older one weighs exp(-age / 100 ms), and covers all but the last row.
  const weight = Math.exp(-dtMs / 100);
  const mean = (3 + weight) / (1 + weight);
  const mixed = world.act(1_000 + dtMs, () => 3);
  near(
    mixed.slice(0, HORIZON - 1),
    Array.from({ length: HORIZON - 1 }, () => mean),
  );
  expect(mixed[HORIZON - 1]).toBe(3);
});

test("three decisions weigh by their age, each as its policy made it and not as it went on", () => {
  const world = new World(50);
  const dtMs = DT_NS / MS;
  for (const [at, value] of [0, 10].entries()) world.act(1_000 + at * dtMs, () => value);
  const [first] = world.act(1_000 + 2 * dtMs, () => 20);
  const [w1, w2] = [Math.exp(-dtMs / 50), Math.exp(-(2 * dtMs) / 50)];
  expect(first!).toBeCloseTo((20 + 10 * w1 + 0 * w2) / (1 + w1 + w2), 12);
});

test("between two rows an older decision is read as the buffer reads it", () => {
  const half = DT_NS / MS / 2;
  const weight = Math.exp(-half / 100);
  const linear = new World();
  linear.act(1_000, (row) => row);
  expect(linear.act(1_000 + half, () => 4)[0]!).toBeCloseTo((4 + 0.5 * weight) / (1 + weight), 12);
  const hold = new World(100, "hold");
  hold.act(1_000, (row) => row + 1);
  expect(hold.act(1_000 + half, () => 4)[0]!).toBeCloseTo((4 + weight) / (1 + weight), 12);
});

test("a plan that agrees with itself is not changed", () => {
  const world = new World();
  const dtMs = DT_NS / MS;
  for (let at = 0; at < 20; at += 1) {
    const values = world.act(1_000 + at * dtMs, (row) => 0.1 * (at + row));
    near(
      values,
      Array.from({ length: HORIZON }, (_, row) => 0.1 * (at + row)),
    );
  }
});

test("an epoch begins without a memory, and an answer to the one before leaves none", async () => {
  const world = new World();
  world.act(1_000, () => 1);
  let settle: (chunk: ChunkView) => void = () => undefined;
  world.inner.answer = () => new Promise<ChunkView>((resolve) => (settle = resolve));
  const late = world.policy.act(world.state(1_000), instant(1_000 * MS));
  world.policy.reset(2, new SequenceAllocator(2));
  const chunk = new ChunkView();
  chunk.begin(1, 2, HORIZON, 1, DT_NS);
  chunk.values.fill(7, 0, HORIZON);
  settle(chunk);
  expect(await late).toBe(chunk);
  expect(world.act(1_005, () => 3)[0]).toBe(3);
});

test("a promised decision is a mean too", async () => {
  const world = new World();
  world.act(1_000, () => 1);
  const chunk = new ChunkView();
  chunk.begin(1, 9, HORIZON, 1, DT_NS);
  chunk.values.fill(3, 0, HORIZON);
  world.inner.answer = () => Promise.resolve(chunk);
  const mixed = await world.policy.act(world.state(1_000), instant(1_000 * MS));
  expect(mixed!.values[0]).toBe(2);
  expect(mixed!.seq).toBe(9);
});

test("what is no number or no chunk goes on as it came, and is not remembered", () => {
  const world = new World();
  expect(world.act(1_000, () => Number.NaN)[0]).toBeNaN();
  world.inner.answer = () => null;
  expect(world.policy.act(world.state(1_000), instant(1_000 * MS))).toBeNull();
  world.inner.answer = () => "rubbish" as unknown as ChunkView;
  expect(String(world.policy.act(world.state(1_000), instant(0)))).toBe("rubbish");
  expect(world.act(1_001, () => 3)[0]).toBe(3);
});

test("what the policy says of itself is handed on, and what it is told", () => {
  const heard: string[] = [];
  const inner = Object.assign(new TestPolicy(context), {
    statusText: "it moves at reduced speed",
    trouble: "its host is gone",
    isSlow: true,
    receipt: (...facts: readonly number[]) => heard.push(facts.join(" ")),
    close: () => heard.push("closed"),
  });
  const plan = { ensembleNs: milliseconds(100), interpolation: "linear" } as const;
  const policy = new EnsemblePolicy(inner, plan);
  policy.receipt(Evidence.Accepted, 2, 3, instant(4));
  policy.close();
  expect(heard).toEqual([`${Evidence.Accepted} 2 3 4`, "closed"]);
  const { statusText, trouble, isSlow } = inner;
  expect(policy).toMatchObject({ statusText, trouble, isSlow });
  const silent = new EnsemblePolicy(new TestPolicy(context), plan);
  expect(silent).toMatchObject({ statusText: "", trouble: "", isSlow: false });
});

test("what it says and does late is the policy's own failure, which goes through", async () => {
  const { inner, policy } = new World();
  const fails = () => Promise.reject(new Error("no log"));
  Object.assign(inner, { receipt: fails, close: fails });
  expect(policy.receipt(1, 1, 1, instant(1))).rejects.toThrow("no log");
  expect(policy.close()).rejects.toThrow("no log");
  await Promise.resolve();
});

test("values that have no mean are refused by name", () => {
  const inner = new TestPolicy(context, toolDeltaSchema("base", ["joint"]));
  const make = () =>
    new EnsemblePolicy(inner, { ensembleNs: milliseconds(100), interpolation: "linear" });
  expect(make).toThrow(PolicyError);
  expect(make).toThrow('Cannot average decisions of "test"');
  expect(make).toThrow("expected a policy of joint_pos or joint_vel, found ee_pose_delta");
});

test("a profile that asks for it has its policy averaged", async () => {
  const task = loadTask("none");
  const fixed = { policy: "sine", seed: 1, policyLatency: undefined, task };
  const ensemble = { ...robot.policy, ensembleNs: milliseconds(100) };
  const runs = [robot, { ...robot, policy: ensemble }].map(async (profile) => {
    const runner = await makeRunner({ ...fixed, robot: profile }, context.layout);
    runner.beginEpoch(1);
    const out = new ChunkView();
    const values: number[] = [];
    for (let tick = 0; tick < 40; tick += 1) {
      const nowNs = instant(1e9 + tick * robot.periodNs);
      // A robot that is held back: plans that begin anew disagree with those before.
      runner.observe(testState(context.layout, [tick > 20 ? 0.2 : 0], nowNs));
      runner.step(tick, nowNs);
      while (runner.takeInto(out, nowNs)) values.push(out.values[0]!);
    }
    return values;
  });
  const [plain, mean] = await Promise.all(runs);
  expect(mean!.length).toBe(plain!.length);
  expect(mean).not.toEqual(plain);
});
