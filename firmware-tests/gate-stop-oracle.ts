// StopOracle: a second opinion on one joint's stop. It sees commands only, takes finite
// differences, knows the profile's limits, and imports nothing of what brakes. All is counted per
// tick, so that velocity, acceleration and jerk are in rad.

import type { JointProfile } from "../runtime/contracts/profile.ts";
import { OracleError } from "./gate-oracle.ts";

/** Rounding of differences, as in the gate's oracle. */
const ROUNDING_RAD = 1e-12;
/**
 * So many equal commands in a row are rest: where a stop turns round, two may be equal, and its
 * last steps may be below the rounding of a position.
 */
const REST_TICKS = 5;
/** Ticks are whole: so many more than the continuous stop takes. */
const WHOLE_TICKS = 4;

export class StopOracle {
  /** Ticks since the stop began. */
  tickCount = 0;
  readonly #joint: JointProfile;
  readonly #strideMax: number;
  readonly #changeMax: number;
  readonly #jerkMax: number;
  #command = 0;
  #stride = 0;
  #change = 0;
  #equalTicks = 0;
  #ticksMax = 0;

  constructor(joint: JointProfile, periodS: number) {
    const { stop, velocityRadPerSMax } = joint;
    this.#joint = joint;
    this.#strideMax = velocityRadPerSMax * periodS;
    this.#changeMax = stop.accelerationRadPerS2 * periodS ** 2;
    this.#jerkMax = stop.jerkRadPerS3 * periodS ** 3;
  }

  /** A stop begins after these three commands, the last of them the newest. */
  begin(first: number, second: number, third: number): void {
    this.#command = third;
    this.#stride = third - second;
    this.#change = this.#stride - (second - first);
    this.tickCount = 0;
    this.#equalTicks = 0;
    const change = Math.abs(this.#change);
    const [most, jerk] = [this.#changeMax, this.#jerkMax];
    // Ease the acceleration off, then brake from the highest speed that leaves.
    const peak = Math.abs(this.#stride) + change + (change * change) / (2 * jerk);
    this.#ticksMax = change / jerk + peak / most + most / jerk + WHOLE_TICKS + REST_TICKS;
  }

  /** In motion where the stop begins: else there is nothing to stop. */
  get moves(): boolean {
    return Math.abs(this.#stride) > ROUNDING_RAD;
  }

  get rests(): boolean {
    return this.#equalTicks >= REST_TICKS;
  }

  /** How far from the nearer position limit the newest command is. */
  get roomRad(): number {
    const { positionRadMax, positionRadMin } = this.#joint;
    return Math.min(positionRadMax - this.#command, this.#command - positionRadMin);
  }

  /** The stop's next command. */
  see(commandRad: number): void {
    const { positionRadMax, positionRadMin } = this.#joint;
    const stride = commandRad - this.#command;
    const change = stride - this.#stride;
    const jerk = change - this.#change;
    const isInside = commandRad >= positionRadMin && commandRad <= positionRadMax;
    this.tickCount += 1;
    if (!isInside) this.#fail("position", commandRad);
    if (!within(stride, this.#strideMax)) this.#fail("velocity", stride);
    if (!within(change, this.#changeMax)) this.#fail("stop acceleration", change);
    if (!within(jerk, this.#jerkMax)) this.#fail("stop jerk", jerk);
    this.#equalTicks = stride === 0 ? this.#equalTicks + 1 : 0;
    this.#command = commandRad;
    this.#stride = stride;
    this.#change = change;
    if (this.tickCount > this.#ticksMax && !this.rests) this.#fail("no rest", stride);
  }

  #fail(what: string, found: number): never {
    const state = `${this.#command}, ${this.#stride}, ${this.#change} in tick ${this.tickCount}`;
    throw new OracleError(`${this.#joint.name}: ${what}: ${found} after ${state}`);
  }
}

/** Negative for what is no number, too. */
function within(value: number, limit: number): boolean {
  return Math.abs(value) <= limit * (1 + 1e-8) + ROUNDING_RAD;
}
