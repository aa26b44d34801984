// Commands: what leaves the gate, one per tick. A command carries its own expiry, which the driver
// enforces too, and says why it is what it is.

import { assert } from "./assert.ts";
import { commandVec, instant } from "./units.ts";
import type { CommandVec, Instant } from "./units.ts";

/** `Motion` follows a chunk; every other kind is a safe action. */
export const CommandKind = {
  None: 0,
  Motion: 1,
  Hold: 2,
  Brake: 3,
  ZeroTorque: 4,
  Sit: 5,
  Land: 6,
  ReturnHome: 7,
  Park: 8,
} as const;
export type CommandKind = (typeof CommandKind)[keyof typeof CommandKind];

export const commandKindNames = [
  "none",
  "motion",
  "hold",
  "brake",
  "zero_torque",
  "sit",
  "land",
  "return_home",
  "park",
] as const;

/** What the gate changed in a command: one bit each, counted. */
export const RepairBit = {
  Position: 1,
  Velocity: 2,
  Acceleration: 4,
  Lead: 8,
  Jerk: 16,
  Workspace: 32,
  StartRamp: 64,
  Coast: 128,
  /** A corner of the target rounded by so little that no limit was really asked for. */
  Smoothed: 256,
} as const;

export const repairNames = [
  "position",
  "velocity",
  "acceleration",
  "lead",
  "jerk",
  "workspace",
  "start_ramp",
  "coast",
  "smoothed",
] as const;

/** Slot numbers of a command record. Append only: a changed slot is a new schema version. */
export const CommandSlot = {
  tick: 0,
  stampNs: 1,
  /** From this moment on a driver may not act on it. Half-open. */
  expiresNs: 2,
  kind: 3,
  epoch: 4,
  seq: 5,
  row: 6,
  reason: 7,
  mode: 8,
  repairs: 9,
  stateStampNs: 10,
  reserved: 11,
  values: 16,
} as const;

export const commandSlotCount = (jointCount: number): number => CommandSlot.values + jointCount;

/** Periods that a command stays valid after its tick: it survives two slips, never three. */
export const COMMAND_VALIDITY_PERIODS = 3;

export class CommandView {
  readonly record: Float64Array;
  readonly values: CommandVec;

  constructor(record: Float64Array, jointCount: number) {
    assert(record.length === commandSlotCount(jointCount), "command record has the robot's size");
    this.record = record;
    this.values = commandVec(record.subarray(CommandSlot.values));
  }

  get tick(): number {
    return this.record[CommandSlot.tick]!;
  }
  get stampNs(): Instant {
    return instant(this.record[CommandSlot.stampNs]!);
  }
  get expiresNs(): Instant {
    return instant(this.record[CommandSlot.expiresNs]!);
  }
  get kind(): number {
    return this.record[CommandSlot.kind]!;
  }

  copyFrom(other: CommandView): void {
    this.record.set(other.record);
  }
}
