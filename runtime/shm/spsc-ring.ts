// SpscRing: a bounded queue of fixed-size records from one writer thread to one reader thread, for
// what must not be skipped: chunks, cues, evidence.
//
// A full ring refuses the record and counts it; it never waits and never overwrites. Counters run
// through 2^32 and wrap, which a capacity that is a power of two makes harmless.
//
// Must hold: one RingWriter and one RingReader per ring in the whole process.

import { assert } from "../contracts/assert.ts";

/** Where the ring's counters lie in its words: one cache line each. */
export const RingWord = { written: 0, read: 16, refused: 32 } as const;
export const RING_WORD_COUNT = 48;

/** `records` are views of equal length, as many as the ring can hold: a power of two. */
export type RingMemory = {
  readonly words: Int32Array;
  readonly records: readonly Float64Array[];
};

export class RingWriter {
  #words: Int32Array;
  #records: readonly Float64Array[];
  #written: number;

  constructor(memory: RingMemory) {
    assertPowerOfTwo(memory.records.length);
    this.#words = memory.words;
    this.#records = memory.records;
    this.#written = Atomics.load(memory.words, RingWord.written);
  }

  /** Copies `record` in. False when the ring is full: then it is counted and nothing is kept. */
  put(record: Float64Array): boolean {
    const capacityCount = this.#records.length;
    const written = this.#written;
    if (((written - Atomics.load(this.#words, RingWord.read)) | 0) >= capacityCount) {
      Atomics.add(this.#words, RingWord.refused, 1);
      return false;
    }
    this.#records[written & (capacityCount - 1)]!.set(record);
    this.#written = (written + 1) | 0;
    Atomics.store(this.#words, RingWord.written, this.#written);
    return true;
  }

  /** How many records were refused since the start. */
  get refusedCount(): number {
    return Atomics.load(this.#words, RingWord.refused);
  }
}

export class RingReader {
  #words: Int32Array;
  #records: readonly Float64Array[];
  #read: number;

  constructor(memory: RingMemory) {
    assertPowerOfTwo(memory.records.length);
    this.#words = memory.words;
    this.#records = memory.records;
    this.#read = Atomics.load(memory.words, RingWord.read);
  }

  /** How many records wait to be read. */
  get pendingCount(): number {
    return (Atomics.load(this.#words, RingWord.written) - this.#read) | 0;
  }

  /** How many records the writer had to refuse since the start. */
  get refusedCount(): number {
    return Atomics.load(this.#words, RingWord.refused);
  }

  /** Copies the oldest record into `out` and frees its place. False when the ring is empty. */
  takeInto(out: Float64Array): boolean {
    if (this.pendingCount === 0) return false;
    out.set(this.#records[this.#read & (this.#records.length - 1)]!);
    this.release();
    return true;
  }

  /** The oldest record itself, only while `pendingCount > 0`; it dies at `release`. */
  borrow(): Float64Array {
    assert(this.pendingCount > 0, "only a pending record can be borrowed");
    return this.#records[this.#read & (this.#records.length - 1)]!;
  }

  /** Frees the place of the record last borrowed. */
  release(): void {
    assert(this.pendingCount > 0, "only a pending record can be released");
    this.#read = (this.#read + 1) | 0;
    Atomics.store(this.#words, RingWord.read, this.#read);
  }
}

function assertPowerOfTwo(count: number): void {
  assert(count > 0 && (count & (count - 1)) === 0, "a ring's capacity is a power of two");
}
