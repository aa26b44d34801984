// ActionBuffer: which row of which decision applies now.
//
// Two slots (active, scheduled) behind an epoch barrier. `put` judges only what chunk and epoch can
// tell; `sampleInto` promotes, expires and indexes. A chunk whose time is over is void and never
// used again; a scheduled one leaves no gap. Nothing here knows limits: that is the gate's.

import { ActionSample } from "../contracts/action-sample.ts";
import { ChunkBase, ChunkSlot, ChunkView, DT_NS_MAX, HORIZON_MAX } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { EvidenceSink } from "../contracts/evidence.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { Reason } from "../contracts/reason.ts";
import { ACTION_SCHEMA_VERSION } from "../contracts/schema-versions.ts";
import { FUTURE_NS_MAX } from "../contracts/state.ts";
import type { CommandVec, Instant } from "../contracts/units.ts";

// Beyond its rows a chunk holds its last one. A second bridges a policy that is late; for longer
// than that a policy that has died would pass for one that holds.
const OUTLIVE_NS_MAX = 1_000_000_000;

export class ActionBuffer {
  readonly #evidence: EvidenceSink;
  readonly #fingerprint: number;
  readonly #jointCount: number;
  readonly #isPosition: Uint8Array;
  readonly #linear: boolean;
  readonly #blendNs: number;
  readonly #periodNs: number;
  /** Live view of the last approved command: the base of chunks that integrate velocities. */
  readonly #command: CommandVec;

  #active = new ChunkView();
  #scheduled = new ChunkView();
  /** The chunk that the active one replaced; read only during a blend. */
  #fading = new ChunkView();
  #fadeNs = 0;
  #hasActive = false;
  #hasScheduled = false;
  #tookOver = false;
  #epoch = 0;
  #acceptedSeq = 0;

