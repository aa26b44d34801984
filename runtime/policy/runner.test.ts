// Tests of the policy side: cadence by tick count, every refusal and what it does not cost, epochs,
// latency, and policies that throw, hang or answer rubbish.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView, jointSchema } from "../contracts/action.ts";
import { Evidence } from "../contracts/evidence.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { Hypothesis, StateSlot } from "../contracts/state.ts";
import type { StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ActionAdapter, commandFingerprint } from "./adapter.ts";
import { testContext, testState, TestPolicy } from "./fixture.ts";
import { LatencyModel, parseLatency } from "./latency.ts";
import { PolicyError } from "./policy-error.ts";
import { PolicyRunner } from "./runner.ts";
import type { RunnerOptions } from "./runner.ts";

const TICK_NS = 5_000_000;
const robot = loadRobot("so101");
const task = loadTask("pick_place");
const context = testContext(robot, task);
const home = robot.joints.map((joint) => joint.homeRad);

function makeRunner(changes: Partial<RunnerOptions> = {}) {
  const policy = new TestPolicy(context);
  const runner = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout: context.layout,
    everyTicks: 10,
    requires: task.requires,
    qualityRatioMin: 0.5,
    ...changes,
  });
  runner.beginEpoch(1);
  return { policy, runner };
}

/** Runs ticks with a state one tick old in each, changed by `spoil`. Answers what came out. */
function run(
  runner: PolicyRunner,
  ticks: readonly number[],
  spoil: (state: StateView, tick: number) => void = () => {},
) {
  const out = new ChunkView();
  const arrived: { tick: number; epoch: number; seq: number }[] = [];
  for (const tick of ticks) {
    const nowNs = instant(tick * TICK_NS);
    const state = testState(context.layout, home, nowNs - TICK_NS);
    spoil(state, tick);
    runner.observe(state);
    runner.step(tick, nowNs);
    while (runner.takeInto(out, nowNs)) arrived.push({ tick, epoch: out.epoch, seq: out.seq });
  }
  return arrived;
}

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);
const counts = (record: Float64Array) =>
  Object.fromEntries(
    [...record.entries()].filter(([, n]) => n > 0).map(([r, n]) => [reasonNames[r], n]),
  );

test("a policy acts in the first tick, then at its cadence, and chunks leave at once", () => {
  const { policy, runner } = makeRunner();
  const arrived = run(runner, upTo(31, 3));
  expect(policy.actedNs).toEqual([3, 13, 23, 33].map((tick) => tick * TICK_NS));
  expect(arrived).toEqual([
    { tick: 3, epoch: 1, seq: 1 },
    { tick: 13, epoch: 1, seq: 2 },
    { tick: 23, epoch: 1, seq: 3 },
    { tick: 33, epoch: 1, seq: 4 },
  ]);
});

test("skipped ticks keep the grid: a late act does not shift the ones after it", () => {
  const { policy, runner } = makeRunner();
  run(runner, [0, 1, 27, 28, 30, 31]);
  expect(policy.actedNs).toEqual([0, 27, 30].map((tick) => tick * TICK_NS));
});

test("a refused act keeps the cadence", () => {
  const { policy, runner } = makeRunner();
  run(runner, upTo(31), (state, tick) => {
    if (tick === 10) state.record[StateSlot.stampNs] = 0;
  });
  expect(policy.actedNs).toEqual([0, 20, 30].map((tick) => tick * TICK_NS));
  expect(counts(runner.safeTicks)).toEqual({ stale_state: 1 });
});

test("before the first state and before the first epoch nothing is decided", () => {
  const { policy, runner } = makeRunner();
  runner.step(0, instant(0));
  expect(counts(runner.safeTicks)).toEqual({ stale_state: 1 });
  const bare = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout: context.layout,
    everyTicks: 1,
    requires: [],
    qualityRatioMin: 0,
  });
  run(bare, [0, 1]);
  expect(policy.actedNs).toEqual([]);
});

