// GateOracle: a second opinion on what leaves the gate. It sees commands and measurements only,
// takes finite differences in tick time, and has its own words for every limit. It imports nothing
// of the gate and never asks it why.
//
// What it holds: position, velocity, the limits of a stop, and a way to stop inside the position
// limits in every tick; the limits of motion in a tick that is Ok, unless a wall, the lead or a
// brake that was under way forces more; lead, unless the command comes back as hard as it may.

import type { JointProfile } from "../runtime/contracts/profile.ts";

/** Rounding of differences: a position near 2 rad has 4e-16, and the gate may add 1e-13. */
const ROUNDING_RAD = 1e-12;
const STOP_TICKS_MAX = 20_000;

export class OracleError extends Error {
  override readonly name = "OracleError";
}

/** Easing this acceleration off would turn the velocity round. */
function reverses(velocity: number, acceleration: number, jerkStep: number, dt: number): boolean {
  let [v, a] = [velocity, acceleration];
  while (a < 0) {
    a = Math.min(0, a + jerkStep);
    v += a * dt;
  }
  return v < -1e-12;
}

/** The velocity that is left once the acceleration has been eased off. */
function easedSpeed(velocity: number, acceleration: number, jerkStep: number, dt: number): number {
  const side = Math.sign(acceleration);
  let v = velocity;
  for (let a = Math.abs(acceleration) - jerkStep; a > 0; a -= jerkStep) v += side * a * dt;
  return v;
}

/**
 * How far a command goes on until it rests, at least: each tick takes the strongest deceleration
 * after which it can still ease off. Found by halving, so it is slow and owes the gate nothing.
 */
export function stopWayRad(
  velocity: number,
  acceleration: number,
  limits: JointProfile["stop"],
  dt: number,
): number {
  const step = limits.jerkRadPerS3 * dt;
  const most = limits.accelerationRadPerS2;
  let [v, a, way, farthest] = [velocity, acceleration, 0, 0];
  for (let tick = 0; tick < STOP_TICKS_MAX && (v > 1e-9 || a > 1e-9); tick += 1) {
    let low = Math.min(Math.max(-most, a - step), a + step);
    let high = Math.min(most, a + step);
    // On its way back already: it only comes if easing off is not quick enough.
    if (v < 0 && a <= 0) return farthest;
    if (v >= 0 && reverses(v + low * dt, low, step, dt)) {
      for (let count = 0; count < 40; count += 1) {
        const middle = (low + high) / 2;
        if (reverses(v + middle * dt, middle, step, dt)) low = middle;
        else high = middle;
      }
      low = high;
    }
    a = low;
    v += a * dt;
    way += v * dt;
    farthest = Math.max(farthest, way);
  }
  return farthest;
}

/** No stop goes farther than this: cheap, and coarse. */
function stopWayBoundRad(
  velocity: number,
  acceleration: number,
  limits: JointProfile["stop"],
  dt: number,
): number {
  const { accelerationRadPerS2: most, jerkRadPerS3: jerk } = limits;
  const a = Math.abs(acceleration);
  const fastest = Math.abs(velocity) + a * (a / jerk + dt);
  return fastest * ((a + 2 * most) / jerk + 4 * dt) + fastest ** 2 / (2 * most);
}

/** Watches one joint's commands. Throws at the first that breaks a limit. */
export class JointOracle {
  readonly #joint: JointProfile;
  readonly #dt: number;
  #low = 0;
  #high = 0;
  #position = 0;
  #velocity = 0;
  #acceleration = 0;
  #braking = false;

  constructor(joint: JointProfile, periodS: number, seededRad: number) {
    this.#joint = joint;
    this.#dt = periodS;
    this.#begin(seededRad);
  }

