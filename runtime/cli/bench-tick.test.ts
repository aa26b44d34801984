// The figures and the verdict of `bench tick` on made-up runs, and the whole bench with a shell
// script in cyclictest's place. Nothing here judges how late this machine is.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { duration, NS_PER_MS } from "../contracts/units.ts";
import type { BenchTickPlan } from "../workers/bench-tick.worker.ts";
import { benchTick, formatBenchTick } from "./bench-tick.ts";
import type { BenchTickReport } from "./bench-tick.ts";
import { isVoid, judgePairs, readCyclictest, wakeFigures } from "./bench-tick-figures.ts";
import type { TickPair } from "./bench-tick-figures.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
afterAll(() => rmSync(root, { recursive: true }));

const noSpin = duration(0);

test("wakeFigures are nearest-rank percentiles in microseconds", () => {
  const lateNs = Float64Array.from({ length: 200 }, (_, index) => (200 - index) * 1000);
  expect(wakeFigures(lateNs)).toEqual({ p50: 100, p90: 180, p99: 198, max: 200 });
  expect(wakeFigures(Float64Array.of(1500))).toEqual({ p50: 1.5, p90: 1.5, p99: 1.5, max: 1.5 });
});

const histogram = (rows: string[], max: number, overflowCount: number) =>
  [
    "# /dev/cpu_dma_latency set to 0us",
    "# Histogram",
    ...rows,
    "# Total: 000000010",
    "# Min Latencies: 00031",
    "# Avg Latencies: 00078",
    `# Max Latencies: ${String(max).padStart(5, "0")}`,
    `# Histogram Overflows: ${String(overflowCount).padStart(5, "0")}`,
    "# Histogram Overflow at cycle number:",
    "# Thread 0: 00007",
  ].join("\n");

test("readCyclictest reads percentiles from a histogram, overflows being its largest", () => {
  const rows = ["000000\t000000", "000075\t000005", "000080\t000003", "000120\t000001"];
  expect(readCyclictest(histogram(rows, 120, 0))).toEqual({
    p50: 75,
    p90: 120,
    p99: 120,
    max: 120,
  });
  expect(readCyclictest(histogram(rows, 31_000, 1))).toEqual({
    p50: 75,
    p90: 120,
    p99: 31_000,
    max: 31_000,
  });
});

test("readCyclictest gives nothing for text without a histogram", () => {
  expect(readCyclictest("# Unable to change scheduling policy!\n")).toBeUndefined();
  expect(readCyclictest(histogram(["000000\t000000"], 0, 0))).toBeUndefined();
});

const figures = (p50: number, p90: number, p99 = 500) => ({ p50, p90, p99, max: 1000 });
const pair = (ours: [number, number], is_void = false): TickPair => ({
  cyclictest_us: figures(100, 200),
  ours_us: figures(...ours),
  is_void,
});

test("a pair is void when the control's own p90 passes 400 us or its p99 passes 10 ms", () => {
  expect([
    isVoid(figures(100, 400, 10_000)),
    isVoid(figures(100, 401, 10_000)),
    isVoid(figures(100, 400, 10_001)),
  ]).toEqual([false, true, true]);
});

test("judgePairs takes the median ratio of the valid pairs only", () => {
  const pairs = [pair([100, 300]), pair([900, 900], true), pair([120, 340]), pair([300, 360])];
  expect(judgePairs(pairs, 3, noSpin)).toEqual({
    verdict: "met",
    p50_ratio: 1.2,
    p90_ratio: 1.7,
    cyclictest_us: figures(100, 200),
    ours_us: figures(120, 340),
  });
});

test("judgePairs misses on either ratio, and has no verdict on too few valid pairs", () => {
  const verdict = (pairs: TickPair[], pairCount: number, spinTailNs = noSpin) =>
    judgePairs(pairs, pairCount, spinTailNs).verdict;
  expect([
    verdict([pair([125, 350])], 1),
    verdict([pair([126, 350])], 1),
    verdict([pair([125, 351])], 1),
    verdict([pair([125, 350])], 2),
    verdict([pair([2, 100])], 1, duration(200_000)),
    verdict([pair([2.1, 100])], 1, duration(200_000)),
    verdict([pair([2, 100.1])], 1, duration(200_000)),
  ]).toEqual(["met", "missed", "missed", "no verdict", "met", "missed", "missed"]);
  expect(judgePairs([pair([1, 1], true)], 1, noSpin)).toEqual({
    verdict: "no verdict",
    p50_ratio: null,
    p90_ratio: null,
    cyclictest_us: null,
    ours_us: null,
  });
});

