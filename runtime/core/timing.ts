// DeadlineMonitor: what the pacer's lateness, and how long ticks work, mean to the supervisor.
//
// A tick later than the profile's `late_max`, more missed beats than it allows in its window, or as
// many ticks that worked too long, are faults on hardware. In simulation all are only counted: a
// busy laptop hurts nobody. Lockstep has no such times: its pacer says zero.

import { assert } from "../contracts/assert.ts";
import type { RobotProfile } from "../contracts/profile.ts";

/**
 * A tick's work may take this much of its period; half is left for what wakes it late, and for the
 * driver's phase. Ten times what the 99th percentile of a tick takes on two shared cores.
 */
export const BUDGET_RATIO = 0.5;

/** How many of the last ticks something happened in, or how often, over the profile's window. */
class TickWindow {
  sum = 0;
  readonly #counts: Float64Array;
  #cursor = 0;

  constructor(tickCount: number) {
    assert(tickCount > 0, "a miss window has ticks");
    this.#counts = new Float64Array(tickCount);
  }

  note(count: number): void {
    this.sum += count - this.#counts[this.#cursor]!;
    this.#counts[this.#cursor] = count;
    this.#cursor = (this.#cursor + 1) % this.#counts.length;
  }
}

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
  readonly #budgetNs: number;
  readonly #missed: TickWindow;
  readonly #overBudget: TickWindow;
  #isOverBudget = false;

  constructor(profile: RobotProfile, isFault: boolean) {
    const { lateNsMax, missCountMax, missWindowTicks } = profile.supervisor;
    this.isFault = isFault;
    this.#lateNsMax = lateNsMax;
    this.#missCountMax = missCountMax;
    this.#budgetNs = BUDGET_RATIO * profile.periodNs;
    this.#missed = new TickWindow(missWindowTicks);
    this.#overBudget = new TickWindow(missWindowTicks);
  }

  /** The pacer's word on the tick about to run. */
  note(lateNs: number, missedTicks: number, previousWorkNs: number): void {
    this.previousWorkNs = previousWorkNs;
    this.lateNs = lateNs;
    this.missedTicks = missedTicks;
    this.missedTotal += missedTicks;
    if (lateNs > this.#lateNsMax) this.lateTotal += 1;
    this.#missed.note(missedTicks);
    this.#overBudget.note(previousWorkNs > this.#budgetNs ? 1 : 0);
    // Over only after a whole window without one: what comes and goes takes speed once.
    if (this.#overBudget.sum > this.#missCountMax) this.#isOverBudget = true;
    else if (this.#overBudget.sum === 0) this.#isOverBudget = false;
  }

  get tooLate(): boolean {
    return this.isFault && this.lateNs > this.#lateNsMax;
  }
  get tooManyMissed(): boolean {
    return this.isFault && this.#missed.sum > this.#missCountMax;
  }
  /** The ticks work too long, by as many as may miss their beat. */
  get overBudget(): boolean {
    return this.isFault && this.#isOverBudget;
  }
}
