// NoisyLine: one direction of a serial line on which bytes go wrong, a bit each: one byte alone, or
// one in each frame from then on. Which byte and which bit follows from the phase, so that fifty
// phases strike every byte of a frame.

/** Shorter than any frame, so that none gets through. */
const APART_BYTES = 12;

export class NoisyLine {
  /** Bytes that still pass before one goes wrong. */
  #goodCount = Infinity;
  #bit = 0;
  #isSingle = false;

  /** The first of the coming bytes to go wrong has the number of the phase. */
  begin(phaseIndex: number, isSingle: boolean): void {
    this.#goodCount = isSingle ? phaseIndex : phaseIndex % APART_BYTES;
    this.#bit = phaseIndex % 8;
    this.#isSingle = isSingle;
  }

  end(): void {
    this.#goodCount = Infinity;
  }

  /** The bytes as they arrive. */
  pass(bytes: Uint8Array): Uint8Array {
    return bytes.map((byte) => {
      this.#goodCount -= 1;
      if (this.#goodCount >= 0) return byte;
      this.#goodCount = this.#isSingle ? Infinity : APART_BYTES - 1;
      return byte ^ (1 << this.#bit);
    });
  }
}
