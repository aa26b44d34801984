// Samples: RawObservation as one Float64Array per source, and the snapshot that a robot's sensor
// half fills: at most one new sample per source and tick.

import { assert } from "./assert.ts";
import type { SourceProfile } from "./profile.ts";
import { instant } from "./units.ts";
import type { Instant } from "./units.ts";

/** Whose clock made a stamp. `Device` stamps are converted by the estimator before any use. */
export const ClockDomain = { Monotonic: 0, Device: 1 } as const;
export type ClockDomain = (typeof ClockDomain)[keyof typeof ClockDomain];

/** Slot numbers of a sample record. Append only: a changed slot is a new schema version. */
export const SampleSlot = {
  sourceIndex: 0,
  /** When the physical world was sampled, in the clock of `clockDomain`, ns. */
  sensorStampNs: 1,
  clockDomain: 2,
  /** When software received it, ns on the session clock. */
  receiveNs: 3,
  seq: 4,
  calibrationVersion: 5,
  /** Bit j set: joint j of the source was read. Image and localization sources use bit 0. */
  validMask: 6,
  reserved: 7,
  payload: 8,
} as const;

/** Position x y z m, then orientation x y z w. */
export const LOCALIZATION_PAYLOAD_COUNT = 7;
/** Arena slot id, arena sequence, width px, height px. */
export const IMAGE_PAYLOAD_COUNT = 4;
export const ImagePayload = { slot: 0, arenaSeq: 1, widthPx: 2, heightPx: 3 } as const;

/** Payload of a proprio source: position of every joint, then velocity, then effort. */
export function payloadCount(source: SourceProfile): number {
  if (source.kind === "proprio") return 3 * source.joints.length;
  return source.kind === "image" ? IMAGE_PAYLOAD_COUNT : LOCALIZATION_PAYLOAD_COUNT;
}

export const sampleSlotCount = (source: SourceProfile): number =>
  SampleSlot.payload + payloadCount(source);

/** One sample of one source. Views are cut once; the record may live in shared memory. */
export class SampleView {
  readonly record: Float64Array;
  readonly payload: Float64Array;
  readonly jointCount: number;

  constructor(record: Float64Array, source: SourceProfile) {
    assert(record.length === sampleSlotCount(source), "sample record has its source's size");
    this.record = record;
    this.payload = record.subarray(SampleSlot.payload);
    this.jointCount = source.joints.length;
  }

  get sensorStampNs(): Instant {
    return instant(this.record[SampleSlot.sensorStampNs]!);
  }
  get receiveNs(): Instant {
    return instant(this.record[SampleSlot.receiveNs]!);
  }
  get seq(): number {
    return this.record[SampleSlot.seq]!;
  }
}

/** What arrived for one tick: at most one sample per source, in the order of the source table. */
export class SensorSnapshot {
  readonly sources: readonly SourceProfile[];
  readonly samples: readonly SampleView[];
  /** 1 when the sample of that source is new since the last tick. */
  readonly arrived: Uint8Array;

  constructor(sources: readonly SourceProfile[]) {
    this.sources = sources;
    this.samples = sources.map(
      (source) => new SampleView(new Float64Array(sampleSlotCount(source)), source),
    );
    this.arrived = new Uint8Array(sources.length);
  }

  /** Forgets which samples are new. The robot's sensor half calls it first in `observeInto`. */
  clear(): void {
    this.arrived.fill(0);
  }
}
