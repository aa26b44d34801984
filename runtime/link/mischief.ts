// Mischief: how a policy host misbehaves on purpose, so that a person sees what the robot does. It
// holds answers back, loses them, or plays dead for a while. Drawn from a seed.

import type { SeededRandom } from "../contracts/seeded-random.ts";
import type { Duration, Instant } from "../contracts/units.ts";

/** What a host may say that is wrong, and what an edge must do about it: refuse it and hold. */
export const lies = [
  "epoch",
  "session",
  "order",
  "twice",
  "schema",
  "long",
  "wide",
  "nan",
  "huge",
  "garbage",
] as const;
export type Lie = (typeof lies)[number];

export type MischiefPlan = {
  /** Every answer is wrong in this way; undefined for true ones. */
  readonly lie: Lie | undefined;
  /** Added to every answer. */
  readonly latencyNs: Duration;
  /** Added too, drawn evenly from 0 to this. */
  readonly jitterNs: Duration;
  /** Share of answers that are lost. */
  readonly dropRatio: number;
  /** From here on, after the start, nothing is heard or said … */
  readonly freezeFromNs: Duration;
  /** … until here. */
  readonly freezeUntilNs: Duration;
};

export class Mischief {
  readonly #plan: MischiefPlan;
  readonly #random: SeededRandom;
  readonly #startNs: Instant;

  constructor(plan: MischiefPlan, random: SeededRandom, startNs: Instant) {
    this.#plan = plan;
    this.#random = random;
    this.#startNs = startNs;
  }

  get lie(): Lie | undefined {
    return this.#plan.lie;
  }

  isFrozen(nowNs: Instant): boolean {
    const { freezeFromNs, freezeUntilNs } = this.#plan;
    const sinceNs = nowNs - this.#startNs;
    return sinceNs >= freezeFromNs && sinceNs < freezeUntilNs;
  }

  /** How long the next answer is held back; undefined when it is lost. */
  delayNs(): number | undefined {
    const { latencyNs, jitterNs, dropRatio } = this.#plan;
    if (this.#random.next() < dropRatio) return undefined;
    return latencyNs + jitterNs * this.#random.next();
  }
}
