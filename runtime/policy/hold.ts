// HoldPolicy: stays where the episode found the robot. Every row is the same pose: the command of
// that moment, not the measured position, which gravity pulls down.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyContext } from "./context.ts";
import { PlanWriter } from "./plan-writer.ts";
import type { Plan } from "./plan-writer.ts";

export class HoldPolicy implements Policy, Plan {
  readonly name = "hold";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: PlanWriter;
  readonly #poseRad: Float64Array;
  #allocator = new SequenceAllocator(0);
  #begun = false;

  constructor(context: PolicyContext) {
    this.#writer = new PlanWriter(context);
    this.schema = this.#writer.schema;
    this.#poseRad = new Float64Array(context.robot.joints.length);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#writer.reset();
    this.#begun = false;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    if (!this.#begun || this.#writer.hasDeparted(state, this)) {
      this.#writer.startInto(this.#poseRad, state);
      this.#begun = true;
    }
    return this.#writer.write(state, this, this.#allocator, nowNs);
  }

  sampleInto(out: Float64Array): void {
    out.set(this.#poseRad);
  }
}
