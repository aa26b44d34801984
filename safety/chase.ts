// Chase: which change brings each joint towards its goal within the limits of motion, as fast as
// they allow and without overshoot. It knows nothing of position limits, lead or the robot.
//
// Far from the goals the whole arm *walks*: the slowest joint sets the pace and the others keep
// their share of it, so that the path is a straight line in joint space. Near a goal that moves,
// each joint goes *home* by itself. A goal's velocity is fed forward; a goal that jumps has none.

import { RepairBit } from "../runtime/contracts/command.ts";
import type { JointLimits } from "./limits.ts";
import {
  StopProfile,
  brakeChange,
  clamp,
  stopWayBound,
  taperFrom,
  taperUpTo,
} from "./stop-profile.ts";

/** Rounding of a difference of two positions near 100 rad is below this share of a limit. */
export const SLACK_RATIO = 1 + 1e-9;
/** And below this much in a difference of strides. */
export const ROUNDING_RAD = 1e-13;

/** A stop that ends so little short of its goal is one that reaches it. */
const SHORT_RAD = 1e-8;
/** The search for a change ends after so many tries, on the side that stays short. */
const TRIES_MAX = 16;
/** Share of a tick's stride at full speed from which a way is worth a straight line. */
const WALK_STRIDE_SHARE = 0.25;
/** And below which there is no way left that could have a direction. */
const STAND_STRIDE_SHARE = 1e-6;

export class Chase {
  readonly #limits: JointLimits;
  readonly #stop = new StopProfile();
  /** From the command to where the goal was one tick ago, given how fast it moves. */
  readonly #wayRad: Float64Array;
  #walking = false;
  /** What the pace of the walk leaves of a limit, per rad of way. */
  #strideShare = 0;
  #changeShare = 0;
  #gainShare = 0;
  #jerkShare = 0;

  /** Set-up only. */
  constructor(limits: JointLimits) {
    this.#limits = limits;
    this.#wayRad = new Float64Array(limits.jointCount);
  }

  /** Bits of the motion limits that one joint would break by this stride. */
  brokenBy(joint: number, strideRad: number, changeRad: number, nowRad: number): number {
    const { motionChangeRadMax, motionJerkRad, strideRadMax } = this.#limits;
    const max = strideRadMax[joint]! * SLACK_RATIO + ROUNDING_RAD;
    const jerk = motionJerkRad[joint]! * SLACK_RATIO + ROUNDING_RAD;
    let broken = 0;
    if (Math.abs(strideRad) > max) {
      broken |= RepairBit.Velocity;
    } else {
      // What is gained now must be lost again before the velocity limit.
      const left = changeRad > 0 ? max - strideRad : max + strideRad;
      const gain = Math.abs(changeRad);
      const taper = taperUpTo(gain, left, motionJerkRad[joint]!) * SLACK_RATIO + ROUNDING_RAD;
      if (gain > taper + jerk) broken |= RepairBit.Velocity;
    }
    if (Math.abs(changeRad) > motionChangeRadMax[joint]! * SLACK_RATIO + ROUNDING_RAD) {
      broken |= RepairBit.Acceleration;
    }
    if (Math.abs(changeRad - nowRad) > jerk) broken |= RepairBit.Jerk;
    return broken;
  }

  /**
   * Bits of the limits that would be broken after arriving with this stride: `missRad` is what it
   * still has to gain to go on with its goal. A command that never left its goal misses nothing.
   */
  brokenAfter(joint: number, changeRad: number, missRad: number): number {
    const { motionChangeRadMax, motionJerkRad } = this.#limits;
    if (Math.abs(missRad) <= ROUNDING_RAD) return 0;
    if (Math.abs(missRad) > motionChangeRadMax[joint]! * SLACK_RATIO) return RepairBit.Acceleration;
    const jerk = motionJerkRad[joint]! * SLACK_RATIO;
    return Math.abs(missRad) > jerk || Math.abs(missRad - changeRad) > jerk ? RepairBit.Jerk : 0;
  }

