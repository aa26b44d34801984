// SafetyGate: the last software judgement before a command may leave. It judges, repairs, and
// mints the one approved command of a tick; nothing else in the program can make one.
//
// It always answers with a command: motion when all is well, the safe action otherwise. Its limits
// have no off switch. It keeps books of its own: what others do to a record changes nothing here.

import type { ActionSample } from "../runtime/contracts/action-sample.ts";
import { assert } from "../runtime/contracts/assert.ts";
import {
  COMMAND_VALIDITY_PERIODS,
  CommandKind,
  CommandSlot,
  CommandView,
  RepairBit,
  commandSlotCount,
  repairNames,
} from "../runtime/contracts/command.ts";
import { mayMove } from "../runtime/contracts/mode.ts";
import type { Mode } from "../runtime/contracts/mode.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { TickSignature } from "../runtime/contracts/tick-signature.ts";
import { radVec } from "../runtime/contracts/units.ts";
import type { CommandVec, Instant, RadVec } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { PoseCheck } from "./pose-check.ts";
import { RobotWatch } from "./robot-watch.ts";
import { SafeAction } from "./safe-action.ts";
import { ToolGuard } from "./tool-guard.ts";

/** All that the gate itself may raise. */
const GATE_FAULTS =
  (1 << Fault.GateInfeasible) |
  (1 << Fault.FollowingError) |
  (1 << Fault.Overspeed) |
  (1 << Fault.Overload);

const JUDGE_TOKEN = 0x61a5_c83d;
const APPROVE_TOKEN = 0x4e96_d52b;

declare const approval: unique symbol;
/** A command that passed the gate this tick. Only this file may cast to it; tidy enforces that. */
export type ApprovedCommand = CommandView & { readonly [approval]: true };

export class SafetyGate {
  /** The last approved values. A live view: the gate itself never reads it back. */
  readonly command: CommandVec;
  /** Ticks in which each repair acted, in the order of `repairNames`. */
  readonly repairCounts = new Float64Array(repairNames.length);

  readonly #signature: TickSignature;
  readonly #limits: JointLimits;
  readonly #tool: ToolGuard;
  readonly #limiter: MotionLimiter;
  readonly #fingerprint: number;
  readonly #validityNs: number;
  readonly #ramps: boolean;
  readonly #coastTicks: number;
  readonly #droopRad: Float64Array;
  readonly #startMismatchRadMax: Float64Array;
  /** Where a command begins anew. */
  readonly #startRad: RadVec;
  readonly #pose: PoseCheck;
  readonly #watch: RobotWatch;
  readonly #safe: SafeAction;
  readonly #approved: ApprovedCommand;
  #mintedTick = -1;
  #spent = true;
  #seeded = false;
  /** A person started, and the samples do not agree yet on where the robot is. */
  #rearming = false;
  /** The last approval was a safe action that had come to rest. */
  #holding = false;
  /** The limiter walks from a start mismatch to the chunk that caused it. */
  #ramping = false;
  /** Motion is only allowed at reduced tool speed. */
  #isReduced = false;
  /** Ticks without a decision that may still pass before the gate brakes. */
  #coastLeft = 0;
  #judgedOk = false;

  /** `schemaFingerprint` is that of the robot's own command space. Set-up only. */
  constructor(profile: RobotProfile, schemaFingerprint: number, signature = new TickSignature()) {
    this.#signature = signature;
    const { joints } = profile;
    assert(Number.isSafeInteger(schemaFingerprint), "the schema fingerprint is a whole number");
    assert(profile.periodNs > 0, "a control period is a length of time");
    this.#limits = new JointLimits(profile);
    this.#tool = new ToolGuard(profile, this.#limits);
    this.#limiter = new MotionLimiter(this.#limits, this.#tool);
    this.#fingerprint = schemaFingerprint;
    this.#validityNs = COMMAND_VALIDITY_PERIODS * profile.periodNs;
    this.#coastTicks = profile.supervisor.coastTicks;
    this.#ramps = profile.gate.startMismatch === "ramp";
    this.#droopRad = Float64Array.from(joints, (joint) => joint.droopRad);
    this.#startMismatchRadMax = Float64Array.from(joints, (joint) => joint.startMismatchRadMax);
    this.#startRad = radVec(new Float64Array(joints.length));
    this.#watch = new RobotWatch(profile);
    this.#pose = new PoseCheck(profile, this.#limits);
    this.#safe = new SafeAction(profile, this.#limits);
    const record = new Float64Array(commandSlotCount(joints.length));
    this.#approved = new CommandView(record, joints.length) as ApprovedCommand;
    this.command = this.#approved.values;
  }

