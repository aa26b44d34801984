// TickSignature: the e-stop's answer while it is earned. A tick begins it with the chip's question;
// each stage, once its work is done, folds in the token that stands in its own file; and only a
// tick that ran all stages in order ends with the word that the chip expects. No file holds two
// stages' order, and none but the port of the e-stop reads the result: tidy checks both.

import { assert } from "./assert.ts";
import { foldStage, openAnswer } from "./estop-answer.ts";
import type { Mode } from "./mode.ts";

/** A tick numbers itself in steps of this, and its further answers in between. */
export const ANSWERS_PER_TICK = 16;

export class TickSignature {
  /** Answers that this tick earns: none without an e-stop, one as a rule, more for a burst. */
  answerCount = 0;
  #tick = -1;
  #tickIndex = 0;
  readonly #words = new Uint32Array(ANSWERS_PER_TICK);

  /** Begins a tick; what an older one left is void. A tick that begins twice earns nothing. */
  begin(question: number, tick: number, answerCount: number): void {
    assert(answerCount >= 0 && answerCount <= ANSWERS_PER_TICK, "a tick gives up to 16 answers");
    this.answerCount = tick > this.#tick ? answerCount : 0;
    this.#tick = tick;
    this.#tickIndex = (tick * ANSWERS_PER_TICK) >>> 0;
    for (let within = 0; within < this.answerCount; within += 1) {
      this.#words[within] = openAnswer(question, this.tickIndex(within));
    }
  }

  /** A stage is done. Called by each stage once, last, with its own token. */
  fold(token: number): void {
    for (let within = 0; within < this.answerCount; within += 1) {
      this.#words[within] = foldStage(this.#words[within]!, token);
    }
  }

  /** The number under which one of the answers goes. */
  tickIndex(within: number): number {
    return (this.#tickIndex + within) >>> 0;
  }

  /** What the stages made of the question. For the port of the e-stop alone. */
  earnedAnswer(within: number): number {
    assert(within < this.answerCount, "the tick earned that many answers");
    return this.#words[within]!;
  }
}

/**
 * The authority beside the software, as a tick sees it: the e-stop's question comes in, a completed
 * tick answers, and a robot that doesn't obey asks to be cut. Whatever this program does, it also
 * cuts by itself when answers stay out.
 */
export interface HardwareSafety {
  /** Begins the signature of a tick with the newest question. May be called in the tick. */
  beginInto(signature: TickSignature, tick: number): void;
  /**
   * Takes the answers of a tick that ran to its end. `wantsCut` while a latched fault says that the
   * robot doesn't obey. May be called in the tick.
   */
  answer(signature: TickSignature, mode: Mode, wantsCut: boolean): void;
}

/** A run without an e-stop: nothing is asked and nothing answered. */
export const NO_ESTOP: HardwareSafety = {
  beginInto: (signature: TickSignature, tick: number): void => signature.begin(0, tick, 0),
  answer: (): void => undefined,
};
