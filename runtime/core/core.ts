// ControlCore: the stages of the tick, wired once, and the bookkeeping between them. It owns the
// epoch: whoever voids old decisions does it through here, and every stage hears of it at once.

import type { RobotActuator, RobotSensor } from "../../hal/robot.ts";
import { CommandSink } from "../../safety/command-sink.ts";
import { Fault } from "../../safety/faults.ts";
import { SafetyGate } from "../../safety/gate.ts";
import { Supervisor } from "../../safety/supervisor.ts";
import { ActionSample } from "../contracts/action-sample.ts";
import { ChunkSlot } from "../contracts/action.ts";
import type { CommandView } from "../contracts/command.ts";
import { CommandSlot } from "../contracts/command.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { EvidenceSink } from "../contracts/evidence.ts";
import { mayMove, OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import { CHUNKS_PER_TICK_MAX } from "../contracts/policy.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { REASON_COUNT, Reason } from "../contracts/reason.ts";
import { SensorSnapshot } from "../contracts/sample.ts";
import { StateSlot, StateView } from "../contracts/state.ts";
import type { StateLayout } from "../contracts/state.ts";
import { TickSlot, TickView, tickSlotCount } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { NO_ESTOP, TickSignature } from "../contracts/tick-signature.ts";
import type { HardwareSafety } from "../contracts/tick-signature.ts";
import type { Instant } from "../contracts/units.ts";
import { ActionBuffer } from "./action-buffer.ts";
import { StateEstimator } from "./estimator.ts";
import { MachineWatch, STEADY_MACHINE } from "./machine-watch.ts";
import type { MachinePort } from "./machine-watch.ts";
import { ObserveStage } from "./observe-stage.ts";
import { DeadlineMonitor } from "./timing.ts";

const ARRIVALS_TOKEN = 0x9b1d_40e7;
/** At most this many cues enter in one tick: a person's acts never come faster. */
const CUES_PER_TICK_MAX = 8;

/** Bits of faults that other threads' silence raises. */
export interface AliveFaults {
  check(): number;
}

export type CoreParts = {
  readonly profile: RobotProfile;
  readonly layout: StateLayout;
  /** Fingerprint of the robot's own command space; chunks must carry it. */
  readonly schemaFingerprint: number;
  readonly sensor: RobotSensor;
  readonly actuator: RobotActuator;
  readonly policy: PolicyPort;
  readonly cues: CuePort;
  readonly alive: AliveFaults;
  readonly ticks: TickSink;
  readonly evidence: EvidenceSink;
  /** Absent in a run without an e-stop. */
  readonly estop?: HardwareSafety;
  /** Absent where the machine cannot matter: in lockstep. */
  readonly machine?: MachinePort;
  /** Late ticks and missed beats are faults on hardware, counts in simulation. */
  readonly deadlineIsFault: boolean;
};

export class ControlCore {
  readonly robot: RobotSensor;
  readonly snapshot: SensorSnapshot;
  readonly estimator: StateEstimator;
  readonly state: StateView;
  readonly policy: PolicyPort;
  readonly actions: ActionBuffer;
  readonly action: ActionSample;
  readonly gate: SafetyGate;
  readonly supervisor: Supervisor;
  readonly sink: CommandSink;
  readonly evidence: EvidenceSink;
  readonly timing: DeadlineMonitor;
  readonly machine: MachineWatch;
  readonly qualityRatioMin: number;
  /** Ticks per reason, control side. */
  readonly safeTicks = new Float64Array(REASON_COUNT);
  /** Entries into each reason, control side. */
  readonly safeEpisodes = new Float64Array(REASON_COUNT);
  tick = 0;
  epoch = 0;
  /** Ticks in which motion was allowed and no decision was there. */
  coverageGapTicks = 0;
  readonly #estop: HardwareSafety;
  readonly #signature = new TickSignature();
  readonly #cues: CuePort;
  readonly #alive: AliveFaults;
  readonly #ticks: TickSink;
  readonly #record: TickView;
  #cueBits = 0;
  #lastReason: Reason = Reason.Ok;

  constructor(parts: CoreParts) {
    const { profile, layout } = parts;
    this.#estop = parts.estop ?? NO_ESTOP;
    const signature = this.#signature;
    this.robot = new ObserveStage(parts.sensor, signature);
    this.snapshot = new SensorSnapshot(layout.sources);
    this.estimator = new StateEstimator(profile, layout, signature);
    this.state = new StateView(new Float64Array(layout.slotCount), layout);
    this.policy = parts.policy;
    this.gate = new SafetyGate(profile, parts.schemaFingerprint, signature);
    this.evidence = parts.evidence;
    const { schemaFingerprint } = parts;
    this.actions = new ActionBuffer(profile, schemaFingerprint, this.gate.command, this.evidence);
    this.action = new ActionSample(layout.jointCount);
    this.supervisor = new Supervisor(profile, signature);
    this.sink = new CommandSink(parts.actuator, this.gate, signature);
    this.timing = new DeadlineMonitor(profile, parts.deadlineIsFault);
    this.machine = new MachineWatch(parts.machine ?? STEADY_MACHINE, parts.deadlineIsFault);
    this.qualityRatioMin = profile.state.qualityRatioMin;
    this.#cues = parts.cues;
    this.#alive = parts.alive;
    this.#ticks = parts.ticks;
    const slots = new Float64Array(tickSlotCount(layout.jointCount));
    this.#record = new TickView(slots, layout.jointCount);
  }

  /** Begins the first episode: estimates and publishes once, so that the policy has a state. */
  prime(nowNs: Instant): void {
    this.beginEpoch(nowNs);
    this.look(nowNs);
    this.#publish(-1);
  }

  /** Before the first tick: one look at the robot, so that the gate comes to know where it is. */
  look(nowNs: Instant): void {
    this.robot.observeInto(this.snapshot, nowNs);
    this.estimator.estimateInto(this.state, this.snapshot, nowNs);
    if (this.state.freshness(nowNs) === Reason.Ok) this.gate.rearm(this.state);
  }

  /** Voids everything that was decided before, from policy to buffer. */
  beginEpoch(nowNs: Instant): void {
    this.epoch += 1;
    this.actions.syncEpoch(this.epoch, nowNs);
    this.policy.beginEpoch(this.epoch);
  }

  /** Cues, other threads' silence and chunks: what came in since the last tick. */
  takeArrivals(nowNs: Instant): void {
    const { supervisor, timing, machine } = this;
    machine.observe(nowNs);
    this.#estop.beginInto(this.#signature, this.tick);
    this.#cueBits = 0;
    for (let count = 0; count < CUES_PER_TICK_MAX; count += 1) {
      const cue = this.#cues.takeCue();
      if (cue === OperatorCue.None) break;
      this.#cueBits |= 1 << cue;
      supervisor.cue(cue, nowNs);
      if (cue === OperatorCue.Park || cue === OperatorCue.Shutdown) this.gate.park();
      else if (cue === OperatorCue.Stop) this.gate.letGo();
    }
    let silent = this.#alive.check();
    for (let fault = 0; silent !== 0; fault += 1) {
      if ((silent & 1) === 1) supervisor.raise(fault as Fault);
      silent >>>= 1;
    }
    if (timing.tooLate) supervisor.raise(Fault.ControlLate);
    if (timing.tooManyMissed) supervisor.raise(Fault.ControlMissed);
    if (timing.overBudget) supervisor.raise(Fault.OverBudget);
    if (machine.wasAway) supervisor.raise(Fault.ControlAway);
    if (machine.wasSuspended) supervisor.raise(Fault.Suspended);
    for (let count = 0; count < CHUNKS_PER_TICK_MAX && this.policy.takeChunk(nowNs); count += 1) {
      this.actions.put(this.policy.chunk, nowNs);
    }
    this.#signature.fold(ARRIVALS_TOKEN);
  }

  /** A bit per fault that shows only once the tick has looked at the robot. */
  watch(reason: Reason): number {
    const late = this.machine.explains(this.state) ? 1 << Fault.WorldLate : 0;
    return this.gate.watch(this.state, reason) | late;
  }

  /** What a supervisor's step or a refusal means for the other stages. */
  settle(reason: Reason, nowNs: Instant): void {
    if (reason === Reason.StartMismatch) {
      this.actions.voidActive(Evidence.RejectedStartMismatch, nowNs);
    }
    this.gate.reduceSpeed(this.supervisor.reducesMotion);
    this.gate.heed(this.supervisor.activeFaults);
    if (this.supervisor.powerless) this.gate.follow(this.state);
    if (this.supervisor.started) this.gate.rearm(this.state);
    if (this.supervisor.epochRaised) this.beginEpoch(nowNs);
  }

  /** Publishes the state, counts the reason, writes the record and hands the answer over. */
  finish(reason: Reason, command: CommandView, nowNs: Instant): void {
    if (reason !== Reason.Ok) {
      this.safeTicks[reason] = this.safeTicks[reason]! + 1;
      if (reason !== this.#lastReason) this.safeEpisodes[reason] = this.safeEpisodes[reason]! + 1;
      if (reason === Reason.NoAction && mayMove(this.supervisor.mode)) {
        this.coverageGapTicks += 1;
      }
    }
    this.#lastReason = reason;
    this.#publish(this.tick);
    this.#writeRecord(reason, command, nowNs);
    this.#estop.answer(this.#signature, this.supervisor.mode, this.supervisor.wantsCut);
    this.tick += 1;
  }

  #publish(tick: number): void {
    const { state } = this;
    state.record[StateSlot.epoch] = this.epoch;
    state.record[StateSlot.tick] = tick;
    state.record[StateSlot.mode] = this.supervisor.mode;
    state.command.set(this.gate.seeded ? this.gate.command : state.positionRad);
    this.policy.publish(state);
  }

  #writeRecord(reason: Reason, command: CommandView, nowNs: Instant): void {
    const { record, asked, command: sent, measured } = this.#record;
    const { record: chunk } = this.actions.active;
    const { record: state } = this.state;
    record[TickSlot.tick] = this.tick;
    record[TickSlot.nowNs] = nowNs;
    record[TickSlot.reason] = reason;
    record[TickSlot.mode] = this.supervisor.mode;
    record[TickSlot.kind] = command.kind;
    record[TickSlot.epoch] = this.epoch;
    record[TickSlot.seq] = command.record[CommandSlot.seq]!;
    record[TickSlot.row] = command.record[CommandSlot.row]!;
    record[TickSlot.repairs] = command.record[CommandSlot.repairs]!;
    record[TickSlot.faults] = this.supervisor.activeFaults;
    record[TickSlot.missedTicks] = this.timing.missedTicks;
    record[TickSlot.lateNs] = this.timing.lateNs;
    record[TickSlot.previousWorkNs] = this.timing.previousWorkNs;
    record[TickSlot.sampledNs] = this.state.stampNs;
    record[TickSlot.receivedNs] = state[StateSlot.receivedNs]!;
    record[TickSlot.estimatedNs] = state[StateSlot.estimatedNs]!;
    record[TickSlot.actStartNs] = chunk[ChunkSlot.actStartNs]!;
    record[TickSlot.actEndNs] = chunk[ChunkSlot.actEndNs]!;
    record[TickSlot.arrivedNs] = chunk[ChunkSlot.arrivedNs]!;
    record[TickSlot.activatedNs] = chunk[ChunkSlot.activatedNs]!;
    record[TickSlot.chunkStateStampNs] = chunk[ChunkSlot.stateStampNs]!;
    record[TickSlot.sentNs] = nowNs;
    record[TickSlot.cues] = this.#cueBits;
    record[TickSlot.stateQualityRatio] = state[StateSlot.qualityProprioRatio]!;
    asked.set(reason === Reason.Ok ? this.action.values : command.values);
    sent.set(command.values);
    measured.set(this.state.positionRad);
    this.#ticks.write(record);
  }
}
