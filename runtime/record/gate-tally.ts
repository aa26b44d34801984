// GateTally: how often and how hard the gate changed or refused what it was asked for, told from
// tick records alone. A decision counts in ticks whose reason is Ok and that could move; what the
// robot was sent instead of it is the correction.

import { CommandKind, repairNames } from "../contracts/command.ts";
import { mayMove, Mode } from "../contracts/mode.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { DeadlineHistogram } from "../core/histogram.ts";
import { Fault, faultNames } from "../../safety/faults.ts";

/**
 * A command that is changed by more than this (rad, or rad/s of a velocity joint) was changed in
 * earnest: rounding the corners of straight rows takes a milliradian or two.
 */
export const EARNEST_RAD = 0.01;
/** Histograms of nanoseconds, used for nanoradians: quantiles are exact to a microradian. */
const PER_RAD = 1e9;
const FIRST_BUCKET = 1_000;

/** What only the gate says, and never the absence of something. */
const gateReasons: readonly number[] = [
  Reason.SchemaMismatch,
  Reason.WidthMismatch,
  Reason.NotFinite,
  Reason.StartMismatch,
];
const gateFaults: readonly number[] = [
  Fault.GateInfeasible,
  Fault.FollowingError,
  Fault.Overspeed,
  Fault.Overload,
];

export class GateTally implements TickSink {
  readonly corrections: readonly DeadlineHistogram[];
  readonly repairTicks = new Float64Array(repairNames.length);
  /** Entries, not ticks. */
  readonly refusals = new Float64Array(reasonNames.length);
  readonly faults = new Float64Array(faultNames.length);
  tickCount = 0;
  decidedCount = 0;
  changedCount = 0;
  earnestCount = 0;
  /** Stops, a person's not counted. */
  stopCount = 0;
  #reason: number = Reason.Ok;
  #faultBits = 0;
  #mode: number = Mode.Starting;

  constructor(robot: RobotProfile) {
    this.corrections = robot.joints.map(() => new DeadlineHistogram());
  }

  get refusalCount(): number {
    return gateReasons.reduce((sum, reason) => sum + this.refusals[reason]!, 0);
  }
  /** Faults that the gate itself finds. */
  get gateFaultCount(): number {
    return gateFaults.reduce((sum, fault) => sum + this.faults[fault]!, 0);
  }

  write(record: Float64Array): void {
    const reason = record[TickSlot.reason]!;
    const faultBits = record[TickSlot.faults]!;
    const mode = record[TickSlot.mode]!;
    this.tickCount += 1;
    if (reason !== this.#reason && gateReasons.includes(reason)) {
      this.refusals[reason] = this.refusals[reason]! + 1;
    }
    for (let fault = 0; fault < this.faults.length; fault += 1) {
      const isNew = (((faultBits & ~this.#faultBits) >>> fault) & 1) === 1;
      if (isNew) this.faults[fault] = this.faults[fault]! + 1;
    }
    const isStop = mode === Mode.SafeStop || mode === Mode.FaultLatched;
    const wasMoving = mayMove(this.#mode);
    const byPerson = ((faultBits >>> Fault.OperatorStop) & 1) === 1;
    if (isStop && wasMoving && !byPerson) this.stopCount += 1;
    this.#reason = reason;
    this.#faultBits = faultBits;
    this.#mode = mode;
    const kind = record[TickSlot.kind];
    // A brake in a tick that is Ok is the gate's own: it could not keep its limits together.
    if (reason !== Reason.Ok || (kind !== CommandKind.Motion && kind !== CommandKind.Brake)) return;
    this.#compare(record);
  }

  #compare(record: Float64Array): void {
    const jointCount = this.corrections.length;
    const repairs = record[TickSlot.repairs]!;
    this.decidedCount += 1;
    let largest = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const asked = record[TickSlot.joints + joint]!;
      const sent = record[TickSlot.joints + jointCount + joint]!;
      const offRad = Math.abs(asked - sent);
      this.corrections[joint]!.add(offRad * PER_RAD);
      largest = Math.max(largest, offRad);
    }
    if (largest > 0) this.changedCount += 1;
    if (largest > EARNEST_RAD) this.earnestCount += 1;
    for (let bit = 0; bit < this.repairTicks.length; bit += 1) {
      if (((repairs >>> bit) & 1) === 1) this.repairTicks[bit] = this.repairTicks[bit]! + 1;
    }
  }

  /** How far the sent command was from the asked one, over all ticks with a decision. */
  correctionRad(joint: number, ratio: number): number {
    const histogram = this.corrections[joint]!;
    if (ratio === 1) return histogram.maxNs / PER_RAD;
    const quantile = histogram.quantileNs(ratio);
    // The first bucket holds the ticks in which nothing was changed.
    return quantile <= FIRST_BUCKET ? 0 : quantile / PER_RAD;
  }

  /** Takes in the counts of another run of the same robot. */
  add(other: GateTally): void {
    for (const [joint, histogram] of other.corrections.entries()) {
      const own = this.corrections[joint]!;
      own.count += histogram.count;
      own.maxNs = Math.max(own.maxNs, histogram.maxNs);
      for (const [bucket, count] of histogram.buckets.entries()) own.buckets[bucket]! += count;
    }
    for (const name of ["repairTicks", "refusals", "faults"] as const) {
      for (const [code, count] of other[name].entries()) this[name][code]! += count;
    }
    this.tickCount += other.tickCount;
    this.decidedCount += other.decidedCount;
    this.changedCount += other.changedCount;
    this.earnestCount += other.earnestCount;
    this.stopCount += other.stopCount;
  }
}
