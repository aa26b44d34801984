// Anchoring: where a chunk lies in time when it names no window of its own. Done once, at arrival,
// by whichever port brings the chunk in; a chunk that names its window keeps it.

import { ANCHOR_BY_PROFILE, ChunkSlot } from "./action.ts";
import type { ChunkView } from "./action.ts";
import type { Anchoring } from "./profile.ts";
import type { Instant } from "./units.ts";

/**
 * Row 0 is put at the stamp of the state the chunk answers, so that elapsed rows are skipped by the
 * time that really elapsed; or at its arrival, for scripts that know nothing of time.
 */
export function anchorChunk(chunk: ChunkView, arrivedNs: Instant, anchoring: Anchoring): void {
  const { record } = chunk;
  record[ChunkSlot.arrivedNs] = arrivedNs;
  if (record[ChunkSlot.validFromNs] === ANCHOR_BY_PROFILE) {
    record[ChunkSlot.validFromNs] = anchoring === "observation" ? chunk.stateStampNs : arrivedNs;
  }
  if (record[ChunkSlot.validUntilNs] === ANCHOR_BY_PROFILE) {
    record[ChunkSlot.validUntilNs] = chunk.validFromNs + chunk.horizon * chunk.dtNs;
  }
}
