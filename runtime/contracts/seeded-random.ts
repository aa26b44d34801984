// SeededRandom: the only source of chance. A seed names the whole sequence, with the same bits on
// every machine: xoshiro128** on 32-bit words, and a logarithm of + - * / only. `Math.random` and
// the engine's own logarithm are refused because neither can be replayed. Not for secrets.
//
// Nothing allocates after construction, so a draw may be made in the tick.

import { assert } from "./assert.ts";
import { cos } from "./trig.ts";

const WORD = 4_294_967_296;
const TWO_PI = 2 * Math.PI;
const LN_2 = Math.LN2;
const SQRT_2 = Math.SQRT2;

export class SeededRandom {
  readonly #words = new Int32Array(4);

  /** Any whole number up to 2^53: equal seeds give equal sequences. */
  constructor(seed: number) {
    assert(Number.isSafeInteger(seed), "a seed is a whole number");
    const low = seed % WORD;
    let state = (low | 0) ^ Math.imul(Math.floor(seed / WORD) | 0, 0x85eb_ca6b);
    for (let index = 0; index < 4; index += 1) {
      // SplitMix32, so that close seeds start far apart and no state is all zero.
      state = (state + 0x9e37_79b9) | 0;
      let word = state ^ (state >>> 16);
      word = Math.imul(word, 0x21f0_aaad);
      word ^= word >>> 15;
      word = Math.imul(word, 0x735a_2d97);
      this.#words[index] = word ^ (word >>> 15);
    }
  }

  /** Uniform in [0, 1), 53 bits. */
  next(): number {
    const high = this.#word() >>> 5;
    const low = this.#word() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  }

  /** Standard normal: mean 0, deviation 1. */
  normal(): number {
    const radius = Math.sqrt(2 * this.exponential());
    return radius * cos(TWO_PI * this.next());
  }

  /** Exponential with mean 1. */
  exponential(): number {
    return -naturalLog(1 - this.next());
  }

  #word(): number {
    const words = this.#words;
    const s1 = words[1]!;
    const scaled = Math.imul(s1, 5);
    const result = Math.imul((scaled << 7) | (scaled >>> 25), 9);
    const s2 = words[2]! ^ words[0]!;
    const s3 = words[3]! ^ s1;
    words[1] = s1 ^ s2;
    words[0] = words[0]! ^ s3;
    words[2] = s2 ^ (s1 << 9);
    words[3] = (s3 << 11) | (s3 >>> 21);
    return result;
  }
}

/** Of a number in (0, 1]. Error below 1e-15 relative to the nearest power of two's own. */
function naturalLog(value: number): number {
  let mantissa = value;
  let halvings = 0;
  while (mantissa < SQRT_2 / 2) {
    mantissa *= 2;
    halvings += 1;
  }
  // ln m = 2 atanh z, |z| <= 0.172: the first term left out is below 1e-17.
  const z = (mantissa - 1) / (mantissa + 1);
  const s = z * z;
  const tail = 1 / 11 + s * (1 / 13 + s * (1 / 15 + s * (1 / 17 + s * (1 / 19 + s / 21))));
  const series = 1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * tail))));
  return 2 * z * series - halvings * LN_2;
}
