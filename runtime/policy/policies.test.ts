// Tests of the policies that ship, with an arm that follows commands exactly: what every decent
// policy must hold (finite, inside the limits, no jump at any seam, no more than the gate allows),
// and what each misbehaving one does wrong.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView, HORIZON_MAX, schemaFingerprint } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { Chain } from "../kinematics/chain.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { DocumentSinePolicy } from "./document-sine.ts";
import { testContext, testState } from "./fixture.ts";
import { GOOD_ACTS } from "./misbehaving.ts";
import { PolicyError } from "./policy-error.ts";
import { createPolicy } from "./registry.ts";
import { SlowPolicy } from "./slow.ts";
import { defaultWaypoints, TrajectoryPolicy } from "./trajectory.ts";

const ACT_NS = 50_000_000;
const TICK_NS = 5_000_000;
const so101 = loadRobot("so101");
const ur5e = loadRobot("ur5e");
const none = loadTask("none");

/** The row of a chunk at a moment, straight between rows, as the buffer reads it. */
function targetAt(chunk: ChunkView, nowNs: number, out: Float64Array): void {
  const since = (nowNs - chunk.validFromNs) / chunk.dtNs;
  const row = Math.min(Math.max(Math.floor(since), 0), chunk.horizon - 2);
  for (let joint = 0; joint < out.length; joint += 1) {
    const from = chunk.values[row * out.length + joint]!;
    const to = chunk.values[(row + 1) * out.length + joint]!;
    out[joint] = from + (to - from) * Math.min(since - row, 1);
  }
}

/** Lets a policy command an arm that follows exactly. `see` gets every command. */
function drive(
  policy: Policy,
  robot: RobotProfile,
  task: TaskProfile,
  acts: number,
  see: (commandRad: Float64Array, nowNs: number) => void,
  start = robot.joints.map((joint) => joint.homeRad),
): Float64Array {
  const { layout } = testContext(robot, task);
  const commandRad = Float64Array.from(start);
  policy.reset(1, new SequenceAllocator(1));
  for (let act = 0; act < acts; act += 1) {
    const actNs = act * ACT_NS;
    const state = testState(layout, commandRad, actNs - TICK_NS);
    const chunk = policy.act(state, instant(actNs)) as ChunkView;
    for (let nowNs = actNs; nowNs < actNs + ACT_NS; nowNs += TICK_NS) {
      targetAt(chunk, nowNs, commandRad);
      see(commandRad, nowNs);
    }
  }
  return commandRad;
}

const decent: readonly [string, RobotProfile, TaskProfile][] = [
  ["hold", so101, none],
  ["hold", ur5e, none],
  ["sine", so101, none],
  ["sine", ur5e, none],
  ["trajectory", so101, none],
  ["trajectory", ur5e, none],
  ["reach", so101, loadTask("reach")],
  ["reach", ur5e, loadTask("reach_far")],
];

test.each(decent)("%s asks nothing that the limits forbid, seams included", (name, robot, task) => {
  const policy = createPolicy(name, testContext(robot, task));
  const before = Float64Array.from(robot.joints, (joint) => joint.homeRad);
  const velocity = new Float64Array(before.length);
  const worst = { beyondRad: 0, velocityShare: 0, accelerationShare: 0 };
  drive(policy, robot, task, 400, (commandRad) => {
    for (const [index, joint] of robot.joints.entries()) {
      const rad = commandRad[index]!;
      const radPerS = (rad - before[index]!) / (TICK_NS / 1e9);
      const radPerS2 = (radPerS - velocity[index]!) / (TICK_NS / 1e9);
      const beyondRad = Math.max(joint.positionRadMin - rad, rad - joint.positionRadMax, 0);
      const { velocityRadPerSMax, motion } = joint;
      worst.beyondRad = Math.max(worst.beyondRad, beyondRad);
      worst.velocityShare = Math.max(worst.velocityShare, Math.abs(radPerS) / velocityRadPerSMax);
      const share = Math.abs(radPerS2) / motion.accelerationRadPerS2;
      worst.accelerationShare = Math.max(worst.accelerationShare, share);
      before[index] = rad;
      velocity[index] = radPerS;
    }
  });
  expect(worst.beyondRad).toBe(0);
  expect(worst.velocityShare).toBeLessThan(0.6);
  expect(worst.accelerationShare).toBeLessThan(1);
});