  /** Too far from the robot for droop to explain it. */
  lost(measuredRad: number): boolean {
    return Math.abs(this.#position - measuredRad) > this.#joint.droopRad;
  }

  get atRest(): boolean {
    return Math.abs(this.#velocity) < 1e-9 && Math.abs(this.#acceleration) < 1e-6;
  }

  /** The command may begin anew, where the robot is, only at rest. */
  reseed(measuredRad: number): void {
    this.#must(this.atRest, "re-armed in motion", this.#velocity);
    this.#begin(measuredRad);
  }

  #begin(positionRad: number): void {
    this.#position = positionRad;
    this.#velocity = 0;
    this.#acceleration = 0;
    this.#low = Math.min(this.#joint.positionRadMin, positionRad);
    this.#high = Math.max(this.#joint.positionRadMax, positionRad);
  }

  /** One command; `isOk` says that the tick followed a decision. */
  see(commandRad: number, measuredRad: number, measuredRadPerS: number, isOk: boolean): void {
    const dt = this.#dt;
    const velocity = (commandRad - this.#position) / dt;
    const acceleration = (velocity - this.#velocity) / dt;
    const jerk = (acceleration - this.#acceleration) / dt;
    const { positionRadMax, positionRadMin, stop, velocityRadPerSMax } = this.#joint;
    this.#must(Number.isFinite(commandRad), "no number", commandRad);
    this.#must(commandRad >= this.#low && commandRad <= this.#high, "position", commandRad);
    this.#within(velocity, velocityRadPerSMax, 1, "velocity");
    this.#within(acceleration, stop.accelerationRadPerS2, 2, "stop acceleration");
    this.#within(jerk, stop.jerkRadPerS3, 3, "stop jerk");
    if (isOk) {
      this.#judgeLead(commandRad, velocity, acceleration, jerk, measuredRad, measuredRadPerS);
      this.#judgeMotion(acceleration, jerk, measuredRad, measuredRadPerS);
    } else {
      this.#judgeBrake(velocity, acceleration, jerk);
    }
    this.#braking = !isOk;
    this.#position = commandRad;
    this.#velocity = velocity;
    this.#acceleration = acceleration;
    this.#low = Math.max(this.#low, Math.min(positionRadMin, commandRad));
    this.#high = Math.min(this.#high, Math.max(positionRadMax, commandRad));
    this.#judgeWay();
  }

  /** R3: from here, too, a stop ends inside the position limits. */
  #judgeWay(): void {
    for (const side of [1, -1]) {
      const room = side > 0 ? this.#high - this.#position : this.#position - this.#low;
      const way = this.#stopWay(side, this.#joint.stop, room);
      this.#must(way <= room + 1e-7, "no way to stop within the position limits", way - room);
    }
  }

  /** From the last command on, towards that side; 0 when that is surely within the room. */
  #stopWay(side: number, limits: JointProfile["stop"], room: number, border = 0): number {
    const v = side * this.#velocity - border;
    const a = side * this.#acceleration;
    if (stopWayBoundRad(v, a, limits, this.#dt) <= room) return 0;
    return stopWayRad(v, a, limits, this.#dt);
  }

  #judgeMotion(a: number, j: number, measuredRad: number, measuredRadPerS: number): void {
    const { motion } = this.#joint;
    if (this.#isForced(measuredRad, measuredRadPerS)) return;
    const after = Math.abs(this.#acceleration) - motion.accelerationRadPerS2;
    if (after > this.#slack(2, motion.accelerationRadPerS2) || this.#braking) {
      // A brake was under way: what is too much for motion must ease off.
      const left = Math.max(motion.accelerationRadPerS2, Math.abs(this.#acceleration));
      this.#within(a, left, 2, "acceleration after a brake");
      return;
    }
    this.#within(a, motion.accelerationRadPerS2, 2, "acceleration");
    this.#within(j, motion.jerkRadPerS3, 3, "jerk");
  }

  /** Motion's own brake would have been too weak for a wall, or to stay near the robot. */
  #isForced(measuredRad: number, measuredRadPerS: number): boolean {
    const { motion } = this.#joint;
    const dt = this.#dt;
    // Once the lead has pulled hard, the velocity limit may come too fast for motion's own jerk.
    const peak = easedSpeed(this.#velocity, this.#acceleration, motion.jerkRadPerS3 * dt, dt);
    if (Math.abs(peak) > this.#joint.velocityRadPerSMax * (1 + 1e-9)) return true;
    for (const side of [1, -1]) {
      const margin = 3 * dt * Math.abs(this.#velocity) + 3 * dt * dt * motion.accelerationRadPerS2;
      const wall = side > 0 ? this.#high - this.#position : this.#position - this.#low;
      if (this.#stopWay(side, motion, wall - margin) > wall - margin) return true;
      const robot = Math.max(0, side * this.#robotSpeed(measuredRadPerS));
      const room = this.#leadRad() - side * (this.#position - measuredRad) - margin;
      if (this.#stopWay(side, motion, room, robot) > room || room < 0) return true;
    }
    return false;
  }

  #judgeLead(
    commandRad: number,
    velocity: number,
    acceleration: number,
    jerk: number,
    measuredRad: number,
    measuredRadPerS: number,
  ): void {
    const { stop } = this.#joint;
    const aheadRad = commandRad - measuredRad;
    const side = Math.sign(aheadRad);
    if (Math.abs(aheadRad) <= this.#leadRad() + 1e-9) return;
    // Outside, it never runs away faster than the robot follows, or brakes as hard as it may.
    const away = side * velocity - Math.max(0, side * this.#robotSpeed(measuredRadPerS));
    const isHard = side * jerk <= -stop.jerkRadPerS3 + this.#slack(3, stop.jerkRadPerS3);
    const isHardest =
      side * acceleration <= -stop.accelerationRadPerS2 + this.#slack(2, stop.accelerationRadPerS2);
    // A little more would turn it round: it is on its way back, or outside and may not turn.
    const step = stop.jerkRadPerS3 * this.#dt;
    const more = side * acceleration - 1e-3 * stop.accelerationRadPerS2;
    const turns = reverses(away, more, step, this.#dt);
    this.#must(away <= 1e-7 || isHard || isHardest || turns, "lead", aheadRad);
  }

  #robotSpeed(measuredRadPerS: number): number {
    const max = this.#joint.velocityRadPerSMax;
    return Math.min(max, Math.max(-max, measuredRadPerS || 0));
  }

  #leadRad(): number {
    const { droopRad, leadNs, velocityRadPerSMax } = this.#joint;
    return velocityRadPerSMax * leadNs * 1e-9 + droopRad;
  }

  /** A stop slows down as hard as it may, or eases off in time to end at rest. */
  #judgeBrake(velocity: number, acceleration: number, jerk: number): void {
    const { stop } = this.#joint;
    const side = Math.sign(this.#velocity);
    if (side === 0 || Math.abs(this.#velocity) < 1e-6) return;
    const step = stop.jerkRadPerS3 * this.#dt;
    const isHard = side * jerk <= -stop.jerkRadPerS3 + this.#slack(3, stop.jerkRadPerS3);
    const isHardest =
      side * acceleration <= -stop.accelerationRadPerS2 + this.#slack(2, stop.accelerationRadPerS2);
    // A little more would turn it round.
    const more = side * acceleration - Math.max(1e-6, 1e-6 * stop.accelerationRadPerS2);
    const turns = reverses(side * this.#velocity + more * this.#dt, more, step, this.#dt);
    this.#must(isHard || isHardest || turns, "a stop that does not brake", velocity);
  }

  #slack(order: number, limit: number): number {
    return (8 * ROUNDING_RAD) / this.#dt ** order + 1e-8 * limit;
  }

  #within(value: number, limit: number, order: number, what: string): void {
    this.#must(Math.abs(value) <= limit + this.#slack(order, limit), what, value);
  }

  #must(fact: boolean, what: string, found: number): void {
    if (fact) return;
    const state = `${this.#position}, ${this.#velocity}, ${this.#acceleration}`;
    throw new OracleError(`${this.#joint.name}: ${what}: ${found} after ${state}`);
  }
}
