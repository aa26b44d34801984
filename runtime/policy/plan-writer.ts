// PlanWriter: chunks cut out of a plan that knows where every joint should be at every moment.
//
// Rows lie on one grid of the profile's step, which begins with the epoch, and each chunk names its
// window on it. So two chunks of one plan agree wherever they overlap, however late either comes.
// Plans go on from the last command, never from the measured position: gravity would walk the arm.

import type { SequenceAllocator } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import type { StateView } from "../contracts/state.ts";
import { instant, NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { ChunkWriter, PolicyContext } from "./context.ts";

/** Where every joint should be at a moment of session time, rad, or in the plan's own space. */
export interface Plan {
  sampleInto(out: Float64Array, atNs: number): void;
}

// The gate keeps a command this close to the measured position, plus a little for rounding. What
// lies farther was never a command: nothing has been sent yet.
const LEAD_SLACK = 1.1;
// Share of the start mismatch at which a plan gives up a robot that was held back, before the gate
// refuses its chunks.
export const DEPARTURE_SHARE = 0.5;

export class PlanWriter {
  readonly #writer: ChunkWriter;
  readonly #dtNs: number;
  readonly #commandReachRad: Float64Array;
  readonly #departureRad: Float64Array;
  readonly #row: Float64Array;
  #gridNs = -1;

  constructor(context: PolicyContext, schema: ActionSchema = context.jointPositions) {
    const { joints, policy } = context.robot;
    this.#writer = context.writer(schema);
    this.#dtNs = policy.dtNs;
    this.#row = new Float64Array(joints.length);
    this.#commandReachRad = Float64Array.from(joints, (joint) => LEAD_SLACK * leadReachRad(joint));
    this.#departureRad = Float64Array.from(
      joints,
      (joint) => DEPARTURE_SHARE * joint.startMismatchRadMax,
    );
  }

  get schema(): ChunkWriter["schema"] {
    return this.#writer.schema;
  }

  /** A new epoch begins: so does the grid, with the next chunk. */
  reset(): void {
    this.#gridNs = -1;
  }

  /** Where a plan that begins now has to begin. */
  startInto(out: Float64Array, state: StateView): void {
    for (let joint = 0; joint < out.length; joint += 1) {
      const command = state.command[joint]!;
      const measured = state.positionRad[joint]!;
      const isReal = Math.abs(command - measured) <= this.#commandReachRad[joint]!;
      out[joint] = isReal ? command : measured;
    }
  }

  /**
   * True when the robot was not where the plan had it: it was held back, or put elsewhere. A joint
   * whose plan depends on what it meets may be left out.
   */
  hasDeparted(state: StateView, plan: Plan, exceptJoint = -1): boolean {
    plan.sampleInto(this.#row, state.stampNs);
    for (let joint = 0; joint < this.#row.length; joint += 1) {
      if (joint === exceptJoint) continue;
      const off = Math.abs(this.#row[joint]! - state.command[joint]!);
      // Negated, so that NaN counts as departed.
      if (!(off <= this.#departureRad[joint]!)) return true;
    }
    return false;
  }

  /** The chunk of the plan from now on. It stays this writer's own memory. */
  write(state: StateView, plan: Plan, allocator: SequenceAllocator, nowNs: Instant): ChunkView {
    const values = this.#writer.begin(state, allocator);
    if (this.#gridNs < 0) this.#gridNs = nowNs;
    const dtNs = this.#dtNs;
    const fromNs = this.#gridNs + Math.floor((nowNs - this.#gridNs) / dtNs) * dtNs;
    const { horizon, width, chunk } = this.#writer;
    for (let row = 0; row < horizon; row += 1) {
      plan.sampleInto(this.#row, fromNs + row * dtNs);
      values.set(this.#row, row * width);
    }
    chunk.setWindow(instant(fromNs), instant(fromNs + horizon * dtNs));
    return chunk;
  }
}

/** How far the gate lets a command lie from the measured position. */
export function leadReachRad(joint: RobotProfile["joints"][number]): number {
  return (joint.velocityRadPerSMax * joint.leadNs) / NS_PER_S + joint.droopRad;
}
