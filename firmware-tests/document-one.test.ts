// The nine behaviours of the first document, with its numbers, through the real core: ControlCore
// and controlTick on the profile `document-one`, paced in lockstep, policies behind the real runner
// and port. One joint, 50 Hz, chunks of 16 rows of 20 ms, a sensor that follows sin(t).
//
// A *send* of the document is a submit of kind motion here; a tick that may not move submits a
// hold, so that each tick has exactly one submit.

import { expect, test } from "bun:test";
import { SignalRobot } from "../hal/signal-robot.ts";
import type { SignalOptions } from "../hal/signal-robot.ts";
import type { RobotActuator, RobotSensor } from "../hal/robot.ts";
import { ChunkSlot, ChunkView } from "../runtime/contracts/action.ts";
import { CommandSlot, commandKindNames } from "../runtime/contracts/command.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import { EvidenceSlot, evidenceNames } from "../runtime/contracts/evidence.ts";
import { Mode, modeNames } from "../runtime/contracts/mode.ts";
import { SequenceAllocator } from "../runtime/contracts/policy.ts";
import type { Policy, PolicyPort } from "../runtime/contracts/policy.ts";
import { REASON_COUNT, Reason, reasonNames } from "../runtime/contracts/reason.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { TickSlot, tickSlotCount } from "../runtime/contracts/tick-record.ts";
import { duration, instant, milliseconds } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { FlightRecorder } from "../runtime/core/flight-recorder.ts";
import {
  ALL_ALIVE,
  InputLog,
  NO_CUES,
  RecordingPolicyPort,
  RecordingSensor,
  ReplayPolicyPort,
  ReplaySensor,
} from "../runtime/record/input-log.ts";
import { LockstepPacer, ReplayPacer, runLoop } from "../runtime/core/pacer.ts";
import type { Pacer } from "../runtime/core/pacer.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { policyContext } from "../runtime/policy/context.ts";
import type { ChunkWriter, PolicyContext } from "../runtime/policy/context.ts";
import { DocumentSinePolicy } from "../runtime/policy/document-sine.ts";
import { LatencyModel, parseLatency } from "../runtime/policy/latency.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { anchoringOf } from "../runtime/policy/policy-kind.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";

const robot = loadRobot("document-one");
const layout = new StateLayout(robot, robot.sources, "");
const context = policyContext(robot, loadTask("none"), layout);
const schemaFingerprint = commandFingerprint(robot);

const seconds = (timeS: number): Instant => instant(Math.round(timeS * 1e9));
/** The document compares 0.8 and 0.85 approximately: neither is a binary fraction. */
const APPROX_DIGITS = 9;

/** What left the robot's last stage in one tick. */
type Submit = { kind: string; valueRad: number; reason: string };

/** Remembers each command; a second one in a tick would show as a second entry. */
class Listener implements RobotActuator {
  readonly submits: Submit[] = [];

  send({ kind, record, values }: CommandView): void {
    const reason = reasonNames[record[CommandSlot.reason]!]!;
    this.submits.push({ kind: commandKindNames[kind]!, valueRad: values[0]!, reason });
  }
}

/** The document's slow policy: its chunk is handed over at once and names a start in the future. */
class LatePolicy implements Policy {
  readonly name = "late";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: ChunkWriter;
  readonly #latencyNs = milliseconds(150);
  #allocator = new SequenceAllocator(0);

  constructor(from: PolicyContext) {
    this.#writer = from.writer(from.jointPositions);
    this.schema = this.#writer.schema;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    this.#writer.begin(state, this.#allocator).fill(state.positionRad[0]!);
    const { chunk } = this.#writer;
    const readyNs = instant(nowNs + this.#latencyNs);
    chunk.record[ChunkSlot.generatedNs] = readyNs;
    chunk.setWindow(readyNs, instant(readyNs + 16 * chunk.dtNs));
    return chunk;
  }
}

type Setup = {
  readonly ticks: number;
  readonly everyTicks: number;
  readonly sensor?: Partial<SignalOptions>;
  readonly policy?: Policy;
  readonly latency?: string;
};

const honest: SignalOptions = {
  signal: Math.sin,
  stampDelayNs: duration(0),
  failAtNs: instant(Infinity),
};

/** The policy side as every run has it, acting every so many ticks. */
function portOf(setup: Setup): LockstepPolicyPort {
  const policy = setup.policy ?? new DocumentSinePolicy(context);
  const runner = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout,
    everyTicks: setup.everyTicks,
    requires: [],
    qualityRatioMin: robot.state.qualityRatioMin,
    ...(setup.latency !== undefined && {
      latency: new LatencyModel(parseLatency(setup.latency), 1),
    }),
  });
  return new LockstepPolicyPort(runner, anchoringOf(robot, "document-sine"));
}

