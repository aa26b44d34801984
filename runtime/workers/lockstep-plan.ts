// The memory that a lockstep run and its policy thread share. Exactly one ask is under way at a
// time: the run writes state and ask and rings; the policy thread writes what it decided, then its
// answer, and rings back.

import { CHUNK_SLOT_COUNT } from "../contracts/action.ts";
import { EVIDENCE_SLOT_COUNT } from "../contracts/evidence.ts";
import { CHUNKS_PER_TICK_MAX } from "../contracts/policy.ts";
import { ERROR_TEXT_LENGTH_MAX } from "../policy/error-text.ts";
import type { ArenaPart } from "../shm/arena.ts";
import { CONTROL_WORD_COUNT } from "../shm/control-words.ts";
import { layoutOf, POLICY_STATUS_SLOT_COUNT } from "./plan.ts";
import type { RunPlan } from "./plan.ts";

export const AskKind = {
  /** Decide for `tick`, whose time is `nowNs`. */
  decide: 0,
  /** Only end what has begun: no tick may follow for a while, or ever. */
  settle: 1,
} as const;

export const AskSlot = { kind: 0, tick: 1, nowNs: 2 } as const;
const ASK_SLOT_COUNT = 3;

/** Before `dueTick` and `nextLookNs` there is nothing to ask, unless an answer is promised. */
export const AnswerSlot = { isPromised: 0, dueTick: 1, nextLookNs: 2 } as const;
const ANSWER_SLOT_COUNT = 3;

/** A decision is taken, begins and ends, and the policy hears of it before the next. */
const RECEIPT_RECORDS = 8 * CHUNKS_PER_TICK_MAX;

/** A text as numbers: its length, then its code units. */
const TextSlot = { length: 0, units: 1 } as const;

export function textInto(record: Float64Array, text: string): void {
  const length = Math.min(text.length, record.length - TextSlot.units);
  record[TextSlot.length] = length;
  for (let unit = 0; unit < length; unit += 1) {
    record[TextSlot.units + unit] = text.charCodeAt(unit);
  }
}

export function textFrom(record: Float64Array): string {
  const end = TextSlot.units + record[TextSlot.length]!;
  return String.fromCharCode(...record.subarray(TextSlot.units, end));
}

/** `runtime/README.md` names the one writer of each part. */
export function lockstepParts(run: RunPlan): readonly ArenaPart[] {
  const cell = (name: string, slotCount: number): ArenaPart => ({ kind: "cell", name, slotCount });
  const textSlotCount = TextSlot.units + ERROR_TEXT_LENGTH_MAX;
  return [
    { kind: "words", name: "control", wordCount: CONTROL_WORD_COUNT },
    { kind: "words", name: "ask-bell", wordCount: 1 },
    { kind: "words", name: "answer-bell", wordCount: 1 },
    cell("state", layoutOf(run).slotCount),
    cell("ask", ASK_SLOT_COUNT),
    cell("answer", ANSWER_SLOT_COUNT),
    cell("policy-status", POLICY_STATUS_SLOT_COUNT),
    cell("policy-error", textSlotCount),
    cell("policy-text", textSlotCount),
    cell("policy-trouble", textSlotCount),
    {
      kind: "ring",
      name: "chunks",
      slotCount: CHUNK_SLOT_COUNT,
      recordCount: CHUNKS_PER_TICK_MAX,
    },
    {
      kind: "ring",
      name: "receipts",
      slotCount: EVIDENCE_SLOT_COUNT,
      recordCount: RECEIPT_RECORDS,
    },
  ];
}
