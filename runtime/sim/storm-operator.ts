// StormOperator: presses stop, reset and start at random, and now and then reports what another
// thread would, or puts the machine to sleep. It keeps its own account of whether a stop still
// stands, for the oracle.

import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";
import { duration, NS_PER_S } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { NO_WORLD } from "../core/machine-watch.ts";
import type { MachinePort } from "../core/machine-watch.ts";

/** Of one in a hurry: every decision from before the stop would still be valid. */
const RESET_TICKS = 2;
const START_TICKS = 4;

export class StormOperator implements CuePort, MachinePort {
  /** A stop stands until a reset and, after it, a start. */
  isStopped = false;
  isStart = false;
  /** The last tick before which stop was pressed; -1 before the first. */
  stoppedTick = -1;
  readonly #random: SeededRandom;
  readonly #ratio: number;
  #pressed: OperatorCue = OperatorCue.None;
  #suspendedNs = 0;
  #wasReset = false;
  #isHasty = false;

  constructor(random: SeededRandom, ratio: number) {
    this.#random = random;
    this.#ratio = ratio;
  }

  /** Decides what is pressed before this tick. */
  press(tick: number): void {
    this.#pressed = this.#choose(tick);
    this.isStart = this.#pressed === OperatorCue.Start;
    if (this.#pressed === OperatorCue.Stop) {
      this.isStopped = true;
      this.stoppedTick = tick;
      this.#wasReset = false;
    } else if (this.#pressed === OperatorCue.Reset) this.#wasReset = true;
    else if (this.isStart && this.#wasReset) this.isStopped = false;
  }

  #choose(tick: number): OperatorCue {
    const draw = this.#random.next() / this.#ratio;
    const sinceStop = tick - this.stoppedTick;
    if (this.#isHasty && sinceStop === RESET_TICKS) return OperatorCue.Reset;
    if (this.#isHasty && sinceStop === START_TICKS) return OperatorCue.Start;
    if (draw < 0.001) {
      this.#isHasty = this.#random.next() < 0.5;
      return OperatorCue.Stop;
    }
    if (draw < 0.002) return OperatorCue.MainSlow;
    if (draw < 0.003) return OperatorCue.PolicyLost;
    if (draw < 0.0032) {
      this.#suspendedNs += NS_PER_S;
      return OperatorCue.None;
    }
    if (draw < 0.015) return OperatorCue.Reset;
    return draw < 0.04 ? OperatorCue.Start : OperatorCue.None;
  }

  suspendedNs(): Duration {
    return duration(this.#suspendedNs);
  }

  worldNs(): Instant {
    return NO_WORLD;
  }

  takeCue(): OperatorCue {
    const cue = this.#pressed;
    this.#pressed = OperatorCue.None;
    return cue;
  }
}