/** One episode from time zero: primes, then runs the real loop. */
function episode(setup: Setup) {
  const body = new SignalRobot(robot, robot.sources, { ...honest, ...setup.sensor });
  const port = portOf(setup);
  const log = new InputLog();
  const inputs = {
    sensor: new RecordingSensor(body.sensor, log),
    policy: new RecordingPolicyPort(port, log),
  };
  let granted = 0;
  const takeGrant = () => {
    granted += 1;
    return granted <= setup.ticks;
  };
  const run = runCore(inputs, new LockstepPacer(takeGrant, robot.controlHz, 1));
  const bothSides = (reason: Reason) =>
    run.core.safeTicks[reason]! + port.runner.safeTicks[reason]!;
  return { ...run, log, bothSides };
}

type Inputs = {
  readonly sensor: RobotSensor;
  readonly policy: PolicyPort;
  /** Episodes begun before the first tick. */
  readonly epochs?: number;
};

function runCore({ sensor, policy, epochs = 1 }: Inputs, pacer: Pacer) {
  const actuator = new Listener();
  const ticks = new FlightRecorder(1_000, tickSlotCount(layout.jointCount));
  const evidence = new EvidenceLog();
  const core = new ControlCore({
    profile: robot,
    layout,
    schemaFingerprint,
    sensor,
    actuator,
    policy,
    cues: NO_CUES,
    alive: ALL_ALIVE,
    ticks,
    evidence,
    deadlineIsFault: true,
  });
  core.prime(instant(0));
  for (let epoch = 2; epoch <= epochs; epoch += 1) core.beginEpoch(instant(0));
  runLoop(core, pacer);
  const { supervisor } = core;
  const path = [...supervisor.path.subarray(0, supervisor.pathLength)].map((m) => modeNames[m]!);
  return { core, path, evidence, records: ticks.dump(), submits: actuator.submits };
}

const countOf = (submits: readonly Submit[], kind: string): number =>
  submits.filter((submit) => submit.kind === kind).length;

/** Reasons of the control side by name, without those that never came. */
function reasonsOf(core: ControlCore): Record<string, number> {
  const named = Array.from({ length: REASON_COUNT }, (_, reason) => reason as Reason)
    .filter((reason) => core.safeTicks[reason] !== 0)
    .map((reason) => [reasonNames[reason], core.safeTicks[reason]]);
  return Object.fromEntries(named) as Record<string, number>;
}

test("an episode of 100 ticks replays bit for bit: kind, value and reason of every submit", () => {
  const setup = { ticks: 100, everyTicks: 5 };
  const first = episode(setup);
  const second = episode(setup);
  expect(first.submits).toHaveLength(100);
  expect(countOf(first.submits, "motion")).toBe(100);
  expect(second.submits).toEqual(first.submits);
  expect(second.records).toEqual(first.records);
  // The commands are the sine at the policy's cadence, one state behind: not just any constant.
  const expected = first.submits.map((_, tick) => {
    const actTick = tick - (tick % 5);
    return Math.sin(Math.max(0, actTick - 1) / 50);
  });
  for (const [tick, submit] of first.submits.entries()) {
    expect(submit.valueRad).toBeCloseTo(expected[tick]!, 2);
  }
});

test("the recorded inputs alone, fed to a second core, give the same commands bit for bit", () => {
  const first = episode({ ticks: 100, everyTicks: 5 });
  const nowNs = Float64Array.from({ length: 100 }, (_, tick) => tick * 20_000_000);
  const nothing = new Float64Array(100);
  const again = runCore(
    { sensor: new ReplaySensor(first.log), policy: new ReplayPolicyPort(first.log) },
    new ReplayPacer(nowNs, nothing, nothing, nothing),
  );
  expect(again.submits).toEqual(first.submits);
  expect(again.records).toEqual(first.records);
});

test("a sensor 0.2 s late gives 20 stale-state entries of both sides over 10 ticks", () => {
  const { core, submits, bothSides } = episode({
    ticks: 10,
    everyTicks: 1,
    sensor: { stampDelayNs: milliseconds(200) },
  });
  expect(bothSides(Reason.StaleState)).toBe(20);
  expect(bothSides(Reason.NoAction)).toBe(0);
  expect(core.safeTicks[Reason.StaleState]).toBe(10);
  expect(submits).toHaveLength(10);
  expect(countOf(submits, "motion")).toBe(0);
});