const cube = (state: StateView) => state.field("cube_pose")!;
const VALIDITY_NS = 120_000_000;
// Tick 100: now is 500 ms, the state one tick old.
const NOW_NS = 100 * TICK_NS;
const refusals: readonly [string, string, (state: StateView) => void][] = [
  [
    "a state as old as its validity",
    "stale_state",
    (state) => {
      state.record[StateSlot.stampNs] = NOW_NS - 15_000_000;
    },
  ],
  [
    "a stamp from the future",
    "stamp_in_future",
    (state) => {
      state.record[StateSlot.stampNs] = NOW_NS + 1_000_001;
    },
  ],
  [
    "a stamp that is no number",
    "stale_state",
    (state) => {
      state.record[StateSlot.stampNs] = Number.NaN;
    },
  ],
  ["an absent required source", "source_missing", (state) => cube(state).clear()],
  [
    "a required source as old as its own validity",
    "stale_state",
    (state) => cube(state).set(instant(NOW_NS - VALIDITY_NS), duration(VALIDITY_NS), 1, 1),
  ],
  [
    "a required source from the future",
    "stamp_in_future",
    (state) => cube(state).set(instant(NOW_NS + 2_000_000), duration(VALIDITY_NS), 1, 1),
  ],
  [
    "poor proprioception",
    "low_quality",
    (state) => {
      state.record[StateSlot.qualityProprioRatio] = 0.49;
    },
  ],
  [
    "poor alignment",
    "low_quality",
    (state) => {
      state.record[StateSlot.qualityTemporalRatio] = 0.49;
    },
  ],
  [
    "poor localization",
    "low_quality",
    (state) => {
      state.record[StateSlot.qualityLocalizationRatio] = 0.49;
    },
  ],
  [
    "a required field of poor quality",
    "low_quality",
    (state) => cube(state).set(instant(NOW_NS), duration(VALIDITY_NS), 0.49, 1),
  ],
  [
    "a quality that is no number",
    "low_quality",
    (state) => {
      state.record[StateSlot.qualityLocalizationRatio] = Number.NaN;
    },
  ],
  [
    "several hypotheses",
    "hypothesis_unsupported",
    (state) => {
      state.record[StateSlot.hypothesis] = Hypothesis.Multi;
    },
  ],
];

test.each(refusals)("a policy never sees %s", (_what, reason, spoil) => {
  const { policy, runner } = makeRunner();
  expect(run(runner, [100], spoil)).toEqual([]);
  expect([policy.actedNs, counts(runner.safeTicks)]).toEqual([[], { [reason]: 1 }]);
  expect(counts(runner.safeEpisodes)).toEqual({ [reason]: 1 });
});

const accepted: readonly [string, (state: StateView) => void][] = [
  [
    "a state just younger than its validity",
    (state) => {
      state.record[StateSlot.stampNs] = NOW_NS - 14_999_999;
    },
  ],
  [
    "a stamp 1 ms ahead",
    (state) => {
      state.record[StateSlot.stampNs] = NOW_NS + 1_000_000;
    },
  ],
  [
    "a source just younger than its own validity",
    (state) => cube(state).set(instant(NOW_NS - VALIDITY_NS + 1), duration(VALIDITY_NS), 0.5, 1),
  ],
  [
    "quality at the floor",
    (state) => {
      state.record.fill(0.5, StateSlot.qualityProprioRatio, StateSlot.qualityTemporalRatio + 1);
    },
  ],
  [
    "poor vision when no image is required",
    (state) => {
      state.record[StateSlot.qualityVisionRatio] = 0;
    },
  ],
];

test.each(accepted)("a policy does see %s", (_what, change) => {
  const { runner } = makeRunner();
  expect(run(runner, [100], change)).toEqual([{ tick: 100, epoch: 1, seq: 1 }]);
});

test("a policy that selects a mode does see several hypotheses", () => {
  const { policy, runner } = makeRunner();
  policy.selectsMode = true;
  const several = (state: StateView) => {
    state.record[StateSlot.hypothesis] = Hypothesis.Multi;
  };
  expect(run(runner, [0], several)).toHaveLength(1);
});

test("an absent source that nobody requires is normal", () => {
  const { runner } = makeRunner({ requires: [] });
  expect(run(runner, [0], (state) => cube(state).clear())).toHaveLength(1);
});

test("episodes count entries, ticks count acts, and another reason is another episode", () => {
  const { runner } = makeRunner({ everyTicks: 1 });
  const reasonOf = ["stale", "stale", "low", "ok", "low", "low", "stale"];
  run(runner, upTo(7), (state, tick) => {
    if (reasonOf[tick] === "stale") state.record[StateSlot.stampNs] = -1e9;
    if (reasonOf[tick] === "low") state.record[StateSlot.qualityProprioRatio] = 0;
  });
  expect(counts(runner.safeTicks)).toEqual({ stale_state: 3, low_quality: 3 });
  expect(counts(runner.safeEpisodes)).toEqual({ stale_state: 2, low_quality: 2 });
});

test("an epoch resets the policy with its own allocator, drops what waits and acts at once", () => {
  const latency = new LatencyModel(parseLatency("15ms"), 1);
  const { policy, runner } = makeRunner({ latency });
  run(runner, upTo(2));
  runner.beginEpoch(7);
  expect(policy.resets).toEqual([1, 7]);
  expect(run(runner, upTo(8, 2))).toEqual([{ tick: 5, epoch: 7, seq: 1 }]);
  expect(policy.actedNs).toEqual([0, 2 * TICK_NS]);
});

