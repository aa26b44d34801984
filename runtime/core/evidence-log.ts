// EvidenceLog: the evidence of the last ticks in fixed memory, with a count per code over the whole
// run. The oldest entry goes when the log is full; the counts never do.

import { EVIDENCE_SLOT_COUNT, EvidenceSlot, evidenceNames } from "../contracts/evidence.ts";
import type { Evidence, EvidenceSink } from "../contracts/evidence.ts";
import type { Instant } from "../contracts/units.ts";

/** At 20 decisions a second with three entries each this is over four seconds. */
const CAPACITY = 256;

export class EvidenceLog implements EvidenceSink {
  readonly counts = new Float64Array(evidenceNames.length);
  readonly #slots = new Float64Array(CAPACITY * EVIDENCE_SLOT_COUNT);
  #written = 0;

  note(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    this.counts[code] = this.counts[code]! + 1;
    const base = (this.#written % CAPACITY) * EVIDENCE_SLOT_COUNT;
    this.#slots[base + EvidenceSlot.code] = code;
    this.#slots[base + EvidenceSlot.epoch] = epoch;
    this.#slots[base + EvidenceSlot.seq] = seq;
    this.#slots[base + EvidenceSlot.nowNs] = nowNs;
    this.#written += 1;
  }

  get written(): number {
    return this.#written;
  }

  /** Set-up only, never in a tick: copies of the kept entries, oldest first. */
  dump(): Float64Array[] {
    const entries: Float64Array[] = [];
    for (let index = Math.max(0, this.#written - CAPACITY); index < this.#written; index += 1) {
      const base = (index % CAPACITY) * EVIDENCE_SLOT_COUNT;
      entries.push(this.#slots.slice(base, base + EVIDENCE_SLOT_COUNT));
    }
    return entries;
  }
}
