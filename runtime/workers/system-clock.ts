// The system clock: the only Clock that reads the machine's time. Every thread makes its own from
// the session origin that main hands out, and all of them agree, because all read CLOCK_MONOTONIC.
//
// Time never goes back here; if it did, the thread ends. A sleep looks at the stop question at
// least every 100 ms and returns early when told to stop.

import { MonotonicClock } from "../../hal/ffi/monotonic-clock.ts";
import type { SessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
import { assert } from "../contracts/assert.ts";
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

  /** How long the machine has been suspended since boot. Between ticks, never in one. */
  suspendedNs(): Duration {
    return this.#monotonic.suspendedNs();
  }
}
