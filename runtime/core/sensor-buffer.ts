// SensorBuffer: the last samples of one source, on the session clock, oldest forgotten first.
//
// A sample enters only with a later stamp than the one before. A stamp from the future is kept, so
// that the state can be judged by it, and forgotten when the next sample comes.

import { assert } from "../contracts/assert.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { ClockDomain, SampleSlot } from "../contracts/sample.ts";
import type { SampleView } from "../contracts/sample.ts";
import { FUTURE_NS_MAX } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { ClockDomainConverter } from "./clock-domain.ts";

/** Samples kept per source: what the velocity fit needs. */
export const HISTORY_COUNT = 8;

export class SensorBuffer {
  readonly source: SourceProfile;
  readonly payloadCount: number;
  /** Sample i back in time is at `slot(i)`. */
  readonly stampNs = new Float64Array(HISTORY_COUNT);
  readonly payload: Float64Array;
  readonly clock = new ClockDomainConverter();
  count = 0;
  /** Samples refused because a later one was already here. */
  outOfOrderCount = 0;
  receivedNs = 0;
  seq = 0;
  calibrationVersion = 0;
  clockVersion = 0;
  validMask = 0;
  #newest = 0;

  constructor(source: SourceProfile, payloadCount: number) {
    assert(source.joints.length <= 31, "a validity mask has room for every joint of a source");
    this.source = source;
    this.payloadCount = payloadCount;
    this.payload = new Float64Array(HISTORY_COUNT * payloadCount);
  }

  /** Index of the sample `back` places before the newest. */
  slot(back: number): number {
    return (this.#newest - back + HISTORY_COUNT) % HISTORY_COUNT;
  }

  get newestStampNs(): Instant {
    return instant(this.count === 0 ? -Infinity : this.stampNs[this.#newest]!);
  }

  /** Takes a sample. False when it is not newer than the last. */
  take(sample: SampleView, nowNs: Instant): boolean {
    const { record, payload } = sample;
    const device = record[SampleSlot.clockDomain] === ClockDomain.Device;
    const stampNs = device
      ? this.clock.convert(sample.sensorStampNs, sample.receiveNs)
      : sample.sensorStampNs;
    const lastNs = this.newestStampNs;
    const lastWasFuture = lastNs > nowNs + FUTURE_NS_MAX;
    if (!(stampNs > lastNs) && !lastWasFuture) {
      if (stampNs < lastNs) this.outOfOrderCount += 1;
      return false;
    }
    if (lastWasFuture) this.count = 0;
    this.#newest = (this.#newest + 1) % HISTORY_COUNT;
    this.count = Math.min(this.count + 1, HISTORY_COUNT);
    this.stampNs[this.#newest] = stampNs;
    const base = this.#newest * this.payloadCount;
    for (let index = 0; index < this.payloadCount; index += 1) {
      this.payload[base + index] = payload[index]!;
    }
    this.receivedNs = sample.receiveNs;
    this.seq = sample.seq;
    this.calibrationVersion = record[SampleSlot.calibrationVersion]!;
    this.clockVersion = device ? this.clock.version : 0;
    this.validMask = record[SampleSlot.validMask]!;
    return true;
  }

  /** Share of expected samples that came, over the history: 1 is all, 0.5 is every other. */
  deliveredRatio(periodNsMin: number): number {
    if (this.count < 2) return this.count;
    const spanNs = this.stampNs[this.#newest]! - this.stampNs[this.slot(this.count - 1)]!;
    const periodNs = Math.max(this.source.periodNs, periodNsMin);
    return Math.min(1, ((this.count - 1) * periodNs) / spanNs);
  }

  /** Velocity of one payload value by least squares over the history; 0 with one sample. */
  slopePerS(index: number): number {
    const { count } = this;
    if (count < 2) return 0;
    const newestNs = this.stampNs[this.#newest]!;
    let sumT = 0;
    let sumX = 0;
    for (let back = 0; back < count; back += 1) {
      const at = this.slot(back);
      sumT += (this.stampNs[at]! - newestNs) / 1e9;
      sumX += this.payload[at * this.payloadCount + index]!;
    }
    const meanT = sumT / count;
    const meanX = sumX / count;
    let covariance = 0;
    let variance = 0;
    for (let back = 0; back < count; back += 1) {
      const at = this.slot(back);
      const t = (this.stampNs[at]! - newestNs) / 1e9 - meanT;
      covariance += t * (this.payload[at * this.payloadCount + index]! - meanX);
      variance += t * t;
    }
    return covariance / variance;
  }

  /** Value of the payload at `atNs`: between two samples, or the newest when later than all. */
  valueAt(index: number, atNs: number): number {
    let later = this.slot(0);
    if (atNs >= this.stampNs[later]!) return this.payload[later * this.payloadCount + index]!;
    for (let back = 1; back < this.count; back += 1) {
      const earlier = this.slot(back);
      if (atNs >= this.stampNs[earlier]!) {
        const spanNs = this.stampNs[later]! - this.stampNs[earlier]!;
        const from = this.payload[earlier * this.payloadCount + index]!;
        const to = this.payload[later * this.payloadCount + index]!;
        return from + (to - from) * ((atNs - this.stampNs[earlier]!) / spanNs);
      }
      later = earlier;
    }
    return this.payload[later * this.payloadCount + index]!;
  }

  clear(): void {
    this.count = 0;
    this.validMask = 0;
  }
}
