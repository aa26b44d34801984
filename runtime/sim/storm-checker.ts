// The storm's oracle. It reads what left the core, what the sensors really delivered, and what the
// operator really did; never a verdict of the core. It throws at the first thing that must not be.
//
// What must hold in every tick: one command, finite, within position, velocity and stop limits; a
// robot that is blind or stopped brakes as hard as a stop may, jerk included, and then stays.

import { CommandKind } from "../contracts/command.ts";
import type { CommandView } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import type { JointProfile, RobotProfile } from "../contracts/profile.ts";
import { NS_PER_S } from "../contracts/units.ts";

/** Rounding of a difference of two positions of a few rad, over one period. */
const EPSILON_RAD_PER_S = 1e-7;
const EPSILON_RAD = 1e-9;

/** What really happened in a tick, from outside the core. */
export type TickTruth = {
  readonly tick: number;
  readonly nowNs: number;
  /** Since when each joint has not been seen: the true moment of its newest usable reading. */
  readonly seenNs: Float64Array;
  /** A stop that the operator has not taken back by a reset and a start. */
  readonly isStopped: boolean;
  /** The last tick before which the operator pressed stop; -1 before the first. */
  readonly stoppedTick: number;
  /** The tick in which the decision behind this tick's motion was made. */
  readonly decidedTick: number;
  /** The operator pressed start before this tick. */
  readonly isStart: boolean;
  /** Where the joints are. */
  readonly positionRad: Float64Array;
  /** How far a reading may lie from where the joint is, of noise and sample age together. */
  readonly readingRadMax: number;
};

export class StormError extends Error {
  override readonly name = "StormError";
  readonly tick: number;
  readonly joint: number;

  constructor(tick: number, joint: number, what: string) {
    super(`tick ${tick}, joint ${joint}: ${what}`);
    this.tick = tick;
    this.joint = joint;
  }
}

export class StormChecker {
  /** Ticks with a motion; ticks in which the robot was blind; both must happen in a good storm. */
  motionTicks = 0;
  blindTicks = 0;
  brakingTicks = 0;
  readonly #joints: readonly JointProfile[];
  readonly #periodS: number;
  readonly #validityNs: number;
  readonly #lastRad: Float64Array;
  readonly #speedRadPerS: Float64Array;
  /** What the speed gained in the last tick. */
  readonly #changeRadPerS: Float64Array;
  #isSeeded = false;
  #moved = false;
  #startWaits = false;

  constructor(robot: RobotProfile) {
    this.#joints = robot.joints;
    this.#periodS = robot.periodNs / NS_PER_S;
    this.#validityNs = robot.state.validityNs;
    this.#lastRad = new Float64Array(robot.joints.length);
    this.#speedRadPerS = new Float64Array(robot.joints.length);
    this.#changeRadPerS = new Float64Array(robot.joints.length);
  }

