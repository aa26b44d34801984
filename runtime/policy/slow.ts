// Slow: every decision takes effect a fixed time after it was begun, and says so: its window and
// its `generated_at` lie in the future. Until then nothing of it can be executed, and nothing new
// is begun, as with a model that is still computing.

import { ChunkSlot } from "../contracts/action.ts";
import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";

export class SlowPolicy implements Policy {
  readonly name = "slow";
  readonly schema: ActionSchema;
  readonly selectsMode: boolean;
  readonly #inner: Policy;
  readonly #latencyNs: Duration;
  #readyNs = Number.NEGATIVE_INFINITY;

  constructor(inner: Policy, latencyNs: Duration) {
    this.schema = inner.schema;
    this.selectsMode = inner.selectsMode;
    this.#inner = inner;
    this.#latencyNs = latencyNs;
  }

  reset(epoch: number, allocator: SequenceAllocator): void {
    this.#readyNs = Number.NEGATIVE_INFINITY;
    this.#inner.reset(epoch, allocator);
  }

  act(state: StateView, nowNs: Instant): ChunkView | null | Promise<ChunkView | null> {
    if (nowNs < this.#readyNs) return null;
    const readyNs = instant(nowNs + this.#latencyNs);
    this.#readyNs = readyNs;
    const answer = this.#inner.act(state, nowNs);
    if (answer instanceof Promise) return answer.then((chunk) => delayed(chunk, readyNs));
    return delayed(answer, readyNs);
  }
}

function delayed(chunk: ChunkView | null, readyNs: Instant): ChunkView | null {
  if (chunk === null) return null;
  chunk.record[ChunkSlot.generatedNs] = readyNs;
  chunk.setWindow(readyNs, instant(readyNs + chunk.horizon * chunk.dtNs));
  return chunk;
}