test("the step is bounded by what is measured: 0.70 to 0.80, and 0.75 to 0.85", () => {
  const wantsFive = new DocumentSinePolicy(context);
  const { act } = DocumentSinePolicy.prototype;
  wantsFive.act = (state) => {
    const chunk = act.call(wantsFive, state);
    chunk.values.fill(5);
    return chunk;
  };
  const { submits, core } = episode({
    ticks: 2,
    everyTicks: 1,
    policy: wantsFive,
    sensor: { signal: (timeS) => (timeS < 0.01 ? 0.7 : 0.75) },
  });
  expect(submits.map(({ kind }) => kind)).toEqual(["motion", "motion"]);
  expect(submits[0]!.valueRad).toBeCloseTo(0.8, APPROX_DIGITS);
  expect(submits[1]!.valueRad).toBeCloseTo(0.85, APPROX_DIGITS);
  expect(core.supervisor.mode).toBe(Mode.Running);
});

test("a sensor dead at 0.10 s gives 8 motions of 20, then 12 holds for stale state", () => {
  const { core, submits, path } = episode({
    ticks: 20,
    everyTicks: 100,
    sensor: { failAtNs: seconds(0.1) },
  });
  const kinds = submits.map(({ kind }) => kind);
  expect(kinds).toEqual([...Array(8).fill("motion"), ...Array(12).fill("hold")]);
  const reasons = submits.map(({ reason }) => reason);
  expect(reasons).toEqual([...Array(8).fill("ok"), ...Array(12).fill("stale_state")]);
  expect(reasonsOf(core)).toEqual({ stale_state: 12 });
  expect(path).toEqual(["RUNNING", "DEGRADED"]);
});

// The document's own slow policy names a start in the future; a slow link delivers late. Each
// leaves the first 150 ms without a decision, which is 8 ticks, and needs nobody to recover.
const slowness: [string, Omit<Setup, "ticks" | "everyTicks">][] = [
  ["a policy that starts its chunks 150 ms ahead", { policy: new LatePolicy(context) }],
  ["a latency of 150 ms", { latency: "150ms" }],
];
test.each(slowness)("%s gives 8 holds for no action, then 32 motions of 40", (_, slow) => {
  const { core, submits, path } = episode({ ticks: 40, everyTicks: 10, ...slow });
  const kinds = submits.map(({ kind }) => kind);
  expect(kinds).toEqual([...Array(8).fill("hold"), ...Array(32).fill("motion")]);
  expect(reasonsOf(core)).toEqual({ no_action: 8 });
  expect(core.coverageGapTicks).toBe(8);
  expect(path).toEqual(["RUNNING", "DEGRADED", "RUNNING"]);
});

/** Hands over decisions at moments written down before. */
class ScriptedPort implements PolicyPort {
  chunk = new ChunkView();
  readonly #due: { readonly atNs: Instant; readonly chunk: ChunkView }[];

  constructor(script: readonly { readonly atS: number; readonly chunk: ChunkView }[]) {
    this.#due = script.map(({ atS, chunk }) => ({ atNs: seconds(atS), chunk }));
  }

  takeChunk(nowNs: Instant): boolean {
    const next = this.#due[0];
    if (next === undefined || nowNs < next.atNs) return false;
    this.#due.shift();
    this.chunk = next.chunk;
    return true;
  }

  publish(): void {
    // Written down before: no state changes it.
  }

  beginEpoch(): void {
    // As above; the chunks carry epochs of their own.
  }
}

type Decision = {
  readonly epoch: number;
  readonly seq: number;
  readonly fromS: number;
  readonly row: (row: number) => number;
};

/** A decision of 16 rows of 20 ms. */
function decision({ epoch, seq, fromS, row }: Decision): ChunkView {
  const chunk = new ChunkView();
  chunk.begin(epoch, seq, 16, 1, milliseconds(20));
  chunk.record[ChunkSlot.schemaFingerprint] = schemaFingerprint;
  chunk.setWindow(seconds(fromS), seconds(fromS + 0.32));
  for (let index = 0; index < 16; index += 1) chunk.values[index] = row(index);
  return chunk;
}

/** What each tick at these times asked for: a value of a decision, or why there was none. */
function scripted(
  timesS: readonly number[],
  script: readonly { readonly atS: number; readonly chunk: ChunkView }[],
  epochs = 1,
) {
  const { sensor } = new SignalRobot(robot, robot.sources, { ...honest, signal: () => 0 });
  const nothing = new Float64Array(timesS.length);
  const pacer = new ReplayPacer(Float64Array.from(timesS, seconds), nothing, nothing, nothing);
  const { records, evidence } = runCore(
    { sensor, policy: new ScriptedPort(script), epochs },
    pacer,
  );
  const asked = records.map((record): number | string => {
    const reason = record[TickSlot.reason]!;
    return reason === Reason.Ok ? record[TickSlot.joints]! : reasonNames[reason]!;
  });
  const events = evidence.dump().map((entry) => ({
    code: evidenceNames[entry[EvidenceSlot.code]!],
    epoch: entry[EvidenceSlot.epoch],
    seq: entry[EvidenceSlot.seq],
  }));
  return { asked, events };
}