test("chunks of a decent policy lie on one grid and agree where they overlap", () => {
  for (const [name, robot, task] of decent) {
    const context = testContext(robot, task);
    const policy = createPolicy(name, context);
    const start = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    policy.reset(1, new SequenceAllocator(1));
    const first = new ChunkView();
    const begin = testState(context.layout, start, 0);
    first.copyFrom(policy.act(begin, instant(0)) as ChunkView);
    const later = Float64Array.from(start);
    targetAt(first, ACT_NS - TICK_NS, later);
    const state = testState(context.layout, later, ACT_NS - TICK_NS);
    const second = policy.act(state, instant(ACT_NS)) as ChunkView;
    const shift = (second.validFromNs - first.validFromNs) / first.dtNs;
    expect(shift).toBe(2);
    const count = (first.horizon - shift) * first.width;
    const overlap = first.values.slice(shift * first.width, shift * first.width + count);
    expect(second.values.slice(0, count)).toEqual(overlap);
    expect(first.validUntilNs - first.validFromNs).toBe(first.horizon * first.dtNs);
  }
});

test("plans go on from the last command, so that a drooping arm is not walked down", () => {
  for (const name of ["hold", "sine", "trajectory"]) {
    const context = testContext(so101, none);
    const policy = createPolicy(name, context);
    policy.reset(1, new SequenceAllocator(1));
    const state = testState(
      context.layout,
      so101.joints.map((joint) => joint.homeRad),
      0,
    );
    for (let joint = 0; joint < 6; joint += 1) state.positionRad[joint]! -= 0.05;
    const chunk = policy.act(state, instant(0)) as ChunkView;
    expect(chunk.values.slice(0, 6)).toEqual(Float64Array.from(state.command));
  }
});

test("a command that cannot be one is no place to plan from: the measured position is", () => {
  const context = testContext(so101, none);
  const policy = createPolicy("hold", context);
  policy.reset(1, new SequenceAllocator(1));
  const state = testState(
    context.layout,
    so101.joints.map((joint) => joint.homeRad),
    0,
  );
  state.command.fill(0);
  state.command[2] = Number.NaN;
  const chunk = policy.act(state, instant(0)) as ChunkView;
  const expected = so101.joints.map((joint) =>
    Math.abs(joint.homeRad) < 0.26 ? 0 : joint.homeRad,
  );
  expect([...chunk.values.slice(0, 6)]).toEqual(expected);
});

test("a robot that was held back is met where it is, not where the plan went", () => {
  for (const name of ["sine", "trajectory"]) {
    const context = testContext(so101, none);
    const policy = createPolicy(name, context);
    const start = so101.joints.map((joint) => joint.homeRad);
    policy.reset(1, new SequenceAllocator(1));
    let nowNs = 0;
    let leastRad = Number.POSITIVE_INFINITY;
    for (; nowNs < 3e9; nowNs += ACT_NS) {
      const chunk = policy.act(
        testState(context.layout, start, nowNs),
        instant(nowNs),
      ) as ChunkView;
      const target = new Float64Array(6);
      targetAt(chunk, nowNs, target);
      const off = Math.max(...target.map((rad, joint) => Math.abs(rad - start[joint]!)));
      expect(off).toBeLessThanOrEqual(0.15);
      if (nowNs > 1e9) leastRad = Math.min(leastRad, off);
    }
    expect(leastRad).toBeLessThan(0.01); // it did begin again
  }
});

