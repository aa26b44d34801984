// HalfSipHash-2-4 with a 64-bit tag, for a keyed e-stop line: a sum that only a holder of the key
// can make. Arithmetic of 32 bits, so that an 8-bit chip finishes in time. It writes into memory of
// the caller and allocates nothing.

import { assert } from "./assert.ts";

export const TAG_SIZE_BYTES = 8;
export const KEY_SIZE_BYTES = 8;

export class FrameTag {
  readonly #key0: number;
  readonly #key1: number;
  readonly #state = new Int32Array(4);

  constructor(key: Uint8Array) {
    assert(key.length === KEY_SIZE_BYTES, "a key has 8 bytes");
    this.#key0 = littleWord(key, 0);
    this.#key1 = littleWord(key, 4);
  }

  /** Writes the tag of the first `sizeBytes` of `bytes` to `out`, from `outFrom` on. */
  writeInto(out: Uint8Array, outFrom: number, bytes: Uint8Array, sizeBytes: number): void {
    const state = this.#state;
    state[0] = this.#key0;
    state[1] = this.#key1 ^ 0xee;
    state[2] = this.#key0 ^ 0x6c79_6765;
    state[3] = this.#key1 ^ 0x7465_6462;
    const whole = sizeBytes - (sizeBytes % 4);
    for (let at = 0; at < whole; at += 4) this.#absorb(littleWord(bytes, at));
    let last = sizeBytes << 24;
    for (let at = whole; at < sizeBytes; at += 1) last |= bytes[at]! << (8 * (at - whole));
    this.#absorb(last);
    state[2]! ^= 0xee;
    this.#rounds(4);
    putLittleWord(out, outFrom, state[1]! ^ state[3]!);
    state[1]! ^= 0xdd;
    this.#rounds(4);
    putLittleWord(out, outFrom + 4, state[1]! ^ state[3]!);
  }

  #absorb(word: number): void {
    this.#state[3]! ^= word;
    this.#rounds(2);
    this.#state[0]! ^= word;
  }

  #rounds(count: number): void {
    const state = this.#state;
    let v0 = state[0]!;
    let v1 = state[1]!;
    let v2 = state[2]!;
    let v3 = state[3]!;
    for (let round = 0; round < count; round += 1) {
      v0 = (v0 + v1) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v0 = rotate(v0, 16);
      v2 = (v2 + v3) | 0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
    }
    state[0] = v0;
    state[1] = v1;
    state[2] = v2;
    state[3] = v3;
  }
}

function rotate(word: number, count: number): number {
  return (word << count) | (word >>> (32 - count));
}

function littleWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function putLittleWord(out: Uint8Array, at: number, word: number): void {
  out[at] = word;
  out[at + 1] = word >>> 8;
  out[at + 2] = word >>> 16;
  out[at + 3] = word >>> 24;
}
