// FlightRecorder: the last N ticks, always there, dumped when a fault asks for it. Writing is for
// the tick; dumping copies everything and is not.

import { assert } from "../contracts/assert.ts";
import type { TickSink } from "../contracts/tick-record.ts";

export class FlightRecorder implements TickSink {
  readonly #slots: Float64Array;
  readonly #recordSize: number;
  readonly #capacity: number;
  #written = 0;

  constructor(capacity: number, recordSize: number) {
    assert(capacity > 0 && recordSize > 0, "a flight recorder holds something");
    this.#capacity = capacity;
    this.#recordSize = recordSize;
    this.#slots = new Float64Array(capacity * recordSize);
  }

  get count(): number {
    return Math.min(this.#written, this.#capacity);
  }

  write(record: Float64Array): void {
    const base = (this.#written % this.#capacity) * this.#recordSize;
    for (let slot = 0; slot < this.#recordSize; slot += 1) this.#slots[base + slot] = record[slot]!;
    this.#written += 1;
  }

  /** Set-up only, never in a tick: copies of the kept records, oldest first. */
  dump(): Float64Array[] {
    const records: Float64Array[] = [];
    for (let index = this.#written - this.count; index < this.#written; index += 1) {
      const base = (index % this.#capacity) * this.#recordSize;
      records.push(this.#slots.slice(base, base + this.#recordSize));
    }
    return records;
  }
}
