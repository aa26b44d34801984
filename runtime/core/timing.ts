// DeadlineMonitor: what the pacer's lateness means to the supervisor.
//
// A tick later than the profile's `late_max`, or more missed beats than it allows in its window,
// is a fault on hardware. In simulation both are only counted: a busy laptop hurts nobody.

import { assert } from "../contracts/assert.ts";
import type { RobotProfile } from "../contracts/profile.ts";

export class DeadlineMonitor {
  lateNs = 0;
  missedTicks = 0;
  previousWorkNs = 0;
  /** Ticks that began later than `late_max`. */
  lateTotal = 0;
  missedTotal = 0;
  readonly isFault: boolean;
  readonly #lateNsMax: number;
  readonly #missCountMax: number;
  readonly #window: Float64Array;
  #cursor = 0;
  #missedInWindow = 0;

  constructor(profile: RobotProfile, isFault: boolean) {
    assert(profile.supervisor.missWindowTicks > 0, "a miss window has ticks");
    this.isFault = isFault;
    this.#lateNsMax = profile.supervisor.lateNsMax;
    this.#missCountMax = profile.supervisor.missCountMax;
    this.#window = new Float64Array(profile.supervisor.missWindowTicks);
  }

  /** The pacer's word on the tick about to run. */
  note(lateNs: number, missedTicks: number, previousWorkNs: number): void {
    this.previousWorkNs = previousWorkNs;
    this.lateNs = lateNs;
    this.missedTicks = missedTicks;
    this.missedTotal += missedTicks;
    if (lateNs > this.#lateNsMax) this.lateTotal += 1;
    this.#missedInWindow += missedTicks - this.#window[this.#cursor]!;
    this.#window[this.#cursor] = missedTicks;
    this.#cursor = (this.#cursor + 1) % this.#window.length;
  }

  get tooLate(): boolean {
    return this.isFault && this.lateNs > this.#lateNsMax;
  }
  get tooManyMissed(): boolean {
    return this.isFault && this.#missedInWindow > this.#missCountMax;
  }
}