  /** The same for a velocity joint, whose goal gains `feedRad` a tick. */
  brokenAfterTurn(joint: number, changeRad: number, feedRad: number): number {
    if (Math.abs(feedRad - changeRad) <= ROUNDING_RAD) return 0;
    const jerk = this.#limits.motionJerkRad[joint]! * SLACK_RATIO + ROUNDING_RAD;
    return Math.abs(changeRad) > jerk ? RepairBit.Jerk : 0;
  }

  /** The change of every joint in this tick. Goals of velocity joints are strides. */
  stepInto(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRad: Float64Array,
    goal: Float64Array,
    feedRad: Float64Array,
    turnRad: Float64Array,
  ): void {
    const { isVelocity, jointCount } = this.#limits;
    this.#measureWay(command, goal, feedRad);
    if (this.#walking) this.#walk(next, strideRad, changeRad, feedRad, turnRad);
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 1 || this.#walking) continue;
      const feed = feedRad[joint]!;
      const turn = turnRad[joint]!;
      next[joint] = this.#home(joint, strideRad[joint]!, changeRad[joint]!, feed, turn);
    }
    this.#steer(next, strideRad, changeRad, goal);
  }

  #measureWay(command: Float64Array, goal: Float64Array, feedRad: Float64Array): void {
    const { isVelocity, jointCount, strideRadMax } = this.#limits;
    let longest = 0;
    let moving = false;
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 1) continue;
      const way = goal[joint]! - command[joint]! - feedRad[joint]!;
      this.#wayRad[joint] = way;
      longest = Math.max(longest, Math.abs(way) / strideRadMax[joint]!);
      if (feedRad[joint] !== 0) moving = true;
    }
    if (longest > WALK_STRIDE_SHARE) this.#walking = true;
    else if (moving || longest < STAND_STRIDE_SHARE) this.#walking = false;
  }

  /** One joint by itself, within its own limits: in the eyes of its goal, which turns. */
  #home(
    joint: number,
    strideRad: number,
    nowRad: number,
    feedRad: number,
    turnRad: number,
  ): number {
    const way = this.#wayRad[joint]!;
    const max = this.#brakeMax(joint, turnRad);
    const jerk = this.#limits.motionJerkRad[joint]!;
    const stride = strideRad - feedRad;
    const straight = way - stride;
    const broken = this.brokenBy(joint, strideRad + straight, straight, nowRad);
    if ((broken | this.brokenAfter(joint, straight, -way)) === 0) return straight;
    const now = nowRad - turnRad;
    const low = this.lowest(joint, strideRad, nowRad) - turnRad;
    const high = this.highest(joint, strideRad, nowRad) - turnRad;
    return turnRad + this.nearest(way, stride, now, low, high, max, jerk);
  }

  /** What a joint may change to brake on its way to a goal that turns meanwhile. */
  #brakeMax(joint: number, turnRad: number): number {
    const max = this.#limits.motionChangeRadMax[joint]!;
    return this.#wayRad[joint]! < 0 ? max - turnRad : max + turnRad;
  }

  /** The highest change that motion allows from here; a change beyond the limit eases off first. */
  highest(joint: number, strideRad: number, nowRad: number): number {
    const max = this.#limits.motionChangeRadMax[joint]!;
    const jerk = this.#limits.motionJerkRad[joint]!;
    const left = this.#limits.strideRadMax[joint]! - strideRad;
    const cap = left >= 0 ? taperUpTo(max, left, jerk) : Math.max(left, -max);
    const beyond = max * SLACK_RATIO;
    if (nowRad < -beyond) return Math.min(-max, nowRad + this.#limits.stopJerkRad[joint]!);
    const least = nowRad > beyond ? nowRad - this.#limits.stopJerkRad[joint]! : nowRad - jerk;
    return clamp(cap, least, nowRad + jerk);
  }

  /** The lowest, likewise. */
  lowest(joint: number, strideRad: number, nowRad: number): number {
    return -this.highest(joint, -strideRad, -nowRad);
  }

  /**
   * The change nearest to `highRad`, between the two, after which a stop within these limits still
   * ends at or before `wayRad`; the lowest if none does.
   */
  nearest(
    wayRad: number,
    strideRad: number,
    nowRad: number,
    lowRad: number,
    highRad: number,
    changeRadMax: number,
    jerkRad: number,
  ): number {
    let high = highRad;
    const bound = stopWayBound(strideRad + high, high, changeRadMax, jerkRad);
    if (strideRad + high + bound <= wayRad) return high;
    let low = lowRad;
    // A stop that is on its way goes on: nothing has to be searched.
    const brake = clamp(brakeChange(strideRad, nowRad, changeRadMax, jerkRad), low, high);
    const overBrake = this.#over(brake, wayRad, strideRad, changeRadMax, jerkRad);
    const short = wayRad < 0 ? overBrake : -overBrake;
    if (short >= -ROUNDING_RAD && short <= SHORT_RAD) return brake;
    let overLow = overBrake;
    let overHigh = overBrake;
    if (overBrake > 0) {
      high = brake;
      overLow = this.#over(low, wayRad, strideRad, changeRadMax, jerkRad);
      if (overLow >= 0) return low;
    } else {
      low = brake;
      overHigh = this.#over(high, wayRad, strideRad, changeRadMax, jerkRad);
      if (overHigh <= 0) return high;
    }
    return this.#search(low, overLow, high, overHigh, wayRad, strideRad, changeRadMax, jerkRad);
  }

  /** Regula falsi, halving the weight of an end that stays; keeps to the side that stays short. */
  #search(
    lowRad: number,
    overLowRad: number,
    highRad: number,
    overHighRad: number,
    wayRad: number,
    strideRad: number,
    changeRadMax: number,
    jerkRad: number,
  ): number {
    let low = lowRad;
    let high = highRad;
    let overLow = overLowRad;
    let overHigh = overHighRad;
    let kept = 0;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const middle = (low * overHigh - high * overLow) / (overHigh - overLow);
      const over = this.#over(middle, wayRad, strideRad, changeRadMax, jerkRad);
      const short = wayRad < 0 ? over : -over;
      if (short >= 0 && short <= SHORT_RAD) return middle;
      if (over > 0) {
        high = middle;
        overHigh = over;
        if (kept === 1) overLow /= 2;
        kept = 1;
      } else {
        low = middle;
        overLow = over;
        if (kept === -1) overHigh /= 2;
        kept = -1;
      }
    }
    return wayRad < 0 ? high : low;
  }

  /** How far past the way a stop ends after this change. */
  #over(
    changeRad: number,
    wayRad: number,
    strideRad: number,
    changeRadMax: number,
    jerkRad: number,
  ): number {
    const stride = strideRad + changeRad;
    return stride + this.#stop.trace(stride, changeRad, changeRadMax, jerkRad) - wayRad;
  }

  /** The whole arm in a straight line: one joint leads, the others keep their share of its pace. */
  #walk(
    next: Float64Array,
    strideRad: Float64Array,
    changeRad: Float64Array,
    feedRad: Float64Array,
    turnRad: Float64Array,
  ): void {
    const { isVelocity, jointCount } = this.#limits;
    const leader = this.#setPace(feedRad, turnRad);
    const way = Math.abs(this.#wayRad[leader]!);
    const side = this.#wayRad[leader]! < 0 ? -1 : 1;
    const stride = side * (strideRad[leader]! - feedRad[leader]!);
    const turn = side * turnRad[leader]!;
    const now = side * changeRad[leader]! - turn;
    const max = this.#changeShare * way;
    const jerk = this.#jerkShare * way;
    const left = this.#strideShare * way - stride;
    const low =
      side *
        (side > 0
          ? this.lowest(leader, strideRad[leader]!, changeRad[leader]!)
          : this.highest(leader, strideRad[leader]!, changeRad[leader]!)) -
      turn;
    const most = this.#limits.motionChangeRadMax[leader]! - turn;
    const cap = left >= 0 ? taperUpTo(this.#gainShare * way, left, jerk) : Math.max(left, -max);
    const high = Math.max(low, Math.min(cap, now + jerk, most));
    const change = this.nearest(way, stride, now, low, high, max, jerk);
    next[leader] = side * (change + turn);
    const strideShare = Math.max(0, (stride + change) / way);
    const changeShare = stride + change < 0 ? 0 : change / way;
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 1 || joint === leader) continue;
      next[joint] = this.#keepPace(
        joint,
        strideRad[joint]!,
        changeRad[joint]!,
        feedRad[joint]!,
        turnRad[joint]!,
        strideShare,
        changeShare,
      );
    }
  }

  /** What all joints can keep up with, per rad of way. Returns the one with the longest way. */
  #setPace(feedRad: Float64Array, turnRad: Float64Array): number {
    const { isVelocity, jointCount, motionChangeRadMax, motionJerkRad, strideRadMax } =
      this.#limits;
    let leader = 0;
    let longest = -1;
    this.#strideShare = Number.POSITIVE_INFINITY;
    this.#changeShare = Number.POSITIVE_INFINITY;
    this.#gainShare = Number.POSITIVE_INFINITY;
    this.#jerkShare = Number.POSITIVE_INFINITY;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const way = Math.abs(this.#wayRad[joint]!);
      if (isVelocity[joint] === 1 || way === 0) continue;
      const max = strideRadMax[joint]!;
      const forward = this.#wayRad[joint]! < 0 ? -feedRad[joint]! : feedRad[joint]!;
      this.#strideShare = Math.min(this.#strideShare, Math.max(0, max - forward) / way);
      const brake = this.#brakeMax(joint, turnRad[joint]!);
      this.#changeShare = Math.min(this.#changeShare, brake / way);
      this.#gainShare = Math.min(this.#gainShare, (2 * motionChangeRadMax[joint]! - brake) / way);
      this.#jerkShare = Math.min(this.#jerkShare, motionJerkRad[joint]! / way);
      if (way / max > longest) {
        longest = way / max;
        leader = joint;
      }
    }
    return leader;
  }

  /** The change that brings a joint to its share of the pace, never past where it can stop. */
  #keepPace(
    joint: number,
    strideRad: number,
    nowRad: number,
    feedRad: number,
    turnRad: number,
    strideShare: number,
    changeShare: number,
  ): number {
    const way = this.#wayRad[joint]!;
    const max = this.#brakeMax(joint, turnRad);
    const jerk = this.#limits.motionJerkRad[joint]!;
    const stride = strideRad - feedRad;
    const now = nowRad - turnRad;
    const low = this.lowest(joint, strideRad, nowRad) - turnRad;
    const high = this.highest(joint, strideRad, nowRad) - turnRad;
    const share = changeShare * way;
    const miss = strideShare * way - stride - share;
    let change = share;
    if (Math.abs(miss) > ROUNDING_RAD) {
      change += miss > 0 ? taperFrom(miss, jerk) : -taperFrom(-miss, jerk);
    }
    change = clamp(change, low, high);
    if (way > 0) return turnRad + this.nearest(way, stride, now, low, change, max, jerk);
    if (way < 0) return turnRad - this.nearest(-way, -stride, -now, -high, -change, max, jerk);
    return turnRad + change;
  }

  /** Velocity joints: each its share of the step to its goal, so that a turn keeps its curve. */
  #steer(
    next: Float64Array,
    strideRad: Float64Array,
    changeRad: Float64Array,
    goal: Float64Array,
  ): void {
    const { isVelocity, jointCount, motionChangeRadMax, motionJerkRad } = this.#limits;
    let share = 1;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const way = Math.abs(goal[joint]! - strideRad[joint]!);
      if (isVelocity[joint] === 0 || way === 0) continue;
      const most = taperUpTo(motionChangeRadMax[joint]!, way, motionJerkRad[joint]!);
      share = Math.min(share, most / way);
    }
    let part = 1;
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 0) continue;
      const wanted = share * (goal[joint]! - strideRad[joint]!);
      const turn = Math.abs(wanted - changeRad[joint]!);
      next[joint] = wanted;
      if (turn * part > motionJerkRad[joint]!) part = motionJerkRad[joint]! / turn;
    }
    for (let joint = 0; joint < jointCount; joint += 1) {
      if (isVelocity[joint] === 0) continue;
      const now = changeRad[joint]!;
      const low = this.lowest(joint, strideRad[joint]!, now);
      const high = this.highest(joint, strideRad[joint]!, now);
      next[joint] = clamp(now + part * (next[joint]! - now), low, high);
    }
  }
}
