// Tests of the deadline histogram against the sorted values themselves: quantiles, borders of the
// buckets, and what lies beyond the first and the last of them.

import { expect, test } from "bun:test";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { DeadlineHistogram } from "./histogram.ts";

function histogramOf(values: readonly number[]): DeadlineHistogram {
  const histogram = new DeadlineHistogram();
  for (const ns of values) histogram.add(ns);
  return histogram;
}

test("an empty histogram answers zero", () => {
  const histogram = new DeadlineHistogram();
  expect([histogram.quantileNs(0.5), histogram.maxNs, histogram.count]).toEqual([0, 0, 0]);
});

test("quantiles lie within 1 µs of the sorted values below 1 ms, and within 1.6 % above", () => {
  const random = new SeededRandom(5);
  for (const meanNs of [20e3, 400e3, 3e6, 2e9]) {
    const values = Array.from({ length: 5_000 }, () => meanNs * random.exponential());
    const histogram = histogramOf(values);
    values.sort((a, b) => a - b);
    for (const ratio of [0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = values[Math.ceil(ratio * values.length) - 1]!;
      const error = histogram.quantileNs(ratio) - exact;
      expect(error).toBeGreaterThanOrEqual(0);
      expect(error).toBeLessThanOrEqual(exact < 1e6 ? 1e3 : 0.016 * exact);
    }
    expect([histogram.maxNs, histogram.count]).toEqual([values[4_999]!, 5_000]);
  }
});

test("each bucket's values are below its edge, at every border between two of them", () => {
  for (const edgeNs of [1e3, 999e3, 1e6, 1_015_625, 2e6, 2_031_250, 4e6, 1_024e6]) {
    const below = histogramOf([edgeNs - 1, 1e18]);
    const at = histogramOf([edgeNs, 1e18]);
    expect(below.quantileNs(0.5)).toBe(edgeNs);
    expect(at.quantileNs(0.5)).toBeGreaterThan(edgeNs);
  }
});

test("a quantile is never above the exact maximum", () => {
  expect(histogramOf([1_500]).quantileNs(0.5)).toBe(1_500);
  expect(histogramOf([100, 1_500]).quantileNs(1)).toBe(1_500);
});

test("longer than 17 minutes is the last bucket, and early counts as zero", () => {
  const histogram = histogramOf([1e15, Infinity]);
  expect(histogram.quantileNs(0.5)).toBe(1e6 * 2 ** 20);
  expect(histogram.maxNs).toBe(Infinity);
  expect(histogramOf([-5e6, 10e6]).quantileNs(0.5)).toBe(1_000);
});

test("the smallest quantile is the first bucket that holds something", () => {
  expect(histogramOf([5_500, 9_500]).quantileNs(0)).toBe(6_000);
});