test("a decision that finishes after a newer one is refused, and the newer one stays", () => {
  const allocator = new SequenceAllocator(1);
  const older = decision({ epoch: 1, seq: allocator.next(), fromS: 0, row: () => 4.1 });
  const newer = decision({ epoch: 1, seq: allocator.next(), fromS: 0, row: () => 4.2 });
  const script = [newer, older].map((chunk) => ({ atS: 0, chunk }));
  const { asked, events } = scripted([0, 0.02], script);
  expect(asked).toEqual([4.2, 4.2]);
  expect(events).toEqual([
    { code: "accepted", epoch: 1, seq: 2 },
    { code: "activated", epoch: 1, seq: 2 },
    { code: "rejected_out_of_order", epoch: 1, seq: 1 },
  ]);
});

test("a late decision of the old epoch is refused though its id is larger", () => {
  const old = new SequenceAllocator(1);
  old.next();
  const late = decision({ epoch: 1, seq: old.next(), fromS: 0, row: () => 4.1 });
  const seq = new SequenceAllocator(2).next();
  const fresh = decision({ epoch: 2, seq, fromS: 0, row: () => 4.2 });
  const script = [fresh, late].map((chunk) => ({ atS: 0, chunk }));
  const { asked, events } = scripted([0, 0.02], script, 2);
  expect(asked).toEqual([4.2, 4.2]);
  expect(events).toEqual([
    { code: "accepted", epoch: 2, seq: 1 },
    { code: "activated", epoch: 2, seq: 1 },
    { code: "rejected_stale_epoch", epoch: 1, seq: 2 },
  ]);
});

test("a scheduled chunk takes over at its own time, the one before goes on until then", () => {
  const first = decision({ epoch: 1, seq: 10, fromS: 0, row: (index) => index });
  const second = decision({ epoch: 1, seq: 11, fromS: 0.2, row: () => 2 });
  const script = [first, second].map((chunk) => ({ atS: 0.1, chunk }));
  const before = [0, 0.02, 0.04, 0.06, 0.08];
  const { asked } = scripted([...before, 0.1, 0.12, 0.14, 0.16, 0.18, 0.19, 0.2, 0.21], script);
  expect(asked).toEqual([...before.map(() => "no_action"), 5, 6, 7, 8, 9, 9, 2, 2]);
});

test("a row covers from its own time until the next one's: floor, not round", () => {
  const chunk = decision({ epoch: 1, seq: 1, fromS: 0, row: (index) => index });
  const { asked } = scripted([0, 0.015, 0.02], [{ atS: 0, chunk }]);
  expect(asked).toEqual([0, 0, 1]);
});

test("the last row ends with its window, and is never used again", () => {
  const chunk = decision({ epoch: 1, seq: 1, fromS: 0, row: (index) => index / 10 });
  const timesS = Array.from({ length: 18 }, (_, tick) => tick / 50);
  const { asked } = scripted(timesS, [{ atS: 0, chunk }]);
  const rows = Array.from({ length: 16 }, (_, row) => row / 10);
  expect(asked).toEqual([...rows, "no_action", "no_action"]);
});

test("the fixture has the document's numbers, and starts in RUNNING at tick 0", () => {
  const { core, submits } = episode({ ticks: 1, everyTicks: 1 });
  const joint = robot.joints[0]!;
  expect({
    joints: robot.joints.length,
    controlHz: robot.controlHz,
    velocity: joint.velocityRadPerSMax,
    motion: joint.motion,
    range: [joint.positionRadMin, joint.positionRadMax],
    leadNs: joint.leadNs as number,
    droopRad: joint.droopRad,
    followingErrorRadMax: joint.followingErrorRadMax,
    startMismatchRadMax: joint.startMismatchRadMax,
    interpolation: robot.policy.interpolation,
    blendNs: robot.policy.blendNs as number,
    chunk: [robot.policy.horizon, robot.policy.dtNs as number],
    persistNs: robot.supervisor.noActionPersistNs as number,
    validityNs: robot.state.validityNs as number,
  }).toEqual({
    joints: 1,
    controlHz: 50,
    velocity: 5,
    motion: { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 },
    range: [-100, 100],
    leadNs: 20_000_000,
    droopRad: 0,
    followingErrorRadMax: 10,
    startMismatchRadMax: 10,
    interpolation: "hold",
    blendNs: 0,
    chunk: [16, 20_000_000],
    persistNs: 500_000_000,
    validityNs: 50_000_000,
  });
  expect(submits).toEqual([{ kind: "motion", valueRad: 0, reason: "ok" }]);
  expect(core.supervisor.path[0]).toBe(Mode.Running);
});