test("a robot put elsewhere, by any one joint, is met there; so is one in a new epoch", () => {
  for (const [name, robot, task] of decent) {
    const context = testContext(robot, task);
    const policy = createPolicy(name, context);
    expect(policy.schema).toEqual(context.jointPositions);
    const start = robot.joints.map((joint) => joint.homeRad);
    policy.reset(1, new SequenceAllocator(1));
    let nowNs = 0;
    for (let joint = 0; joint < start.length; joint += 1) {
      void policy.act(testState(context.layout, start, nowNs), instant(nowNs));
      start[joint]! += start[joint]! > 0 ? -0.4 : 0.4;
      nowNs += ACT_NS;
      const chunk = policy.act(testState(context.layout, start, nowNs), instant(nowNs));
      expect([...(chunk as ChunkView).values.slice(0, start.length)]).toEqual(start);
      nowNs += ACT_NS;
    }
    // Nearer than a departure: only a new epoch makes it begin here.
    start[0]! += 0.05;
    policy.reset(2, new SequenceAllocator(2));
    const chunk = policy.act(testState(context.layout, start, nowNs), instant(nowNs)) as ChunkView;
    expect([...chunk.values.slice(0, start.length)]).toEqual(start);
    expect([chunk.epoch, chunk.seq, chunk.validFromNs]).toEqual([2, 1, instant(nowNs)]);
  }
});

test("sine swings every joint both ways around its start, and comes back", () => {
  const start = so101.joints.map((joint) => joint.homeRad);
  const low = Float64Array.from(start);
  const high = Float64Array.from(start);
  drive(createPolicy("sine", testContext(so101, none)), so101, none, 160, (commandRad) => {
    for (let joint = 0; joint < 6; joint += 1) {
      low[joint] = Math.min(low[joint]!, commandRad[joint]!);
      high[joint] = Math.max(high[joint]!, commandRad[joint]!);
    }
  });
  for (let joint = 0; joint < 6; joint += 1) {
    expect(high[joint]! - start[joint]!).toBeCloseTo(0.15, 3);
    expect(start[joint]! - low[joint]!).toBeCloseTo(0.15, 3);
  }
});

test("trajectory passes its waypoints in order, at rest in each, and starts over", () => {
  const waypoints = [0.2, -0.3, 0.1].map((rad) =>
    Float64Array.from(so101.joints, (joint) => joint.homeRad / 2 + rad),
  );
  const policy = new TrajectoryPolicy(testContext(so101, none), waypoints);
  const passed: number[] = [];
  const before = new Float64Array(6);
  drive(policy, so101, none, 300, (commandRad) => {
    const isStill = commandRad.every((rad, joint) => rad === before[joint]);
    const at = waypoints.findIndex((point) =>
      point.every((rad, joint) => Math.abs(rad - commandRad[joint]!) < 1e-9),
    );
    if (isStill && at >= 0 && passed.at(-1) !== at) passed.push(at);
    before.set(commandRad);
  });
  expect(passed.slice(0, 7)).toEqual([0, 1, 2, 0, 1, 2, 0]);
});

test("a minimum-jerk leg is at half its way at half its time, and fastest there", () => {
  const target = Float64Array.from(
    so101.joints,
    (joint, index) => joint.homeRad + (index === 0 ? 0.4 : 0),
  );
  const policy = new TrajectoryPolicy(testContext(so101, none), [target]);
  const path: number[] = [];
  drive(policy, so101, none, 40, (commandRad) => path.push(commandRad[0]!));
  const end = path.indexOf(path.at(-1)!);
  const speeds = path.slice(1, end).map((rad, index) => rad - path[index]!);
  const fastest = speeds.indexOf(Math.max(...speeds));
  expect(Math.abs(fastest - end / 2)).toBeLessThan(5);
  expect(path[Math.round(end / 2)]!).toBeCloseTo(0.2, 2);
  // 1.875 times the mean speed is what makes it minimum-jerk.
  expect((Math.max(...speeds) * end) / 0.4).toBeCloseTo(1.875, 1);
});

