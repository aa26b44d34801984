// PoseCheck: whether measured positions may be believed enough to begin a command there.
//
// A command that begins where one bad sample says the robot is would leave every limit in one tick.
// So a pose counts only after several samples in a row that lie within the joints' ranges and agree
// with each other: no joint further from its last sample than it can have gone. It judges where a
// command begins and nothing else; what follows is bounded by the limiter.

import { assert } from "../runtime/contracts/assert.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import type { JointLimits } from "./limits.ts";

/** Samples that must agree: chance rarely repeats itself, a broken wire seldom moves plausibly. */
const SAMPLES_MIN = 3;
/** Two readings of a joint at rest differ by this at most: a servo's backlash is half of it. */
const REST_RAD = 0.02;
/** A joint driven from outside may be faster than its own limit. */
const SPEED_RATIO_MAX = 1.25;

export class PoseCheck {
  readonly #limits: JointLimits;
  readonly #slackRad: Float64Array;
  readonly #speedRadPerSMax: Float64Array;
  readonly #samplesMin: number;
  readonly #lastRad: Float64Array;
  #lastNs = Number.NEGATIVE_INFINITY;
  #agreeing = 0;

  /** A profile that starts in RUNNING has no time to compare samples: one within range counts. */
  constructor(profile: RobotProfile, limits: JointLimits) {
    this.#limits = limits;
    this.#slackRad = Float64Array.from(profile.joints, (joint) => joint.droopRad + REST_RAD);
    this.#speedRadPerSMax = Float64Array.from(
      profile.joints,
      (joint) => SPEED_RATIO_MAX * joint.velocityRadPerSMax,
    );
    this.#samplesMin = profile.supervisor.startsIn === "Running" ? 1 : SAMPLES_MIN;
    this.#lastRad = new Float64Array(profile.joints.length);
  }

  /** The newest samples agree on where the robot is. */
  get trusted(): boolean {
    return this.#agreeing >= this.#samplesMin;
  }

  /** Takes the state of a tick. The same sample twice counts once. */
  observe(state: StateView): void {
    assert(state.positionRad.length === this.#lastRad.length, "one measured position per joint");
    const { stampNs } = state;
    if (stampNs === this.#lastNs) return;
    const isFirst = this.#agreeing === 0 || this.#samplesMin === 1;
    const agrees = this.#inRange(state) && (isFirst || this.#follows(state));
    this.#agreeing = agrees ? Math.min(this.#agreeing + 1, this.#samplesMin) : 0;
    this.#lastNs = stampNs;
    for (let joint = 0; joint < this.#lastRad.length; joint += 1) {
      this.#lastRad[joint] = state.positionRad[joint]!;
    }
  }

  // Comparisons are written so that a NaN is refused.
  #inRange(state: StateView): boolean {
    const { isVelocity, positionRadMin, positionRadMax } = this.#limits;
    for (let joint = 0; joint < this.#lastRad.length; joint += 1) {
      const measuredRad = state.positionRad[joint]!;
      if (!Number.isFinite(measuredRad)) return false;
      if (isVelocity[joint] === 1) continue;
      const slackRad = this.#slackRad[joint]!;
      const above = measuredRad >= positionRadMin[joint]! - slackRad;
      if (!(above && measuredRad <= positionRadMax[joint]! + slackRad)) return false;
    }
    return true;
  }

  #follows(state: StateView): boolean {
    const lengthS = (state.stampNs - this.#lastNs) / 1e9;
    for (let joint = 0; joint < this.#lastRad.length; joint += 1) {
      const movedRad = Math.abs(state.positionRad[joint]! - this.#lastRad[joint]!);
      const reachRad = this.#speedRadPerSMax[joint]! * lengthS + REST_RAD;
      if (!(movedRad <= reachRad)) return false;
    }
    return true;
  }
}
