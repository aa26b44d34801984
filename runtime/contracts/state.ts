// StateContract: the only state a policy or the safety gate may read.
//
// A record is one Float64Array, so that sharing, logging and comparing it are all byte copies.
// Integers in it (epoch, seq, ns) stay exact up to 2^53. A StateLayout says which joints and
// observation fields a record holds; an absent field is normal and says so.

import { assert } from "./assert.ts";
import type { RobotProfile, SourceProfile } from "./profile.ts";
import { Reason } from "./reason.ts";
import { payloadCount } from "./sample.ts";
import { STATE_SCHEMA_VERSION } from "./schema-versions.ts";
import { commandVec, duration, elapsed, instant, nmVec, radPerSVec, radVec } from "./units.ts";
import type { CommandVec, Duration, Instant, NmVec, RadPerSVec, RadVec } from "./units.ts";

/** A stamp further ahead of now than this is a clock fault, not a fresh state. */
export const FUTURE_NS_MAX = duration(1_000_000);

export const Hypothesis = { Single: 0, Multi: 1 } as const;
export type Hypothesis = (typeof Hypothesis)[keyof typeof Hypothesis];

/** Slot numbers. Append only: a changed slot is a new schema version. */
export const StateSlot = {
  schemaVersion: 0,
  /** Provenance: when the physical world was sampled, the oldest stamp that took part. */
  stampNs: 1,
  validityNs: 2,
  epoch: 3,
  /** Counts published states; the tick number that made this one. */
  tick: 4,
  hypothesis: 5,
  /** Provenance: index of the source that set the stamp. */
  sourceIndex: 6,
  qualityProprioRatio: 7,
  qualityVisionRatio: 8,
  qualityLocalizationRatio: 9,
  qualityTemporalRatio: 10,
  hasVelocity: 11,
  hasEffort: 12,
  receivedNs: 13,
  estimatedNs: 14,
  calibrationVersion: 15,
  /** Version of the clock conversion that made the stamp; 0 for the session's own clock. */
  clockVersion: 16,
  mode: 17,
  reserved: 18,
  joints: 24, // position, velocity, effort and last command, each of every joint
} as const;

/** Slots of an observation field, before its values. */
export const FieldSlot = {
  present: 0,
  stampNs: 1,
  validityNs: 2,
  qualityRatio: 3,
  seq: 4,
  values: 5,
} as const;

export type FieldSpec = {
  readonly name: string;
  readonly dtype: "float64" | "uint8";
  readonly shape: readonly number[];
  readonly unit: string;
  readonly frame: string;
  readonly sourceIndex: number;
  readonly offset: number;
  readonly valueCount: number;
};

/** Which joints and fields a state record holds, and where. Built once per run. */
export class StateLayout {
  readonly jointNames: readonly string[];
  readonly jointCount: number;
  readonly sources: readonly SourceProfile[];
  readonly fields: readonly FieldSpec[];
  readonly slotCount: number;
  /** What the policy is asked to do, in words; empty when the task has none. */
  readonly task: string;

  constructor(robot: RobotProfile, sources: readonly SourceProfile[], task: string) {
    this.jointNames = robot.joints.map((joint) => joint.name);
    this.jointCount = robot.joints.length;
    this.sources = sources;
    this.task = task;
    let offset: number = StateSlot.joints + 4 * this.jointCount;
    const fields: FieldSpec[] = [];
    for (const [sourceIndex, source] of sources.entries()) {
      if (source.kind === "proprio") continue;
      const image = source.kind === "image";
      const valueCount = payloadCount(source);
      fields.push({
        name: source.id,
        dtype: image ? "uint8" : "float64",
        shape: [valueCount],
        unit: image ? "arena slot" : "m, quaternion xyzw",
        frame: source.frame,
        sourceIndex,
        offset,
        valueCount,
      });
      offset += FieldSlot.values + valueCount;
    }
    this.fields = fields;
    this.slotCount = offset;
  }
}

/** One observation field of a state. Dies with the state it was cut from. */
export class FieldView {
  readonly spec: FieldSpec;
  readonly values: Float64Array;
  readonly #record: Float64Array;

  constructor(record: Float64Array, spec: FieldSpec) {
    this.spec = spec;
    this.#record = record.subarray(spec.offset, spec.offset + FieldSlot.values + spec.valueCount);
    this.values = this.#record.subarray(FieldSlot.values);
  }

