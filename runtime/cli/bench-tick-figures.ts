// The figures of `bench tick`: percentiles of wake-up lateness, cyclictest's histogram read back,
// and the verdict over pairs of runs. Pure: text and numbers in, figures out.
//
// Percentiles are nearest-rank. cyclictest counts whole microseconds, rounded down; ours are exact,
// so the comparison may cost us up to 1 us and never gains any.

import { NS_PER_US } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";

/** Wake-up lateness in microseconds, named as the JSON report names it. */
export type WakeFigures = Readonly<Record<"p50" | "p90" | "p99" | "max", number>>;

/** One run of cyclictest and one of ours in the same minute. */
export type TickPair = {
  readonly cyclictest_us: WakeFigures;
  readonly ours_us: WakeFigures;
  readonly is_void: boolean;
};

/** What the pairs say. A figure is null when no pair was valid. */
export type PairsVerdict = {
  readonly verdict: "met" | "missed" | "no verdict";
  readonly p50_ratio: number | null;
  readonly p90_ratio: number | null;
  readonly cyclictest_us: WakeFigures | null;
  readonly ours_us: WakeFigures | null;
};

// The machine was too busy to compare on when even the control was this late.
const VOID_P90_US = 400;
const VOID_P99_US = 10_000;
/** So many voids in a row are no verdict. */
export const VOIDS_MAX = 3;

/** What the product promises: a ratio to cyclictest, or with a spin tail a figure of its own. */
export const TICK_GOALS = {
  p50_ratio: 1.25,
  p90_ratio: 1.75,
  spin_p50_us: 2,
  spin_p90_us: 100,
} as const;

/** Figures of our own run, from the lateness of every tick. */
export function wakeFigures(lateNs: Float64Array): WakeFigures {
  const sortedNs = lateNs.toSorted();
  const at = (ratio: number) => sortedNs[Math.ceil(ratio * sortedNs.length) - 1]! / NS_PER_US;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** Reads what `cyclictest -q -h` prints. Undefined when it holds no histogram. */
export function readCyclictest(text: string): WakeFigures | undefined {
  const rows = [...text.matchAll(/^(\d+)\s+(\d+)$/gm)].map((row) => [
    Number(row[1]),
    Number(row[2]),
  ]);
  const max = Number(/^# Max Latencies:\s*(\d+)/m.exec(text)?.[1]);
  const overflowCount = Number(/^# Histogram Overflows:\s*(\d+)/m.exec(text)?.[1]);
  const total = rows.reduce((sum, [, count]) => sum + count!, overflowCount);
  if (!(total > 0) || Number.isNaN(max)) return undefined;
  const at = (ratio: number) => {
    let left = Math.ceil(ratio * total);
    for (const [latenessUs, count] of rows) {
      left -= count!;
      if (left <= 0) return latenessUs!;
    }
    return max; // among the overflows, of which only the largest is known
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max };
}

/** True when the control itself was so late that the pair says nothing. */
export function isVoid(cyclictest: WakeFigures): boolean {
  return cyclictest.p90 > VOID_P90_US || cyclictest.p99 > VOID_P99_US;
}

/** Judges the valid pairs; fewer than `pairCount` of them are no verdict. */
export function judgePairs(
  pairs: readonly TickPair[],
  pairCount: number,
  spinTailNs: Duration,
): PairsVerdict {
  const valid = pairs.filter((pair) => !pair.is_void);
  if (valid.length === 0) {
    const none = { p50_ratio: null, p90_ratio: null, cyclictest_us: null, ours_us: null };
    return { verdict: "no verdict", ...none };
  }
  const ratio = (key: "p50" | "p90") =>
    median(valid.map((pair) => pair.ours_us[key] / pair.cyclictest_us[key]));
  const ours_us = medianFigures(valid.map((pair) => pair.ours_us));
  const p50_ratio = ratio("p50");
  const p90_ratio = ratio("p90");
  const isMet =
    spinTailNs > 0
      ? ours_us.p50 <= TICK_GOALS.spin_p50_us && ours_us.p90 <= TICK_GOALS.spin_p90_us
      : p50_ratio <= TICK_GOALS.p50_ratio && p90_ratio <= TICK_GOALS.p90_ratio;
  const judged = isMet ? "met" : "missed";
  return {
    verdict: valid.length < pairCount ? "no verdict" : judged,
    p50_ratio,
    p90_ratio,
    cyclictest_us: medianFigures(valid.map((pair) => pair.cyclictest_us)),
    ours_us,
  };
}

/** Each figure's median over several runs. */
export function medianFigures(runs: readonly WakeFigures[]): WakeFigures {
  return {
    p50: median(runs.map((run) => run.p50)),
    p90: median(runs.map((run) => run.p90)),
    p99: median(runs.map((run) => run.p99)),
    max: median(runs.map((run) => run.max)),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
