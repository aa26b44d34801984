// MotionLimiter: owns the command with its velocity and acceleration, and keeps all three within
// the limits. A target that every limit allows passes bit for bit; any other is chased as fast as
// the limits allow, without overshoot. No number that is not finite may reach it: the gate refuses.
//
// What a tick may do is decided in order of importance, the last word to the first: a stop must end
// within the position limits; then the limits of a stop, velocity, lead, and those of motion.
//
// Only + - * / and the square root, so that equal inputs give equal bits on every machine.

import { assert } from "../runtime/contracts/assert.ts";
import { RepairBit } from "../runtime/contracts/command.ts";
import { commandVec } from "../runtime/contracts/units.ts";
import type { CommandVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";
import { Chase, ROUNDING_RAD, SLACK_RATIO } from "./chase.ts";
import { GoalTurn } from "./goal-turn.ts";
import type { JointLimits } from "./limits.ts";
import type { ToolGuard } from "./tool-guard.ts";
import {
  StopProfile,
  brakeChange,
  clamp,
  easeInto,
  stopWayBound,
  taperFrom,
  taperUpTo,
} from "./stop-profile.ts";

/** Halvings between the wanted change and the brake: the rest is a 4,096th of a jerk step. */
const HALVINGS = 12;

/**
 * A command this near its target, as a share of a tick's way at full speed, was not limited: only a
 * corner was rounded. Rows of 20 ms joined by straight lines have one at each row.
 */
const SMOOTH_STRIDE_SHARE = 0.2;

export class MotionLimiter {
  /** The command, in each joint's own space. */
  readonly command: CommandVec;
  /** What the command (the integral of a velocity command) gained in the last tick. */
  readonly strideRad: Float64Array;
  /** What the stride gained in the last tick. */
  readonly changeRad: Float64Array;

  readonly #limits: JointLimits;
  readonly #chase: Chase;
  readonly #tool: ToolGuard;
  readonly #stop = new StopProfile();
  /** Strides of velocity joints that may still be on their way to the robot, a row per tick. */
  readonly #given: Float64Array;
  #givenTick = 0;
  /** Targets within the limits of their own value, this tick's. */
  readonly #target: Float64Array;
  /** The same as positions and, for velocity joints, strides. */
  readonly #goal: Float64Array;
  /** How far the goals move in a tick. */
  readonly #feedRad: Float64Array;
  readonly #turn: GoalTurn;
  /** The change that each joint is about to make. */
  readonly #next: Float64Array;
  #goalKnown = false;
  #infeasible = false;

  /** Set-up only. */
  constructor(limits: JointLimits, tool: ToolGuard) {
    const { jointCount } = limits;
    this.#limits = limits;
    this.#tool = tool;
    this.command = commandVec(new Float64Array(jointCount));
    this.strideRad = new Float64Array(jointCount);
    this.changeRad = new Float64Array(jointCount);
    this.#target = new Float64Array(jointCount);
    this.#goal = new Float64Array(jointCount);
    this.#feedRad = new Float64Array(jointCount);
    this.#turn = new GoalTurn(limits);
    this.#next = new Float64Array(jointCount);
    this.#chase = new Chase(limits);
    const turns = limits.isVelocity.some((flag) => flag === 1);
    const rows = turns ? limits.leadTicks.reduce((most, ticks) => Math.max(most, ticks), 1) : 0;
    this.#given = new Float64Array(Math.ceil(rows) * jointCount);
  }

  /** The command stands still, and nothing is left of a brake. */
  get atRest(): boolean {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      if (this.strideRad[joint] !== 0 || this.changeRad[joint] !== 0) return false;
    }
    return true;
  }

  /** The last tick could not keep what its importance demands; it braked every joint. */
  get infeasible(): boolean {
    return this.#infeasible;
  }

  /** The command is where the robot is, at rest. Velocity joints are told to stand. */
  seed(measuredRad: RadVec): void {
    const { isVelocity, jointCount } = this.#limits;
    assert(measuredRad.length === jointCount, "one measured position per joint");
    assert(this.atRest, "a command begins anew only at rest");
    for (let joint = 0; joint < jointCount; joint += 1) {
      this.command[joint] = isVelocity[joint] === 1 ? 0 : measuredRad[joint]!;
    }
  }

  /** Nothing moves any more, whatever the command was about to do: the actuators have no power. */
  stand(): void {
    this.strideRad.fill(0);
    this.changeRad.fill(0);
    this.#infeasible = false;
    this.#goalKnown = false;
  }

  /** One tick towards the target. Returns the bits of what had to be repaired. */
  follow(target: CommandVec, measuredRad: RadVec, measuredRadPerS: RadPerSVec): number {
    assert(target.length === this.#limits.jointCount, "one target per joint");
    let repairs = this.#setGoals(target);
    this.#infeasible = false;
    this.#tool.begin(this.command);
    let broken = this.#brokenLimits(measuredRad);
    if (broken === 0 && this.#tool.isOn) broken = this.#brokenByTool();
    if (broken === 0) {
      this.#land();
    } else {
      const { strideRad, changeRad } = this;
      this.#chase.stepInto(
        this.#next,
        this.command,
        strideRad,
        changeRad,
        this.#goal,
        this.#feedRad,
        this.#turn.turnRad,
      );
      repairs |= broken | this.#tool.soften(this.#next, strideRad, changeRad);
      repairs |= this.#bound(measuredRad, measuredRadPerS);
      repairs |= this.#tool.limit(this.#next, strideRad, changeRad);
      if (this.#infeasible) this.#brakeAll();
      this.#move();
    }
    this.#goalKnown = true;
    return repairs;
  }

  /** Only acceleration and jerk asked for more, and every command is as good as at its target. */
  onlySmooths(repairs: number): boolean {
    if (repairs === 0 || (repairs & ~(RepairBit.Acceleration | RepairBit.Jerk)) !== 0) return false;
    const { isVelocity, jointCount, periodS, strideRadMax } = this.#limits;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const most = SMOOTH_STRIDE_SHARE * strideRadMax[joint]!;
      const unit = isVelocity[joint] === 1 ? periodS : 1;
      const offRad = unit * (this.#target[joint]! - this.command[joint]!);
      if (Math.abs(offRad) > most) return false;
    }
    return true;
  }

  /**
   * One tick on along the last velocity, slower: a path that may go on in the next tick keeps its
   * direction. Gentler than a stop, and never faster.
   */
  coast(measuredRad: RadVec): void {
    const { motionChangeRadMax, stopJerkRad } = this.#limits;
    assert(measuredRad.length === this.#next.length, "one measured position per joint");
    this.#infeasible = false;
    this.#tool.begin(this.command);
    easeInto(this.#next, this.strideRad, this.changeRad, motionChangeRadMax, stopJerkRad);
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      const change = this.#withinStop(joint, this.#next[joint]!);
      this.#next[joint] = this.#viable(joint, change, measuredRad[joint]!);
    }
    this.#tool.limit(this.#next, this.strideRad, this.changeRad);
    this.#move();
    this.#goalKnown = false;
  }

  /** One tick of the stop: every joint as hard as its stop limits, to rest, and then no further. */
  brake(): void {
    this.#infeasible = false;
    this.#brakeAll();
    this.#move();
    this.#goalKnown = false;
  }

  #brakeAll(): void {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      this.#next[joint] = this.#brakeOf(joint);
    }
  }

  #brakeOf(joint: number): number {
    const { stopChangeRadMax, stopJerkRad } = this.#limits;
    return brakeChange(
      this.strideRad[joint]!,
      this.changeRad[joint]!,
      stopChangeRadMax[joint]!,
      stopJerkRad[joint]!,
    );
  }

  #setGoals(target: CommandVec): number {
    const { isVelocity, jointCount, periodS, positionRadMax, positionRadMin } = this.#limits;
    let repairs = 0;
    let jumps = false;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const turns = isVelocity[joint] === 1;
      const strideMax = this.#limits.strideRadMax[joint]!;
      const most = turns ? strideMax / periodS : positionRadMax[joint]!;
      const within = clamp(target[joint]!, turns ? -most : positionRadMin[joint]!, most);
      if (within !== target[joint]) repairs |= turns ? RepairBit.Velocity : RepairBit.Position;
      const goal = turns ? within * periodS : within;
      // A goal that is new began where the command is.
      const start = turns ? this.strideRad[joint]! : this.command[joint]!;
      const feed = goal - (this.#goalKnown ? this.#goal[joint]! : start);
      if (!turns && Math.abs(feed) > strideMax * SLACK_RATIO) jumps = true;
      this.#feedRad[joint] = feed;
      this.#target[joint] = within;
      this.#goal[joint] = goal;
    }
    // A step that no joint could follow is a jump: it says nothing about where the target goes.
    if (jumps) this.#feedRad.fill(0);
    if (!this.#goalKnown || this.atRest) this.#turn.forget();
    else if (!jumps) this.#turn.see(this.#feedRad);
    return repairs;
  }

  /** Which limits a step straight to the goals would break; 0 when it may be taken whole. */
  #brokenLimits(measuredRad: RadVec): number {
    const { isVelocity, jointCount, leadRad } = this.#limits;
    let broken = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const goal = this.#goal[joint]!;
      const stride = this.#strideTo(joint);
      const change = stride - this.strideRad[joint]!;
      const isTurning = isVelocity[joint] === 1;
      const feed = this.#feedRad[joint]!;
      broken |= this.#chase.brokenBy(joint, stride, change, this.changeRad[joint]!);
      broken |= isTurning
        ? this.#chase.brokenAfterTurn(joint, change, feed)
        : this.#chase.brokenAfter(joint, change, feed - stride);
      if (!isTurning && Math.abs(goal - measuredRad[joint]!) > leadRad[joint]!) {
        broken |= RepairBit.Lead;
      }
    }
    return broken === 0 && !this.#allFit(measuredRad) ? RepairBit.Position : broken;
  }

  /** After a step straight to the goals, a stop would still end within the position limits. */
  #allFit(measuredRad: RadVec): boolean {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      const change = this.#strideTo(joint) - this.strideRad[joint]!;
      if (!this.#fits(joint, change, measuredRad[joint]!, 0)) return false;
    }
    return true;
  }

  /** The stride that is at the goal after one tick. */
  #strideTo(joint: number): number {
    const goal = this.#goal[joint]!;
    return this.#limits.isVelocity[joint] === 1 ? goal : goal - this.command[joint]!;
  }

  #brokenByTool(): number {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      this.#next[joint] = this.#strideTo(joint) - this.strideRad[joint]!;
    }
    return this.#tool.brokenBy(this.#next, this.strideRad);
  }

  #land(): void {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      const stride = this.#strideTo(joint);
      this.changeRad[joint] = stride - this.strideRad[joint]!;
      this.strideRad[joint] = stride;
      this.command[joint] = this.#target[joint]!;
      if (this.#limits.isVelocity[joint] === 1) this.#give(joint);
    }
    this.#givenTick += 1;
  }

  /** Limits of single joints, the least important first: the last one to speak wins. */
  #bound(measuredRad: RadVec, measuredRadPerS: RadPerSVec): number {
    const { isVelocity, jointCount, stopChangeRadMax, stopJerkRad } = this.#limits;
    let repairs = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const chased = this.#next[joint]!;
      let change = chased;
      if (isVelocity[joint] !== 1) {
        change = this.#led(joint, chased, measuredRad[joint]!, measuredRadPerS[joint]!);
        if (change !== chased) repairs |= RepairBit.Lead;
      }
      const within = this.#withinStop(joint, change);
      const now = this.changeRad[joint]!;
      const jerk = stopJerkRad[joint]!;
      const most = stopChangeRadMax[joint]!;
      const stoppable = clamp(clamp(within, now - jerk, now + jerk), -most, most);
      const viable = this.#viable(joint, stoppable, measuredRad[joint]!);
      if (viable !== stoppable) repairs |= RepairBit.Position;
      this.#next[joint] = viable;
    }
    return repairs;
  }

  /** The change nearest to the wanted one after which the velocity still ends below its limit. */
  #withinStop(joint: number, changeRad: number): number {
    const jerk = this.#limits.stopJerkRad[joint]!;
    const max = this.#limits.strideRadMax[joint]!;
    const stride = this.strideRad[joint]!;
    const up = max - stride;
    const down = max + stride;
    if (up >= 0 && down >= 0) {
      return changeRad > 0 ? taperUpTo(changeRad, up, jerk) : -taperUpTo(-changeRad, down, jerk);
    }
    return up < 0
      ? clamp(changeRad, -taperFrom(down, jerk), up)
      : clamp(changeRad, -down, taperFrom(up, jerk));
  }

  /**
   * The nearest change that keeps the command within lead of the measured position. The border
   * moves with the robot, so the command slows for it as for a wall only when the robot does not.
   */
  #led(joint: number, changeRad: number, measuredRad: number, measuredRadPerS: number): number {
    const { leadRad, periodS, strideRadMax } = this.#limits;
    const lead = leadRad[joint]!;
    const offRad = this.command[joint]! - measuredRad;
    const max = strideRadMax[joint]!;
    const robot = Number.isFinite(measuredRadPerS)
      ? clamp(measuredRadPerS * periodS, -max, max)
      : 0;
    const upper = this.#ledTo(joint, changeRad, 1, lead - offRad, Math.max(0, robot));
    return this.#ledTo(joint, upper, -1, lead + offRad, Math.max(0, -robot));
  }

  /** One border of the two: 1 is ahead, -1 behind. Motion limits first, then those of a stop. */
  #ledTo(
    joint: number,
    changeRad: number,
    side: number,
    roomRad: number,
    borderRad: number,
  ): number {
    const { motionChangeRadMax, motionJerkRad, stopChangeRadMax, stopJerkRad } = this.#limits;
    const stride = side * this.strideRad[joint]! - borderRad;
    const now = side * this.changeRad[joint]!;
    const wanted = side * changeRad;
    const stopMax = stopChangeRadMax[joint]!;
    const stopJerk = stopJerkRad[joint]!;
    const motionMax = motionChangeRadMax[joint]!;
    const motionJerk = motionJerkRad[joint]!;
    const way = stopWayBound(stride + wanted, wanted, motionMax, motionJerk);
    if (borderRad + stride + wanted + way <= roomRad) return changeRad;
    const room = roomRad - borderRad;
    const own = this.strideRad[joint]!;
    const low =
      side > 0
        ? this.#chase.lowest(joint, own, now)
        : -this.#chase.highest(joint, own, this.changeRad[joint]!);
    let change = wanted;
    if (low < change) {
      change = this.#chase.nearest(room, stride, now, low, change, motionMax, motionJerk);
    }
    const least = Math.max(now - stopJerk, -stopMax);
    // The limits of a stop are for a command that is running away; it comes back at ease.
    if (least < change && stride + change > 0) {
      change = this.#chase.nearest(room, stride, now, least, change, stopMax, stopJerk);
    }
    // A border that runs ahead of the command is still not to be passed in this tick.
    if (roomRad >= 0) change = Math.min(change, Math.max(least, room - stride));
    return change === wanted ? changeRad : side * change;
  }

  /**
   * The nearest change from which a stop still ends within the position limits. The brake does by
   * itself, because what it continues was chosen so; nothing else may be needed in between.
   */
  #viable(joint: number, changeRad: number, measuredRad: number): number {
    if (this.#fits(joint, changeRad, measuredRad, 0)) return changeRad;
    const brake = this.#brakeOf(joint);
    if (!this.#fits(joint, brake, measuredRad, this.#limits.strideRadMax[joint]!)) {
      this.#infeasible = true;
    }
    const near = this.#nearWall(joint, changeRad, brake);
    if (near !== brake && this.#fits(joint, near, measuredRad, 0)) return near;
    let good = brake;
    let bad = changeRad;
    for (let count = 0; count < HALVINGS; count += 1) {
      const middle = good + (bad - good) / 2;
      if (this.#fits(joint, middle, measuredRad, 0)) good = middle;
      else bad = middle;
    }
    return good;
  }

  /** Where a stop at the wall would be, for a joint that comes to it in the plainest way. */
  #nearWall(joint: number, changeRad: number, brakeRad: number): number {
    const { isVelocity, positionRadMax, positionRadMin } = this.#limits;
    if (isVelocity[joint] === 1) return brakeRad;
    const side = changeRad > brakeRad ? 1 : -1;
    const from = this.command[joint]!;
    const roomRad = side > 0 ? positionRadMax[joint]! - from : from - positionRadMin[joint]!;
    return (
      side *
      this.#chase.nearest(
        roomRad,
        side * this.strideRad[joint]!,
        side * this.changeRad[joint]!,
        side * brakeRad,
        side * changeRad,
        this.#limits.stopChangeRadMax[joint]!,
        this.#limits.stopJerkRad[joint]!,
      )
    );
  }

  /**
   * After this change, a stop ends within the position limits, and no more than `excessRad` beyond.
   * A joint that is outside may only come back. Velocity joints are judged where they will be when
   * they have obeyed all that they were told within their lead.
   */
  #fits(joint: number, changeRad: number, measuredRad: number, excessRad: number): boolean {
    const { isVelocity, positionRadMax, positionRadMin } = this.#limits;
    const turns = isVelocity[joint] === 1;
    const max = this.#limits.stopChangeRadMax[joint]!;
    const jerk = this.#limits.stopJerkRad[joint]!;
    const stride = this.strideRad[joint]! + changeRad;
    const from = turns ? measuredRad : this.command[joint]!;
    const high = from + stride + (turns ? this.#onItsWay(joint, 1) : 0);
    const low = from + stride - (turns ? this.#onItsWay(joint, -1) : 0);
    const most = positionRadMax[joint]! + excessRad + ROUNDING_RAD;
    const least = positionRadMin[joint]! - excessRad - ROUNDING_RAD;
    if (high > Math.max(most, from + ROUNDING_RAD)) return false;
    if (low < Math.min(least, from - ROUNDING_RAD)) return false;
    const bound = stopWayBound(stride, changeRad, max, jerk);
    if (high + bound <= most && low - bound >= least) return true;
    const stop = this.#stop;
    stop.trace(stride, changeRad, max, jerk);
    // From outside it never turns round: a stop that does would have to be judged anew each tick.
    const above = high > most ? stop.mostRad <= ROUNDING_RAD : high + stop.mostRad <= most;
    const below = low < least ? stop.leastRad >= -ROUNDING_RAD : low + stop.leastRad >= least;
    const turnsOut = high > most && stop.endRad > stop.leastRad + ROUNDING_RAD;
    const turnsBack = low < least && stop.endRad < stop.mostRad - ROUNDING_RAD;
    return above && below && !turnsOut && !turnsBack;
  }

  /** How far a velocity joint may still go to that side by what it was told within its lead. */
  #onItsWay(joint: number, side: number): number {
    let way = 0;
    for (let at = joint; at < this.#given.length; at += this.#limits.jointCount) {
      way += Math.max(0, side * this.#given[at]!);
    }
    return way;
  }

  /** Moves every command by one tick; rounding never carries it over a limit it was within. */
  #move(): void {
    const { isVelocity, jointCount, periodS, positionRadMax, positionRadMin } = this.#limits;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const change = this.#next[joint]!;
      const stride = this.strideRad[joint]! + change;
      this.changeRad[joint] = change;
      this.strideRad[joint] = stride;
      if (isVelocity[joint] === 1) {
        this.command[joint] = stride / periodS;
        this.#give(joint);
        continue;
      }
      const before = this.command[joint]!;
      this.command[joint] = clamp(
        before + stride,
        Math.min(before, positionRadMin[joint]!),
        Math.max(before, positionRadMax[joint]!),
      );
    }
    this.#givenTick += 1;
  }

  #give(joint: number): void {
    const { jointCount } = this.#limits;
    const at = (this.#givenTick * jointCount) % this.#given.length;
    this.#given[at + joint] = this.strideRad[joint]!;
  }
}
