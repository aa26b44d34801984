// Policy: the seam behind which learned and scripted deciders look the same, and the port through
// which the control tick meets one. A policy is told the time, reads a state and answers a chunk.

import type { ActionSchema, ChunkView } from "./action.ts";
import { assert } from "./assert.ts";
import type { Evidence } from "./evidence.ts";
import type { FieldView, StateView } from "./state.ts";
import type { Duration, Instant } from "./units.ts";

/** At most this many chunks enter in one tick; more wait for the next. */
export const CHUNKS_PER_TICK_MAX = 4;

/** Numbers the decisions of one epoch. A new epoch gets a new allocator; there is no global one. */
export class SequenceAllocator {
  readonly epoch: number;
  #last = 0;

  constructor(epoch: number) {
    assert(Number.isSafeInteger(epoch) && epoch >= 0, "an epoch is a whole number");
    this.epoch = epoch;
  }

  /** The next id, from 1. Taken when a decision is begun, so the later of two requests wins. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** Pictures that a state names: their pixels are in no state. */
export interface PictureReader {
  /**
   * What `ObsTransform` makes of the picture in this field, `OBS_SIZE_BYTES` of it; null when it
   * was overwritten meanwhile. Dies at the next call.
   */
  transformed(field: FieldView): Uint8Array | null;
}

export interface Policy {
  readonly name: string;
  /** What the columns of its chunks mean. Fixed for the life of the policy. */
  readonly schema: ActionSchema;
  /** Rows of a chunk and their step; absent where they are the profile's. */
  readonly plan?: { readonly horizon: number; readonly dtNs: Duration };
  /** True when JPEG's losses do it no harm: then a robot may send its pictures so to a host. */
  readonly acceptsJpeg?: boolean;
  /** True when it can choose among the hypotheses of a multi-hypothesis state. */
  readonly selectsMode: boolean;
  /** An episode begins: forget everything, number decisions with this allocator. */
  reset(epoch: number, allocator: SequenceAllocator): void;
  /**
   * Decides. `state` dies when the call (or its promise) ends. Null: no decision this time. The
   * chunk stays the policy's own memory and is copied at once.
   */
  act(state: StateView, nowNs: Instant): ChunkView | null | Promise<ChunkView | null>;
  /** One line for a person: how it goes with what this policy depends on. Empty: nothing to say. */
  readonly statusText?: string;
  /** Why no decisions come from what this policy depends on. Empty while they do. */
  readonly trouble?: string;
  /** True while its answers take longer than was promised. */
  readonly isSlow?: boolean;
  /** Of a policy on a host: a record of `HostTimesSlot`. */
  readonly hostTimes?: Float64Array | undefined;
  /** What became of a decision, by the id it was numbered with, and in the tick of which time. */
  receipt?(code: Evidence, epoch: number, seq: number, nowNs: Instant): void;
  /** The run is over: lets go of what would outlive it. */
  close?(): void;
}

/** The control side of a policy, whatever thread or machine it runs on. */
export interface PolicyPort {
  /** The chunk of the last `takeChunk` that was true. Dies at the next call. */
  readonly chunk: ChunkView;
  /** Moves to the next chunk that has arrived, if any. */
  takeChunk(nowNs: Instant): boolean;
  /** Shows the policy the newest state. */
  publish(state: StateView): void;
  /** Everything decided before is void; the policy is reset with this epoch's allocator. */
  beginEpoch(epoch: number): void;
}
