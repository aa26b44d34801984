// ChunkTally: what became of a run's chunks, counted by evidence code, and what the action buffer
// has refused since it last took a chunk: the answer to "why is there no action?".
//
// A chunk that was taken and then refused where it would have begun counts as refused.

import { Evidence, evidenceNames } from "../contracts/evidence.ts";
import type { EvidenceSink } from "../contracts/evidence.ts";

export type Refusal = {
  /** The Evidence code of the newest one. */
  readonly code: number;
  /** Chunks refused with that code since a chunk was last good. */
  readonly chunkCount: number;
};

const isRefusal = (code: Evidence): boolean =>
  code >= Evidence.RejectedStaleEpoch && code <= Evidence.RejectedSingular;

export class ChunkTally implements EvidenceSink {
  /** Entries per evidence code. */
  readonly counts = new Float64Array(evidenceNames.length);
  #code: Evidence = Evidence.Accepted;
  #chunkCount = 0;
  /** What `#chunkCount` was before the newest chunk was taken. */
  #countBefore = 0;

  note(code: Evidence): void {
    this.counts[code] = this.counts[code]! + 1;
    if (code === Evidence.Accepted) {
      this.#countBefore = this.#chunkCount;
      this.#chunkCount = 0;
    } else if (isRefusal(code)) {
      const so = code === Evidence.RejectedStartMismatch ? this.#countBefore : this.#chunkCount;
      this.#chunkCount = code === this.#code ? so + 1 : 1;
      this.#code = code;
    }
  }

  /** What was refused since a chunk was last good; undefined when nothing was. */
  get refusal(): Refusal | undefined {
    if (this.#chunkCount === 0) return undefined;
    return { code: this.#code, chunkCount: this.#chunkCount };
  }
}
