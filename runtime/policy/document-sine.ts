// DocumentSinePolicy: every row is the position measured in the state it answers. With a sensor
// that reads a sine, the commands are that sine at the policy's cadence. Its place in time is left
// to the anchoring of the run.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { ChunkWriter, PolicyContext } from "./context.ts";

export class DocumentSinePolicy implements Policy {
  readonly name = "document-sine";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: ChunkWriter;
  #allocator = new SequenceAllocator(0);

  constructor(context: PolicyContext) {
    this.#writer = context.writer(context.jointPositions);
    this.schema = this.#writer.schema;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
  }

  act(state: StateView): ChunkView {
    const values = this.#writer.begin(state, this.#allocator);
    const { horizon, width, chunk } = this.#writer;
    for (let row = 0; row < horizon; row += 1) values.set(state.positionRad, row * width);
    return chunk;
  }
}