  /** Checks one tick: the commands that left in it, against what really happened. */
  check(sent: readonly CommandView[], truth: TickTruth): void {
    const { tick, nowNs } = truth;
    const command = sent[0];
    must(sent.length === 1 && command !== undefined, tick, -1, `${sent.length} submits`);
    must(command.tick === tick && command.stampNs === nowNs, tick, -1, "not this tick's command");
    must(command.expiresNs > nowNs, tick, -1, "a command that is over before it is sent");
    const moves = command.kind === CommandKind.Motion;
    const isBlind = truth.seenNs.some((seenNs) => !(nowNs - seenNs < this.#validityNs));
    if (moves) this.#checkMotion(command, truth, isBlind);
    if (command.kind === CommandKind.None) {
      must(!this.#isSeeded, tick, -1, "no command after there was one");
      return;
    }
    // A start before any motion is remembered by the robot, and counts once it is whole.
    if (truth.isStart && !this.#moved) this.#startWaits = true;
    const jumps = !this.#isSeeded || this.#startWaits;
    for (let joint = 0; joint < this.#joints.length; joint += 1) {
      this.#checkJoint(command.values[joint]!, joint, truth, isBlind || !moves, jumps);
    }
    this.#isSeeded = true;
    this.#moved = moves;
    if (moves) this.#startWaits = false;
    if (moves) this.motionTicks += 1;
    if (isBlind) this.blindTicks += 1;
    if (isBlind && this.#speedRadPerS.some((speed) => speed !== 0)) this.brakingTicks += 1;
  }

  #checkMotion(command: CommandView, truth: TickTruth, isBlind: boolean): void {
    const { tick } = truth;
    const mode = command.record[8]; // the slot a driver reads, not the name the core gives it
    must(mode === Mode.Running || mode === Mode.Degraded, tick, -1, "motion in a mode without");
    must(!truth.isStopped, tick, -1, "motion after a stop that nobody took back");
    const isNewer = truth.decidedTick > truth.stoppedTick;
    must(isNewer, tick, -1, "motion on a decision from before a stop");
    must(!isBlind, tick, -1, "motion of a blind robot");
  }

  #checkJoint(
    valueRad: number,
    joint: number,
    truth: TickTruth,
    brakes: boolean,
    jumps: boolean,
  ): void {
    const { tick, positionRad, readingRadMax } = truth;
    const { positionRadMin, positionRadMax, velocityRadPerSMax, stop } = this.#joints[joint]!;
    must(Number.isFinite(valueRad), tick, joint, "a command that is no number");
    const lastRad = this.#lastRad[joint]!;
    const before = this.#speedRadPerS[joint]!;
    this.#lastRad[joint] = valueRad;
    if (jumps && valueRad !== lastRad + before * this.#periodS) {
      // The first command of all, and one after a start, may be where the robot is.
      const offRad = Math.abs(valueRad - positionRad[joint]!);
      const resumes = Math.abs(valueRad - lastRad) <= velocityRadPerSMax * this.#periodS;
      if (!this.#isSeeded || !resumes) {
        must(offRad <= readingRadMax, tick, joint, `a command begins ${offRad} rad off`);
        this.#speedRadPerS[joint] = 0;
        this.#changeRadPerS[joint] = 0;
        return;
      }
    }
    const inside =
      valueRad >= positionRadMin - EPSILON_RAD && valueRad <= positionRadMax + EPSILON_RAD;
    // A robot that was found outside its limits may stay there or come back.
    const nearer = Math.abs(valueRad - clamp(valueRad, positionRadMin, positionRadMax));
    const wasOut = Math.abs(lastRad - clamp(lastRad, positionRadMin, positionRadMax));
    must(inside || nearer <= wasOut + EPSILON_RAD, tick, joint, `outside its limits: ${valueRad}`);
    const speed = (valueRad - lastRad) / this.#periodS;
    this.#speedRadPerS[joint] = Math.abs(speed) < EPSILON_RAD_PER_S ? 0 : speed;
    const stopStep = stop.accelerationRadPerS2 * this.#periodS;
    const limit = velocityRadPerSMax + EPSILON_RAD_PER_S;
    must(Math.abs(speed) <= limit, tick, joint, `outruns its limit: ${speed} rad/s`);
    const change = Math.abs(speed - before);
    must(change <= stopStep + EPSILON_RAD_PER_S, tick, joint, `changes by ${change} rad/s at once`);
    const gained = this.#changeRadPerS[joint]!;
    this.#changeRadPerS[joint] = speed - before;
    if (brakes) this.#checkBrake(joint, tick, before, speed, gained);
  }

  /** A brake builds up by the jerk of a stop, and eases off by it in time to end at rest. */
  #checkBrake(joint: number, tick: number, before: number, speed: number, gained: number): void {
    const { accelerationRadPerS2, jerkRadPerS3 } = this.#joints[joint]!.stop;
    const jerkStep = jerkRadPerS3 * this.#periodS ** 2;
    const does = `brakes to ${speed} from ${before} rad/s`;
    if (Math.abs(before) < EPSILON_RAD_PER_S) {
      const rest = Math.max(0, Math.abs(gained) - jerkStep) + EPSILON_RAD_PER_S;
      must(Math.abs(speed) <= rest, tick, joint, does);
      return;
    }
    const side = before < 0 ? -1 : 1;
    const shed = side * (before - speed);
    const hardest = Math.min(accelerationRadPerS2 * this.#periodS, jerkStep - side * gained);
    let left = side * before - hardest;
    for (let ease = hardest - jerkStep; ease > 0; ease -= jerkStep) left -= ease;
    // Had it braked as hard as it may, easing off would turn it round.
    const eases = left < EPSILON_RAD_PER_S;
    must(shed >= hardest - EPSILON_RAD_PER_S || eases, tick, joint, does);
  }
}

function must(fact: boolean, tick: number, joint: number, what: string): asserts fact {
  if (!fact) throw new StormError(tick, joint, what);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
