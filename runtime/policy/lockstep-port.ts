// LockstepPolicyPort: a policy in the tick's own thread, under the lockstep clock. It acts inside
// `takeChunk`, at its own cadence, on the newest state published before; it takes no time unless a
// latency says so. For policies that are trusted to return: a run gives its policy a thread.

import { ChunkView } from "../contracts/action.ts";
import { anchorChunk } from "../contracts/anchoring.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { Anchoring } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyRunner } from "./runner.ts";

export class LockstepPolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  readonly runner: PolicyRunner;
  readonly #anchoring: Anchoring;
  #nextTick = 0;
  #steppedTick = -1;

  constructor(runner: PolicyRunner, anchoring: Anchoring) {
    this.runner = runner;
    this.#anchoring = anchoring;
  }

  takeChunk(nowNs: Instant): boolean {
    // The tick asks until there is nothing left; the policy acts at the first question only.
    if (this.#steppedTick !== this.#nextTick) {
      this.#steppedTick = this.#nextTick;
      this.runner.step(this.#nextTick, nowNs);
    }
    if (!this.runner.takeInto(this.chunk, nowNs)) return false;
    anchorChunk(this.chunk, nowNs, this.#anchoring);
    return true;
  }

  publish(state: StateView): void {
    this.runner.observe(state);
    this.#nextTick = state.tick + 1;
  }

  beginEpoch(epoch: number): void {
    this.runner.beginEpoch(epoch);
  }
}
