// LatestCell: one writer thread hands its newest record to one reader thread.
//
// Three slots change owner through one atomic exchange, so neither side waits, retries or sees a
// half-written record. A seqlock would be smaller, but its reader races with the writer and relies
// on plain reads staying before the second sequence check; JS Atomics do not promise that.
//
// Must hold: one LatestWriter and one LatestReader per cell in the whole process, for its whole
// life, because each remembers which slot it owns. A second reader gets a second cell.

import { assert } from "../contracts/assert.ts";

const INDEX = 3; // low bits: which slot nobody owns
const FRESH = 4; // set by the writer, cleared by the reader

/** `middle` is one control word, zero at first; `records` are three records of equal length. */
export type CellMemory = {
  readonly middle: Int32Array;
  readonly records: readonly Float64Array[];
};

export class LatestWriter {
  #memory: CellMemory;
  #back = 1; // zeroed memory then means: slot 0 is free, nothing is fresh

  constructor(memory: CellMemory) {
    assert(memory.records.length === 3, "a cell has three records");
    this.#memory = memory;
  }

  /** The record to fill next. It holds an old value, so every slot must be written. */
  get record(): Float64Array {
    return this.#memory.records[this.#back]!;
  }

  /** Hands the record over; `record` is another one afterwards. May be called in the tick. */
  publish(): void {
    this.#back = Atomics.exchange(this.#memory.middle, 0, this.#back | FRESH) & INDEX;
  }
}

export class LatestReader {
  #memory: CellMemory;
  #front = 2;

  constructor(memory: CellMemory) {
    assert(memory.records.length === 3, "a cell has three records");
    this.#memory = memory;
  }

  /** The record last taken. It stays as it is until the next `take`; all zero before the first. */
  get record(): Float64Array {
    return this.#memory.records[this.#front]!;
  }

  /** Moves to the newest record. False when nothing was published since the last take. */
  take(): boolean {
    if ((Atomics.load(this.#memory.middle, 0) & FRESH) === 0) return false;
    this.#front = Atomics.exchange(this.#memory.middle, 0, this.#front) & INDEX;
    return true;
  }
}
