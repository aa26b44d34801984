// Limits of a robot's joints as flat arrays, and the limiter that keeps a command within them.
//
// The limiter owns the command's position and velocity. A target that every limit allows passes
// bit for bit; any other is chased along a straight line in joint space, as fast as the limits
// allow, without overshoot. No number that is not finite may reach it: the gate refuses those.
//
// Only + - * / and the square root, so that equal inputs give equal bits on every machine.

import { assert } from "../runtime/contracts/assert.ts";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { NS_PER_S, commandVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import type { CommandVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";

/** Rounding of a difference of two positions near 100 rad, over 5 ms, is below this share. */
const SLACK_RATIO = 1 + 1e-9;

/** One value per joint, in profile order. */
export class JointLimits {
  readonly jointCount: number;
  /** The nominal period: a late tick never takes a longer step. */
  readonly periodS: number;
  /** 1 where the joint takes a velocity as its command. */
  readonly isVelocity: Uint8Array;
  readonly positionRadMin: RadVec;
  readonly positionRadMax: RadVec;
  readonly velocityRadPerSMax: RadPerSVec;
  /** How much the velocity may change in a tick of wanted motion. */
  readonly motionStepRadPerS: RadPerSVec;
  /** How much it may change in a tick of a stop. */
  readonly stopStepRadPerS: RadPerSVec;
  /** How far a position command may lie from the measured position. */
  readonly leadRad: RadVec;
  readonly leadS: Float64Array;

  /** Set-up only. */
  constructor(profile: RobotProfile) {
    const { joints } = profile;
    assert(joints.length > 0, "a robot has joints");
    assert(profile.periodNs > 0, "the control period is a length of time");
    const periodS = profile.periodNs / NS_PER_S;
    const each = (value: (joint: JointProfile) => number) => Float64Array.from(joints, value);
    this.jointCount = joints.length;
    this.periodS = periodS;
    this.isVelocity = Uint8Array.from(joints, (joint) => Number(joint.command === "velocity"));
    this.positionRadMin = radVec(each((joint) => joint.positionRadMin));
    this.positionRadMax = radVec(each((joint) => joint.positionRadMax));
    this.velocityRadPerSMax = radPerSVec(each((joint) => joint.velocityRadPerSMax));
    this.motionStepRadPerS = radPerSVec(
      each((joint) => joint.motion.accelerationRadPerS2 * periodS),
    );
    this.stopStepRadPerS = radPerSVec(each((joint) => joint.stop.accelerationRadPerS2 * periodS));
    this.leadS = each((joint) => joint.leadNs / NS_PER_S);
    this.leadRad = radVec(
      each((joint) => (joint.velocityRadPerSMax * joint.leadNs) / NS_PER_S + joint.droopRad),
    );
    for (const joint of joints) {
      assert(joint.positionRadMin < joint.positionRadMax, "a joint's position limits are in order");
      assert(joint.velocityRadPerSMax > 0, "a joint may move");
      assert(joint.motion.accelerationRadPerS2 > 0, "a joint may accelerate");
      assert(
        joint.stop.accelerationRadPerS2 >= joint.motion.accelerationRadPerS2,
        "a joint stops at least as hard as it moves",
      );
    }
  }
}

/**
 * The highest velocity for the coming tick from which braking by `stepRadPerS` a tick still comes
 * to rest within the distance, which is not negative. Exact for whole ticks: whoever starts on
 * this curve needs exactly one step per tick to stay on it, and lands on the distance.
 */
export function approachRadPerS(distanceRad: number, stepRadPerS: number, periodS: number): number {
  const ticks = Math.floor((Math.sqrt(1 + (8 * distanceRad) / (stepRadPerS * periodS)) - 1) / 2);
  return (distanceRad / periodS + (stepRadPerS * ticks * (ticks + 1)) / 2) / (ticks + 1);
}

export class MotionLimiter {
  /** The command, in each joint's own space. */
  readonly command: CommandVec;
  readonly velocityRadPerS: RadPerSVec;

  readonly #limits: JointLimits;
  /** Targets within position limits, this tick's. */
  readonly #goal: Float64Array;
  /** How fast the goals move. */
  readonly #feedRadPerS: Float64Array;
  readonly #next: Float64Array;
  #goalKnown = false;

  /** Set-up only. */
  constructor(limits: JointLimits) {
    const { jointCount } = limits;
    this.#limits = limits;
    this.command = commandVec(new Float64Array(jointCount));
    this.velocityRadPerS = radPerSVec(new Float64Array(jointCount));
    this.#goal = new Float64Array(jointCount);
    this.#feedRadPerS = new Float64Array(jointCount);
    this.#next = new Float64Array(jointCount);
  }

  get atRest(): boolean {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      if (this.velocityRadPerS[joint] !== 0) return false;
    }
    return true;
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

  /** One tick towards the target. Returns the bits of what had to be repaired. */
  follow(target: CommandVec, measuredRad: RadVec, measuredRadPerS: RadPerSVec): number {
    assert(target.length === this.#limits.jointCount, "one target per joint");
    let repairs = this.#setGoals(target);
    const broken = this.#brokenLimits(measuredRad);
    if (broken === 0) {
      this.#land();
    } else {
      this.#chase();
      repairs |= broken | this.#bound(measuredRad, measuredRadPerS);
    }
    this.#goalKnown = true;
    return repairs;
  }

  /** One tick of the stop: every joint as hard as its stop limit, to rest, and then no further. */
  brake(): void {
    const { jointCount, stopStepRadPerS } = this.#limits;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const velocity = this.velocityRadPerS[joint]!;
      const step = stopStepRadPerS[joint]!;
      const stops = Math.abs(velocity) <= step * SLACK_RATIO;
      this.#move(joint, stops ? 0 : velocity > 0 ? velocity - step : velocity + step);
    }
    this.#goalKnown = false;
  }

  #setGoals(target: CommandVec): number {
    const { isVelocity, jointCount, periodS, velocityRadPerSMax } = this.#limits;
    const { positionRadMax, positionRadMin } = this.#limits;
    let repairs = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const wanted = target[joint]!;
      const speedMax = velocityRadPerSMax[joint]!;
      if (isVelocity[joint] === 1) {
        this.#goal[joint] = clamp(wanted, -speedMax, speedMax);
        if (this.#goal[joint] !== wanted) repairs |= RepairBit.Velocity;
        continue;
      }
      const goal = clamp(wanted, positionRadMin[joint]!, positionRadMax[joint]!);
      if (goal !== wanted) repairs |= RepairBit.Position;
      const feed = this.#goalKnown ? (goal - this.#goal[joint]!) / periodS : 0;
      // A step no joint could follow is a jump: it says nothing about the target's velocity.
      this.#feedRadPerS[joint] = Math.abs(feed) <= speedMax * SLACK_RATIO ? feed : 0;
      this.#goal[joint] = goal;
    }
    return repairs;
  }

  /** Which limits a step straight to the goals would break; 0 when it may be taken whole. */
  #brokenLimits(measuredRad: RadVec): number {
    const { isVelocity, jointCount, leadRad, motionStepRadPerS } = this.#limits;
    const { velocityRadPerSMax } = this.#limits;
    let broken = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const goal = this.#goal[joint]!;
      const step = motionStepRadPerS[joint]! * SLACK_RATIO;
      const wanted = this.#wantedRadPerS(joint);
      if (isVelocity[joint] !== 1) {
        if (Math.abs(wanted) > velocityRadPerSMax[joint]! * SLACK_RATIO) {
          broken |= RepairBit.Velocity;
        }
        // Arriving must leave a velocity that the next tick can match to the goal's own.
        if (Math.abs(wanted - this.#feedRadPerS[joint]!) > step) broken |= RepairBit.Acceleration;
        if (Math.abs(goal - measuredRad[joint]!) > leadRad[joint]!) broken |= RepairBit.Lead;
      }
      if (Math.abs(wanted - this.velocityRadPerS[joint]!) > step) broken |= RepairBit.Acceleration;
    }
    return broken === 0 && !this.#allViable(measuredRad) ? RepairBit.Position : broken;
  }

  /** After a step straight to the goals, a stop would still end within the position limits. */
  #allViable(measuredRad: RadVec): boolean {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      const wanted = this.#wantedRadPerS(joint);
      if (wanted !== this.#viable(joint, wanted, measuredRad[joint]!)) return false;
    }
    return true;
  }

  /** The velocity that is at the goal after one tick. */
  #wantedRadPerS(joint: number): number {
    const goal = this.#goal[joint]!;
    if (this.#limits.isVelocity[joint] === 1) return goal;
    return (goal - this.command[joint]!) / this.#limits.periodS;
  }

  #land(): void {
    for (let joint = 0; joint < this.#limits.jointCount; joint += 1) {
      this.velocityRadPerS[joint] = this.#wantedRadPerS(joint);
      this.command[joint] = this.#goal[joint]!;
    }
  }

  /**
   * Velocities that lead to the goals: the goals' own, and what closes the distance so that all
   * joints arrive together. Velocity and acceleration scale the whole step, so that the path keeps
   * its direction; only a joint that flies past its goal, or away from it, brakes by itself.
   */
  #chase(): void {
    const { isVelocity, jointCount, motionStepRadPerS, periodS, velocityRadPerSMax } = this.#limits;
    let closingPerS = 1 / periodS;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const distance = Math.abs(this.#distanceRad(joint));
      if (isVelocity[joint] === 1 || distance === 0) continue;
      const speed = approachRadPerS(distance, motionStepRadPerS[joint]!, periodS);
      closingPerS = Math.min(closingPerS, speed / distance);
    }
    let speedRatio = 1;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const wanted =
        isVelocity[joint] === 1
          ? this.#goal[joint]!
          : this.#feedRadPerS[joint]! + closingPerS * this.#distanceRad(joint);
      this.#next[joint] = wanted;
      const speed = Math.abs(wanted);
      if (speed * speedRatio > velocityRadPerSMax[joint]!) {
        speedRatio = velocityRadPerSMax[joint]! / speed;
      }
    }
    let changeRatio = 1;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const change = Math.abs(this.#next[joint]! * speedRatio - this.velocityRadPerS[joint]!);
      const step = motionStepRadPerS[joint]!;
      if (change * changeRatio > step) changeRatio = step / change;
    }
    for (let joint = 0; joint < jointCount; joint += 1) {
      const velocity = this.velocityRadPerS[joint]!;
      const wanted = velocity + changeRatio * (this.#next[joint]! * speedRatio - velocity);
      this.#next[joint] = isVelocity[joint] === 1 ? wanted : this.#notPast(joint, wanted);
    }
  }

  /** The velocity nearest to the wanted one that still stops at the goal, if motion allows it. */
  #notPast(joint: number, wantedRadPerS: number): number {
    const step = this.#limits.motionStepRadPerS[joint]!;
    const { periodS } = this.#limits;
    const distance = this.#distanceRad(joint);
    const feed = this.#feedRadPerS[joint]!;
    const before = this.velocityRadPerS[joint]!;
    const most = feed + approachRadPerS(Math.max(0, distance), step, periodS);
    const least = feed - approachRadPerS(Math.max(0, -distance), step, periodS);
    return clamp(clamp(wantedRadPerS, least, most), before - step, before + step);
  }

  /** From the command to where the goal was one tick ago, given how fast it moves. */
  #distanceRad(joint: number): number {
    const { periodS } = this.#limits;
    return this.#goal[joint]! - this.command[joint]! - this.#feedRadPerS[joint]! * periodS;
  }

  /** Limits of single joints, the least important first: the last one to speak wins. */
  #bound(measuredRad: RadVec, measuredRadPerS: RadPerSVec): number {
    const { isVelocity, jointCount, stopStepRadPerS, velocityRadPerSMax } = this.#limits;
    let repairs = 0;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const velocity = this.velocityRadPerS[joint]!;
      const chased = this.#next[joint]!;
      let led = chased;
      if (isVelocity[joint] !== 1) {
        led = this.#led(joint, chased, measuredRad[joint]!, measuredRadPerS[joint]!);
        if (led !== chased) repairs |= RepairBit.Lead;
        led = clamp(led, -velocityRadPerSMax[joint]!, velocityRadPerSMax[joint]!);
      }
      const step = stopStepRadPerS[joint]!;
      const stoppable = clamp(led, velocity - step, velocity + step);
      if (stoppable !== led) repairs |= RepairBit.Acceleration;
      const viable = this.#viable(joint, stoppable, measuredRad[joint]!);
      if (viable !== stoppable) repairs |= RepairBit.Position;
      this.#move(joint, viable);
    }
    return repairs;
  }

  /**
   * The nearest velocity that keeps the command within lead of the measured position. The border
   * moves with the robot, so the command slows for it as for a wall only when the robot does not.
   */
  #led(
    joint: number,
    velocityRadPerS: number,
    measuredRad: number,
    measuredRadPerS: number,
  ): number {
    const { leadRad, periodS } = this.#limits;
    const step = this.#limits.motionStepRadPerS[joint]!;
    const aheadRad = measuredRad + leadRad[joint]! - this.command[joint]!;
    const behindRad = this.command[joint]! - measuredRad + leadRad[joint]!;
    const known = Number.isFinite(measuredRadPerS);
    const forward = known ? Math.max(0, measuredRadPerS) : 0;
    const backward = known ? Math.max(0, -measuredRadPerS) : 0;
    return clamp(
      velocityRadPerS,
      -borderRadPerS(behindRad, backward, step, periodS),
      borderRadPerS(aheadRad, forward, step, periodS),
    );
  }

  /**
   * The nearest velocity from which a stop still ends within the position limits. A joint that is
   * outside may only come back. Velocity joints are judged where they will be when they obey.
   */
  #viable(joint: number, velocityRadPerS: number, measuredRad: number): number {
    const { isVelocity, leadS, periodS, positionRadMax, positionRadMin } = this.#limits;
    const step = this.#limits.stopStepRadPerS[joint]!;
    const positionRad =
      isVelocity[joint] === 1
        ? measuredRad + velocityRadPerS * leadS[joint]!
        : this.command[joint]!;
    const aboveRad = Math.max(0, positionRadMax[joint]! - positionRad);
    const belowRad = Math.max(0, positionRad - positionRadMin[joint]!);
    return clamp(
      velocityRadPerS,
      -approachRadPerS(belowRad, step, periodS),
      approachRadPerS(aboveRad, step, periodS),
    );
  }

  /** Moves the command by one tick; rounding never carries it over a limit it was within. */
  #move(joint: number, velocityRadPerS: number): void {
    this.velocityRadPerS[joint] = velocityRadPerS;
    if (this.#limits.isVelocity[joint] === 1) {
      this.command[joint] = velocityRadPerS;
      return;
    }
    const before = this.command[joint]!;
    this.command[joint] = clamp(
      before + velocityRadPerS * this.#limits.periodS,
      Math.min(before, this.#limits.positionRadMin[joint]!),
      Math.max(before, this.#limits.positionRadMax[joint]!),
    );
  }
}

/** The highest velocity towards a border that moves; beyond it, the one that comes back to it. */
function borderRadPerS(
  distanceRad: number,
  borderRadPerS: number,
  stepRadPerS: number,
  periodS: number,
): number {
  if (distanceRad < 0) return borderRadPerS - approachRadPerS(-distanceRad, stepRadPerS, periodS);
  const closing = borderRadPerS + approachRadPerS(distanceRad, stepRadPerS, periodS);
  return Math.min(closing, distanceRad / periodS);
}

function clamp(value: number, min: number, max: number): number {
  if (value < min) return min;
  if (value > max) return max;
  return value;
}
