// The pause before the next dial, with chance at its two ends: how it grows, where it begins anew
// and where it stays long.

import { expect, test } from "bun:test";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { Backoff } from "./backoff.ts";

/** Chance that is always the same. */
function drawing(share: number): SeededRandom {
  const random = new SeededRandom(1);
  random.next = () => share;
  return random;
}

const pausesMs = (backoff: Backoff, count: number): number[] =>
  Array.from({ length: count }, () => (backoff.dueNs(instant(7e9)) - 7e9) / 1e6);

test("pauses double up to a second, a fifth shorter at most", () => {
  expect(pausesMs(new Backoff(drawing(1)), 7)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
  expect(pausesMs(new Backoff(drawing(0)), 7)).toEqual([40, 80, 160, 320, 640, 800, 800]);
});

test("what works begins anew, what only a person mends waits longest", () => {
  const backoff = new Backoff(drawing(1));
  pausesMs(backoff, 3);
  backoff.begin();
  expect(pausesMs(backoff, 2)).toEqual([50, 100]);
  backoff.slow();
  expect(pausesMs(backoff, 2)).toEqual([1_000, 1_000]);
});
