// What the storms of the gate and of the stop draw from a seed: an arm as a profile could describe
// it, and a policy that wants the worst of it.

import type { ActionSample } from "../runtime/contracts/action-sample.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import type { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { testJoint } from "../safety/fixture.ts";

/** The control period in seconds. */
export const DT = 0.005;
/** Infinity has either sign. */
const hostile = [Number.NaN, Infinity, -1e308, 1e308, -0, 5e-324, 2, -2];

/** An arm as a profile could describe it: fast or slow, soft or abrupt, with droop or without. */
export function drawArm(random: SeededRandom): JointProfile[] {
  return ["base", "middle", "tip"].map((name) => {
    const velocityRadPerSMax = 0.5 + 5 * random.next();
    const motion = 3 + 40 * random.next();
    const stop = motion * (1 + 2 * random.next());
    const jerk = motion * (15 + 100 * random.next());
    return testJoint({
      name,
      velocityRadPerSMax,
      positionRadMin: -2 * random.next() - 0.1,
      motion: { accelerationRadPerS2: motion, jerkRadPerS3: jerk },
      stop: { accelerationRadPerS2: stop, jerkRadPerS3: jerk * (1 + 5 * random.next()) },
      droopRad: 0.1 * random.next(),
      leadNs: milliseconds(20 + Math.floor(60 * random.next())),
    });
  });
}

/** Where the next targets lie: each kind lasts a while, so that patterns build up. */
export class HostilePolicy {
  readonly #random: SeededRandom;
  readonly #arm: readonly JointProfile[];
  readonly #target: Float64Array;
  readonly #speed: Float64Array;
  #kind = 0;
  #left = 0;
  #tick = 0;

  constructor(random: SeededRandom, arm: readonly JointProfile[]) {
    this.#random = random;
    this.#arm = arm;
    this.#target = new Float64Array(arm.length);
    this.#speed = new Float64Array(arm.length);
  }

  next(action: ActionSample): void {
    const random = this.#random;
    const { values } = action;
    this.#tick += 1;
    if (this.#left <= 0) {
      this.#kind = Math.floor(random.next() * 8);
      this.#left = 1 + random.next() * 300;
      for (let joint = 0; joint < values.length; joint += 1) {
        this.#target[joint] = random.next() * 5 - 2.5;
        this.#speed[joint] = (random.next() * 2 - 1) * 4;
      }
    }
    this.#left -= 1;
    for (let joint = 0; joint < values.length; joint += 1) {
      const noise = random.next() * 2 - 1;
      if (this.#kind === 1) this.#target[joint]! += this.#speed[joint]! * DT;
      if (this.#kind === 2) this.#target[joint] = noise * 3;
      if (this.#kind === 3) this.#target[joint]! += noise * 0.02;
      if (this.#kind === 4) this.#target[joint] = this.#arm[joint]!.positionRadMax + noise * 1e-3;
      // A wave, and rows of 20 ms joined by straight lines.
      const phase = this.#kind === 6 ? this.#tick : 4 * Math.floor(this.#tick / 4);
      if (this.#kind > 5) this.#target[joint] = Math.sin(phase * DT * this.#speed[joint]!) * 1.5;
      values[joint] = this.#target[joint]!;
    }
    if (this.#kind === 5 && random.next() < 0.2) {
      const joint = Math.floor(random.next() * values.length);
      const value = hostile[Math.floor(random.next() * hostile.length)]!;
      values[joint] = value === Infinity && this.#tick % 2 === 1 ? -Infinity : value;
    }
    action.width = random.next() < 1e-3 ? values.length + 1 : values.length;
    action.schemaFingerprint = random.next() < 1e-3 ? 2 : 1;
    action.tookOver = random.next() < 0.02;
  }
}
