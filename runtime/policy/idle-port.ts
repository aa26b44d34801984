// IdlePolicyPort: a policy that repeats the last command and costs nothing. Warm-up and benchmarks
// measure the tick with it, chunks coming as often as from a policy at 20 Hz.

import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { anchorChunk } from "../contracts/anchoring.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import { commandFingerprint } from "./adapter.ts";

const TICKS_PER_CHUNK = 10;

export class IdlePolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  readonly #profile: RobotProfile;
  readonly #fingerprint: number;
  readonly #command: Float64Array;
  #stampNs = 0;
  #askedNs = -1;
  #ticks = 0;
  #epoch = 0;
  #seq = 0;

  constructor(profile: RobotProfile) {
    this.#profile = profile;
    this.#fingerprint = commandFingerprint(profile);
    this.#command = new Float64Array(profile.joints.length);
  }

  takeChunk(nowNs: Instant): boolean {
    if (nowNs === this.#askedNs) return false;
    this.#askedNs = nowNs;
    this.#ticks += 1;
    if (this.#ticks % TICKS_PER_CHUNK !== 1) return false;
    const { chunk } = this;
    const { horizon, dtNs } = this.#profile.policy;
    const width = this.#command.length;
    this.#seq += 1;
    chunk.begin(this.#epoch, this.#seq, horizon, width, dtNs);
    chunk.record[ChunkSlot.schemaFingerprint] = this.#fingerprint;
    chunk.record[ChunkSlot.stateStampNs] = this.#stampNs;
    for (let row = 0; row < horizon; row += 1) {
      for (let joint = 0; joint < width; joint += 1) {
        chunk.values[row * width + joint] = this.#command[joint]!;
      }
    }
    anchorChunk(chunk, nowNs, "arrival");
    return true;
  }

  publish(state: StateView): void {
    this.#command.set(state.command);
    this.#stampNs = state.stampNs;
  }

  beginEpoch(epoch: number): void {
    this.#epoch = epoch;
    this.#seq = 0;
  }
}
