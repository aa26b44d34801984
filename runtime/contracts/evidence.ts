// Evidence: what the ActionBuffer did with each chunk, and why. One record each: code, epoch, seq,
// and the tick time at which it happened.

import type { Instant } from "./units.ts";

export const Evidence = {
  Accepted: 0,
  Activated: 1,
  Preempted: 2,
  Expired: 3,
  RejectedStaleEpoch: 4,
  RejectedOutOfOrder: 5,
  RejectedSchema: 6,
  RejectedWidth: 7,
  RejectedHorizon: 8,
  RejectedNotFinite: 9,
  RejectedWindowOver: 10,
  RejectedStateInFuture: 11,
  /** The gate found the first row too far from the last command and the profile says refuse. */
  RejectedStartMismatch: 12,
  /** The adapter met a pose that the arm cannot reach, or not without passing a singularity. */
  RejectedUnreachable: 13,
  RejectedSingular: 14,
  /** A new epoch emptied the buffer while the chunk was in it. */
  Voided: 15,
} as const;
export type Evidence = (typeof Evidence)[keyof typeof Evidence];

export const evidenceNames = [
  "accepted",
  "activated",
  "preempted",
  "expired",
  "rejected_stale_epoch",
  "rejected_out_of_order",
  "rejected_schema",
  "rejected_width",
  "rejected_horizon",
  "rejected_not_finite",
  "rejected_window_over",
  "rejected_state_in_future",
  "rejected_start_mismatch",
  "rejected_unreachable",
  "rejected_singular",
  "voided",
] as const;

/** True for what the buffer or the gate made of a chunk: taken, or refused and why. */
export const isVerdict = (code: Evidence): boolean =>
  code === Evidence.Accepted ||
  (code >= Evidence.RejectedStaleEpoch && code <= Evidence.RejectedSingular);

export const EvidenceSlot = { code: 0, epoch: 1, seq: 2, nowNs: 3 } as const;
export const EVIDENCE_SLOT_COUNT = 4;

export interface EvidenceSink {
  note(code: Evidence, epoch: number, seq: number, nowNs: Instant): void;
}
