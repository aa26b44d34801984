// ModeStory: how a run's mode went, change by change, and what led into the stop that it is in. A
// fault may be over long before anybody looks; its name must not be.
//
// Told from tick records. The newest changes are kept whole; the phases, in which RUNNING with its
// dips into DEGRADED is one, are few, because only a person begins a new one.

import { mayMove, Mode, OperatorCue } from "../contracts/mode.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import { Fault, faultRows } from "../../safety/faults.ts";
import type { Severity } from "../../safety/faults.ts";
import type { ChunkTally, Refusal } from "./chunk-tally.ts";

/** Changes and phases kept; a run with more is told by its last ones. */
const KEPT_COUNT_MAX = 256;

/** One change of mode, with what its tick said. */
export type ModeChange = {
  /** -1: the first mode of the run. */
  readonly fromMode: number;
  readonly toMode: number;
  readonly nowNs: number;
  readonly reason: number;
  /** Bit per fault that was active, in the order of the fault table. */
  readonly faultBits: number;
  /** Bit per cue that came in. */
  readonly cueBits: number;
  /** What the action buffer had refused by then. */
  readonly refusal: Refusal | undefined;
};

/** A stretch of one mode; RUNNING and DEGRADED are one, which counts its dips by their fault. */
export type ModePhase = {
  readonly change: ModeChange;
  readonly dips: Map<number, number>;
};

const isStop = (mode: number): boolean => mode === Mode.SafeStop || mode === Mode.FaultLatched;

export class ModeStory {
  /** The newest changes, oldest first. The first mode of a run is one. */
  readonly changes: ModeChange[] = [];
  /** The newest phases, oldest first. */
  readonly phases: ModePhase[] = [];
  /** All changes, those no longer kept included. */
  changeCount = 0;
  /** The change into the stop that the run is in; undefined when it is in none. */
  stop: ModeChange | undefined;

  write(record: Float64Array, chunks: ChunkTally): void {
    const toMode = record[TickSlot.mode]!;
    const fromMode = this.changes.at(-1)?.toMode ?? -1;
    if (toMode === fromMode) return;
    const change: ModeChange = {
      fromMode,
      toMode,
      nowNs: record[TickSlot.nowNs]!,
      reason: record[TickSlot.reason]!,
      faultBits: record[TickSlot.faults]!,
      cueBits: record[TickSlot.cues]!,
      refusal: chunks.refusal,
    };
    this.changeCount += 1;
    keep(this.changes, change);
    this.stop = isStop(toMode) ? change : undefined;
    if (!mayMove(fromMode) || !mayMove(toMode)) keep(this.phases, { change, dips: new Map() });
    if (toMode === Mode.Degraded) this.#countDip(causeOf(change));
  }

  #countDip(fault: number): void {
    const { dips } = this.phases.at(-1)!;
    dips.set(fault, (dips.get(fault) ?? 0) + 1);
  }
}

function keep<Item>(items: Item[], item: Item): void {
  if (items.length === KEPT_COUNT_MAX) items.shift();
  items.push(item);
}

const severities: readonly Severity[] = ["latch", "stop", "degraded"];

/**
 * The fault behind a change: the worst that was active, then one that stops at once, then the first
 * of the table; -1 when only a person or nothing at all is behind it. A person's stop is behind no
 * latch.
 */
export function causeOf({ fromMode, toMode, faultBits }: ModeChange): Fault | -1 {
  const bits = toMode === Mode.FaultLatched ? faultBits & ~(1 << Fault.OperatorStop) : faultBits;
  for (const severity of severities) {
    const rows = faultRows.filter((each) => each.severity === severity && hasBit(bits, each.fault));
    // In SAFE_STOP all are patient, and none is ahead of another.
    const atOnce = rows.find((row) => row.persist === "at_once" && fromMode !== Mode.SafeStop);
    const row = atOnce ?? rows[0];
    if (row !== undefined) return row.fault;
  }
  return -1;
}

/** Whether a change is the stop at the end of a run. */
export const isShutdown = ({ cueBits }: ModeChange): boolean =>
  hasBit(cueBits, OperatorCue.Shutdown);

const hasBit = (bits: number, bit: number): boolean => ((bits >>> bit) & 1) === 1;
