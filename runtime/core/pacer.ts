// A Pacer decides when the next tick happens and what time it is then. Streaming, lockstep and
// replay differ in their pacer, robot and policy port; the tick cannot tell them apart.

import { assert } from "../contracts/assert.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { Clock } from "./clock.ts";
import type { ControlCore } from "./core.ts";
import { controlTick } from "./tick.ts";

/** Ends the loop. No real tick has this time. */
export const STOPPED = instant(-1);

export interface Pacer {
  /** How late the tick that `next` last returned began. */
  readonly lateNs: Duration;
  /** Beats skipped just before that tick. */
  readonly missedTicks: number;
  /** How long the tick before it worked; 0 where no wall clock exists. */
  readonly workNs: Duration;
  /** Blocks until the next tick is due, and returns its time. STOPPED ends the loop. */
  next(): Instant;
}

/** The only loop: live, simulated, lockstep, replayed and on the bench. */
export function runLoop(core: ControlCore, pacer: Pacer): void {
  for (let nowNs = pacer.next(); nowNs !== STOPPED; nowNs = pacer.next()) {
    core.timing.note(pacer.lateNs, pacer.missedTicks, pacer.workNs);
    controlTick(core, nowNs);
  }
}

/** Asked between ticks: true ends the loop after the tick in hand. */
export interface StopSignal {
  readonly stopped: boolean;
}

/** Streaming: the wall decides. A late tick runs once, keeps the grid and skips missed beats. */
export class StreamingPacer implements Pacer {
  readonly originNs: Instant;
  lateNs = duration(0);
  missedTicks = 0;
  workNs = duration(0);
  readonly #clock: Clock;
  readonly #stop: StopSignal;
  readonly #periodNs: number;
  #dueNs: number;
  #wokeNs = -1;

  /** Ticks fall on `originNs + k·period`, from k = 1. */
  constructor(clock: Clock, stop: StopSignal, periodNs: Duration, originNs: Instant) {
    assert(periodNs > 0, "a period is positive");
    this.#clock = clock;
    this.#stop = stop;
    this.#periodNs = periodNs;
    this.originNs = originNs;
    this.#dueNs = originNs;
  }

  next(): Instant {
    const endNs = this.#clock.nowNs();
    if (this.#wokeNs >= 0) this.workNs = duration(endNs - this.#wokeNs);
    if (this.#stop.stopped) return STOPPED;
    this.#dueNs += this.#periodNs;
    this.#skipMissed(endNs);
    this.#clock.sleepUntil(instant(this.#dueNs));
    if (this.#stop.stopped) return STOPPED;
    const nowNs = this.#clock.nowNs();
    this.#wokeNs = nowNs;
    this.lateNs = duration(Math.max(0, nowNs - this.#dueNs));
    return nowNs;
  }

  /** Never a burst of catch-up ticks: beats that are wholly over are counted and left out. */
  #skipMissed(nowNs: number): void {
    this.missedTicks = Math.max(0, Math.floor((nowNs - this.#dueNs) / this.#periodNs));
    this.#dueNs += this.missedTicks * this.#periodNs;
  }
}

/**
 * Lockstep: the world decides. One grant is one tick. Tick k is at floor(k · 1e9 · den / num) for a
 * rate of num/den Hz: derived, never accumulated, so 60 Hz does not drift.
 */
export class LockstepPacer implements Pacer {
  readonly lateNs = duration(0);
  readonly missedTicks = 0;
  readonly workNs = duration(0);
  readonly #takeGrant: () => boolean;
  readonly #rateNum: number;
  readonly #rateDen: number;
  #advances = 0; // survives reset and restore, so session time never runs backward

  constructor(takeGrant: () => boolean, rateNum: number, rateDen: number) {
    assert(Number.isSafeInteger(rateNum) && rateNum > 0, "a rate has a positive numerator");
    assert(Number.isSafeInteger(rateDen) && rateDen > 0, "a rate has a positive denominator");
    this.#takeGrant = takeGrant;
    this.#rateNum = rateNum;
    this.#rateDen = rateDen;
  }

  next(): Instant {
    if (!this.#takeGrant()) return STOPPED;
    const nowNs = tickTimeNs(this.#advances, this.#rateNum, this.#rateDen);
    this.#advances += 1;
    return nowNs;
  }
}

/** Time of tick k at num/den Hz. Whole seconds are split off first, so the product stays exact. */
export function tickTimeNs(tick: number, rateNum: number, rateDen: number): Instant {
  const beats = tick * rateDen;
  const seconds = Math.floor(beats / rateNum);
  const rest = beats - seconds * rateNum;
  return instant(seconds * 1e9 + Math.floor((rest * 1e9) / rateNum));
}

/** Replay: the log decides. The recorded times come back exactly, lateness and work included. */
export class ReplayPacer implements Pacer {
  lateNs = duration(0);
  missedTicks = 0;
  workNs = duration(0);
  readonly #nowNs: Float64Array;
  readonly #lateNs: Float64Array;
  readonly #missed: Float64Array;
  readonly #workNs: Float64Array;
  #cursor = 0;

  /** A log without times of work, as lockstep's, has zeros. */
  constructor(
    recordedNs: Float64Array,
    lateNs: Float64Array,
    missedTicks: Float64Array,
    workNs: Float64Array,
  ) {
    assert(recordedNs.length === lateNs.length, "one lateness per recorded tick");
    assert(recordedNs.length === missedTicks.length, "one count of missed beats per recorded tick");
    assert(recordedNs.length === workNs.length, "one time of work per recorded tick");
    this.#workNs = workNs;
    this.#nowNs = recordedNs;
    this.#lateNs = lateNs;
    this.#missed = missedTicks;
  }

  next(): Instant {
    if (this.#cursor === this.#nowNs.length) return STOPPED;
    this.lateNs = duration(this.#lateNs[this.#cursor]!);
    this.missedTicks = this.#missed[this.#cursor]!;
    this.workNs = duration(this.#workNs[this.#cursor]!);
    const nowNs = instant(this.#nowNs[this.#cursor]!);
    this.#cursor += 1;
    return nowNs;
  }
}
