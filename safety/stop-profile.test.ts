// Tests of the stop: the rule itself, step by step, and that the closed form says what the rule
// does. The walk of the rule is written out here; nothing of the closed form is used in it.

import { expect, test } from "bun:test";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import {
  StopProfile,
  brakeChange,
  easeInto,
  stopWayBound,
  taperFrom,
  taperRest,
  taperUpTo,
} from "./stop-profile.ts";

/** Where the brake leads, one step after another. */
function walk(stride: number, change: number, max: number, jerk: number) {
  const out = { end: 0, most: 0, least: 0, ticks: 0, worstJerk: 0, worstChange: 0 };
  let [speed, gain] = [stride, change];
  // What rounding leaves of a taper is worth no further tick.
  while (Math.abs(speed) > 1e-16 || Math.abs(gain) > 1e-16) {
    const next = brakeChange(speed, gain, max, jerk);
    out.worstJerk = Math.max(out.worstJerk, Math.abs(next - gain) / jerk);
    out.worstChange = Math.max(out.worstChange, Math.abs(next) / max);
    gain = next;
    speed += gain;
    out.end += speed;
    out.most = Math.max(out.most, out.end);
    out.least = Math.min(out.least, out.end);
    out.ticks += 1;
  }
  return out;
}

/** A state that a command may have: from a crawl to the fastest joint, from soft to abrupt. */
function drawn(random: SeededRandom) {
  const max = 10 ** (random.next() * 4 - 5);
  const jerk = max * 10 ** (random.next() * 2.5 - 2);
  const speed = Math.min(10 ** (random.next() * 3 - 3), 1e4 * max);
  return {
    stride: (random.next() * 2 - 1) * speed,
    change: (random.next() * 2 - 1) * max,
    max,
    jerk,
  };
}

/** Whole limits and states: each answer is exact. A stop may begin with any change, at rest too. */
function* grid() {
  for (const jerk of [1, 2, 3])
    for (const max of [1, 2, 3, 5, 8])
      for (let stride = -16; stride <= 16; stride += 1)
        for (let change = -12; change <= 12; change += 1) yield { stride, change, max, jerk };
}

/**
 * The fewest ticks of any ramp of changes to rest. Of so many ticks, each change lies between two
 * lines: what is reached from the first and what still leads back to none; so does their sum.
 */
function fewestTicks(stride: number, change: number, max: number, jerk: number): number {
  if (stride === 0 && Math.abs(change) <= jerk) return 0;
  for (let count = 1; ; count += 1) {
    let [low, high] = [0, 0];
    for (let tick = 1; tick <= count; tick += 1) {
      const back = jerk * (count + 1 - tick);
      low += Math.max(-max, change - jerk * tick, -back);
      high += Math.min(max, change + jerk * tick, back);
    }
    const leadsBack = Math.abs(change) <= jerk * (count + 1);
    if (leadsBack && low <= -stride && -stride <= high) return count;
  }
}

test("a brake stops within the fewest ticks that any ramp takes within its limits", () => {
  for (const { stride, change, max, jerk } of grid()) {
    if (Math.abs(change) > max) continue;
    let [speed, gain, ticks] = [stride, change, 0];
    for (; Math.abs(speed) > 1e-12 || Math.abs(gain) > jerk; ticks += 1) {
      gain = brakeChange(speed, gain, max, jerk);
      speed += gain;
    }
    expect(ticks).toBe(fewestTicks(stride, change, max, jerk));
  }
  expect(brakeChange(0, 0, 1, 1)).toBe(0);
});

test("a taper adds up to its sum, and a little more would not", () => {
  const random = new SeededRandom(1);
  for (let round = 0; round < 2_000; round += 1) {
    const sum = 10 ** (random.next() * 9 - 7);
    const shrink = 10 ** (random.next() * 4 - 4);
    const total = (first: number) => {
      let result = 0;
      for (let step = first; step > 0; step -= shrink) result += step;
      return result;
    };
    const first = taperFrom(sum, shrink);
    expect(total(first)).toBeLessThanOrEqual(sum * (1 + 1e-9));
    expect(total(first * 1.000_001)).toBeGreaterThan(sum);
  }
  expect(taperFrom(0, 0.1)).toBe(0);
});

test("a taper up to a limit is the lower of the two, also where they are as good as equal", () => {
  const random = new SeededRandom(4);
  for (let round = 0; round < 20_000; round += 1) {
    const sum = 10 ** (random.next() * 9 - 7);
    const shrink = 10 ** (random.next() * 4 - 4);
    const taper = taperFrom(sum, shrink);
    for (const most of [taper * 2 * random.next(), taper * (1 + 1e-6), taper * (1 - 1e-6)]) {
      expect(taperUpTo(most, sum, shrink)).toBe(Math.min(most, taper));
    }
  }
});

test("no stop reaches beyond its bound, also one that begins with too much of a change", () => {
  const random = new SeededRandom(5);
  const stop = new StopProfile();
  let nearest = 0;
  for (let round = 0; round < 200_000; round += 1) {
    const { change, jerk, max, stride } = drawn(random);
    const first = round % 4 === 0 ? 2 * change : round % 4 === 1 ? 0 : change;
    stop.trace(stride, first, max, jerk);
    const bound = stopWayBound(stride, first, max, jerk);
    const most = Math.max(stop.mostRad, -stop.leastRad);
    expect(most).toBeLessThanOrEqual(bound);
    nearest = Math.max(nearest, most / bound);
  }
  // A bound that nothing comes near saves nothing.
  expect(nearest).toBeGreaterThan(0.9);
});

