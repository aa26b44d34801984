// ClockDomainConverter: turns stamps of a device's own clock into the session's.
//
// Transport only ever adds delay, so the smallest `receive − device` of the last ten seconds is the
// best view of the true offset. Ten one-second buckets keep that lower envelope; its slope, bounded
// to what a crystal can do, is the drift. A converted stamp is never after the receive stamp.

import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";

/** A stamp that goes back further than any transport can shuffle: the device restarted. */
const RESTART_NS = 100_000_000;
const BUCKET_COUNT = 10;
const BUCKET_NS = 1_000_000_000;
/** Cheap crystals stay within ±100 ppm each; two of them differ by 200 at most. */
const DRIFT_RATIO_MAX = 200e-6;

export class ClockDomainConverter {
  readonly #deltaNs = new Float64Array(BUCKET_COUNT);
  readonly #deviceNs = new Float64Array(BUCKET_COUNT);
  #count = 0;
  #newest = 0;
  #bucketUntilNs = 0;
  #lastDeviceNs = -Infinity;
  #drift = 0;
  #version = 0;

  /** Rises whenever the estimate was made anew; a recording names it beside each stamp. */
  get version(): number {
    return this.#version;
  }
  /** Seconds that the session clock gains on the device's per second. */
  get driftRatio(): number {
    return this.#drift;
  }

  /** The stamp on the session clock, after the pair has gone into the estimate. NaN stays NaN. */
  convert(deviceNs: number, receiveNs: Instant): Instant {
    if (!(Number.isFinite(deviceNs) && Number.isFinite(receiveNs))) return instant(Number.NaN);
    const restarted = deviceNs < this.#lastDeviceNs - RESTART_NS;
    if (restarted) {
      this.#count = 0;
      this.#drift = 0;
    }
    if (restarted || deviceNs > this.#lastDeviceNs) this.#lastDeviceNs = deviceNs;
    this.#take(deviceNs, receiveNs - deviceNs);
    const stampNs = deviceNs + this.#offsetAt(deviceNs);
    return instant(Math.min(Math.round(stampNs), receiveNs));
  }

  #take(deviceNs: number, deltaNs: number): void {
    if (this.#count === 0) {
      this.#open(deviceNs, deltaNs);
      this.#count = 1;
    } else if (deviceNs >= this.#bucketUntilNs) {
      this.#newest = (this.#newest + 1) % BUCKET_COUNT;
      this.#count = Math.min(this.#count + 1, BUCKET_COUNT);
      this.#open(deviceNs, deltaNs);
      this.#fitDrift();
    } else if (deltaNs < this.#deltaNs[this.#newest]!) {
      this.#deltaNs[this.#newest] = deltaNs;
      this.#deviceNs[this.#newest] = deviceNs;
    }
  }

  #open(deviceNs: number, deltaNs: number): void {
    this.#deltaNs[this.#newest] = deltaNs;
    this.#deviceNs[this.#newest] = deviceNs;
    this.#bucketUntilNs = deviceNs + BUCKET_NS;
    this.#version += 1;
  }

  /** Slope of the envelope by least squares over closed buckets, bounded. Too few tell nothing. */
  #fitDrift(): void {
    const closed = this.#count - 1;
    if (closed < 3) return;
    let sumT = 0;
    for (let back = 1; back <= closed; back += 1) sumT += this.#deviceNs[this.#bucket(back)]!;
    const meanT = sumT / closed;
    // Times count from their mean, so the mean of the deltas drops out.
    let covariance = 0;
    let variance = 0;
    for (let back = 1; back <= closed; back += 1) {
      const bucket = this.#bucket(back);
      const t = this.#deviceNs[bucket]! - meanT;
      covariance += t * this.#deltaNs[bucket]!;
      variance += t * t;
    }
    this.#drift = Math.max(-DRIFT_RATIO_MAX, Math.min(DRIFT_RATIO_MAX, covariance / variance));
  }

  /** The lowest line of that slope below every bucket's minimum. */
  #offsetAt(deviceNs: number): number {
    let lowest = Infinity;
    for (let back = 0; back < this.#count; back += 1) {
      const bucket = this.#bucket(back);
      const line = this.#deltaNs[bucket]! + this.#drift * (deviceNs - this.#deviceNs[bucket]!);
      if (line < lowest) lowest = line;
    }
    return lowest;
  }

  #bucket(back: number): number {
    return (this.#newest - back + BUCKET_COUNT) % BUCKET_COUNT;
  }
}
