// SensorBuffer: the last samples of one source, on the session clock, oldest forgotten first.
//
// A sample enters only with a later stamp than the one before. One from the future never enters:
// the buffer says so until the next sample comes, and time never makes it good. A reading that its
// sample did not bring takes no part in anything.

import { assert } from "../contracts/assert.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { ClockDomain, SampleSlot } from "../contracts/sample.ts";
import type { SampleView } from "../contracts/sample.ts";
import { FUTURE_NS_MAX } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
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
  /** The last sample was stamped in the future: where the source is now, nobody knows. */
  fromFuture = false;
  /** Samples refused because a later one was already here. */
  outOfOrderCount = 0;
  receivedNs = 0;
  seq = 0;
  calibrationVersion = 0;
  clockVersion = 0;
  /** Bit of each reading that is there, sample by sample. */
  readonly #masks = new Int32Array(HISTORY_COUNT);
  readonly #windowNs: number;
  /** Time in which no sample could be seen, up to now and up to each sample. */
  #lostNs = 0;
  readonly #lostUntilNs = new Float64Array(HISTORY_COUNT);
  #newest = 0;

  /** Samples older than `windowNs` before the newest take no part in a velocity. */
  constructor(source: SourceProfile, payloadCount: number, windowNs: Duration) {
    assert(source.joints.length <= 31, "a validity mask has room for every joint of a source");
    this.source = source;
    this.payloadCount = payloadCount;
    this.payload = new Float64Array(HISTORY_COUNT * payloadCount);
    this.#windowNs = windowNs;
  }

  /** Index of the sample `back` places before the newest. */
  slot(back: number): number {
    return (this.#newest - back + HISTORY_COUNT) % HISTORY_COUNT;
  }

  get newestStampNs(): Instant {
    return instant(this.count === 0 ? -Infinity : this.stampNs[this.#newest]!);
  }

  /** True when the newest sample brought this reading, and nobody has refused it since. */
  holds(reading: number): boolean {
    return this.count > 0 && this.#brought(this.#newest, reading);
  }

  /** What the newest sample says there cannot be true: as if it had not been read. */
  refuse(reading: number): void {
    this.#masks[this.#newest] = this.#masks[this.#newest]! & ~(1 << reading);
  }

  /** Takes a sample. False when it is not newer than the last, or from the future. */
  take(sample: SampleView, nowNs: Instant): boolean {
    const { record, payload } = sample;
    const device = record[SampleSlot.clockDomain] === ClockDomain.Device;
    const stampNs = device
      ? this.clock.convert(sample.sensorStampNs, sample.receiveNs)
      : sample.sensorStampNs;
    const lastNs = this.newestStampNs;
    this.fromFuture = stampNs > nowNs + FUTURE_NS_MAX;
    // Negated, so that a stamp that is no number is refused too.
    if (this.fromFuture || !(stampNs > lastNs)) {
      if (stampNs < lastNs) this.outOfOrderCount += 1;
      return false;
    }
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
    this.#masks[this.#newest] = record[SampleSlot.validMask]!;
    this.#lostUntilNs[this.#newest] = this.#lostNs;
    return true;
  }

  /**
   * A simulated world went on by so much between two looks. Of what is beyond one sample nothing
   * could be seen, which says nothing of the source. Before `take`.
   */
  skip(worldStepNs: Duration, periodNsMin: number): void {
    this.#lostNs += Math.max(0, worldStepNs - Math.max(this.source.periodNs, periodNsMin));
  }

  /** Share of expected samples that came, over the history: 1 is all, 0.5 is every other. */
  deliveredRatio(periodNsMin: number): number {
    if (this.count < 2) return this.count;
    const oldest = this.slot(this.count - 1);
    const spanNs = this.stampNs[this.#newest]! - this.stampNs[oldest]!;
    const lostNs = this.#lostUntilNs[this.#newest]! - this.#lostUntilNs[oldest]!;
    const expectedNs = (this.count - 1) * Math.max(this.source.periodNs, periodNsMin);
    return expectedNs / Math.max(expectedNs, spanNs - lostNs);
  }

  /** Velocity of one reading by least squares over the history; 0 when it was read once. */
  slopePerS(reading: number): number {
    const newestNs = this.stampNs[this.#newest]!;
    let count = 0;
    let sumT = 0;
    for (let back = 0; back < this.count; back += 1) {
      const at = this.slot(back);
      if (!this.#takesPart(at, reading)) continue;
      count += 1;
      sumT += (this.stampNs[at]! - newestNs) / 1e9;
    }
    if (count < 2) return 0;
    const meanT = sumT / count;
    // Times count from their mean, so the mean of the readings drops out.
    let covariance = 0;
    let variance = 0;
    for (let back = 0; back < this.count; back += 1) {
      const at = this.slot(back);
      if (!this.#takesPart(at, reading)) continue;
      const t = (this.stampNs[at]! - newestNs) / 1e9 - meanT;
      covariance += t * this.payload[at * this.payloadCount + reading]!;
      variance += t * t;
    }
    return covariance / variance;
  }

  /**
   * A reading at `atNs`: between the two samples around it, or the nearest one beyond either end.
   * `otherwiseRad` when no kept sample brought it.
   */
  valueAt(reading: number, atNs: number, otherwiseRad: number): number {
    let laterNs = 0;
    let value = otherwiseRad;
    let found = false;
    for (let back = 0; back < this.count; back += 1) {
      const at = this.slot(back);
      if (!this.#brought(at, reading)) continue;
      const earlierNs = this.stampNs[at]!;
      const earlier = this.payload[at * this.payloadCount + reading]!;
      if (atNs >= earlierNs) {
        if (!found) return earlier;
        return earlier + (value - earlier) * ((atNs - earlierNs) / (laterNs - earlierNs));
      }
      laterNs = earlierNs;
      value = earlier;
      found = true;
    }
    return value;
  }

  clear(): void {
    this.count = 0;
    this.fromFuture = false;
  }

  #brought(at: number, reading: number): boolean {
    return ((this.#masks[at]! >>> reading) & 1) === 1;
  }

  #takesPart(at: number, reading: number): boolean {
    const ageNs = this.stampNs[this.#newest]! - this.stampNs[at]!;
    return this.#brought(at, reading) && ageNs <= this.#windowNs;
  }
}
