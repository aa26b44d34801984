// EstopWish: what a person wants of the e-stop, from main to its driver thread. A goodbye is for
// good; a proof test and a reset are counts, so that none is asked twice and none is lost.

import { assert } from "../contracts/assert.ts";

const LEAVE = 0;
const PROVE = 1;
const RESET = 2;
export const ESTOP_WISH_WORD_COUNT = 3;

export class EstopWish {
  readonly #words: Int32Array;
  #proofsTaken = 0;
  #resetsTaken = 0;

  constructor(words: Int32Array) {
    assert(words.length >= ESTOP_WISH_WORD_COUNT, "the wishes have their words");
    this.#words = words;
  }

  /** Main: the run ends under control. */
  leave(): void {
    Atomics.store(this.#words, LEAVE, 1);
  }

  get isLeaving(): boolean {
    return Atomics.load(this.#words, LEAVE) === 1;
  }

  /** Main: a person wants the proof test again. */
  prove(): void {
    Atomics.add(this.#words, PROVE, 1);
  }

  /** Driver: whether a proof test was wanted since the last call. */
  takeProof(): boolean {
    const count = Atomics.load(this.#words, PROVE);
    const isNew = count !== this.#proofsTaken;
    this.#proofsTaken = count;
    return isNew;
  }
  /** Main: a person presses the reset of a board that takes one from the line. */
  reset(): void {
    Atomics.add(this.#words, RESET, 1);
  }

  /** Driver: whether a reset was pressed since the last call. */
  takeReset(): boolean {
    const count = Atomics.load(this.#words, RESET);
    const isNew = count !== this.#resetsTaken;
    this.#resetsTaken = count;
    return isNew;
  }
}