test("a reset that throws refuses every act until one succeeds", () => {
  const { policy, runner } = makeRunner();
  const reset = policy.reset.bind(policy);
  policy.reset = () => {
    throw new Error("no model");
  };
  runner.beginEpoch(2);
  expect(run(runner, upTo(20))).toEqual([]);
  expect([counts(runner.safeTicks), runner.lastError]).toEqual([
    { policy_threw: 2 },
    expect.stringMatching(/^no model \(/),
  ]);
  policy.reset = reset;
  runner.beginEpoch(3);
  expect(run(runner, [20])).toEqual([{ tick: 20, epoch: 3, seq: 1 }]);
});

test("a policy that throws is counted, keeps its cadence, and its words are kept", () => {
  const { policy, runner } = makeRunner();
  policy.answer = () => {
    throw new TypeError("no such column");
  };
  expect(run(runner, upTo(21))).toEqual([]);
  expect(policy.actedNs).toHaveLength(3);
  expect(counts(runner.safeTicks)).toEqual({ policy_threw: 3 });
  expect(counts(runner.safeEpisodes)).toEqual({ policy_threw: 1 });
  expect(runner.lastError).toMatch(/^no such column \(.*runner\.test\.ts:\d+:/);
});

test("why it decides nothing is what it threw, or what it says, until it decides", () => {
  const { policy, runner } = makeRunner({ everyTicks: 1 });
  const { answer } = policy;
  const after = (tick: number): string => {
    run(runner, [tick]);
    return runner.trouble;
  };
  expect(after(0)).toBe("");
  policy.answer = () => {
    throw new TypeError("no such column");
  };
  expect(after(1)).toMatch(/^the policy threw: no such column \(/);
  policy.answer = answer;
  expect(after(2)).toBe("");
  Object.defineProperty(policy, "trouble", { value: "no host", configurable: true });
  expect(after(3)).toBe("no host");
  Object.defineProperty(policy, "trouble", { value: 7 });
  expect(after(4)).toBe("");
});

test("a promise that is not kept for a second is why, until it is kept or void", async () => {
  const { policy, runner } = makeRunner({ everyTicks: 1 });
  const { answer } = policy;
  const kept = Promise.withResolvers<null>();
  policy.answer = () => kept.promise as never;
  const late = 1e9 / TICK_NS;
  const after = (tick: number): string => {
    run(runner, [tick]);
    return runner.trouble;
  };
  const why = "the policy has promised an answer and not given it";
  expect([after(0), after(late - 1), after(late)]).toEqual(["", "", why]);
  kept.resolve(null);
  await runner.settled();
  expect(runner.trouble).toBe("");
  policy.answer = () => new Promise(() => undefined) as never;
  expect([after(late + 1), after(2 * late + 1)]).toEqual(["", why]);
  runner.beginEpoch(2);
  policy.answer = answer;
  expect(after(2 * late + 2)).toBe("");
});

test.each([[undefined], [7], ["go"], [{}], [[]]])(
  "an answer of %p is an error, not a chunk",
  (answer) => {
    const { policy, runner } = makeRunner();
    policy.answer = () => answer as never;
    expect(run(runner, [0])).toEqual([]);
    expect(counts(runner.safeTicks)).toEqual({ policy_threw: 1 });
    expect(runner.lastError).toContain("neither a chunk, nor null");
  },
);

test("no decision is no refusal", () => {
  const { policy, runner } = makeRunner();
  policy.answer = () => null;
  expect(run(runner, upTo(30))).toEqual([]);
  expect([counts(runner.safeTicks), runner.reason]).toEqual([{}, Reason.Ok]);
});

test("a latency delays each decision by its draw, in the order they become ready", () => {
  const draws = new LatencyModel(parseLatency("uniform:0ms..150ms"), 5);
  const ready = upTo(12).map((act) => ({
    seq: act + 1,
    tick: Math.ceil((act * 10 * TICK_NS + draws.drawNs()) / TICK_NS),
  }));
  const latency = new LatencyModel(parseLatency("uniform:0ms..150ms"), 5);
  const { runner } = makeRunner({ latency });
  const arrived = run(runner, upTo(150)).slice(0, 10);
  const expected = ready.toSorted((a, b) => a.tick - b.tick || a.seq - b.seq).slice(0, 10);
  expect(arrived.map(({ seq, tick }) => ({ seq, tick }))).toEqual(expected);
  const seqs = arrived.map(({ seq }) => seq);
  expect(seqs).not.toEqual(seqs.toSorted((a, b) => a - b)); // one did overtake another
});

test("more decisions under way than there are places for are counted as dropped", () => {
  const latency = new LatencyModel(parseLatency("10s"), 1);
  const { runner } = makeRunner({ latency, everyTicks: 1 });
  run(runner, upTo(20));
  expect(runner.droppedCount).toBe(12);
});

test("every stamp of a decision is filled in", () => {
  const latency = new LatencyModel(parseLatency("12ms"), 1);
  const { runner } = makeRunner({ latency });
  const out = new ChunkView();
  run(runner, [40]);
  runner.takeInto(out, instant(43 * TICK_NS));
  const { stateStampNs, actStartNs, actEndNs, generatedNs } = ChunkSlot;
  const stamps = [stateStampNs, actStartNs, actEndNs, generatedNs].map((slot) => out.record[slot]);
  const endNs = 40 * TICK_NS + 12_000_000;
  expect(stamps).toEqual([39 * TICK_NS, 40 * TICK_NS, endNs, endNs]);
  expect(out.schemaFingerprint).toBe(commandFingerprint(robot));
});

test("a promised answer blocks nothing, delays the next act, and keeps its own state", async () => {
  const { policy, runner } = makeRunner();
  let finish = () => {};
  policy.answer = (state) =>
    new Promise((resolve) => {
      finish = () => resolve(policy.decide(state));
    });
  expect(run(runner, upTo(25))).toEqual([]);
  expect([policy.actedNs.length, runner.isPending]).toEqual([1, true]);
  finish();
  await runner.settled();
  const out = new ChunkView();
  expect(runner.takeInto(out, instant(25 * TICK_NS))).toBe(true);
  expect(out.stateStampNs).toBe(instant(-TICK_NS));
  expect(out.record[ChunkSlot.actEndNs]).toBe(25 * TICK_NS);
  run(runner, [25, 26]);
  expect(policy.actedNs).toEqual([0, 25 * TICK_NS]);
});

test("a promise that fails is a throw", async () => {
  const { policy, runner } = makeRunner();
  policy.answer = () => Promise.reject(new Error("host is gone"));
  run(runner, [0]);
  await runner.settled();
  expect([counts(runner.safeTicks), runner.lastError]).toEqual([
    { policy_threw: 1 },
    expect.stringMatching(/^host is gone \(/),
  ]);
});

test("a promise abandoned by a new epoch neither blocks it nor delivers", async () => {
  const { policy, runner } = makeRunner();
  const decide = policy.answer;
  const late: (() => void)[] = [];
  policy.answer = (state) =>
    new Promise((resolve) => {
      late.push(() => resolve(policy.decide(state)));
    });
  run(runner, [0]);
  policy.answer = decide;
  runner.beginEpoch(2);
  expect([runner.isPending, runner.abandonedCount]).toEqual([false, 1]);
  expect(run(runner, [1])).toEqual([{ tick: 1, epoch: 2, seq: 1 }]);
  late[0]?.();
  await runner.settled();
  await Promise.resolve();
  expect(run(runner, [2, 3])).toEqual([]);
});

test("a decision that the adapter refuses is delivered with its refusal", () => {
  const far = loadRobot("ur5e");
  const reach = testContext(far, loadTask("none"));
  const columns = ["tx", "ty", "tz", "rx", "ry", "rz"];
  const schema = {
    ...jointSchema("joint_pos", []),
    space: "ee_pose_delta" as const,
    frame: "base" as const,
    columns,
  };
  const policy = new TestPolicy(reach, schema);
  policy.answer = (state) => {
    policy.writer.begin(state, policy.allocator!).fill(5);
    return policy.writer.chunk;
  };
  const runner = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(schema, far),
    layout: reach.layout,
    everyTicks: 1,
    requires: [],
    qualityRatioMin: 0,
  });
  runner.beginEpoch(1);
  runner.observe(
    testState(
      reach.layout,
      far.joints.map((joint) => joint.homeRad),
      0,
    ),
  );
  runner.step(0, instant(0));
  const out = new ChunkView();
  expect(runner.takeInto(out, instant(0))).toBe(true);
  const { refusal } = ChunkSlot;
  expect([out.epoch, out.seq, out.record[refusal]]).toEqual([1, 1, Evidence.RejectedUnreachable]);
});

test("a task that requires a source without a field is refused by its name", () => {
  const act = () => makeRunner({ requires: ["depth"] });
  expect(act).toThrow(PolicyError);
  expect(act).toThrow(
    'Cannot run policy "test": expected the required source "depth" among the observation ' +
      "fields, found cube_pose",
  );
});
