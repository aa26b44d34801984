// RobotWatch: faults of the robot that only show in what is measured: it does not follow its
// commands, it moves faster than any command may, or its joints push harder than they may.
//
// A blind tick says nothing about the robot: it neither counts nor forgets. Each count is of ticks
// or samples in a row, per joint, so that one odd reading stops nothing.

import { assert } from "../runtime/contracts/assert.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import type { CommandVec } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";

/** A joint may swing a little faster than its command while it catches up. */
export const OVERSPEED_RATIO = 1.25;
/** Samples in a row that speed or effort must lie over their limits. */
export const OVER_SAMPLES = 3;
/**
 * Each sample moves the filtered velocity by this share of what is missing: four samples of delay.
 * A soft servo with a payload swings to 1.27 of its fastest command for a few samples.
 */
const SPEED_FILTER_SHARE = 0.25;
/** A device that clips its own effort reports the limit itself, and what rounding adds. */
const EFFORT_SLACK_RATIO = 1 + 1e-6;

export class RobotWatch {
  readonly #jointCount: number;
  readonly #isVelocity: Uint8Array;
  readonly #followingErrorRadMax: Float64Array;
  readonly #followingErrorTicks: number;
  readonly #speedRadPerSMax: Float64Array;
  readonly #effortNmMax: Float64Array;
  /** Ticks in a row that each joint's following error lies over its limit. */
  readonly #followingTicks: Float64Array;
  readonly #speedRadPerS: Float64Array;
  readonly #speedSamples: Float64Array;
  readonly #effortSamples: Float64Array;
  readonly #leadTicks: Float64Array;
  /** Commands of the last ticks, a row of joints each; `#historyTick` counts the rows written. */
  readonly #history: Float64Array;
  readonly #historyRows: number;
  #historyTick = 0;
  #stampNs = Number.NEGATIVE_INFINITY;

  /** Set-up only. */
  constructor(profile: RobotProfile) {
    const { gate, joints, periodNs } = profile;
    assert(gate.followingErrorTicks >= 1, "a following error is counted from one tick");
    const each = (value: (joint: JointProfile) => number) => Float64Array.from(joints, value);
    this.#jointCount = joints.length;
    this.#isVelocity = Uint8Array.from(joints, (joint) => Number(joint.command === "velocity"));
    this.#followingErrorRadMax = each((joint) => joint.followingErrorRadMax);
    this.#followingErrorTicks = gate.followingErrorTicks;
    this.#speedRadPerSMax = each((joint) => joint.velocityRadPerSMax * OVERSPEED_RATIO);
    this.#effortNmMax = each((joint) => joint.effortNmMax * EFFORT_SLACK_RATIO);
    this.#followingTicks = new Float64Array(joints.length);
    this.#speedRadPerS = new Float64Array(joints.length);
    this.#speedSamples = new Float64Array(joints.length);
    this.#effortSamples = new Float64Array(joints.length);
    this.#leadTicks = each((joint) => Math.max(1, Math.round(joint.leadNs / periodNs)));
    this.#historyRows = this.#leadTicks.reduce((most, ticks) => Math.max(most, ticks), 1);
    this.#history = new Float64Array(this.#historyRows * joints.length);
  }

  /** The command of this tick, once a tick. */
  remember(command: CommandVec): void {
    assert(command.length === this.#jointCount, "one command per joint");
    const row = (this.#historyTick % this.#historyRows) * this.#jointCount;
    for (let joint = 0; joint < this.#jointCount; joint += 1) {
      this.#history[row + joint] = command[joint]!;
    }
    this.#historyTick += 1;
  }

  /** All earlier commands count as this one: the robot begins anew. */
  begin(command: CommandVec): void {
    for (let row = 0; row < this.#historyRows; row += 1) this.remember(command);
  }

  /**
   * Bits of the faults of this tick. The following error is judged only while the command `moves`:
   * a held robot may droop, and may be moved by hand.
   */
  judge(state: StateView, moves: boolean): number {
    assert(state.positionRad.length === this.#jointCount, "one measured position per joint");
    const following = moves ? this.#followingFault(state) : 0;
    if (!moves) this.#followingTicks.fill(0);
    return following | this.#sampleFaults(state);
  }

  #followingFault(state: StateView): number {
    let fault = 0;
    for (let joint = 0; joint < this.#jointCount; joint += 1) {
      if (this.#isVelocity[joint] === 1) continue;
      const error = Math.abs(this.#commandAgo(joint) - state.positionRad[joint]!);
      const over = error > this.#followingErrorRadMax[joint]!;
      const ticks = over ? this.#followingTicks[joint]! + 1 : 0;
      this.#followingTicks[joint] = ticks;
      if (ticks >= this.#followingErrorTicks) fault = 1 << Fault.FollowingError;
    }
    return fault;
  }

  /** Speed and effort are judged once a sample; between samples a fault stays what it was. */
  #sampleFaults(state: StateView): number {
    const stampNs = state.record[StateSlot.stampNs]!;
    const isNew = stampNs > this.#stampNs;
    this.#stampNs = stampNs;
    let faults = 0;
    for (let joint = 0; joint < this.#jointCount; joint += 1) {
      if (isNew) this.#take(joint, state.velocityRadPerS[joint]!, state.effortNm[joint]!);
      if (this.#speedSamples[joint]! >= OVER_SAMPLES) faults |= 1 << Fault.Overspeed;
      if (this.#effortSamples[joint]! >= OVER_SAMPLES) faults |= 1 << Fault.Overload;
    }
    return faults;
  }

  /** What a device does not measure is no number, or zero; neither is over a limit. */
  #take(joint: number, velocityRadPerS: number, effortNm: number): void {
    const before = this.#speedRadPerS[joint]!;
    const missing = Number.isFinite(velocityRadPerS) ? velocityRadPerS - before : 0;
    const speed = before + SPEED_FILTER_SHARE * missing;
    const fast = Math.abs(speed) > this.#speedRadPerSMax[joint]!;
    const hard = Math.abs(effortNm) > this.#effortNmMax[joint]!;
    this.#speedRadPerS[joint] = speed;
    this.#speedSamples[joint] = fast ? this.#speedSamples[joint]! + 1 : 0;
    this.#effortSamples[joint] = hard ? this.#effortSamples[joint]! + 1 : 0;
  }

  /** The command that the robot should have reached by now. */
  #commandAgo(joint: number): number {
    const row = (this.#historyTick - this.#leadTicks[joint]!) % this.#historyRows;
    return this.#history[row * this.#jointCount + joint]!;
  }
}
