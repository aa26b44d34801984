// What the machine, and nothing else, took from a policy of a known latency: seen in the records of
// a run in real time, as ticks that came late and as answers that took longer than their host may.
// A tick without a decision counts as the machine's only where that explains it.

import { mayMove } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";

export type Steady = {
  readonly periodNs: number;
  /** How long a decision applies, from the stamp of its state. */
  readonly windowNs: number;
  /** Longest that an answer takes by itself. */
  readonly answerNsMax: number;
  /** Longest from one answer to the next question. */
  readonly pauseNsMax: number;
  /** An answer that takes longer is the machine's doing too: not where the host is on trial. */
  readonly forgivesAnswers: boolean;
};

/** Ticks that the machine did not hold up still come and go by so much. */
const SLACK_NS = 40e6;

/** From … until, ns, in the order of their beginnings. */
type Span = readonly [number, number];

const isGap = (record: Float64Array): boolean =>
  record[TickSlot.reason] === Reason.NoAction && mayMove(record[TickSlot.mode]!);

/** Times of ticks without a decision that no hold-up explains, ns. */
export function unexplainedGaps(records: readonly Float64Array[], steady: Steady): number[] {
  const { windowNs, answerNsMax, pauseNsMax, forgivesAnswers } = steady;
  // A decision still applies for so long when the one after the next question has to be there.
  const spareNs = windowNs - 2 * answerNsMax - pauseNsMax - SLACK_NS;
  const heldUp = lateTicks(records, steady);
  if (forgivesAnswers) heldUp.push(...lateAnswers(records, steady));
  heldUp.sort(([from], [other]) => from - other);
  return records
    .filter(isGap)
    .map((record) => record[TickSlot.nowNs]!)
    .filter((nowNs) => coveredNs(heldUp, nowNs - windowNs, nowNs) < spareNs);
}

function lateTicks(records: readonly Float64Array[], { periodNs }: Steady): Span[] {
  return records.slice(1).flatMap((record, before): Span[] => {
    const dueNs = records[before]![TickSlot.nowNs]! + periodNs;
    const nowNs = record[TickSlot.nowNs]!;
    return nowNs > dueNs ? [[dueNs, nowNs]] : [];
  });
}

function lateAnswers(records: readonly Float64Array[], { answerNsMax }: Steady): Span[] {
  return records.flatMap((record): Span[] => {
    const dueNs = record[TickSlot.chunkStateStampNs]! + answerNsMax;
    const arrivedNs = record[TickSlot.arrivedNs]!;
    return arrivedNs > dueNs ? [[dueNs, arrivedNs]] : [];
  });
}

/** How much of a stretch of time these cover together. */
function coveredNs(spans: readonly Span[], fromNs: number, untilNs: number): number {
  let coveredNs = 0;
  let reachedNs = fromNs;
  for (const [from, until] of spans) {
    const start = Math.max(from, reachedNs);
    const end = Math.min(until, untilNs);
    if (end <= start) continue;
    coveredNs += end - start;
    reachedNs = end;
  }
  return coveredNs;
}
