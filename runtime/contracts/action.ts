// Actions: what a policy decides. An ActionSchema gives the numbers their meaning; a chunk is one
// decision, H rows of D values, with the times, epoch and sequence id that say when it may be used.

import { createHash } from "node:crypto";
import { assert } from "./assert.ts";
import { ACTION_SCHEMA_VERSION } from "./schema-versions.ts";
import { duration, instant, NS_PER_S } from "./units.ts";
import type { Duration, Instant } from "./units.ts";

export type ActionSpace = "joint_pos" | "joint_vel" | "joint_delta" | "ee_pose_delta";

export type ActionSchema = {
  readonly space: ActionSpace;
  /** Encoding: `joint_rad`, `joint_rad_per_s`, `ee_se3_log`. */
  readonly representation: string;
  readonly translationUnit: "m" | undefined;
  readonly rotationUnit: "rotvec_rad" | undefined;
  readonly frame: "joint" | "base" | "tool";
  /** What each column is: joint names, or tx ty tz rx ry rz and then joint names. */
  readonly columns: readonly string[];
};

const EE_COLUMNS = ["tx", "ty", "tz", "rx", "ry", "rz"] as const;

/** Set-up only: the schema of a joint space over these joints, in this order. */
export function jointSchema(
  space: "joint_pos" | "joint_vel" | "joint_delta",
  jointNames: readonly string[],
): ActionSchema {
  const representation = space === "joint_vel" ? "joint_rad_per_s" : "joint_rad";
  return {
    space,
    representation,
    translationUnit: undefined,
    rotationUnit: undefined,
    frame: "joint",
    columns: [...jointNames],
  };
}

/** Set-up only: tool pose deltas against the pose at the state's stamp, then extra joints. */
export function toolDeltaSchema(
  frame: "base" | "tool",
  extraJointNames: readonly string[],
): ActionSchema {
  return {
    space: "ee_pose_delta",
    representation: "ee_se3_log",
    translationUnit: "m",
    rotationUnit: "rotvec_rad",
    frame,
    columns: [...EE_COLUMNS, ...extraJointNames],
  };
}

/** First 48 bits of SHA-256 over the schema and its version: exact in a float64. Set-up only. */
export function schemaFingerprint(schema: ActionSchema): number {
  const text = JSON.stringify([
    ACTION_SCHEMA_VERSION,
    schema.space,
    schema.representation,
    schema.translationUnit ?? null,
    schema.rotationUnit ?? null,
    schema.frame,
    schema.columns,
  ]);
  return createHash("sha256").update(text).digest().readUIntBE(0, 6);
}

/** `validFromNs` of a chunk whose place in time is left to the run's anchoring. */
export const ANCHOR_BY_PROFILE = instant(-1);

/** How the values relate to the robot when the chunk takes over. */
export const ChunkBase = {
  Absolute: 0,
  /** Position joints hold offsets from the command at takeover (integrated velocities). */
  TakeoverCommand: 1,
} as const;

/** Slot numbers of a chunk record. Append only: a changed slot is a new schema version. */
export const ChunkSlot = {
  schemaFingerprint: 0,
  schemaVersion: 1,
  epoch: 2,
  seq: 3,
  dtNs: 4,
  horizon: 5,
  width: 6,
  generatedNs: 7,
  validFromNs: 8,
  validUntilNs: 9,
  stateStampNs: 10,
  base: 11,
  actStartNs: 12,
  actEndNs: 13,
  arrivedNs: 14,
  activatedNs: 15,
  /** An Evidence code: the adapter refused it, and the buffer only takes note. 0: not refused. */
  refusal: 16,
  reserved: 17,
  values: 24,
} as const;

/** Rows a chunk may have at most: 64 rows of 20 ms are 1.3 s, more than any policy should plan. */
export const HORIZON_MAX = 64;
/** Rows may be this far apart at most: a policy that decides once a second plans at that rate. */
export const DT_NS_MAX = duration(NS_PER_S);
/** Values a row may have at most: 16 joints, or a tool pose and 10. */
export const WIDTH_MAX = 16;
export const CHUNK_SLOT_COUNT = ChunkSlot.values + HORIZON_MAX * WIDTH_MAX;

/** A chunk over its record. Value (row, column) is `values[row * width + column]`. */
export class ChunkView {
  readonly record: Float64Array;
  readonly values: Float64Array;

  constructor(record: Float64Array = new Float64Array(CHUNK_SLOT_COUNT)) {
    assert(record.length === CHUNK_SLOT_COUNT, "chunk record has the fixed size");
    this.record = record;
    this.values = record.subarray(ChunkSlot.values);
  }

  /** Sets everything but the values. The window is left to the run's anchoring. */
  begin(epoch: number, seq: number, horizon: number, width: number, dtNs: Duration): void {
    const { record } = this;
    record.fill(0, 0, ChunkSlot.values);
    record[ChunkSlot.schemaVersion] = ACTION_SCHEMA_VERSION;
    record[ChunkSlot.epoch] = epoch;
    record[ChunkSlot.seq] = seq;
    record[ChunkSlot.horizon] = horizon;
    record[ChunkSlot.width] = width;
    record[ChunkSlot.dtNs] = dtNs;
    record[ChunkSlot.validFromNs] = ANCHOR_BY_PROFILE;
    record[ChunkSlot.validUntilNs] = ANCHOR_BY_PROFILE;
  }

  get schemaFingerprint(): number {
    return this.record[ChunkSlot.schemaFingerprint]!;
  }
  get epoch(): number {
    return this.record[ChunkSlot.epoch]!;
  }
  get seq(): number {
    return this.record[ChunkSlot.seq]!;
  }
  get dtNs(): Duration {
    return duration(this.record[ChunkSlot.dtNs]!);
  }
  get horizon(): number {
    return this.record[ChunkSlot.horizon]!;
  }
  get width(): number {
    return this.record[ChunkSlot.width]!;
  }
  get generatedNs(): Instant {
    return instant(this.record[ChunkSlot.generatedNs]!);
  }
  get validFromNs(): Instant {
    return instant(this.record[ChunkSlot.validFromNs]!);
  }
  get validUntilNs(): Instant {
    return instant(this.record[ChunkSlot.validUntilNs]!);
  }
  get stateStampNs(): Instant {
    return instant(this.record[ChunkSlot.stateStampNs]!);
  }

  /** Names a window of its own instead of the run's anchoring. */
  setWindow(validFromNs: Instant, validUntilNs: Instant): void {
    this.record[ChunkSlot.validFromNs] = validFromNs;
    this.record[ChunkSlot.validUntilNs] = validUntilNs;
  }

  copyFrom(other: ChunkView): void {
    this.record.set(other.record);
  }
}
