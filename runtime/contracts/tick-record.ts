// The record of one tick: what came in, what was asked, what left, and every stamp of the latency
// budget. Flight recorder, trace hash, status line and recordings are all read from it.

import { assert } from "./assert.ts";

/** Slot numbers. Append only: a changed slot is a new schema version. */
export const TickSlot = {
  tick: 0,
  nowNs: 1,
  reason: 2,
  mode: 3,
  kind: 4,
  epoch: 5,
  seq: 6,
  row: 7,
  repairs: 8,
  /** Bit per active fault, in the order of the fault table. */
  faults: 9,
  missedTicks: 10,
  lateNs: 11,
  sampledNs: 12,
  receivedNs: 13,
  estimatedNs: 14,
  actStartNs: 15,
  actEndNs: 16,
  arrivedNs: 17,
  activatedNs: 18,
  sentNs: 19,
  cues: 20,
  stateQualityRatio: 21,
  /** How long the tick before this one worked: this one's end is not known yet. */
  previousWorkNs: 22,
  reserved: 23,
  /** Stamp of the state that the active chunk answers. */
  chunkStateStampNs: 24,
  joints: 32, // asked, commanded and measured, each of every joint
} as const;

export const tickSlotCount = (jointCount: number): number => TickSlot.joints + 3 * jointCount;

export class TickView {
  readonly record: Float64Array;
  /** What the chunk wanted; equal to the command when there was none. */
  readonly asked: Float64Array;
  readonly command: Float64Array;
  readonly measured: Float64Array;

  constructor(record: Float64Array, jointCount: number) {
    assert(record.length === tickSlotCount(jointCount), "tick record has the robot's size");
    const { joints } = TickSlot;
    this.record = record;
    this.asked = record.subarray(joints, joints + jointCount);
    this.command = record.subarray(joints + jointCount, joints + 2 * jointCount);
    this.measured = record.subarray(joints + 2 * jointCount);
  }
}

/** Where the record of each tick goes. Called in the tick: allocates nothing, never waits. */
export interface TickSink {
  write(record: Float64Array): void;
}