function fakeCyclictest(name: string, script: string): string {
  const path = join(root, name);
  writeFileSync(path, `#!/bin/sh\necho "$@" >> "${path}.calls"\n${script}\n`, { mode: 0o755 });
  return path;
}

const spawnThread = (plan: BenchTickPlan) =>
  new Worker(new URL("../workers/bench-tick.worker.ts", import.meta.url), { workerData: plan });

const progress: string[] = [];

const run = (cyclictestPath: string | undefined) =>
  benchTick({
    runNs: duration(100 * NS_PER_MS),
    pairCount: 2,
    spinTailNs: noSpin,
    cyclictestPath,
    spawnThread,
    tellProgress: (text) => progress.push(text),
  });

test("benchTick runs both sides for the same number of ticks", async () => {
  const path = fakeCyclictest(
    "good",
    "printf '000100\\t000020\\n# Max Latencies: 00100\\n'" +
      "; echo '# Histogram Overflows: 00000'",
  );
  progress.length = 0;
  const report = await run(path);
  expect(progress).toEqual(["pair 1 of 2: about 1 s left", "pair 2 of 2: about 1 s left"]);
  const calls = await Bun.file(`${path}.calls`).text();
  const same = { p50: 100, p90: 100, p99: 100, max: 100 };
  expect(calls.trim().split("\n")).toEqual(["", ""].map(() => "-m -q -p80 -i5000 -l 20 -h 20000"));
  const { rate_hz, run_ticks, cyclictest_us, pairs, undeclared_realtime_threads } = report;
  const controls = pairs.map((each) => [each.cyclictest_us, each.is_void]);
  expect({ rate_hz, run_ticks, cyclictest_us, controls, undeclared_realtime_threads }).toEqual({
    rate_hz: 200,
    run_ticks: 20,
    cyclictest_us: same,
    controls: [
      [same, false],
      [same, false],
    ],
    undeclared_realtime_threads: [],
  });
  expect(report.p50_ratio).toBeCloseTo((pairs[0]!.ours_us.p50 + pairs[1]!.ours_us.p50) / 200, 9);
});

test("benchTick stops without a verdict after three voids in a row", async () => {
  const path = fakeCyclictest(
    "busy",
    "printf '000500\\t000020\\n# Max Latencies: 00500\\n'" +
      "; echo '# Histogram Overflows: 00000'",
  );
  progress.length = 0;
  const report = await run(path);
  expect(progress.at(-1)).toBe("pair 1 of 2 (2 void, repeated): about 1 s left");
  expect([report.verdict, report.pairs.map((each) => each.is_void), report.p50_ratio]).toEqual([
    "no verdict",
    [true, true, true],
    null,
  ]);
});

test("benchTick without a usable cyclictest says why and still reports our side", async () => {
  const absent = await run(undefined);
  const broken = await run(fakeCyclictest("broken", "echo 'no right to FIFO' >&2; exit 1"));
  expect(
    [absent, broken].map((report) => [report.verdict, report.pairs, report.run_ticks]),
  ).toEqual([
    ["skipped: cyclictest is not here: sudo apt-get install rt-tests", [], 20],
    ["skipped: cyclictest ended with 1: no right to FIFO", [], 20],
  ]);
  expect(absent.ours_us.max).toBeGreaterThan(0);
});

test("formatBenchTick prints both sides, the ratios, the verdict and what was not granted", () => {
  const report: BenchTickReport = {
    verdict: "no verdict",
    rate_hz: 200,
    run_ticks: 1000,
    spin_tail_us: 0,
    p50_ratio: null,
    p90_ratio: 1.5,
    goals: { p50_ratio: 1.25, p90_ratio: 1.75, spin_p50_us: 2, spin_p90_us: 100 },
    cyclictest_us: null,
    ours_us: { p50: 80.04, p90: 100, p99: 200, max: 3000 },
    late_1ms_ticks: 3,
    missed_ticks: 1,
    pairs: [pair([1, 1], true)],
    realtime: { granted: false, refusal: "EPERM" },
    memory_lock: { granted: true, refusal: "" },
    undeclared_realtime_threads: [{ name: "JITWorker", policy: "FIFO", priority: 80 }],
  };
  expect(formatBenchTick(report).split("\n")).toEqual([
    "1000 ticks at 200 Hz a run, 1 pairs, 1 void, spin tail 0 us",
    "wake-up, us      p50      p90      p99      max",
    "cyclictest  no figures",
    "holdfast       80.0    100.0    200.0   3000.0",
    "p50_ratio none (goal 1.25)  p90_ratio 1.50 (goal 1.75)",
    "later than 1 ms: 3, missed: 1",
    "verdict: no verdict",
    "real-time priority refused: EPERM; see holdfast doctor",
    "undeclared real-time thread: JITWorker FIFO 80",
  ]);
});
