// EnsemblePolicy: temporal ensembling around any policy. Chunks overlap; each row that goes on is
// the mean of what the last decisions say of its moment, the older the less: a decision that is
// `ensembleNs` older than the newest weighs 1/e of it. Meant for policies whose chunks disagree.
//
// Rows are put in time at the state that they answer, or where the chunk says. Only values that may
// be averaged are: positions and velocities of joints. What is no chunk, or is not finite, goes on
// as it came and is judged by whoever would have judged it.

import { ANCHOR_BY_PROFILE, ChunkView, HORIZON_MAX, WIDTH_MAX } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import type { Evidence } from "../contracts/evidence.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { RowInterpolation } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { PolicyError } from "./policy-error.ts";

/** Decisions that are remembered: at 20 Hz, 400 ms. */
const MEMORY_COUNT = 8;
const SPACES: readonly ActionSchema["space"][] = ["joint_pos", "joint_vel"];

export type EnsemblePlan = {
  readonly ensembleNs: Duration;
  readonly interpolation: RowInterpolation;
};

/** A decision as the policy made it, and where its rows lie. */
type Memory = { readonly chunk: ChunkView; fromNs: number; stampNs: number };

export class EnsemblePolicy implements Policy {
  readonly name: string;
  readonly schema: ActionSchema;
  readonly selectsMode: boolean;
  readonly #policy: Policy;
  readonly #plan: EnsemblePlan;
  readonly #mixed = new ChunkView();
  /** Newest last. */
  #memories: Memory[] = [];
  #epoch = -1;

  /** Throws PolicyError for a policy whose values have no mean. */
  constructor(policy: Policy, plan: EnsemblePlan) {
    const { schema } = policy;
    if (!SPACES.includes(schema.space)) {
      throw new PolicyError("bad_schema", `Cannot average decisions of "${policy.name}"`, {
        place: "policy.ensemble_ms",
        expected: `a policy of ${SPACES.join(" or ")}`,
        found: schema.space,
      });
    }
    this.name = policy.name;
    this.schema = schema;
    this.selectsMode = policy.selectsMode;
    this.#policy = policy;
    this.#plan = plan;
  }

  get statusText(): string {
    return this.#policy.statusText ?? "";
  }
  get hostTimes(): Float64Array | undefined {
    return this.#policy.hostTimes;
  }
  get trouble(): string {
    return this.#policy.trouble ?? "";
  }
  get isSlow(): boolean {
    return this.#policy.isSlow ?? false;
  }

  /** What takes its time hands its promise on: one that fails must be known. */
  reset(epoch: number, allocator: SequenceAllocator): unknown {
    this.#memories = [];
    this.#epoch = epoch;
    return this.#policy.reset(epoch, allocator);
  }

  act(state: StateView, nowNs: Instant): ChunkView | null | Promise<ChunkView | null> {
    const { stampNs } = state;
    const epoch = this.#epoch;
    const answer = this.#policy.act(state, nowNs);
    if (!(answer instanceof Promise)) return this.#mix(answer, stampNs);
    // An answer to an epoch that is over is void, and leaves nothing behind.
    return answer.then((chunk) => (epoch === this.#epoch ? this.#mix(chunk, stampNs) : chunk));
  }

  receipt(code: Evidence, epoch: number, seq: number, nowNs: Instant): unknown {
    return this.#policy.receipt?.(code, epoch, seq, nowNs);
  }

  close(): unknown {
    return this.#policy.close?.();
  }

  #mix(chunk: ChunkView | null, actStampNs: number): ChunkView | null {
    if (!(chunk instanceof ChunkView) || !isWhole(chunk)) return chunk;
    const stampNs = chunk.stateStampNs === 0 ? actStampNs : chunk.stateStampNs;
    const { validFromNs, horizon, width, dtNs } = chunk;
    const fromNs = validFromNs === ANCHOR_BY_PROFILE ? stampNs : validFromNs;
    const mixed = this.#mixed;
    mixed.copyFrom(chunk);
    for (let row = 0; row < horizon; row += 1) {
      const atNs = fromNs + row * dtNs;
      const older = this.#memories.filter((memory) => covers(memory, atNs, stampNs));
      const weights = older.map((memory) => this.#weight(stampNs - memory.stampNs));
      const total = weights.reduce((sum, weight) => sum + weight, 1);
      for (let column = 0; column < width; column += 1) {
        let value = chunk.values[row * width + column]!;
        for (const [at, memory] of older.entries()) {
          value += weights[at]! * this.#read(memory, atNs, column);
        }
        mixed.values[row * width + column] = value / total;
      }
    }
    this.#remember(chunk, fromNs, stampNs);
    return mixed;
  }

  #weight(ageNs: number): number {
    return Math.exp(-ageNs / this.#plan.ensembleNs);
  }

  /** As the buffer reads it: between rows a straight line, or the row before. */
  #read({ chunk, fromNs }: Memory, atNs: number, column: number): number {
    const { dtNs, horizon, width, values } = chunk;
    const row = Math.min(Math.floor((atNs - fromNs) / dtNs), horizon - 1);
    const here = values[row * width + column]!;
    if (this.#plan.interpolation === "hold" || row === horizon - 1) return here;
    const share = (atNs - fromNs - row * dtNs) / dtNs;
    return here + (values[(row + 1) * width + column]! - here) * share;
  }

  #remember(chunk: ChunkView, fromNs: number, stampNs: number): void {
    const isFull = this.#memories.length === MEMORY_COUNT;
    const memory = (isFull ? this.#memories.shift() : undefined) ?? {
      chunk: new ChunkView(),
      fromNs,
      stampNs,
    };
    memory.chunk.copyFrom(chunk);
    memory.fromNs = fromNs;
    memory.stampNs = stampNs;
    this.#memories.push(memory);
  }
}

function covers({ chunk, fromNs, stampNs }: Memory, atNs: number, newestNs: number): boolean {
  const untilNs = fromNs + chunk.horizon * chunk.dtNs;
  return stampNs <= newestNs && atNs >= fromNs && atNs < untilNs;
}

/** Sizes and values that can be worked with. */
function isWhole({ horizon, width, dtNs, values }: ChunkView): boolean {
  const fits = horizon >= 1 && horizon <= HORIZON_MAX && width >= 1 && width <= WIDTH_MAX;
  return fits && dtNs > 0 && values.subarray(0, horizon * width).every(Number.isFinite);
}
