// Arena: all the memory that threads share, in one SharedArrayBuffer cut at 64-byte steps from a
// table of named parts. Main creates it; each Worker gets `handle` in its workerData and attaches.
//
// Refused: duplicate names, sizes that are not positive integers, a name or kind that the table
// does not hold. These are our own bugs, so they are assertions. All views are cut here, once, at
// the start.

import { assert } from "../contracts/assert.ts";
import type { ImageMemory } from "./image-slots.ts";
import type { CellMemory } from "./latest-cell.ts";
import { RING_WORD_COUNT } from "./spsc-ring.ts";
import type { RingMemory } from "./spsc-ring.ts";

/** One named part of the arena. `slotCount` is the length of a record in float64. */
export type ArenaPart =
  | { readonly kind: "words"; readonly name: string; readonly wordCount: number }
  | { readonly kind: "cell"; readonly name: string; readonly slotCount: number }
  | {
      readonly kind: "ring";
      readonly name: string;
      readonly slotCount: number;
      /** How many records the ring holds: a power of two. */
      readonly recordCount: number;
    }
  | {
      readonly kind: "images";
      readonly name: string;
      readonly imageCount: number;
      readonly imageSizeBytes: number;
    };

/** What another thread needs to attach: it survives `workerData` and `postMessage` as it is. */
export type ArenaHandle = {
  readonly buffer: SharedArrayBuffer;
  readonly parts: readonly ArenaPart[];
};

const STEP_SIZE_BYTES = 64; // a cache line, and more than any alignment that a view needs
const WORD_SIZE_BYTES = 4;
const SLOT_SIZE_BYTES = 8;
const CELL_RECORD_COUNT = 3;

/** Set-up only: cuts a fresh buffer for `parts`. The thread that starts the others calls it. */
export function createArena(parts: readonly ArenaPart[]): Arena {
  const names = new Set<string>();
  let sizeBytes = 0;
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index]!;
    assert(!names.has(part.name), `the arena names "${part.name}" once`);
    names.add(part.name);
    sizeBytes += partSizeBytes(part);
  }
  return new Arena({ buffer: new SharedArrayBuffer(sizeBytes), parts });
}

/** Set-up only: one side's access to the shared memory. Every call cuts fresh views. */
export class Arena {
  readonly handle: ArenaHandle;

  constructor(handle: ArenaHandle) {
    this.handle = handle;
  }

  /** Plain control words, all zero at first. */
  words(name: string): Int32Array {
    const part = this.#part(name);
    assert(part.kind === "words", `"${name}" holds words`);
    return new Int32Array(this.handle.buffer, this.#offset(name), part.wordCount);
  }

  cell(name: string): CellMemory {
    const part = this.#part(name);
    assert(part.kind === "cell", `"${name}" is a cell`);
    const offset = this.#offset(name);
    return {
      middle: new Int32Array(this.handle.buffer, offset, 1),
      records: this.#records(offset + STEP_SIZE_BYTES, part.slotCount, CELL_RECORD_COUNT),
    };
  }

  ring(name: string): RingMemory {
    const part = this.#part(name);
    assert(part.kind === "ring", `"${name}" is a ring`);
    const offset = this.#offset(name);
    const recordsOffset = offset + RING_WORD_COUNT * WORD_SIZE_BYTES;
    return {
      words: new Int32Array(this.handle.buffer, offset, RING_WORD_COUNT),
      records: this.#records(recordsOffset, part.slotCount, part.recordCount),
    };
  }

  images(name: string): ImageMemory {
    const part = this.#part(name);
    assert(part.kind === "images", `"${name}" holds images`);
    const { imageCount, imageSizeBytes } = part;
    const offset = this.#offset(name);
    const sequences = new Int32Array(this.handle.buffer, offset, imageCount);
    const pixels: Uint8Array[] = [];
    let start = offset + inSteps(imageCount * WORD_SIZE_BYTES);
    for (let image = 0; image < imageCount; image += 1) {
      pixels.push(new Uint8Array(this.handle.buffer, start, imageSizeBytes));
      start += inSteps(imageSizeBytes);
    }
    return { sequences, pixels };
  }

  #part(name: string): ArenaPart {
    const { parts } = this.handle;
    let index = 0;
    while (index < parts.length && parts[index]!.name !== name) index += 1;
    assert(index < parts.length, `the arena has a part "${name}"`);
    return parts[index]!;
  }

  #offset(name: string): number {
    const { parts } = this.handle;
    let offset = 0;
    for (let index = 0; parts[index]!.name !== name; index += 1) {
      offset += partSizeBytes(parts[index]!);
    }
    return offset;
  }

  // Each record starts on a line of its own, so that writer and reader never share one.
  #records(offset: number, slotCount: number, recordCount: number): Float64Array[] {
    const records: Float64Array[] = [];
    const stride = inSteps(slotCount * SLOT_SIZE_BYTES);
    for (let record = 0; record < recordCount; record += 1) {
      records.push(new Float64Array(this.handle.buffer, offset + record * stride, slotCount));
    }
    return records;
  }
}

// Set-up only: how much of the buffer the part takes.
function partSizeBytes(part: ArenaPart): number {
  const { kind, name } = part;
  if (kind === "words") return inSteps(size(name, part.wordCount) * WORD_SIZE_BYTES);
  if (kind === "images") {
    const sequences = inSteps(size(name, part.imageCount) * WORD_SIZE_BYTES);
    return sequences + part.imageCount * inSteps(size(name, part.imageSizeBytes));
  }
  const record = inSteps(size(name, part.slotCount) * SLOT_SIZE_BYTES);
  if (kind === "cell") return STEP_SIZE_BYTES + CELL_RECORD_COUNT * record;
  return RING_WORD_COUNT * WORD_SIZE_BYTES + size(name, part.recordCount) * record;
}

// Set-up only: a size from the table, checked.
function size(name: string, value: number): number {
  assert(Number.isSafeInteger(value) && value > 0, `sizes of "${name}" are positive integers`);
  return value;
}

function inSteps(sizeBytes: number): number {
  return Math.ceil(sizeBytes / STEP_SIZE_BYTES) * STEP_SIZE_BYTES;
}
