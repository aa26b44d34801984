// Tests of the seeded generator: against a second implementation on big integers, against the
// moments of its distributions, and pinned so that a seed means the same in every later version.

import { expect, test } from "bun:test";
import { AssertionError } from "./assert.ts";
import { SeededRandom } from "./seeded-random.ts";

const MASK = 0xffff_ffffn;

/** The published algorithms, written down a second time on big integers. */
function reference(seed: bigint): () => number {
  let state = (seed & MASK) ^ (((seed >> 32n) * 0x85eb_ca6bn) & MASK);
  const words = [0, 1, 2, 3].map(() => {
    state = (state + 0x9e37_79b9n) & MASK;
    let word = state ^ (state >> 16n);
    word = (word * 0x21f0_aaadn) & MASK;
    word ^= word >> 15n;
    word = (word * 0x735a_2d97n) & MASK;
    return word ^ (word >> 15n);
  }) as [bigint, bigint, bigint, bigint];
  const rotate = (word: bigint, by: bigint) => ((word << by) | (word >> (32n - by))) & MASK;
  const word = () => {
    const result = (rotate((words[1] * 5n) & MASK, 7n) * 9n) & MASK;
    const shifted = (words[1] << 9n) & MASK;
    words[2] ^= words[0];
    words[3] ^= words[1];
    words[1] ^= words[2];
    words[0] ^= words[3];
    words[2] ^= shifted;
    words[3] = rotate(words[3], 11n);
    return result;
  };
  return () => Number((word() >> 5n) * 67_108_864n + (word() >> 6n)) / 2 ** 53;
}

test("a seed gives the published sequence, also beyond 32 bits", () => {
  for (const seed of [0, 1, 42, 4_294_967_295, 4_294_967_296, Number.MAX_SAFE_INTEGER]) {
    const random = new SeededRandom(seed);
    const expected = reference(BigInt(seed));
    for (let draw = 0; draw < 100; draw += 1) expect(random.next()).toBe(expected());
  }
});

test("different seeds, close ones too, give different sequences", () => {
  const first = new Set(Array.from({ length: 1000 }, (_, seed) => new SeededRandom(seed).next()));
  expect(first.size).toBe(1000);
});

test("the three distributions have their means and deviations", () => {
  const random = new SeededRandom(7);
  const moments = (draw: () => number) => {
    let sum = 0;
    let squares = 0;
    for (let index = 0; index < 100_000; index += 1) {
      const value = draw();
      sum += value;
      squares += value * value;
    }
    const mean = sum / 100_000;
    return [mean, Math.sqrt(squares / 100_000 - mean * mean)] as const;
  };
  const [uniformMean, uniformDeviation] = moments(() => random.next());
  expect(uniformMean).toBeCloseTo(0.5, 2);
  expect(uniformDeviation).toBeCloseTo(Math.sqrt(1 / 12), 2);
  const [normalMean, normalDeviation] = moments(() => random.normal());
  expect(Math.abs(normalMean)).toBeLessThan(0.015);
  expect(Math.abs(normalDeviation - 1)).toBeLessThan(0.015);
  const [meanWait, waitDeviation] = moments(() => random.exponential());
  expect(Math.abs(meanWait - 1)).toBeLessThan(0.015);
  expect(Math.abs(waitDeviation - 1)).toBeLessThan(0.03);
});

test("the exponential draw is the engine's logarithm to the last digits", () => {
  const random = new SeededRandom(3);
  const twin = new SeededRandom(3);
  for (let index = 0; index < 10_000; index += 1) {
    const expected = -Math.log(1 - twin.next());
    expect(Math.abs(random.exponential() - expected)).toBeLessThan(1e-15 * (1 + expected));
  }
});

test("a seed that is no whole number is refused", () => {
  expect(() => new SeededRandom(0.5)).toThrow(AssertionError);
  expect(() => new SeededRandom(Number.NaN)).toThrow(AssertionError);
});
