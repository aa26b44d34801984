// ChunkQueue: decisions on their way, each with the moment it is ready. They come out in the order
// they become ready, which under a random latency is not the order they were begun: judging that
// is the ActionBuffer's business, not ours. When all places are taken the oldest decision is
// dropped and counted. Nothing allocates after construction.

import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import type { Instant } from "../contracts/units.ts";

/** Decisions under way at once: at 20 Hz, 400 ms of latency without a loss. */
export const QUEUE_PLACES = 8;

const FREE = Number.POSITIVE_INFINITY;

export class ChunkQueue {
  /** Decisions dropped because every place was taken. */
  droppedCount = 0;
  readonly #chunks = Array.from({ length: QUEUE_PLACES }, () => new ChunkView());
  readonly #readyNs = new Float64Array(QUEUE_PLACES).fill(FREE);
  readonly #order = new Float64Array(QUEUE_PLACES);
  /** 1 until the end of the act has been stamped. */
  readonly #open = new Uint8Array(QUEUE_PLACES);
  #begunCount = 0;

  /** A place for a decision that is ready at `readyNs`, for the caller to fill. */
  add(readyNs: Instant): ChunkView {
    let place = this.#readyNs.indexOf(FREE);
    if (place < 0) {
      place = this.#oldest();
      this.droppedCount += 1;
    }
    this.#readyNs[place] = readyNs;
    this.#order[place] = this.#begunCount;
    this.#open[place] = 1;
    this.#begunCount += 1;
    return this.#chunks[place]!;
  }

  /** Moves the decision that became ready first, at or before now, into `out`. */
  takeInto(out: ChunkView, nowNs: Instant): boolean {
    this.#stampEnds(nowNs);
    let found = -1;
    for (let place = 0; place < QUEUE_PLACES; place += 1) {
      if (!(this.#readyNs[place]! <= nowNs)) continue;
      if (found < 0 || this.#isBefore(place, found)) found = place;
    }
    if (found < 0) return false;
    out.copyFrom(this.#chunks[found]!);
    this.#readyNs[found] = FREE;
    return true;
  }

  /** When a look has something to do: at once after an `add`, Infinity when nothing waits. */
  get nextLookNs(): number {
    let nextNs = FREE;
    for (let place = 0; place < QUEUE_PLACES; place += 1) {
      if (this.#open[place] === 1) return Number.NEGATIVE_INFINITY;
      nextNs = Math.min(nextNs, this.#readyNs[place]!);
    }
    return nextNs;
  }

  clear(): void {
    this.#readyNs.fill(FREE);
    this.#open.fill(0);
  }

  /** The first look after an act is its end, or the later moment its latency names. */
  #stampEnds(nowNs: Instant): void {
    for (let place = 0; place < QUEUE_PLACES; place += 1) {
      if (this.#open[place] === 0) continue;
      this.#open[place] = 0;
      const { record } = this.#chunks[place]!;
      const endNs = Math.max(nowNs, this.#readyNs[place]!);
      record[ChunkSlot.actEndNs] = endNs;
      if (record[ChunkSlot.generatedNs] === 0) record[ChunkSlot.generatedNs] = endNs;
    }
  }

  #isBefore(place: number, other: number): boolean {
    const difference = this.#readyNs[place]! - this.#readyNs[other]!;
    return difference < 0 || (difference === 0 && this.#order[place]! < this.#order[other]!);
  }

  #oldest(): number {
    let oldest = 0;
    for (let place = 1; place < QUEUE_PLACES; place += 1) {
      if (this.#order[place]! < this.#order[oldest]!) oldest = place;
    }
    return oldest;
  }
}
