// AskWord: says for a while that somebody wants something, here pictures. Whoever asks sets it to
// its full patience; the one who serves counts it down, so a viewer that leaves is soon forgotten.

import { assert } from "../contracts/assert.ts";

/** Rounds of the serving thread that one question lasts: two seconds of a camera at 20 Hz. */
const PATIENCE_ROUNDS = 40;

export class AskWord {
  readonly #words: Int32Array;

  constructor(words: Int32Array) {
    assert(words.length >= 1, "a question needs one word");
    this.#words = words;
  }

  ask(): void {
    Atomics.store(this.#words, 0, PATIENCE_ROUNDS);
  }

  get isAsked(): boolean {
    return Atomics.load(this.#words, 0) > 0;
  }

  /** Called once a round by the thread that serves. */
  decay(): void {
    if (Atomics.load(this.#words, 0) > 0) Atomics.sub(this.#words, 0, 1);
  }
}
