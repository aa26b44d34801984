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
  #filled = 0;

  constructor(jointCount: number) {
    this.#jointCount = jointCount;
    this.#entryCount = HEAD_COUNT + jointCount;
    this.#batch = new Float64Array(BATCH_TICKS * this.#entryCount);
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
    if (this.#filled === BATCH_TICKS) this.#flush();
  }

  /** Hex digest. Ends the hash: call once. */
  digest(): string {
    this.#flush();
    return this.#hash.digest("hex");
  }

  #flush(): void {
    if (this.#filled === 0) return;
    const sizeBytes = this.#filled * this.#entryCount * Float64Array.BYTES_PER_ELEMENT;
    this.#hash.update(new Uint8Array(this.#batch.buffer, 0, sizeBytes));
    this.#filled = 0;
  }
}
