// Stand: what `hold` is for a robot with joints that take velocities: every joint wants none. Where
// a position joint then stays is its command at takeover, as with every integrated velocity.

import { jointSchema } from "../contracts/action.ts";
import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { ChunkWriter, PolicyContext } from "./context.ts";

export class StandPolicy implements Policy {
  readonly name = "hold";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: ChunkWriter;
  #allocator = new SequenceAllocator(0);

  constructor(context: PolicyContext) {
    const names = context.robot.joints.map((joint) => joint.name);
    this.schema = jointSchema("joint_vel", names);
    this.#writer = context.writer(this.schema);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
  }

  act(state: StateView): ChunkView {
    const { horizon, width, chunk } = this.#writer;
    this.#writer.begin(state, this.#allocator).fill(0, 0, horizon * width);
    return chunk;
  }
}

/** Some of its joints take velocities, so rows of positions mean nothing to it. */
export const takesVelocities = ({ robot }: PolicyContext): boolean =>
  robot.joints.some((joint) => joint.command === "velocity");
