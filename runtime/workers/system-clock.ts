// The system clock: the only Clock that reads the machine's time. Every thread makes its own from
// the session origin that main hands out, and all of them agree, because all read CLOCK_MONOTONIC.
//
// Time never goes back here; if it did, the thread ends. A sleep looks at the stop question at
// least every 100 ms and returns early when told to stop. A suspend is seen by `SuspendWatch`.

import { MonotonicClock } from "../../hal/ffi/monotonic-clock.ts";
import type { SessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
import { assert } from "../contracts/assert.ts";
import { NS_PER_MS } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { Clock } from "../core/clock.ts";
import type { StopSignal } from "../core/pacer.ts";

export { sessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
export type { SessionOrigin } from "../../hal/ffi/monotonic-clock.ts";

/** What a calendar on the wall would say, in ms since 1970. For people and certificates only. */
export const wallTimeMs = (): number => Date.now();

export class SystemClock implements Clock {
  #monotonic: MonotonicClock;
  #stop: StopSignal;
  #lastNs = Number.NEGATIVE_INFINITY;

  /** `stop` is asked between slices of a sleep, so it must cost no more than a load. */
  constructor(origin: SessionOrigin, spinTailNs: Duration, stop: StopSignal) {
    this.#monotonic = new MonotonicClock(origin, spinTailNs);
    this.#stop = stop;
  }

  nowNs(): Instant {
    const nowNs = this.#monotonic.nowNs();
    assert(nowNs >= this.#lastNs, "CLOCK_MONOTONIC never goes back");
    this.#lastNs = nowNs;
    return nowNs;
  }

  sleepUntil(dueNs: Instant): void {
    while (!this.#monotonic.sleepSliceUntil(dueNs)) {
      if (this.#stop.stopped) return;
    }
  }

  /** How long the machine has been suspended since boot: feed it to a `SuspendWatch`. */
  suspendedNs(): Duration {
    return this.#monotonic.suspendedNs();
  }
}

/** A suspend longer than this is a stop with full re-activation. */
export const SUSPEND_NS_MAX = 100 * NS_PER_MS;

/** Tells when the machine was suspended, from readings of `SystemClock.suspendedNs`. */
export class SuspendWatch {
  #highestNs: number;

  constructor(suspendedNs: Duration) {
    this.#highestNs = suspendedNs;
  }

  /** True once for each suspend. A delayed reading is too small, so only the maximum counts. */
  observe(suspendedNs: Duration): boolean {
    const isSuspend = suspendedNs - this.#highestNs > SUSPEND_NS_MAX;
    this.#highestNs = Math.max(this.#highestNs, suspendedNs);
    return isSuspend;
  }
}
