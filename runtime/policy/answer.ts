// What `act` answered, copied before anything of it is used. Its record is read once, whole: what
// else the policy's object says of itself, or does, can touch nothing of ours.

import { CHUNK_SLOT_COUNT, ChunkView } from "../contracts/action.ts";

/** What is wrong with it, or undefined once it is copied. Throws what a look at it throws. */
export function copyAnswerInto(out: ChunkView, answer: unknown): string | undefined {
  if (!(answer instanceof ChunkView)) {
    return "act answered neither a chunk, nor null, nor a promise of one";
  }
  const record: unknown = answer.record;
  if (!(record instanceof Float64Array && record.length === CHUNK_SLOT_COUNT)) {
    return `act answered a chunk whose record has not ${CHUNK_SLOT_COUNT} slots`;
  }
  out.record.set(record);
  return undefined;
}
