// Minimum-jerk motion through joint space: from rest to rest, along one or more straight pieces.
// Durations come from the profile's limits, so that the gate has nothing to repair. Nothing here
// knows where a motion leads or why. Built once, it allocates nothing.

import type { JointProfile, RobotProfile } from "../contracts/profile.ts";
import { NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";

/** Straight pieces a path may have: a 150 mm line in pieces under 10 mm. */
export const PIECES_MAX = 16;
// Peaks of s(t) = 10 t^3 - 15 t^4 + 6 t^5 over the unit interval.
const PEAK_VELOCITY = 1.875;
const PEAK_ACCELERATION = 5.7735;
// Shares of the limits that a plan uses: what is left is for the servo, and for a person to see.
const VELOCITY_SHARE = 0.5;
const ACCELERATION_SHARE = 0.8;
// A motion of a hair's breadth still takes two policy cadences.
const DURATION_S_MIN = 0.1;

/** Share of the way gone after that share of the time: 0 before the start, 1 after the end. */
export function minimumJerk(shareOfTime: number): number {
  if (!(shareOfTime > 0)) return 0;
  if (shareOfTime >= 1) return 1;
  const t = shareOfTime;
  return t * t * t * (10 - 15 * t + 6 * t * t);
}

export class MinimumJerkPath {
  readonly #jointCount: number;
  /** Points of the path, rad, one row of all joints each. */
  readonly #points: Float64Array;
  readonly #velocityMax: Float64Array;
  readonly #accelerationMax: Float64Array;
  #pieceCount = 0;
  #startNs = 0;
  #durationNs = 1;

  constructor(robot: Pick<RobotProfile, "joints" | "periodNs" | "policy">) {
    const { joints, periodNs, policy } = robot;
    this.#jointCount = joints.length;
    this.#points = new Float64Array((PIECES_MAX + 1) * joints.length);
    // Straight lines between rows put the acceleration of a whole row into one control tick.
    const rowShare = Math.min(1, periodNs / policy.dtNs) * ACCELERATION_SHARE;
    const of = (limit: (joint: JointProfile) => number) => Float64Array.from(joints, limit);
    this.#velocityMax = of((joint) => joint.velocityRadPerSMax * VELOCITY_SHARE);
    this.#accelerationMax = of((joint) => joint.motion.accelerationRadPerS2 * rowShare);
  }

  /** Where the path ends: a live row of all joints. */
  get endRad(): Float64Array {
    return this.#row(this.#pieceCount);
  }
  get endNs(): number {
    return this.#startNs + this.#durationNs;
  }

  /** A path that stays at `positionRad`, from `startNs`. `addPoint` leads it on. */
  beginAt(positionRad: Float64Array, startNs: Instant): void {
    this.#row(0).set(positionRad);
    this.#pieceCount = 0;
    this.#startNs = startNs;
    this.#durationNs = 1;
  }

  addPoint(positionRad: Float64Array): void {
    this.#pieceCount += 1;
    this.#row(this.#pieceCount).set(positionRad);
    this.#durationNs = Math.round(this.#shortestS() * NS_PER_S);
  }

  /** Where every joint should be at that moment; before and after the motion it stays. */
  sampleInto(out: Float64Array, atNs: number): void {
    const count = this.#jointCount;
    if (this.#pieceCount === 0) {
      for (let joint = 0; joint < count; joint += 1) out[joint] = this.#points[joint]!;
      return;
    }
    const way = minimumJerk((atNs - this.#startNs) / this.#durationNs) * this.#pieceCount;
    const piece = Math.min(Math.floor(way), this.#pieceCount - 1);
    const share = way - piece;
    for (let joint = 0; joint < count; joint += 1) {
      const from = this.#points[piece * count + joint]!;
      const to = this.#points[(piece + 1) * count + joint]!;
      // The end itself, not a bit beside it.
      out[joint] = share === 1 ? to : from + (to - from) * share;
    }
  }

  /** The longest piece sets the pace, as if all were as long. */
  #shortestS(): number {
    const count = this.#jointCount;
    let durationS = DURATION_S_MIN;
    for (let joint = 0; joint < count; joint += 1) {
      let longestRad = 0;
      for (let piece = 0; piece < this.#pieceCount; piece += 1) {
        const at = piece * count + joint;
        const sizeRad = Math.abs(this.#points[at + count]! - this.#points[at]!);
        if (sizeRad > longestRad) longestRad = sizeRad;
      }
      const wayRad = longestRad * this.#pieceCount;
      const byVelocity = (PEAK_VELOCITY * wayRad) / this.#velocityMax[joint]!;
      const byAcceleration = (PEAK_ACCELERATION * wayRad) / this.#accelerationMax[joint]!;
      durationS = Math.max(durationS, byVelocity, Math.sqrt(byAcceleration));
    }
    return durationS;
  }

  #row(index: number): Float64Array {
    return this.#points.subarray(index * this.#jointCount, (index + 1) * this.#jointCount);
  }
}