test("a brake keeps its limits and ends at rest, wherever it begins", () => {
  const random = new SeededRandom(2);
  for (let round = 0; round < 5_000; round += 1) {
    const { stride, change, max, jerk } = drawn(random);
    const { ticks, worstChange, worstJerk } = walk(stride, change, max, jerk);
    expect(worstJerk).toBeLessThanOrEqual(1 + 1e-9);
    expect(worstChange).toBeLessThanOrEqual(1 + 1e-9);
    // A ramp down, one up, and the time at the limit in between.
    const fastest = Math.abs(stride) + (change * change) / jerk + max;
    expect(ticks).toBeLessThanOrEqual(fastest / max + (4 * max) / jerk + 8);
  }
});

test("the traced stop ends and turns where the brake does, and the bound lies beyond", () => {
  const random = new SeededRandom(3);
  const stop = new StopProfile();
  for (let round = 0; round < 5_000; round += 1) {
    const { stride, change, max, jerk } = drawn(random);
    const { end, least, most } = walk(stride, change, max, jerk);
    const slack = 1e-9 * Math.max(most, -least, 1e-3);
    expect(stop.trace(stride, change, max, jerk)).toBe(stop.endRad);
    expect(Math.abs(stop.endRad - end)).toBeLessThan(slack);
    expect(Math.abs(stop.mostRad - most)).toBeLessThan(slack);
    expect(Math.abs(stop.leastRad - least)).toBeLessThan(slack);
    expect(stopWayBound(stride, change, max, jerk)).toBeGreaterThanOrEqual(Math.max(most, -least));
  }
});

test("the traced stop is the brake's also where it begins at rest, at a limit or beyond", () => {
  const stop = new StopProfile();
  for (const { stride, change, max, jerk } of grid()) {
    const { end, least, most } = walk(stride, change, max, jerk);
    expect(stop.trace(stride, change, max, jerk)).toBeCloseTo(end, 9);
    expect(stop.mostRad).toBeCloseTo(most, 9);
    expect(stop.leastRad).toBeCloseTo(least, 9);
  }
});

test.each([
  ["limited by acceleration", 100, 0, 1, 1],
  ["that ramps up as long as it brakes", 50, 0, 1, 0.02],
  ["that eases off before", 25, 1, 1, 0.02],
])("the bound of a stop %s is a fifth beyond it at most", (_name, stride, change, max, jerk) => {
  const { most } = walk(stride, change, max, jerk);
  const bound = stopWayBound(stride, change, max, jerk);
  expect([bound >= most, bound <= most * 1.2]).toEqual([true, true]);
});

test("what a step leaves to a taper is what is added by hand", () => {
  expect([0, 0.5, 1, 2.5, 4].map((first) => taperRest(first, 1))).toEqual([0, 0, 0, 2, 6]);
});

/** Of each joint: stride, change, the most it may change, jerk; and what its next change is. */
const eased: readonly (readonly [string, readonly number[], readonly number[]])[] = [
  ["the joint that brakes worst gives its share to all", [10, 0, 1, 9, -1], [-5, 0, 4, 9, 0.5]],
  ["whichever joint that is", [-5, 0, 4, 9, 0.5], [10, 0, 1, 9, -1]],
  ["a taper is what a joint may brake with", [3, -1, 4, 2, -2.5], [6, -1, 9, 9, -5]],
  ["what stands has no say", [0, 0, 1, 1, 0], [8, 0, 2, 9, -2]],
  ["one joint's jerk slows all, by half", [10, 2, 1, 1.5, 0.5], [5, 1, 4, 1.5, 0.25]],
  ["whichever joint has the least", [10, 2, 1, 9, 1], [5, 1, 4, 0.5, 0.5]],
  ["two that are too little: the least of them", [10, 2, 1, 1.5, 1.25], [5, 1, 4, 0.375, 0.625]],
  ["what brakes as it should keeps on", [10, -1, 1, 0.5, -1], [5, -0.5, 4, 0.5, -0.5]],
];

test.each(eased)("to ease: %s", (_name, one, other) => {
  const column = (at: number): Float64Array => Float64Array.of(one[at]!, other[at]!);
  const out = column(0);
  easeInto(out, column(0), column(1), column(2), column(3));
  expect([...out]).toEqual([...column(4)]);
});

test("3 rad/s at 30 rad/s2 and 3,000 rad/s3 stop within 23 ticks and 150 mrad", () => {
  const [stride, max, jerk] = [0.015, 0.000_75, 0.000_375];
  const { end, ticks } = walk(stride, 0, max, jerk);
  expect(end).toBeCloseTo(0.15, 9);
  expect(ticks).toBeLessThanOrEqual(23);
  expect(new StopProfile().trace(stride, 0, max, jerk)).toBeCloseTo(0.15, 9);
});

test("a stop that would never end reaches endlessly far, on the side it goes to", () => {
  const stop = new StopProfile();
  for (const side of [1, -1]) {
    expect(stop.trace(side, 0, 1, 1e-12)).toBe(side * Number.POSITIVE_INFINITY);
  }
});
