// SilenceWatch: whether a thread has stood still for too long while something was asked of it. Only
// time in which the watcher itself went on counts: a process that was held up as a whole, by a
// debugger or a full machine, does not blame its threads.

import type { Duration, Instant } from "../contracts/units.ts";

/** A longer time between two looks is the watcher's own pause. */
const LOOK_NS_MAX = 100_000_000;

export class SilenceWatch {
  readonly #silenceNsMax: Duration;
  #beatCount: number;
  #lookedNs: Instant;
  #silenceNs = 0;

  constructor(silenceNsMax: Duration, beatCount: number, nowNs: Instant) {
    this.#silenceNsMax = silenceNsMax;
    this.#beatCount = beatCount;
    this.#lookedNs = nowNs;
  }

  /** True once the count has stood still for the longest silence. Look often. */
  isSilent(beatCount: number, nowNs: Instant): boolean {
    this.#silenceNs += Math.min(nowNs - this.#lookedNs, LOOK_NS_MAX);
    this.#lookedNs = nowNs;
    if (beatCount !== this.#beatCount) this.#silenceNs = 0;
    this.#beatCount = beatCount;
    return this.#silenceNs >= this.#silenceNsMax;
  }
}
