// Parking: how a robot that falls without power is laid down before it lets go. A person asks for
// it; it goes to the rest pose along the shortest way within motion limits, at reduced tool speed,
// and lets go once it lies there, or when its time is up, wherever it then is.
//
// Blind, or while the host is not well, it brakes and holds, and goes on once that is over. A fault
// of the robot itself ends the way for good: what blocks an arm must not be pushed twice.

import { assert } from "../runtime/contracts/assert.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { commandVec } from "../runtime/contracts/units.ts";
import type { CommandVec } from "../runtime/contracts/units.ts";
import { Fault, faultMask, powerlessMask } from "./faults.ts";
import type { JointLimits } from "./limits.ts";
import type { MotionLimiter } from "./motion-limiter.ts";

/** Ticks in a row near the pose and still: a tenth of a second shows a swing of 1 Hz and more. */
const SETTLED_TICKS = 20;
/** A joint that moves no farther meanwhile is still: a servo's own resolution is 1.5 mrad. */
const STILL_RAD = 0.002;

const stopBit = 1 << Fault.OperatorStop;
/** Faults after which the robot isn't moved, not even to be laid down. */
const refusingMask =
  faultMask((row) => row.motion === "none" && row.subject === "robot") & ~stopBit;
/** Faults during which it waits. */
const pausingMask = faultMask((row) => row.motion === "none" && row.subject === "host");

export class Parking {
  readonly #canPark: boolean;
  readonly #restRad: CommandVec;
  readonly #toleranceRad: Float64Array;
  /** Where the robot was when it seemed to have settled. */
  readonly #settledRad: Float64Array;
  /** From the cue to the last moment at which a brake still ends in time. */
  readonly #ticksMax: number;
  #isOn = false;
  #ticksLeft = 0;
  #settledTicks = 0;
  #isBlocked = false;
  #isPaused = false;

  /** Set-up only. */
  constructor(profile: RobotProfile, limits: JointLimits) {
    const { joints, parkNs, periodNs } = profile;
    this.#canPark = parkNs !== undefined;
    assert(
      !this.#canPark || profile.land === undefined,
      "a robot that lands is not laid down as well",
    );
    const rest = joints.map((joint) => (joint.command === "velocity" ? 0 : joint.restRad));
    this.#restRad = commandVec(Float64Array.from(rest));
    // A gripper that holds something does not close; a wheel has no pose.
    this.#toleranceRad = Float64Array.from(joints, ({ command, droopRad, name }) =>
      command === "velocity" || name === profile.gripper ? Number.POSITIVE_INFINITY : droopRad,
    );
    this.#settledRad = new Float64Array(joints.length);
    const brakeTicks = joints.map(
      ({ stop, velocityRadPerSMax }) =>
        (velocityRadPerSMax / stop.accelerationRadPerS2 +
          stop.accelerationRadPerS2 / stop.jerkRadPerS3) /
          limits.periodS +
        2,
    );
    const longest = Math.ceil(Math.max(...brakeTicks));
    this.#ticksMax = Math.max(0, Math.floor((parkNs ?? 0) / periodNs) - longest);
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** A person asks for it. A robot that falls nowhere ignores it, and one under way goes on. */
  begin(): void {
    if (!this.#canPark || this.#isOn) return;
    this.#isOn = true;
    this.#ticksLeft = this.#ticksMax;
    this.#settledTicks = 0;
    this.#isBlocked = false;
    this.#isPaused = false;
  }

  /** It lets go as soon as it stands. */
  hurry(): void {
    this.#ticksLeft = 0;
  }

  end(): void {
    this.#isOn = false;
  }

  /** What the active faults, a bit each, leave of it in this tick. */
  heed(faults: number): void {
    if ((faults & refusingMask) !== 0) this.#isBlocked = true;
    this.#isPaused = (faults & pausingMask) !== 0;
    if ((faults & powerlessMask) !== 0) this.hurry(); // nothing can be laid down
  }

  /** A tick has passed, also one of the first brake. */
  count(): void {
    this.#ticksLeft = Math.max(0, this.#ticksLeft - 1);
  }

  /** One tick after the first brake. Returns the kind of command; ZeroTorque asks to let go. */
  step(limiter: MotionLimiter, state: StateView, sees: boolean): CommandKind {
    if (this.#ticksLeft === 0 || this.#lies(limiter, state, sees)) return CommandKind.ZeroTorque;
    if (!sees || this.#isBlocked || this.#isPaused) {
      limiter.brake();
      return CommandKind.Hold;
    }
    limiter.follow(this.#restRad, state.positionRad, state.velocityRadPerS);
    return CommandKind.Park;
  }

  /** The command has come to the rest pose, and the robot lies there as near as droop explains. */
  #lies(limiter: MotionLimiter, state: StateView, sees: boolean): boolean {
    let isThere = sees && limiter.atRest;
    for (let joint = 0; joint < this.#restRad.length && isThere; joint += 1) {
      const rest = this.#restRad[joint]!;
      const tolerance = this.#toleranceRad[joint]!;
      if (tolerance === Number.POSITIVE_INFINITY) continue;
      const offRad = Math.abs(state.positionRad[joint]! - rest);
      isThere = limiter.command[joint] === rest && offRad <= tolerance;
    }
    if (!isThere || this.#hasMoved(state)) {
      this.#settledTicks = 0;
      this.#settledRad.set(state.positionRad);
    }
    if (isThere) this.#settledTicks += 1;
    return this.#settledTicks >= SETTLED_TICKS;
  }

  #hasMoved(state: StateView): boolean {
    for (let joint = 0; joint < this.#settledRad.length; joint += 1) {
      if (this.#toleranceRad[joint] === Number.POSITIVE_INFINITY) continue;
      const wayRad = Math.abs(state.positionRad[joint]! - this.#settledRad[joint]!);
      if (wayRad > STILL_RAD) return true;
    }
    return false;
  }
}
