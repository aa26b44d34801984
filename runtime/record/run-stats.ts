// RunStats: what a whole run looked like, told from its tick records and evidence alone. Status
// line, page and cadence report read it; since every number comes from records, they reconcile to
// the tick.

import { mayMove } from "../contracts/mode.ts";
import { REASON_COUNT, Reason } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { CommandKind, repairNames } from "../contracts/command.ts";
import { FAULT_COUNT } from "../../safety/faults.ts";
import type { Evidence, EvidenceSink } from "../contracts/evidence.ts";
import { DeadlineHistogram } from "../core/histogram.ts";
import { ChunkTally } from "./chunk-tally.ts";
import { ModeStory } from "./mode-story.ts";
import { ReleaseTale } from "./release-tale.ts";

export class RunStats implements TickSink, EvidenceSink {
  readonly wake = new DeadlineHistogram();
  readonly work = new DeadlineHistogram();
  /** Sample age at the tick, for ticks that had a sample. */
  readonly sampleAge = new DeadlineHistogram();
  /** From the readings that a chunk answers to its first motion, less the policy's own time. */
  readonly decision = new DeadlineHistogram();
  /** Ticks and entries per reason, control side. */
  readonly safeTicks = new Float64Array(REASON_COUNT);
  readonly safeEpisodes = new Float64Array(REASON_COUNT);
  readonly repairTicks = new Float64Array(repairNames.length);
  /** Ticks in which a fault was active; a warning changes no mode, so only this tells of it. */
  readonly faultTicks = new Float64Array(FAULT_COUNT);
  readonly chunks = new ChunkTally();
  readonly story = new ModeStory();
  readonly release = new ReleaseTale();
  /** A copy of the newest record. */
  readonly last: Float64Array;
  tickCount = 0;
  firstNs = 0;
  lastNs = 0;
  lateCount = 0;
  missedCount = 0;
  coverageGapCount = 0;
  readonly #lateNsMax: number;
  #lastReason: number = Reason.Ok;
  #firstTick = 0;
  #nextTick = 0;
  /** Records that never came, by the gaps in their numbers. */
  lostCount = 0;

  /** Ticks that begin later than `lateNsMax` are counted as late. */
  constructor(recordSize: number, lateNsMax: number) {
    this.last = new Float64Array(recordSize);
    this.#lateNsMax = lateNsMax;
  }

  /** What became of a chunk; before the record of its tick, so that a stop knows of it. */
  note(code: Evidence): void {
    this.chunks.note(code);
  }

  write(record: Float64Array): void {
    this.last.set(record);
    const tick = record[TickSlot.tick]!;
    const nowNs = record[TickSlot.nowNs]!;
    const reason = record[TickSlot.reason]!;
    const mode = record[TickSlot.mode]!;
    this.lostCount += tick - this.#nextTick;
    this.#nextTick = tick + 1;
    if (this.tickCount === 0) {
      this.firstNs = nowNs;
      this.#firstTick = tick;
    }
    this.tickCount += 1;
    this.lastNs = nowNs;
    this.#countTiming(record, tick);
    this.#countDecision(record, nowNs);
    if (reason !== Reason.Ok) {
      this.safeTicks[reason] = this.safeTicks[reason]! + 1;
      if (reason !== this.#lastReason) this.safeEpisodes[reason] = this.safeEpisodes[reason]! + 1;
      const inMotion = mayMove(mode);
      if (reason === Reason.NoAction && inMotion) this.coverageGapCount += 1;
    }
    this.#lastReason = reason;
    this.story.write(record, this.chunks);
    this.release.write(record);
    countBits(this.repairTicks, record[TickSlot.repairs]!);
    countBits(this.faultTicks, record[TickSlot.faults]!);
  }

  /** Takes a record that comes after the run's own last: only where the robot came to counts. */
  follow(record: Float64Array): void {
    this.last.set(record);
    this.release.write(record);
  }

  /** The newest modes in the order in which they came. For reports only: it copies. */
  get path(): number[] {
    return this.story.changes.map((change) => change.toMode);
  }

  /** Ticks per second between the first and the last record; 0 with fewer than two. */
  get rateHz(): number {
    const spanNs = this.lastNs - this.firstNs;
    return spanNs > 0 ? ((this.#nextTick - 1 - this.#firstTick) * 1e9) / spanNs : 0;
  }

  #countTiming(record: Float64Array, tick: number): void {
    const lateNs = record[TickSlot.lateNs]!;
    this.wake.add(lateNs);
    if (lateNs > this.#lateNsMax) this.lateCount += 1;
    this.missedCount += record[TickSlot.missedTicks]!;
    if (tick > 0) this.work.add(record[TickSlot.previousWorkNs]!);
    const sampledNs = record[TickSlot.sampledNs]!;
    if (Number.isFinite(sampledNs)) this.sampleAge.add(record[TickSlot.nowNs]! - sampledNs);
  }

  #countDecision(record: Float64Array, nowNs: number): void {
    const isFirst = record[TickSlot.activatedNs] === nowNs;
    if (!isFirst || record[TickSlot.kind] !== CommandKind.Motion) return;
    const thoughtNs = record[TickSlot.actEndNs]! - record[TickSlot.actStartNs]!;
    this.decision.add(nowNs - record[TickSlot.chunkStateStampNs]! - thoughtNs);
  }
}

function countBits(counts: Float64Array, bits: number): void {
  for (let bit = 0; bit < counts.length; bit += 1) {
    if (((bits >>> bit) & 1) === 1) counts[bit] = counts[bit]! + 1;
  }
}
