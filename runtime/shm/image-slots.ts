// Image slots: pixels that stay where the camera put them. A record in a cell carries the slot and
// its sequence; whoever wants the pixels borrows them and asks again after use whether they held.
//
// One writer fills the slots in turn and never waits, so a reader slower than a whole turn loses
// its image, and learns it from `isUnchanged`. The sequence is odd while a slot is being written.
// Both sides step the sequence by read-modify-write, which orders the plain pixel accesses around
// it.

import { assert } from "../contracts/assert.ts";

/** `sequences` holds one word per slot; `pixels` one view of equal length per slot. */
export type ImageMemory = {
  readonly sequences: Int32Array;
  readonly pixels: readonly Uint8Array[];
};

export class ImageWriter {
  #memory: ImageMemory;
  #slot = 0;
  #sequence = 0;

  constructor(memory: ImageMemory) {
    assert(memory.pixels.length >= 2, "one image is written while another is read");
    assert(memory.sequences.length >= memory.pixels.length, "one sequence per image");
    this.#memory = memory;
  }

  /** Takes the oldest slot and returns its pixels to fill. What it held is void from now on. */
  begin(): Uint8Array {
    this.#slot = (this.#slot + 1) % this.#memory.pixels.length;
    Atomics.add(this.#memory.sequences, this.#slot, 1);
    return this.#memory.pixels[this.#slot]!;
  }

  /** Ends what `begin` began; `slot` and `sequence` then name the image. */
  publish(): void {
    this.#sequence = (Atomics.add(this.#memory.sequences, this.#slot, 1) + 1) | 0;
    assert((this.#sequence & 1) === 0, "an image is begun before it is published");
  }

  /** Which slot was begun last. */
  get slot(): number {
    return this.#slot;
  }

  /** Sequence of the image last published; even, and 0 before the first. */
  get sequence(): number {
    return this.#sequence;
  }
}

/** Any number of readers may share one set of slots. */
export class ImageReader {
  #memory: ImageMemory;

  constructor(memory: ImageMemory) {
    this.#memory = memory;
  }

  /** The pixels of a slot. Read them only between two true answers of `isUnchanged`. */
  pixels(slot: number): Uint8Array {
    assert(slot >= 0 && slot < this.#memory.pixels.length, "the slot exists");
    return this.#memory.pixels[slot]!;
  }

  /** True while the slot still holds the image of this sequence, whole. */
  isUnchanged(slot: number, sequence: number): boolean {
    assert((sequence & 1) === 0, "a published sequence is even");
    return Atomics.add(this.#memory.sequences, slot, 0) === sequence;
  }
}
