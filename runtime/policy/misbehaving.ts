// Misbehaving: an inner policy whose decisions are spoiled on their way out. It ships so that a
// person can watch the runtime survive it; the ways to misbehave are one file each. It begins well,
// so that the robot is moving when it turns bad.

import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";

/** Good decisions before the first bad one: two seconds at 20 Hz. */
export const GOOD_ACTS = 40;

/**
 * Spoils a decision in place, or drops it (null). `badIndex` counts the decisions since the good
 * ones ended, from 0.
 */
export type Spoil = (chunk: ChunkView, badIndex: number, nowNs: Instant) => ChunkView | null;

export class Misbehaving implements Policy {
  readonly name: string;
  readonly schema: ActionSchema;
  readonly selectsMode: boolean;
  readonly #inner: Policy;
  readonly #spoil: Spoil;
  readonly #goodActs: number;
  #actCount = 0;

  constructor(name: string, inner: Policy, spoil: Spoil, goodActs: number) {
    this.name = name;
    this.schema = inner.schema;
    this.selectsMode = inner.selectsMode;
    this.#inner = inner;
    this.#spoil = spoil;
    this.#goodActs = goodActs;
  }

  reset(epoch: number, allocator: SequenceAllocator): void {
    this.#actCount = 0;
    this.#inner.reset(epoch, allocator);
  }

  act(state: StateView, nowNs: Instant): ChunkView | null | Promise<ChunkView | null> {
    const answer = this.#inner.act(state, nowNs);
    const badIndex = this.#actCount - this.#goodActs;
    this.#actCount += 1;
    if (badIndex < 0) return answer;
    if (answer instanceof Promise)
      return answer.then((chunk) => this.#pass(chunk, badIndex, nowNs));
    return this.#pass(answer, badIndex, nowNs);
  }

  #pass(chunk: ChunkView | null, badIndex: number, nowNs: Instant): ChunkView | null {
    return chunk === null ? null : this.#spoil(chunk, badIndex, nowNs);
  }
}
