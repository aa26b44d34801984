// GoalTurn: how much the goals' own strides change in a tick, told from the strides alone. What
// chases a goal that turns has that much less, or more, to brake with.
//
// Goals are straight lines between the rows of a chunk, so a stride changes at a row and then not
// until the next: a change is spread over the time between rows, and two changes make one turn, as
// means over chunks go to and fro. Where two chunks meet, a goal may leap by a hair: a stride that
// does not last is none.

import type { JointLimits } from "./limits.ts";

/** A goal that keeps its stride for so long goes straight on: rows of 50 ms are ten ticks apart. */
const STRAIGHT_TICKS = 12;
/**
 * A stride lasts when it changes by less than this share of what it differs from the last one: on
 * a straight line by nothing, on a smooth bend once in four ticks.
 */
const LASTS_SHARE = 0.3;
/** Rounding of a difference of strides is below this. */
const CORNER_RAD = 1e-12;
/** Of what a joint may change: with more, too little would be left to catch up with. */
const TURN_SHARE_MAX = 0.9;

export class GoalTurn {
  /** What each goal's stride gains in a tick; 0 where no joint could follow that. */
  readonly turnRad: Float64Array;
  readonly #limits: JointLimits;
  /** The stride of the tick before, the last one that lasted, and what that one had gained. */
  readonly #beforeRad: Float64Array;
  readonly #lastedRad: Float64Array;
  readonly #gainedRad: Float64Array;
  /** Since that one, and between it and the one before: rows need not be equally far apart. */
  readonly #sinceTicks: Float64Array;
  readonly #spanTicks: Float64Array;
  #isKnown = false;

  /** Set-up only. */
  constructor(limits: JointLimits) {
    const { jointCount } = limits;
    this.#limits = limits;
    this.turnRad = new Float64Array(jointCount);
    this.#beforeRad = new Float64Array(jointCount);
    this.#lastedRad = new Float64Array(jointCount);
    this.#gainedRad = new Float64Array(jointCount);
    this.#sinceTicks = new Float64Array(jointCount);
    this.#spanTicks = new Float64Array(jointCount);
  }

  /** Nothing is known of the goals before the next tick. */
  forget(): void {
    this.turnRad.fill(0);
    this.#sinceTicks.fill(0);
    this.#spanTicks.fill(0);
    this.#gainedRad.fill(0);
    this.#isKnown = false;
  }

  /** One tick of goals that did not leap; their strides. */
  see(strideRad: Float64Array): void {
    const { jointCount, motionChangeRadMax } = this.#limits;
    if (!this.#isKnown) this.#lastedRad.set(strideRad);
    this.#isKnown = true;
    for (let joint = 0; joint < jointCount; joint += 1) {
      const stride = strideRad[joint]!;
      const gained = stride - this.#lastedRad[joint]!;
      const since = this.#sinceTicks[joint]! + 1;
      this.#sinceTicks[joint] = since;
      const moved = Math.abs(stride - this.#beforeRad[joint]!);
      this.#beforeRad[joint] = stride;
      if (Math.abs(gained) > CORNER_RAD && moved <= LASTS_SHARE * Math.abs(gained)) {
        const most = TURN_SHARE_MAX * motionChangeRadMax[joint]!;
        const turn = (gained + this.#gainedRad[joint]!) / (since + this.#spanTicks[joint]!);
        this.turnRad[joint] = Math.abs(turn) <= most ? turn : 0;
        this.#lastedRad[joint] = stride;
        this.#gainedRad[joint] = gained;
        this.#spanTicks[joint] = since;
        this.#sinceTicks[joint] = 0;
      } else if (since > STRAIGHT_TICKS) this.turnRad[joint] = 0;
    }
  }
}
