// SinePolicy: every joint swings a little around the pose the episode began in. It depends on state
// and time alone, so a run with it replays bit for bit. The swing grows from nothing in the first
// period and never leaves the joint's range.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { JointProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { sin } from "../contracts/trig.ts";
import { NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyContext } from "./context.ts";
import { minimumJerk } from "./minimum-jerk.ts";
import { PlanWriter } from "./plan-writer.ts";
import type { Plan } from "./plan-writer.ts";

// Seen with the naked eye, and 0.25 rad/s and 0.4 rad/s2 at most: an eighth of a slow arm's limits.
const AMPLITUDE_RAD = 0.15;
const PERIOD_S = 4;
const TURN_RAD = 2 * Math.PI;

export class SinePolicy implements Policy, Plan {
  readonly name: string = "sine";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: PlanWriter;
  readonly #joints: readonly JointProfile[];
  readonly #centreRad: Float64Array;
  readonly #amplitudeRad: Float64Array;
  #allocator = new SequenceAllocator(0);
  #startNs = -1;

  constructor(context: PolicyContext) {
    const { joints } = context.robot;
    this.#writer = new PlanWriter(context);
    this.schema = this.#writer.schema;
    this.#joints = joints;
    this.#centreRad = new Float64Array(joints.length);
    this.#amplitudeRad = new Float64Array(joints.length);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#writer.reset();
    this.#startNs = -1;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    if (this.#startNs < 0 || this.#writer.hasDeparted(state, this)) this.#begin(state);
    return this.#writer.write(state, this, this.#allocator, nowNs);
  }

  sampleInto(out: Float64Array, atNs: number): void {
    const periods = Math.max(0, atNs - this.#startNs) / NS_PER_S / PERIOD_S;
    const swing = minimumJerk(periods) * sin(TURN_RAD * (periods % 1));
    for (let joint = 0; joint < out.length; joint += 1) {
      out[joint] = this.#centreRad[joint]! + this.#amplitudeRad[joint]! * swing;
    }
  }

  #begin(state: StateView): void {
    this.#startNs = state.stampNs;
    this.#writer.startInto(this.#centreRad, state);
    for (const [index, joint] of this.#joints.entries()) {
      const centreRad = this.#centreRad[index]!;
      const roomRad = Math.min(centreRad - joint.positionRadMin, joint.positionRadMax - centreRad);
      this.#amplitudeRad[index] = Math.min(AMPLITUDE_RAD, Math.max(0, roomRad));
    }
  }
}