  constructor(
    profile: RobotProfile,
    schemaFingerprint: number,
    command: CommandVec,
    evidence: EvidenceSink,
  ) {
    assert(command.length === profile.joints.length, "one command value per joint");
    assert(profile.policy.blendNs >= 0, "a cross-fade is a length of time");
    this.#evidence = evidence;
    this.#fingerprint = schemaFingerprint;
    this.#jointCount = profile.joints.length;
    this.#isPosition = Uint8Array.from(profile.joints, (joint) =>
      joint.command === "position" ? 1 : 0,
    );
    this.#linear = profile.policy.interpolation === "linear";
    this.#blendNs = profile.policy.blendNs;
    this.#periodNs = profile.periodNs;
    this.#command = command;
  }

  get epoch(): number {
    return this.#epoch;
  }
  /** The chunk in use, for the tick record. Meaningless unless the last sample was Ok. */
  get active(): ChunkView {
    return this.#active;
  }

  /** Takes a copy, or refuses and says why. The answer is also noted as evidence. */
  put(chunk: ChunkView, nowNs: Instant): Evidence {
    const verdict = this.#judge(chunk, nowNs);
    this.#evidence.note(verdict, chunk.epoch, chunk.seq, nowNs);
    if (verdict !== Evidence.Accepted) return verdict;
    assert(chunk.seq > this.#acceptedSeq, "sequence ids of accepted chunks rise");
    this.#acceptedSeq = chunk.seq;
    // One whose time has come is in use already; replacing it by a later one would leave a gap.
    if (chunk.validFromNs > nowNs) this.#promoteDue(nowNs);
    if (this.#hasScheduled) this.#note(Evidence.Preempted, this.#scheduled, nowNs);
    this.#scheduled.copyFrom(chunk);
    this.#hasScheduled = true;
    if (chunk.validFromNs <= nowNs) this.#promote(nowNs);
    this.#assertOwnEpoch();
    return verdict;
  }

  /** The row that applies now, into `out`. NoAction when there is none. */
  sampleInto(out: ActionSample, nowNs: Instant): Reason {
    this.#assertOwnEpoch();
    this.#promoteDue(nowNs);
    if (this.#hasActive && nowNs >= this.#active.validUntilNs) {
      this.#hasActive = false;
      this.#note(Evidence.Expired, this.#active, nowNs);
    }
    out.tookOver = false;
    if (!this.#hasActive) return Reason.NoAction;
    const active = this.#active;
    out.schemaFingerprint = active.schemaFingerprint;
    out.width = active.width;
    out.epoch = active.epoch;
    out.seq = active.seq;
    out.stateStampNs = active.stateStampNs;
    out.row = this.#readInto(out.values, active, nowNs);
    this.#blendInto(out.values, nowNs);
    out.tookOver = this.#tookOver;
    this.#tookOver = false;
    return Reason.Ok;
  }

  /** Drops the chunk in use: the gate found that it may not begin. */
  voidActive(why: Evidence, nowNs: Instant): void {
    if (!this.#hasActive) return;
    this.#assertOwnEpoch();
    this.#hasActive = false;
    this.#note(why, this.#active, nowNs);
  }

  /** The barrier between episodes: all that was decided before is void, ids start again. */
  syncEpoch(epoch: number, nowNs: Instant): void {
    assert(epoch > this.#epoch, "epochs only rise");
    this.#assertOwnEpoch();
    if (this.#hasActive) this.#note(Evidence.Voided, this.#active, nowNs);
    if (this.#hasScheduled) this.#note(Evidence.Voided, this.#scheduled, nowNs);
    this.#epoch = epoch;
    this.#acceptedSeq = 0;
    this.#hasActive = false;
    this.#hasScheduled = false;
  }

  #assertOwnEpoch(): void {
    const epoch = this.#epoch;
    assert(!this.#hasActive || this.#active.epoch === epoch, "a chunk in use is of this epoch");
    assert(!this.#hasScheduled || this.#scheduled.epoch === epoch, "and so is one that waits");
  }

  // Comparisons are written so that a NaN is refused.
  #judge(chunk: ChunkView, nowNs: Instant): Evidence {
    const { record } = chunk;
    if (chunk.epoch !== this.#epoch) return Evidence.RejectedStaleEpoch;
    if (!(chunk.seq > this.#acceptedSeq)) return Evidence.RejectedOutOfOrder;
    const refusal = record[ChunkSlot.refusal]!;
    if (refusal !== 0) return refusal as Evidence;
    if (
      chunk.schemaFingerprint !== this.#fingerprint ||
      record[ChunkSlot.schemaVersion] !== ACTION_SCHEMA_VERSION
    ) {
      return Evidence.RejectedSchema;
    }
    if (chunk.width !== this.#jointCount) return Evidence.RejectedWidth;
    const { horizon } = chunk;
    if (!(horizon >= 1 && horizon <= HORIZON_MAX && Math.floor(horizon) === horizon)) {
      return Evidence.RejectedHorizon;
    }
    if (!this.#isFinite(chunk)) return Evidence.RejectedNotFinite;
    if (!(chunk.dtNs > 0 && chunk.dtNs <= DT_NS_MAX)) return Evidence.RejectedHorizon;
    if (!(nowNs < chunk.validUntilNs && chunk.validFromNs < chunk.validUntilNs)) {
      return Evidence.RejectedWindowOver;
    }
    const windowNs = chunk.validUntilNs - chunk.validFromNs;
    if (!(windowNs <= horizon * chunk.dtNs + OUTLIVE_NS_MAX)) return Evidence.RejectedHorizon;
    if (!(chunk.stateStampNs <= nowNs + FUTURE_NS_MAX)) return Evidence.RejectedStateInFuture;
    return Evidence.Accepted;
  }

  #isFinite(chunk: ChunkView): boolean {
    const { record, values } = chunk;
    for (let slot = ChunkSlot.seq; slot <= ChunkSlot.stateStampNs; slot += 1) {
      if (!Number.isFinite(record[slot]!)) return false;
    }
    const count = chunk.horizon * this.#jointCount;
    for (let index = 0; index < count; index += 1) {
      if (!Number.isFinite(values[index]!)) return false;
    }
    return true;
  }

  #promoteDue(nowNs: Instant): void {
    if (this.#hasScheduled && nowNs >= this.#scheduled.validFromNs) this.#promote(nowNs);
  }

  /** The scheduled chunk takes over; the one before fades, if the profile blends. */
  #promote(nowNs: Instant): void {
    assert(this.#hasScheduled, "a chunk takes over from where it waited");
    if (this.#hasActive) this.#note(Evidence.Preempted, this.#active, nowNs);
    const before = this.#fading;
    this.#fading = this.#active;
    this.#active = this.#scheduled;
    this.#scheduled = before;
    // The fade is over when the old rows are: else what is left of it would be a leap.
    this.#fadeNs = this.#hasActive ? Math.min(this.#blendNs, this.#fading.validUntilNs - nowNs) : 0;
    this.#hasActive = true;
    this.#hasScheduled = false;
    this.#tookOver = true;
    this.#active.record[ChunkSlot.activatedNs] = nowNs;
    if (this.#active.record[ChunkSlot.base] === ChunkBase.TakeoverCommand) this.#rebase(nowNs);
    this.#note(Evidence.Activated, this.#active, nowNs);
  }

  /**
   * Offsets become positions that go on from the command at takeover, which was for one period ago.
   * What a late chunk wanted to have moved before that is left out: the command never jumps to
   * catch up, and a motion that goes on from chunk to chunk keeps its speed.
   */
  #rebase(nowNs: Instant): void {
    const { values, horizon, dtNs, record } = this.#active;
    const width = this.#jointCount;
    const base = this.#scratch;
    const sinceNs = nowNs - this.#active.validFromNs;
    const row = Math.min(Math.floor(sinceNs / dtNs), horizon - 1);
    // A held row contains its own motion; between linear rows the motion is under way, and behind
    // the last of them it is over.
    const fromRow = this.#linear ? Math.max(0, Math.min(row, horizon - 2)) : row - 1;
    const beforeNs = sinceNs - this.#periodNs - fromRow * dtNs;
    const share = this.#linear ? Math.min(1, beforeNs / dtNs) : 0;
    for (let joint = 0; joint < width; joint += 1) {
      const from = fromRow < 0 ? 0 : values[fromRow * width + joint]!;
      const next = Math.min(fromRow + 1, horizon - 1) * width + joint;
      base[joint] = this.#command[joint]! - (from + (values[next]! - from) * share);
    }
    for (let at = 0; at < horizon; at += 1) {
      for (let joint = 0; joint < width; joint += 1) {
        const index = at * width + joint;
        if (this.#isPosition[joint] === 1) values[index] = values[index]! + base[joint]!;
      }
    }
    record[ChunkSlot.base] = ChunkBase.Absolute;
  }

  /** Row i covers [from + i·dt, from + (i+1)·dt): floor, never round. Returns the row. */
  #readInto(out: CommandVec, chunk: ChunkView, nowNs: Instant): number {
    const width = this.#jointCount;
    const { values, horizon, dtNs } = chunk;
    const sinceNs = nowNs - chunk.validFromNs;
    const row = Math.min(Math.floor(sinceNs / dtNs), horizon - 1);
    assert(row >= 0 && row < horizon, "a row is one of its chunk's");
    const here = row * width;
    if (!this.#linear || row === horizon - 1) {
      for (let joint = 0; joint < width; joint += 1) out[joint] = values[here + joint]!;
      return row;
    }
    const share = (sinceNs - row * dtNs) / dtNs;
    for (let joint = 0; joint < width; joint += 1) {
      const from = values[here + joint]!;
      out[joint] = from + (values[here + width + joint]! - from) * share;
    }
    return row;
  }

  #blendInto(out: CommandVec, nowNs: Instant): void {
    if (this.#fadeNs <= 0) return;
    const share = (nowNs - this.#active.record[ChunkSlot.activatedNs]!) / this.#fadeNs;
    if (share >= 1) return;
    const old = this.#scratch;
    this.#readInto(old, this.#fading, nowNs);
    for (let joint = 0; joint < this.#jointCount; joint += 1) {
      out[joint] = old[joint]! + (out[joint]! - old[joint]!) * share;
    }
  }
  readonly #scratch: CommandVec = new ActionSample(HORIZON_MAX).values;

  #note(code: Evidence, chunk: ChunkView, nowNs: Instant): void {
    this.#evidence.note(code, chunk.epoch, chunk.seq, nowNs);
  }
}
