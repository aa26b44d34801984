// CLOCK_MONOTONIC as float64 ns since a session origin, and an absolute sleep on it. Every thread
// builds its own from the one origin, so their times agree: Bun's clocks differ in each Worker.
//
// Nothing here allocates after the constructor. A sleep is cut into slices of at most 100 ms, so
// that the caller can look at its stop word between them; it never waits on anything but the timer.

import { assert } from "../../runtime/contracts/assert.ts";
import {
  duration,
  instant,
  NS_PER_MS,
  NS_PER_S,
  NS_PER_US,
} from "../../runtime/contracts/units.ts";
import type { Duration, Instant } from "../../runtime/contracts/units.ts";
import { cBuffer, EINTR, libc } from "./libc.ts";
import type { CBuffer } from "./libc.ts";

const CLOCK_MONOTONIC = 1;
const CLOCK_BOOTTIME = 7;
const TIMER_ABSTIME = 1;

/** A stop must be noticed within this time, whatever the sleep asked for. */
export const SLICE_NS_MAX = 100 * NS_PER_MS;
/** A longer spin would burn more than 4 % of a core at 200 Hz. */
export const SPIN_TAIL_NS_MAX = 200 * NS_PER_US;

/** A moment on CLOCK_MONOTONIC, in two doubles so that it is exact after any uptime. */
export type SessionOrigin = { readonly wholeS: number; readonly restNs: number };

/** Now, as the origin of a session. One thread calls it once and hands the result to all others. */
export function sessionOrigin(): SessionOrigin {
  const timespec = cBuffer(16);
  readClock(CLOCK_MONOTONIC, timespec);
  return { wholeS: timespec.words[0]! >>> 0, restNs: timespec.words[2]! };
}

export class MonotonicClock {
  #originS: number;
  #originRestNs: number;
  #spinTailNs: number;
  #now: CBuffer = cBuffer(16);
  #due: CBuffer = cBuffer(16);

  constructor(origin: SessionOrigin, spinTailNs: Duration) {
    assert(spinTailNs >= 0 && spinTailNs <= SPIN_TAIL_NS_MAX, "the spin tail is 0 to 200 us");
    this.#originS = origin.wholeS;
    this.#originRestNs = origin.restNs;
    this.#spinTailNs = spinTailNs;
  }

  /** Whole ns since the session origin. 32 ns a call; may be called in the tick. */
  nowNs(): Instant {
    readClock(CLOCK_MONOTONIC, this.#now);
    return this.#sinceOriginNs();
  }

  /**
   * Sleeps towards `dueNs`, at most `SLICE_NS_MAX`. True once the time is reached; false means look
   * at the stop word and call again. A due time in the past returns true at once.
   */
  sleepSliceUntil(dueNs: Instant): boolean {
    const nowNs = this.nowNs();
    const wakeNs = dueNs - this.#spinTailNs;
    if (wakeNs > nowNs) {
      const sliceEndNs = nowNs + SLICE_NS_MAX;
      const isWholeWait = wakeNs <= sliceEndNs;
      if (!this.#sleepUntil(isWholeWait ? wakeNs : sliceEndNs) || !isWholeWait) return false;
    }
    while (this.nowNs() < dueNs); // the spin tail, or nothing
    return true;
  }

  /**
   * How long the machine has slept in suspend since boot. CLOCK_MONOTONIC is read last, so a thread
   * delayed between the two reads a value too small, never one that looks like a suspend; the
   * largest of three readings is the answer.
   */
  suspendedNs(): Duration {
    let suspendedNs = 0;
    for (let reading = 0; reading < 3; reading += 1) {
      readClock(CLOCK_BOOTTIME, this.#now);
      const bootNs = this.#sinceOriginNs();
      suspendedNs = Math.max(suspendedNs, bootNs - this.nowNs());
    }
    return duration(suspendedNs);
  }

  #sinceOriginNs(): Instant {
    const words = this.#now.words;
    const wholeS = words[0]! >>> 0;
    return instant((wholeS - this.#originS) * NS_PER_S + (words[2]! - this.#originRestNs));
  }

  /** False when a signal cut the sleep short. */
  #sleepUntil(wakeNs: number): boolean {
    const sumNs = wakeNs + this.#originRestNs;
    const wholeS = Math.floor(sumNs / NS_PER_S);
    const words = this.#due.words;
    words[0] = this.#originS + wholeS;
    words[2] = sumNs - wholeS * NS_PER_S;
    const answer = libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, this.#due.address, null);
    if (answer === EINTR) return false;
    assert(answer === 0, "clock_nanosleep takes the time we made");
    return true;
  }
}

// A timespec is two 64-bit words. The upper half of the seconds stays zero until 2106, and both
// supported CPUs are little-endian.
function readClock(clock: number, timespec: CBuffer): void {
  assert(libc.clock_gettime(clock, timespec.address) === 0, "clock_gettime knows the clock");
}
