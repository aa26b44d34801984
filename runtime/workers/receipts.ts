// Receipts: what became of a policy's decisions, from the tick to the thread that made them. A
// thread that is far behind misses the newest: they are only not told.

import { EVIDENCE_SLOT_COUNT, EvidenceSlot } from "../contracts/evidence.ts";
import type { Evidence, EvidenceSink } from "../contracts/evidence.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyRunner } from "../policy/runner.ts";
import type { RingReader, RingWriter } from "../shm/spsc-ring.ts";

export class ReceiptWriter implements EvidenceSink {
  readonly #ring: RingWriter;
  readonly #entry = new Float64Array(EVIDENCE_SLOT_COUNT);

  constructor(ring: RingWriter) {
    this.#ring = ring;
  }

  note(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    this.#entry[EvidenceSlot.code] = code;
    this.#entry[EvidenceSlot.epoch] = epoch;
    this.#entry[EvidenceSlot.seq] = seq;
    this.#entry[EvidenceSlot.nowNs] = nowNs;
    this.#ring.put(this.#entry);
  }
}

const receipt = new Float64Array(EVIDENCE_SLOT_COUNT);

/** Tells a policy all that has come since it was last told. */
export function hearReceipts(ring: RingReader, runner: Pick<PolicyRunner, "receipt">): void {
  const { code, epoch, seq, nowNs } = EvidenceSlot;
  while (ring.takeInto(receipt)) {
    const at = instant(receipt[nowNs]!);
    runner.receipt(receipt[code]! as Evidence, receipt[epoch]!, receipt[seq]!, at);
  }
}