  get present(): boolean {
    return this.#record[FieldSlot.present] === 1;
  }
  get stampNs(): Instant {
    return instant(this.#record[FieldSlot.stampNs]!);
  }
  get qualityRatio(): number {
    return this.#record[FieldSlot.qualityRatio]!;
  }
  get seq(): number {
    return this.#record[FieldSlot.seq]!;
  }

  /** Each source has its own validity; an absent field is a missing source. */
  freshness(nowNs: Instant): Reason {
    if (!this.present) return Reason.SourceMissing;
    return freshnessOf(this.stampNs, this.#record[FieldSlot.validityNs]!, nowNs);
  }

  /** Written by the estimator only. */
  set(stampNs: Instant, validityNs: Duration, qualityRatio: number, seq: number): void {
    this.#record[FieldSlot.present] = 1;
    this.#record[FieldSlot.stampNs] = stampNs;
    this.#record[FieldSlot.validityNs] = validityNs;
    this.#record[FieldSlot.qualityRatio] = qualityRatio;
    this.#record[FieldSlot.seq] = seq;
  }

  clear(): void {
    this.#record.fill(0);
  }
}

export class StateView {
  readonly record: Float64Array;
  readonly layout: StateLayout;
  // Views are cut once, here. `subarray` allocates, so no tick may call it.
  readonly positionRad: RadVec;
  readonly velocityRadPerS: RadPerSVec;
  readonly effortNm: NmVec;
  /** The last command the gate approved, before this state was made. */
  readonly command: CommandVec;
  readonly fields: readonly FieldView[];

  constructor(record: Float64Array, layout: StateLayout) {
    assert(record.length === layout.slotCount, "state record has its layout's size");
    const { joints } = StateSlot;
    const n = layout.jointCount;
    this.record = record;
    this.layout = layout;
    this.positionRad = radVec(record.subarray(joints, joints + n));
    this.velocityRadPerS = radPerSVec(record.subarray(joints + n, joints + 2 * n));
    this.effortNm = nmVec(record.subarray(joints + 2 * n, joints + 3 * n));
    this.command = commandVec(record.subarray(joints + 3 * n, joints + 4 * n));
    this.fields = layout.fields.map((spec) => new FieldView(record, spec));
    record[StateSlot.schemaVersion] = STATE_SCHEMA_VERSION;
    record[StateSlot.stampNs] = -Infinity;
  }

  /** When the physical world was sampled, not when the estimate was ready. */
  get stampNs(): Instant {
    return instant(this.record[StateSlot.stampNs]!);
  }
  get validityNs(): Duration {
    return duration(this.record[StateSlot.validityNs]!);
  }
  get epoch(): number {
    return this.record[StateSlot.epoch]!;
  }
  get tick(): number {
    return this.record[StateSlot.tick]!;
  }
  get hypothesis(): number {
    return this.record[StateSlot.hypothesis]!;
  }
  /** What the policy is asked to do, in words. */
  get task(): string {
    return this.layout.task;
  }

  /** Half-open: a state exactly `validityNs` old is already stale. */
  freshness(nowNs: Instant): Reason {
    return freshnessOf(this.stampNs, this.validityNs, nowNs);
  }

  /** Control side: may the tick rely on proprioception and its alignment? */
  qualityReason(ratioMin: number): Reason {
    const proprio = this.record[StateSlot.qualityProprioRatio]!;
    const temporal = this.record[StateSlot.qualityTemporalRatio]!;
    return proprio >= ratioMin && temporal >= ratioMin ? Reason.Ok : Reason.LowQuality;
  }

  /** Set-up only: the field of that name, or undefined: an absent sensor is normal. */
  field(name: string): FieldView | undefined {
    return this.fields.find((field) => field.spec.name === name);
  }

  /** Index of a joint by name; -1 when the robot has none of that name. Not for the tick. */
  jointIndex(name: string): number {
    return this.layout.jointNames.indexOf(name);
  }

  copyFrom(other: StateView): void {
    this.record.set(other.record);
  }
}

function freshnessOf(stampNs: Instant, validityNs: number, nowNs: Instant): Reason {
  const ageNs = elapsed(stampNs, nowNs);
  if (ageNs < -FUTURE_NS_MAX) return Reason.StampInFuture;
  return ageNs < validityNs ? Reason.Ok : Reason.StaleState;
}
