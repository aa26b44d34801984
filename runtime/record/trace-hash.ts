// TraceHash: SHA-256 over what every tick decided, the fingerprint by which two runs are compared.
// Tick number, time, reason, mode, kind and command of each tick, as little-endian float64.

import { createHash } from "node:crypto";
import { TickSlot } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";

const HEAD_COUNT = 5;
/** Ticks gathered before the hash is fed: one call per 256 ticks costs nothing that shows. */
const BATCH_TICKS = 256;

export class TraceHash implements TickSink {
  readonly #hash = createHash("sha256");
  readonly #jointCount: number;
  readonly #entryCount: number;
  readonly #batch: Float64Array;
  readonly #bytes: Uint8Array;
  #filled = 0;

  constructor(jointCount: number) {
    this.#jointCount = jointCount;
    this.#entryCount = HEAD_COUNT + jointCount;
    this.#batch = new Float64Array(BATCH_TICKS * this.#entryCount);
    this.#bytes = new Uint8Array(this.#batch.buffer);
  }

  write(record: Float64Array): void {
    const base = this.#filled * this.#entryCount;
    const batch = this.#batch;
    batch[base] = record[TickSlot.tick]!;
    batch[base + 1] = record[TickSlot.nowNs]!;
    batch[base + 2] = record[TickSlot.reason]!;
    batch[base + 3] = record[TickSlot.mode]!;
    batch[base + 4] = record[TickSlot.kind]!;
    const command = TickSlot.joints + this.#jointCount;
    for (let joint = 0; joint < this.#jointCount; joint += 1) {
      batch[base + HEAD_COUNT + joint] = record[command + joint]!;
    }
    this.#filled += 1;
    if (this.#filled < BATCH_TICKS) return;
    this.#hash.update(this.#bytes);
    this.#filled = 0;
  }

  /** Hex digest. Ends the hash: call once, after the run; like set-up only, never in a tick. */
  digest(): string {
    const sizeBytes = this.#filled * this.#entryCount * Float64Array.BYTES_PER_ELEMENT;
    this.#hash.update(this.#bytes.subarray(0, sizeBytes));
    return this.#hash.digest("hex");
  }
}
