// Bell: one thread wakes another that waits for it, for the two threads of a lockstep run.
//
// It blocks and it wakes, so no thread with a real-time priority may touch one: the lock behind
// `Atomics.wait` and `notify` is shared by the whole process and knows no priorities. Streaming
// threads poll on their own timers instead.

import { assert } from "../contracts/assert.ts";

export class Bell {
  readonly #words: Int32Array;

  /** One word, zero at first. One thread rings; any may wait. */
  constructor(words: Int32Array) {
    assert(words.length >= 1, "a bell needs one word");
    this.#words = words;
  }

  /** How often it was rung. Compare for equality only: it wraps. */
  get count(): number {
    return Atomics.load(this.#words, 0);
  }

  /** What the ringer wrote before is seen by whoever sees the new count. */
  ring(): void {
    Atomics.add(this.#words, 0, 1);
    Atomics.notify(this.#words, 0);
  }

  /** Blocks until the count is another than `seenCount`, `ms` at most. True if it is. */
  waitPast(seenCount: number, ms: number): boolean {
    Atomics.wait(this.#words, 0, seenCount, ms);
    return this.count !== seenCount;
  }
}
