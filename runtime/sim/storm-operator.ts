// StormOperator: presses stop, reset and start at random, and now and then reports what another
// thread would. It keeps its own account of whether a stop still stands, for the oracle.

import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";

export class StormOperator implements CuePort {
  /** A stop stands until a reset and, after it, a start. */
  isStopped = false;
  isStart = false;
  readonly #random: SeededRandom;
  readonly #ratio: number;
  #pressed: OperatorCue = OperatorCue.None;
  #wasReset = false;

  constructor(random: SeededRandom, ratio: number) {
    this.#random = random;
    this.#ratio = ratio;
  }

  /** Decides what is pressed before the next tick. */
  press(): void {
    const draw = this.#random.next() / this.#ratio;
    this.#pressed = OperatorCue.None;
    if (draw < 0.001) this.#pressed = OperatorCue.Stop;
    else if (draw < 0.002) this.#pressed = OperatorCue.MainSlow;
    else if (draw < 0.003) this.#pressed = OperatorCue.PolicyLost;
    else if (draw < 0.0032) this.#pressed = OperatorCue.Suspended;
    else if (draw < 0.015) this.#pressed = OperatorCue.Reset;
    else if (draw < 0.04) this.#pressed = OperatorCue.Start;
    this.isStart = this.#pressed === OperatorCue.Start;
    if (this.#pressed === OperatorCue.Stop) {
      this.isStopped = true;
      this.#wasReset = false;
    } else if (this.#pressed === OperatorCue.Reset) this.#wasReset = true;
    else if (this.isStart && this.#wasReset) this.isStopped = false;
  }

  takeCue(): OperatorCue {
    const cue = this.#pressed;
    this.#pressed = OperatorCue.None;
    return cue;
  }
}
