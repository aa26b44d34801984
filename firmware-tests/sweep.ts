// Sweep: a policy that takes the arm from one pose to another as fast as its profile allows: full
// acceleration, full speed, full deceleration. A policy of the tests, so that no plan of the
// product decides how fast the product is asked to go.

import type { ChunkView } from "../runtime/contracts/action.ts";
import { SequenceAllocator } from "../runtime/contracts/policy.ts";
import type { Policy } from "../runtime/contracts/policy.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { instant, NS_PER_S } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import type { ChunkWriter, PolicyContext } from "../runtime/policy/context.ts";

/** Below the gate's own limit, so that the corners of the speed are within its reach. */
export const ACCELERATION_SHARE = 0.9;
/**
 * With 0.2 kg the soft shoulder's torque is not enough for 0.9 of the profile's acceleration: it
 * falls behind and then catches up at 1.27 of its highest speed, just short of an overspeed.
 */
export const PAYLOAD_ACCELERATION_SHARE = 0.7;
/** With more it truly is one, at 1.30. */
export const OVERSPEED_ACCELERATION_SHARE = 0.95;

export class Sweep implements Policy {
  readonly name = "sweep";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #context: PolicyContext;
  readonly #writer: ChunkWriter;
  readonly #fromRad: Float64Array;
  readonly #toRad: Float64Array;
  readonly #accelerationShare: number;
  #allocator = new SequenceAllocator(0);
  #beginNs = -1;

  constructor(
    context: PolicyContext,
    fromRad: Float64Array,
    toRad: Float64Array,
    accelerationShare: number,
  ) {
    this.#context = context;
    this.#writer = context.writer(context.jointPositions);
    this.schema = this.#writer.schema;
    this.#fromRad = fromRad;
    this.#toRad = toRad;
    this.#accelerationShare = accelerationShare;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    if (this.#beginNs < 0) this.#beginNs = nowNs;
    const values = this.#writer.begin(state, this.#allocator);
    const { chunk, horizon, width } = this.#writer;
    // Rows on one grid from the beginning on, so that two chunks agree where they overlap.
    const { dtNs } = chunk;
    const fromNs = this.#beginNs + Math.floor((nowNs - this.#beginNs) / dtNs) * dtNs;
    for (let row = 0; row < horizon; row += 1) {
      const timeS = (fromNs + row * dtNs - this.#beginNs) / NS_PER_S;
      for (let joint = 0; joint < width; joint += 1) {
        values[row * width + joint] = this.#positionRad(joint, timeS);
      }
    }
    chunk.setWindow(instant(fromNs), instant(fromNs + horizon * dtNs));
    return chunk;
  }

  /** The joint's place on a trapezoid of speed. */
  #positionRad(joint: number, timeS: number): number {
    const { velocityRadPerSMax, motion } = this.#context.robot.joints[joint]!;
    const from = this.#fromRad[joint]!;
    const way = this.#toRad[joint]! - from;
    const length = Math.abs(way);
    const acceleration = this.#accelerationShare * motion.accelerationRadPerS2;
    const speed = Math.min(velocityRadPerSMax, Math.sqrt(length * acceleration));
    const rampS = speed / acceleration;
    const totalS = length === 0 ? 0 : length / speed + rampS;
    const sinceS = Math.min(timeS, totalS);
    const leftS = totalS - sinceS;
    const gone =
      sinceS < rampS
        ? (acceleration * sinceS * sinceS) / 2
        : leftS < rampS
          ? length - (acceleration * leftS * leftS) / 2
          : speed * (sinceS - rampS / 2);
    return from + Math.sign(way) * gone;
  }
}
