// Control words: the few integers that every thread sees at once. Who asked to stop, what state
// each thread is in, whether it is alive, which tick the loop has reached, and where the phase grid
// began.
//
// Plain loads and stores only. `Atomics.wait` and `notify` are forbidden: their lock is shared by
// the whole process and knows no priorities. Each thread writes its own state and counter, nobody
// else's.

import { assert } from "../contracts/assert.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";

/** How far the stop has come. It only rises. */
export const StopLevel = {
  none: 0,
  motion: 1, // control ends its tick, drivers do the safe action and release, policies end
  records: 2, // nothing more will be written: the recorder drains and ends
} as const;
export type StopLevel = (typeof StopLevel)[keyof typeof StopLevel];

export const ThreadState = {
  starting: 0,
  ready: 1,
  running: 2,
  stopped: 3,
  crashed: 4,
} as const;
export type ThreadState = (typeof ThreadState)[keyof typeof ThreadState];

/** Numbers of the threads in the words. Append only. */
export const ThreadSlot = {
  main: 0,
  control: 1,
  robot: 2,
  estop: 3,
  camera: 4,
  policy: 5,
  recorder: 6,
} as const;
export type ThreadSlot = (typeof ThreadSlot)[keyof typeof ThreadSlot];

// One cache line for what all share, then one per thread, so that no counter slows another.
const LINE = 16;
const STOP = 0;
const TICK = 1;
const GRID_SET = 2;
const GRID_HIGH = 3;
const GRID_LOW = 4;
const CUES = 5;
const WORLD = 6;
const STATE = 0;
const ALIVE = 1;
const FAULTS = 2;
const TWO_32 = 0x1_0000_0000;

export const CONTROL_WORD_COUNT: number = LINE * (1 + Object.keys(ThreadSlot).length);

/** `gridOriginNs` before control has published it. */
export const GRID_UNSET: Instant = instant(-1);

export class ControlWords {
  #words: Int32Array;

  constructor(words: Int32Array) {
    assert(words.length >= CONTROL_WORD_COUNT, "the control words have their full length");
    this.#words = words;
  }

  /**
   * Leaves a cue for the control tick: one bit each, so that no flood of one can crowd out another,
   * and a stop can never be refused. The same cue twice before a tick is one cue.
   */
  raiseCue(cue: number): void {
    assert(cue > 0 && cue < 31, "a cue is a bit of a word");
    Atomics.or(this.#words, CUES, 1 << cue);
  }

  /** Takes all cues that wait, as bits. Only the control thread may. */
  takeCues(): number {
    return Atomics.load(this.#words, CUES) === 0 ? 0 : Atomics.exchange(this.#words, CUES, 0);
  }

  /** Asks for a stop. A lower level than the present one changes nothing. */
  requestStop(level: StopLevel): void {
    let present = Atomics.load(this.#words, STOP);
    while (present < level) {
      present = Atomics.compareExchange(this.#words, STOP, present, level);
    }
  }

  get stopLevel(): StopLevel {
    return Atomics.load(this.#words, STOP) as StopLevel;
  }

  /** True once motion is to end: what a pacer and a clock ask. */
  get stopped(): boolean {
    return Atomics.load(this.#words, STOP) !== StopLevel.none;
  }

  /** Main may also set `crashed` for a thread whose exit nobody asked for. */
  setState(thread: ThreadSlot, state: ThreadState): void {
    Atomics.store(this.#words, LINE * (1 + thread) + STATE, state);
  }

  state(thread: ThreadSlot): ThreadState {
    return Atomics.load(this.#words, LINE * (1 + thread) + STATE) as ThreadState;
  }

  /** Says that the thread went round its loop once more. Only the thread itself may. */
  beat(thread: ThreadSlot): void {
    Atomics.add(this.#words, LINE * (1 + thread) + ALIVE, 1);
  }

  /** How often the thread went round. Compare differences: it wraps at 2^31. */
  aliveCount(thread: ThreadSlot): number {
    return Atomics.load(this.#words, LINE * (1 + thread) + ALIVE);
  }

  /** Says which faults the thread finds in itself, as bits; 0 takes all back. */
  reportFaults(thread: ThreadSlot, faults: number): void {
    Atomics.store(this.#words, LINE * (1 + thread) + FAULTS, faults);
  }

  reportedFaults(thread: ThreadSlot): number {
    return Atomics.load(this.#words, LINE * (1 + thread) + FAULTS);
  }

  publishTick(tick: number): void {
    Atomics.store(this.#words, TICK, tick);
  }

  /** The tick that control last completed. */
  get tick(): number {
    return Atomics.load(this.#words, TICK);
  }

  /** The simulated world has run up to its phase of this beat of the grid. Only its driver may. */
  publishWorldBeat(beat: number): void {
    Atomics.store(this.#words, WORLD, beat);
  }

  /** The beat up to which the simulated world has run; 0 before its first. */
  get worldBeat(): number {
    return Atomics.load(this.#words, WORLD);
  }

  /** Control says once where its grid began; drivers sleep to origin + k * period + offset. */
  publishGridOrigin(originNs: Instant): void {
    Atomics.store(this.#words, GRID_HIGH, Math.floor(originNs / TWO_32));
    Atomics.store(this.#words, GRID_LOW, (originNs % TWO_32) | 0);
    Atomics.store(this.#words, GRID_SET, 1);
  }

  /** Where the grid began, or GRID_UNSET. */
  get gridOriginNs(): Instant {
    if (Atomics.load(this.#words, GRID_SET) === 0) return GRID_UNSET;
    const low = Atomics.load(this.#words, GRID_LOW) >>> 0;
    return instant(Atomics.load(this.#words, GRID_HIGH) * TWO_32 + low);
  }
}