test("the default waypoints keep the tool of both arms well above the table", () => {
  for (const robot of [so101, ur5e]) {
    const pose = new Float64Array(7);
    for (const waypoint of defaultWaypoints(robot)) {
      new Chain(robot).forwardInto(pose, waypoint);
      expect(pose[2]!).toBeGreaterThan(0.05);
    }
  }
});

test("a waypoint outside the limits is refused by the joint's name", () => {
  const waypoint = Float64Array.of(0, 0, 0, 9, 0, 0);
  const act = () => new TrajectoryPolicy(testContext(so101, none), [waypoint]);
  expect(act).toThrow(PolicyError);
  expect(act).toThrow(/wrist_flex in -1.65806 … 1.65806 rad, found 9/);
});

test("reach brings the tool of either arm to its goal and keeps it there", () => {
  for (const [robot, taskName] of [
    [so101, "reach"],
    [ur5e, "reach_far"],
  ] as const) {
    const task = loadTask(taskName);
    const end = drive(createPolicy("reach", testContext(robot, task)), robot, task, 200, () => {});
    const pose = new Float64Array(7);
    new Chain(robot).forwardInto(pose, end);
    expect(Math.hypot(...task.goalM.map((m, axis) => m - pose[axis]!))).toBeLessThan(1e-4);
  }
});

test("reach lifts a servo that droops until the tool is at the goal", () => {
  const task = loadTask("reach");
  const context = testContext(so101, task);
  const policy = createPolicy("reach", context);
  const droopRad = [0, 0.05, -0.04, 0.02, 0, 0];
  policy.reset(1, new SequenceAllocator(1));
  const commandRad = Float64Array.from(so101.joints, (joint) => joint.homeRad);
  const measured = () => commandRad.map((rad, joint) => rad - droopRad[joint]!);
  for (let nowNs = 0; nowNs < 8e9; nowNs += ACT_NS) {
    const state = testState(context.layout, measured(), nowNs);
    state.command.set(commandRad);
    const chunk = policy.act(state, instant(nowNs)) as ChunkView;
    targetAt(chunk, nowNs + ACT_NS - TICK_NS, commandRad);
  }
  const pose = new Float64Array(7);
  new Chain(so101).forwardInto(pose, measured());
  const missM = Math.hypot(...task.goalM.map((m, axis) => m - pose[axis]!));
  expect(missM).toBeLessThan(task.goalRadiusM * 0.3);
});

test("document-sine commands what was measured, in every row, anchored by the profile", () => {
  const context = testContext(so101, none);
  const policy = new DocumentSinePolicy(context);
  policy.reset(2, new SequenceAllocator(2));
  const measured = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
  const chunk = policy.act(testState(context.layout, measured, 7_000_000));
  const rows = Array.from({ length: 16 }, () => measured).flat();
  expect([...chunk.values.subarray(0, rows.length)]).toEqual(rows);
  expect([chunk.validFromNs, chunk.validUntilNs]).toEqual([instant(-1), instant(-1)]);
  expect([chunk.epoch, chunk.seq, chunk.stateStampNs]).toEqual([2, 1, instant(7_000_000)]);
});

/** Copies of the first decisions of a policy with the arm at home. */
function decisions(name: string, count: number): ChunkView[] {
  const context = testContext(so101, none);
  const policy = createPolicy(name, context);
  policy.reset(5, new SequenceAllocator(5));
  const start = so101.joints.map((joint) => joint.homeRad);
  return Array.from({ length: count }, (_, act) => {
    const nowNs = act * ACT_NS;
    const state = testState(context.layout, start, nowNs);
    const copy = new ChunkView();
    const chunk = policy.act(state, instant(nowNs)) as ChunkView | null;
    if (chunk !== null) copy.copyFrom(chunk);
    return copy;
  });
}

