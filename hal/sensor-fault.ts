// The faults a sensor can have, one class each: what it does to the samples of one source as they
// pass. A fault strikes by its own seeded random numbers, so adding one never changes another.
//
// Each works on the snapshot in place and allocates nothing after construction. A fault changes
// what arrives and never asks who reads it.

import { SampleSlot, payloadCount, sampleSlotCount } from "../runtime/contracts/sample.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import type { SourceProfile } from "../runtime/contracts/profile.ts";
import type { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import type { Duration, Instant } from "../runtime/contracts/units.ts";
import type { FaultKind, FaultSpec } from "./fault-spec.ts";

export abstract class SensorFault {
  readonly spec: FaultSpec;
  /** Samples it has struck. */
  hitCount = 0;
  protected readonly random: SeededRandom;

  constructor(spec: FaultSpec, _source: SourceProfile, random: SeededRandom) {
    this.spec = spec;
    this.random = random;
  }

  /** Works on what has arrived. `sinceNs` counts from the first observation. */
  abstract apply(snapshot: SensorSnapshot, nowNs: Instant, sinceNs: Duration): void;

  /** Decides over one sample that has arrived. */
  protected strikes(sinceNs: Duration): boolean {
    const { fromNs, untilNs, probabilityRatio } = this.spec;
    if (sinceNs < fromNs || sinceNs >= untilNs) return false;
    if (probabilityRatio < 1 && this.random.next() >= probabilityRatio) return false;
    this.hitCount += 1;
    return true;
  }
}

/** The last good sample comes again: value, stamp and sequence id stay. */
class Freeze extends SensorFault {
  readonly #held: Float64Array;
  #holds = false;

  constructor(spec: FaultSpec, source: SourceProfile, random: SeededRandom) {
    super(spec, source, random);
    this.#held = new Float64Array(sampleSlotCount(source));
  }

  apply(snapshot: SensorSnapshot, _nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex } = this.spec;
    if (snapshot.arrived[sourceIndex] === 0) return;
    const { record } = snapshot.samples[sourceIndex]!;
    if (this.strikes(sinceNs) && this.#holds) {
      this.#held[SampleSlot.receiveNs] = record[SampleSlot.receiveNs]!;
      record.set(this.#held);
      return;
    }
    this.#held.set(record); // a fault from the start freezes the very first sample
    this.#holds = true;
  }
}

class Drop extends SensorFault {
  apply(snapshot: SensorSnapshot, _nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex } = this.spec;
    if (snapshot.arrived[sourceIndex] === 0 || !this.strikes(sinceNs)) return;
    snapshot.arrived[sourceIndex] = 0;
  }
}

/** Samples come later with their true stamps. Of several that are due the newest is delivered. */
class Delay extends SensorFault {
  readonly #records: readonly Float64Array[];
  readonly #dueNs: Float64Array;
  #first = 0;
  #count = 0;

  constructor(spec: FaultSpec, source: SourceProfile, random: SeededRandom) {
    super(spec, source, random);
    // Twice what is on its way at the source's own rate: late and early samples included.
    const capacity = 2 * Math.ceil(spec.shiftNs / source.periodNs) + 8;
    const slotCount = sampleSlotCount(source);
    this.#records = Array.from({ length: capacity }, () => new Float64Array(slotCount));
    this.#dueNs = new Float64Array(capacity);
  }

  apply(snapshot: SensorSnapshot, nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex, shiftNs } = this.spec;
    const { record } = snapshot.samples[sourceIndex]!;
    if (snapshot.arrived[sourceIndex] === 1) {
      const dueNs = nowNs + (this.strikes(sinceNs) ? shiftNs : 0);
      this.#push(record, dueNs);
      snapshot.arrived[sourceIndex] = 0;
    }
    const capacity = this.#dueNs.length;
    for (let age = this.#count - 1; age >= 0; age -= 1) {
      const place = (this.#first + age) % capacity;
      if (this.#dueNs[place]! > nowNs) continue;
      record.set(this.#records[place]!);
      record[SampleSlot.receiveNs] = nowNs;
      snapshot.arrived[sourceIndex] = 1;
      this.#first = (place + 1) % capacity; // what is older comes no more
      this.#count -= age + 1;
      return;
    }
  }

  #push(record: Float64Array, dueNs: number): void {
    const capacity = this.#dueNs.length;
    if (this.#count === capacity) {
      this.#first = (this.#first + 1) % capacity; // the oldest is lost, as in any bounded queue
      this.#count -= 1;
    }
    const place = (this.#first + this.#count) % capacity;
    this.#records[place]!.set(record);
    this.#dueNs[place] = dueNs;
    this.#count += 1;
  }
}

/** Joints: position, velocity and effort, each in its own unit. Localization: the position only. */
class Noise extends SensorFault {
  readonly #valueCount: number;

  constructor(spec: FaultSpec, source: SourceProfile, random: SeededRandom) {
    super(spec, source, random);
    this.#valueCount = source.kind === "proprio" ? payloadCount(source) : 3;
  }

  apply(snapshot: SensorSnapshot, _nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex, noiseFactor } = this.spec;
    if (snapshot.arrived[sourceIndex] === 0 || !this.strikes(sinceNs)) return;
    const { payload } = snapshot.samples[sourceIndex]!;
    for (let index = 0; index < this.#valueCount; index += 1) {
      payload[index]! += noiseFactor * this.random.normal();
    }
  }
}

/** One payload value becomes NaN, huge, or itself with one bit of its upper half flipped. */
class Corrupt extends SensorFault {
  readonly #value = new Float64Array(1);
  readonly #words = new Uint32Array(this.#value.buffer);

  apply(snapshot: SensorSnapshot, _nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex } = this.spec;
    if (snapshot.arrived[sourceIndex] === 0 || !this.strikes(sinceNs)) return;
    const { payload } = snapshot.samples[sourceIndex]!;
    const index = Math.floor(this.random.next() * payload.length);
    const way = Math.floor(this.random.next() * 3);
    const bit = Math.floor(this.random.next() * 32);
    if (way === 0) payload[index] = Number.NaN;
    else if (way === 1) payload[index] = this.random.next() < 0.5 ? 1e30 : -1e30;
    else payload[index] = this.#flipped(payload[index]!, bit);
  }

  #flipped(value: number, bit: number): number {
    this.#value[0] = value;
    this.#words[1]! ^= 1 << bit; // little-endian: sign, exponent and the upper mantissa
    return this.#value[0]!;
  }
}

class Future extends SensorFault {
  apply(snapshot: SensorSnapshot, nowNs: Instant, sinceNs: Duration): void {
    const { sourceIndex, shiftNs } = this.spec;
    if (snapshot.arrived[sourceIndex] === 0 || !this.strikes(sinceNs)) return;
    snapshot.samples[sourceIndex]!.record[SampleSlot.sensorStampNs] = nowNs + shiftNs;
  }
}

const classes = {
  freeze: Freeze,
  drop: Drop,
  delay: Delay,
  noise: Noise,
  corrupt: Corrupt,
  future: Future,
} as const satisfies Readonly<Record<FaultKind, unknown>>;

export function sensorFault(
  spec: FaultSpec,
  source: SourceProfile,
  random: SeededRandom,
): SensorFault {
  return new classes[spec.kind](spec, source, random);
}
