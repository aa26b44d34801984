// AliveMonitor: judges from a table whether the other threads still turn.
//
// Each thread raises a counter of its own; every `CHECK_TICKS` ticks the control tick asks whether
// it moved enough. A thread that has never moved is not judged: it may still be starting. What a
// thread reports of itself counts in the very next tick, as far as its row lets it.

import { assert } from "../contracts/assert.ts";

/** How often the table is judged: 100 ms at 200 Hz, well inside every row's patience. */
const CHECK_TICKS = 20;

export type AliveRow = {
  readonly thread: string;
  /** Which counter. */
  readonly counterIndex: number;
  /** Checks in a row without a move before the fault is raised. */
  readonly checkCountMax: number;
  /** Fault bit to raise. */
  readonly faultBit: number;
  /** Fault bits that the thread may report of itself. */
  readonly reportMask: number;
};

/** Reads the alive counter of a thread. */
export interface AliveCounters {
  read(counterIndex: number): number;
  /** Fault bits that a thread reports of itself. */
  reported(counterIndex: number): number;
}

export class AliveMonitor {
  readonly #rows: readonly AliveRow[];
  readonly #counters: AliveCounters;
  readonly #last: Float64Array;
  readonly #still: Float64Array;
  #silent = 0;
  #tick = 0;

  constructor(rows: readonly AliveRow[], counters: AliveCounters) {
    for (const row of rows) assert(row.checkCountMax > 0, `${row.thread} gets at least one check`);
    this.#rows = rows;
    this.#counters = counters;
    this.#last = new Float64Array(rows.length);
    this.#still = new Float64Array(rows.length);
  }

  /** Bits of the faults that hold now. Called once a tick. */
  check(): number {
    this.#tick += 1;
    if (this.#tick % CHECK_TICKS === 0) this.#judgeSilence();
    let faults = this.#silent;
    for (let index = 0; index < this.#rows.length; index += 1) {
      const row = this.#rows[index]!;
      faults |= this.#counters.reported(row.counterIndex) & row.reportMask;
    }
    return faults;
  }

  #judgeSilence(): void {
    this.#silent = 0;
    for (let index = 0; index < this.#rows.length; index += 1) {
      const row = this.#rows[index]!;
      const count = this.#counters.read(row.counterIndex);
      const moved = count !== this.#last[index];
      this.#last[index] = count;
      this.#still[index] = moved || count === 0 ? 0 : this.#still[index]! + 1;
      if (this.#still[index]! >= row.checkCountMax) this.#silent |= row.faultBit;
    }
  }
}