test("slow begins when its last decision is ready, each taking effect 150 ms later", () => {
  const said = decisions("slow", 8).map((chunk) => [
    chunk.seq,
    ...[chunk.generatedNs, chunk.validFromNs, chunk.validUntilNs].map((ns) => ns / 1e6),
  ]);
  const none = [0, 0, 0, 0];
  expect(said).toEqual([
    [1, 150, 150, 470],
    none,
    none,
    [2, 300, 300, 620],
    none,
    none,
    [3, 450, 450, 770],
    none,
  ]);
});

test("slow delays an answer that comes as a promise too", async () => {
  const context = testContext(so101, none);
  const inner = new DocumentSinePolicy(context);
  const later: Policy = {
    name: "later",
    schema: inner.schema,
    selectsMode: false,
    reset: (epoch, allocator) => inner.reset(epoch, allocator),
    act: async (state) => inner.act(state),
  };
  const policy = new SlowPolicy(later, milliseconds(40));
  policy.reset(1, new SequenceAllocator(1));
  const state = testState(
    context.layout,
    so101.joints.map((joint) => joint.homeRad),
    0,
  );
  const chunk = await policy.act(state, instant(1_000_000));
  expect(chunk?.validFromNs).toBe(instant(41_000_000));
});

test("silent decides for two seconds and never again", () => {
  const seqs = decisions("silent", GOOD_ACTS + 20).map((chunk) => chunk.seq);
  expect(seqs).toEqual([
    ...Array.from({ length: GOOD_ACTS }, (_, index) => index + 1),
    ...Array.from({ length: 20 }, () => 0),
  ]);
});

test("nan spoils one value of every decision after two seconds", () => {
  const bad = decisions("nan", GOOD_ACTS + 200).map(
    (chunk) => chunk.values.subarray(0, 96).filter((value) => Number.isNaN(value)).length,
  );
  expect(new Set(bad.slice(0, GOOD_ACTS))).toEqual(new Set([0]));
  expect(new Set(bad.slice(GOOD_ACTS))).toEqual(new Set([1]));
});

test("jumpy leaps a radian either way in every other decision after two seconds", () => {
  const home = so101.joints[0]!.homeRad;
  const leaps = decisions("jumpy", GOOD_ACTS + 8)
    .slice(GOOD_ACTS)
    .map((chunk) => Math.round(chunk.values[0]! - home) + 0);
  expect(leaps).toEqual([1, 0, -1, 0, 1, 0, -1, 0]);
});

test("liar tells each of its four lies in turn, between honest decisions", () => {
  const { schema } = createPolicy("liar", testContext(so101, none));
  const honest = schemaFingerprint(schema);
  const heads = decisions("liar", GOOD_ACTS + 10)
    .slice(GOOD_ACTS)
    .map((chunk) => [
      chunk.epoch - 5,
      chunk.seq,
      chunk.record[ChunkSlot.schemaFingerprint]! - honest,
      chunk.horizon,
    ]);
  const n = GOOD_ACTS;
  expect(heads).toEqual([
    [-1, n + 1, 0, 16],
    [0, n + 2, 0, 16],
    [0, n + 2, 0, 16],
    [0, n + 4, 0, 16],
    [0, n + 5, 1, 16],
    [0, n + 6, 0, 16],
    [0, n + 7, 0, HORIZON_MAX + 1],
    [0, n + 8, 0, 16],
    [-1, n + 9, 0, 16],
    [0, n + 10, 0, 16],
  ]);
});

test("a misbehaving policy behaves well again for two seconds in each new epoch", () => {
  const context = testContext(so101, none);
  const policy = createPolicy("silent", context);
  const state = testState(
    context.layout,
    so101.joints.map((joint) => joint.homeRad),
    0,
  );
  for (const epoch of [1, 2]) {
    policy.reset(epoch, new SequenceAllocator(epoch));
    let said = 0;
    for (let act = 0; act < GOOD_ACTS + 5; act += 1) {
      if (policy.act(state, instant(0)) !== null) said += 1;
    }
    expect(said).toBe(GOOD_ACTS);
  }
});