  /** The command stands still on every joint. */
  get atRest(): boolean {
    return this.#limiter.atRest;
  }
  /** There is a command: the gate has known where the robot is. */
  get seeded(): boolean {
    return this.#seeded;
  }

  /** In the coming motion the tool stays below the reduced speed, or below the profile's own. */
  reduceSpeed(isReduced: boolean): void {
    this.#isReduced = isReduced;
  }

  /**
   * Refuses what no limiter should repair: a measured position that is no number, then schema,
   * width, a value that is no number, and a chunk that would start too far away.
   */
  judge(action: ActionSample, state: StateView): Reason {
    assert(state.positionRad.length === this.#limits.jointCount, "one measured position per joint");
    this.#pose.observe(state);
    const reason = this.#judge(action, state);
    this.#judgedOk = reason === Reason.Ok;
    assert(!this.#judgedOk || !this.#rearming, "nothing is Ok while a start waits");
    return reason;
  }

  #judge(action: ActionSample, state: StateView): Reason {
    if (!allFinite(state.positionRad)) return Reason.LowQuality;
    // Motion begins where the robot is, also after letting go: only if that is known.
    this.#finishRearm(state);
    if (this.#rearming || (!this.#isAtCommand && !this.#pose.trusted)) return Reason.LowQuality;
    if (action.schemaFingerprint !== this.#fingerprint) return Reason.SchemaMismatch;
    const { jointCount } = this.#limits;
    if (action.width !== jointCount || action.values.length !== jointCount) {
      return Reason.WidthMismatch;
    }
    if (!allFinite(action.values)) return Reason.NotFinite;
    if (action.tookOver) {
      const farAway = this.#startsFarAway(action, state);
      if (farAway && !this.#ramps) return Reason.StartMismatch;
      this.#ramping = farAway;
    }
    return Reason.Ok;
  }

  /** At rest the robot may have been moved, so what is measured counts; in motion the command. */
  #startsFarAway(action: ActionSample, state: StateView): boolean {
    const { isVelocity, jointCount } = this.#limits;
    const fromMeasured = !this.#seeded || this.#holding;
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 1) continue;
      const from = fromMeasured ? state.positionRad[joint]! : this.#limiter.command[joint]!;
      if (Math.abs(action.values[joint]! - from) > this.#startMismatchRadMax[joint]!) return true;
    }
    return false;
  }

  /**
   * Faults seen in this tick, a bit each: what the last command could not keep, and what the robot
   * does. A blind tick sees nothing of the robot, and neither counts nor forgets.
   */
  watch(state: StateView, reason: Reason): number {
    const faults = this.#faultsSeen(state, reason);
    assert((faults & ~GATE_FAULTS) === 0, "the gate raises no fault of another stage");
    this.#signature.fold(JUDGE_TOKEN);
    return faults;
  }

  #faultsSeen(state: StateView, reason: Reason): number {
    assert(state.positionRad.length === this.#limits.jointCount, "one measured position per joint");
    if (!isBlind(reason)) this.#pose.observe(state);
    const faults = this.#limiter.infeasible ? 1 << Fault.GateInfeasible : 0;
    if (isBlind(reason) || this.#safe.released) return faults;
    // A brake may leave a servo behind; a robot on its way to its rest pose is watched.
    if (reason === Reason.Stop && !this.#holding && !this.#safe.parks) return faults;
    return faults | this.#watch.judge(state, this.#seeded && !this.#holding);
  }

  /** The decision's row, repaired. `judge` must have found it Ok in this tick. */
  approveMotion(
    action: ActionSample,
    state: StateView,
    tick: number,
    nowNs: Instant,
    mode: Mode,
  ): ApprovedCommand {
    assert(this.#judgedOk, "motion is approved only after it was judged Ok");
    assert(!this.#rearming, "no motion is approved while a start waits");
    if (!this.#isAtCommand) this.#seed(state);
    this.#holding = false;
    this.#coastLeft = this.#coastTicks;
    this.#safe.forget();
    this.#tool.slowDown(this.#isReduced);
    let repairs = this.#limiter.follow(action.values, state.positionRad, state.velocityRadPerS);
    if (this.#limiter.onlySmooths(repairs)) repairs = RepairBit.Smoothed;
    if (this.#ramping) {
      repairs |= RepairBit.StartRamp;
      this.#ramping = !this.#arrived(action.values);
    }
    const { record } = this.#approved;
    const brakes = this.#limiter.infeasible;
    record[CommandSlot.kind] = brakes ? CommandKind.Brake : CommandKind.Motion;
    record[CommandSlot.epoch] = action.epoch;
    record[CommandSlot.seq] = action.seq;
    record[CommandSlot.row] = action.row;
    record[CommandSlot.reason] = Reason.Ok;
    return this.#mint(state, repairs, tick, nowNs, mode);
  }

  /**
   * The safe action of the mode: brakes the command to rest within stop limits, and then does what
   * the profile says. It may coast for a few ticks first, when only a decision is missing. A hold
   * does not follow the measured position: gravity would walk the arm. Before the gate ever knew
   * where the robot is, there is no command to hold, and the kind is None.
   */
  approveSafe(
    state: StateView,
    reason: Reason,
    tick: number,
    nowNs: Instant,
    mode: Mode,
  ): ApprovedCommand {
    if (!isBlind(reason)) this.#pose.observe(state);
    if (!mayMove(mode)) this.#rearming = false;
    if (this.#sees(state, reason, nowNs)) {
      if (!this.#seeded && this.#pose.trusted) this.#seed(state);
      // What has let go may be moved by hand: no command waits for it.
      if (this.#safe.released) this.#seed(state);
      this.#finishRearm(state);
    }
    const coasts = this.#mayCoast(reason, mode);
    if (coasts) {
      this.#coastLeft -= 1;
      this.#limiter.coast(state.positionRad);
    }
    let kind: CommandKind = this.#seeded ? CommandKind.Hold : CommandKind.None;
    if (this.#seeded && !coasts) {
      this.#coastLeft = 0;
      this.#tool.slowDown(true);
      kind = this.#safe.step(this.#limiter, state, mode, this.#sees(state, reason, nowNs));
    }
    this.#holding = this.#seeded && this.#limiter.atRest && this.#safe.stays;
    this.#ramping = false;
    const { record } = this.#approved;
    record[CommandSlot.kind] = kind;
    record[CommandSlot.epoch] = state.epoch;
    record[CommandSlot.seq] = 0;
    record[CommandSlot.row] = 0;
    record[CommandSlot.reason] = reason;
    return this.#mint(state, coasts ? RepairBit.Coast : 0, tick, nowNs, mode);
  }

  /** Only a missing decision, only in motion, and only so often in a row. */
  #mayCoast(reason: Reason, mode: Mode): boolean {
    if (reason !== Reason.NoAction || this.#coastLeft === 0 || this.#limiter.atRest) return false;
    return mayMove(mode);
  }

  /** A person ends the run or asks for it: a robot that falls without power is laid down. */
  park(): void {
    this.#safe.parking.begin();
  }

  /** A robot that is being parked lets go as soon as it stands. */
  letGo(): void {
    this.#safe.parking.hurry();
  }

  /** The active faults, a bit each: some forbid the way to the rest pose. */
  heed(faults: number): void {
    this.#safe.parking.heed(faults);
  }

  /**
   * A person lets the robot move again. A joint's held command stays when it is where droop can
   * have taken it; otherwise the command is where the joint is. While samples do not agree on that,
   * the start waits, and a decision is refused as of low quality. A brake that is still under way
   * goes on: nothing may jump.
   */
  rearm(state: StateView): void {
    assert(state.positionRad.length === this.#limits.jointCount, "one measured position per joint");
    this.#pose.observe(state);
    if (!this.#limiter.atRest) return;
    this.#rearming = true;
    this.#finishRearm(state);
  }

  #finishRearm(state: StateView): void {
    if (!this.#rearming || !this.#pose.trusted) return;
    this.#rearming = false;
    const keeps = this.#isAtCommand;
    this.#safe.forget();
    let isOff = !keeps;
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      const measured = !keeps || this.#isOffDroop(joint, state);
      if (measured) isOff = true;
      this.#startRad[joint] = measured ? state.positionRad[joint]! : this.#limiter.command[joint]!;
    }
    if (isOff) this.#seedAt(this.#startRad);
    assert(this.#isAtCommand, "a robot that was re-armed has a command to be at");
  }

  /** The actuators have no power: the command is where the robot is, so that none is waiting. */
  follow(state: StateView): void {
    assert(state.positionRad.length === this.#limits.jointCount, "one measured position per joint");
    this.#limiter.stand();
    if (this.#pose.trusted && allFinite(state.positionRad)) this.#seed(state);
  }

  /** Spends an approval: once, for its own tick. The sink asks; nobody else has a use for it. */
  spend(command: ApprovedCommand, tick: number): void {
    assert(command === this.#approved, "a command is sent only when this gate minted it");
    assert(tick === this.#mintedTick, "a command is sent only in the tick it was minted for");
    assert(!this.#spent, "a command is sent only once");
    this.#spent = true;
  }

  #mint(
    state: StateView,
    repairs: number,
    tick: number,
    nowNs: Instant,
    mode: Mode,
  ): ApprovedCommand {
    assert(this.#spent, "the approval of the last tick was sent");
    assert(
      Number.isSafeInteger(tick) && tick > this.#mintedTick,
      "one approval per tick, in order",
    );
    this.#mintedTick = tick;
    this.#spent = false;
    this.#judgedOk = false;
    this.#count(repairs);
    this.#watch.remember(this.#limiter.command);
    const { record } = this.#approved;
    record[CommandSlot.tick] = tick;
    record[CommandSlot.stampNs] = nowNs;
    record[CommandSlot.expiresNs] = nowNs + this.#validityNs;
    record[CommandSlot.mode] = mode;
    record[CommandSlot.repairs] = repairs;
    record[CommandSlot.stateStampNs] = state.stampNs;
    this.#approved.values.set(this.#limiter.command);
    this.#signature.fold(APPROVE_TOKEN);
    return this.#approved;
  }

  #count(repairs: number): void {
    for (let bit = 0; repairs >>> bit !== 0; bit += 1) {
      if (((repairs >>> bit) & 1) === 1) this.repairCounts[bit] = this.repairCounts[bit]! + 1;
    }
  }

  #seed(state: StateView): void {
    this.#seedAt(state.positionRad);
  }

  #seedAt(positionRad: RadVec): void {
    assert(allFinite(positionRad), "a command begins at numbers");
    this.#limiter.seed(positionRad);
    this.#seeded = true;
    // Goal := present, for whoever builds on the command before the next approval.
    for (let joint = 0; joint < this.command.length; joint += 1) {
      this.command[joint] = this.#limiter.command[joint]!;
    }
    this.#watch.begin(this.#limiter.command);
  }

  #sees(state: StateView, reason: Reason, nowNs: Instant): boolean {
    if (isBlind(reason) || state.freshness(nowNs) !== Reason.Ok) return false;
    return allFinite(state.positionRad);
  }

  /** There is a command, and servos have held the robot to it. */
  get #isAtCommand(): boolean {
    return this.#seeded && !this.#safe.released;
  }

  #isOffDroop(joint: number, state: StateView): boolean {
    if (this.#limits.isVelocity[joint] === 1) return false;
    const sagRad = Math.abs(this.#limiter.command[joint]! - state.positionRad[joint]!);
    return sagRad > this.#droopRad[joint]!;
  }

  #arrived(values: CommandVec): boolean {
    for (let joint = 0; joint < values.length; joint += 1) {
      if (values[joint] !== this.#limiter.command[joint]) return false;
    }
    return true;
  }
}

/** The state says nothing reliable about where the robot is. */
function isBlind(reason: Reason): boolean {
  return (
    reason === Reason.StaleState || reason === Reason.StampInFuture || reason === Reason.LowQuality
  );
}

function allFinite(values: Float64Array): boolean {
  for (let index = 0; index < values.length; index += 1) {
    if (!Number.isFinite(values[index])) return false;
  }
  return true;
}
