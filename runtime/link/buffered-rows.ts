// BufferedRows: what the robot will still execute of a host's decisions, as the buffer took them,
// for a policy that plans on from there. It follows the buffer's verdicts and no more: what was
// refused is nobody's plan, and a decision that begins later leaves the one before in force until
// then.

import { anchorChunk } from "../contracts/anchoring.ts";
import { ChunkView } from "../contracts/action.ts";
import type { Anchoring } from "../contracts/profile.ts";
import type { Instant } from "../contracts/units.ts";

export class BufferedRows {
  readonly #anchoring: Anchoring;
  #active: ChunkView | undefined;
  #scheduled: ChunkView | undefined;

  constructor(anchoring: Anchoring) {
    this.#anchoring = anchoring;
  }

  /** The buffer took a copy of it at `nowNs`. */
  accepted(chunk: ChunkView, nowNs: Instant): void {
    const taken = new ChunkView();
    taken.copyFrom(chunk);
    anchorChunk(taken, nowNs, this.#anchoring);
    this.#promoteDue(nowNs);
    this.#scheduled = taken;
    this.#promoteDue(nowNs);
  }

  /** The gate found that it may not begin. */
  voided(seq: number): void {
    if (this.#active?.seq === seq) this.#active = undefined;
    if (this.#scheduled?.seq === seq) this.#scheduled = undefined;
  }

  clear(): void {
    this.#active = undefined;
    this.#scheduled = undefined;
  }

  /** The rows from the one in force at `nowNs` on, row-major, as far as they follow each other. */
  at(nowNs: Instant): readonly number[] {
    this.#promoteDue(nowNs);
    const active = this.#active;
    if (active === undefined) return [];
    const next = this.#scheduled;
    const endNs = active.validFromNs + active.horizon * active.dtNs;
    if (next === undefined || next.validFromNs > endNs) {
      return rowsOf(active, nowNs, endNs);
    }
    const nextEndNs = next.validFromNs + next.horizon * next.dtNs;
    return rowsOf(active, nowNs, next.validFromNs).concat(
      rowsOf(next, next.validFromNs, nextEndNs),
    );
  }

  #promoteDue(nowNs: Instant): void {
    if (this.#scheduled === undefined || this.#scheduled.validFromNs > nowNs) return;
    this.#active = this.#scheduled;
    this.#scheduled = undefined;
  }
}

/** Rows in force from one moment until another. */
function rowsOf({ validFromNs, dtNs, width, values }: ChunkView, fromNs: number, untilNs: number) {
  const from = Math.max(0, Math.floor((fromNs - validFromNs) / dtNs));
  const until = Math.max(from, Math.ceil((untilNs - validFromNs) / dtNs));
  return [...values.subarray(from * width, until * width)];
}
