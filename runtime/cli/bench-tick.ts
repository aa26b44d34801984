// holdfast bench tick: is our timer as good as C's? cyclictest and our real-time thread run in turn
// in the same minute, several times; the medians of the ratios stand beside both sides' figures.
//
// A pair whose control was late itself is void and repeated; three voids in a row are no verdict.
// Without cyclictest our side alone is reported and the comparison is skipped, with its remedy.

import { CpuWake } from "../../hal/cpu-wake.ts";
import { lockMemory, unlockMemory } from "../../hal/ffi/scheduling.ts";
import type { Grant } from "../../hal/ffi/scheduling.ts";
import { scanThreads, undeclaredRealtime } from "../../hal/ffi/threads.ts";
import type { ThreadFacts } from "../../hal/ffi/threads.ts";
import { milliseconds, NS_PER_MS, NS_PER_S, NS_PER_US } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import type { BenchTickMessage, BenchTickPlan } from "../workers/bench-tick.worker.ts";
import { sessionOrigin } from "../workers/system-clock.ts";
import {
  isVoid,
  judgePairs,
  medianFigures,
  readCyclictest,
  TICK_GOALS,
  VOIDS_MAX,
  wakeFigures,
} from "./bench-tick-figures.ts";
import type { PairsVerdict, TickPair, WakeFigures } from "./bench-tick-figures.ts";

export type BenchTickOptions = {
  /** Length of each single run. */
  readonly runNs: Duration;
  /** How many pairs that are not void to compare; the goals ask for 5. */
  readonly pairCount: number;
  readonly spinTailNs: Duration;
  /** Path of cyclictest; undefined when it is not installed. */
  readonly cyclictestPath: string | undefined;
  /** Starts `bench-tick.worker.ts`; only `compose.ts` may, for the sake of the binary. */
  readonly spawnThread: (plan: BenchTickPlan) => BenchThread;
  /** Gets one line for a person before each pair. */
  readonly tellProgress: (text: string) => void;
};

/** The part of a started `bench-tick.worker.ts` that the bench uses. */
export interface BenchThread {
  on(event: "message", listener: (message: BenchTickMessage) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "exit", listener: (code: number) => void): unknown;
  postMessage(message: string): void;
}

/** What `bench tick --json` prints. A ratio is null when there was nothing to compare. */
export type BenchTickReport = {
  readonly verdict: PairsVerdict["verdict"] | `skipped: ${string}`;
  readonly rate_hz: number;
  readonly run_ticks: number;
  readonly spin_tail_us: number;
  readonly p50_ratio: number | null;
  readonly p90_ratio: number | null;
  readonly goals: typeof TICK_GOALS;
  readonly cyclictest_us: WakeFigures | null;
  readonly ours_us: WakeFigures;
  readonly late_1ms_ticks: number;
  readonly missed_ticks: number;
  readonly pairs: readonly TickPair[];
  readonly realtime: Grant;
  readonly memory_lock: Grant;
  readonly undeclared_realtime_threads: readonly ThreadFacts[];
};

const PERIOD_NS = milliseconds(5);
const PRIORITY = 80;
const THREAD_NAME = "hf-bench";
const HISTOGRAM_US = 20_000; // four periods; what is later counts as an overflow
const INSTALL = "cyclictest is not here: sudo apt-get install rt-tests";

type OurRun = {
  readonly figures: WakeFigures;
  readonly late1msCount: number;
  readonly missedCount: number;
  readonly realtime: Grant;
  readonly memoryLock: Grant;
  readonly undeclared: readonly ThreadFacts[];
};

/** Runs the pairs, each of them twice `runNs` long, and judges them. */
export async function benchTick(options: BenchTickOptions): Promise<BenchTickReport> {
  const tickCount = Math.max(1, Math.round(options.runNs / PERIOD_NS));
  const pairs: TickPair[] = [];
  const ours: OurRun[] = [];
  let skipped = options.cyclictestPath === undefined ? INSTALL : "";
  let validCount = 0;
  let voidsInRow = 0;
  while (skipped === "" && validCount < options.pairCount && voidsInRow < VOIDS_MAX) {
    options.tellProgress(progressText(options, validCount, pairs.length));
    const control = await runCyclictest(options.cyclictestPath!, tickCount);
    if (typeof control === "string") {
      skipped = control;
      break;
    }
    const run = await runOurs(options, tickCount);
    const is_void = isVoid(control);
    ours.push(run);
    pairs.push({ cyclictest_us: control, ours_us: run.figures, is_void });
    validCount += is_void ? 0 : 1;
    voidsInRow = is_void ? voidsInRow + 1 : 0;
  }
  if (ours.length === 0) {
    options.tellProgress(`our side alone, about ${Math.ceil(options.runNs / NS_PER_S)} s`);
    ours.push(await runOurs(options, tickCount));
  }
  return report(options, tickCount, pairs, ours, skipped);
}

/** A void pair is repeated, so the number of a pair counts the valid ones before it. */
function progressText(options: BenchTickOptions, validCount: number, doneCount: number): string {
  const { pairCount, runNs } = options;
  const leftS = Math.ceil(((pairCount - validCount) * 2 * runNs) / NS_PER_S);
  const voidCount = doneCount - validCount;
  const repeats = voidCount === 0 ? "" : ` (${voidCount} void, repeated)`;
  return `pair ${validCount + 1} of ${pairCount}${repeats}: about ${leftS} s left`;
}

function report(
  options: BenchTickOptions,
  tickCount: number,
  pairs: readonly TickPair[],
  ours: readonly OurRun[],
  skipped: string,
): BenchTickReport {
  const judged = judgePairs(pairs, options.pairCount, options.spinTailNs);
  const last = ours.at(-1)!;
  return {
    verdict: skipped === "" ? judged.verdict : `skipped: ${skipped}`,
    rate_hz: NS_PER_S / PERIOD_NS,
    run_ticks: tickCount,
    spin_tail_us: options.spinTailNs / NS_PER_US,
    p50_ratio: judged.p50_ratio,
    p90_ratio: judged.p90_ratio,
    goals: TICK_GOALS,
    cyclictest_us: judged.cyclictest_us,
    ours_us: judged.ours_us ?? medianFigures(ours.map((run) => run.figures)),
    late_1ms_ticks: ours.reduce((sum, run) => sum + run.late1msCount, 0),
    missed_ticks: ours.reduce((sum, run) => sum + run.missedCount, 0),
    pairs,
    realtime: last.realtime,
    memory_lock: last.memoryLock,
    undeclared_realtime_threads: ours.flatMap((run) => run.undeclared),
  };
}

/** The control's figures, or why there are none. */
async function runCyclictest(path: string, tickCount: number): Promise<WakeFigures | string> {
  const periodUs = PERIOD_NS / NS_PER_US;
  const flags = ["-m", "-q", `-p${PRIORITY}`, `-i${periodUs}`, "-l", `${tickCount}`];
  const child = Bun.spawn([path, ...flags, "-h", `${HISTOGRAM_US}`], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const exitCode = await child.exited;
  const figures = exitCode === 0 ? readCyclictest(output) : undefined;
  return figures ?? `cyclictest ended with ${exitCode}: ${complaint.trim().split("\n")[0]}`;
}

async function runOurs(options: BenchTickOptions, tickCount: number): Promise<OurRun> {
  const thread = options.spawnThread({
    threadName: THREAD_NAME,
    priority: PRIORITY,
    origin: sessionOrigin(),
    periodNs: PERIOD_NS,
    spinTailNs: options.spinTailNs,
    tickCount,
  });
  const mail = mailbox(thread);
  await mail("ready");
  const memoryLock = lockMemory();
  const wake = new CpuWake(); // cyclictest does the same
  thread.postMessage("go");
  const { realtime } = await mail("running");
  await Bun.sleep(options.runNs / 2 / NS_PER_MS); // by then every compiler thread has been made
  const undeclared = undeclaredRealtime(scanThreads(), [THREAD_NAME]);
  const { lateNs, missedCount } = await mail("done");
  wake.release();
  if (memoryLock.granted) unlockMemory();
  return {
    figures: wakeFigures(lateNs),
    late1msCount: lateNs.filter((late) => late > NS_PER_MS).length,
    missedCount,
    realtime,
    memoryLock,
    undeclared,
  };
}

type Mail<Kind> = Extract<BenchTickMessage, { readonly kind: Kind }>;

/** Waits for the thread's messages in their order. A thread that fails or leaves ends the wait. */
function mailbox(thread: BenchThread) {
  const waiting: BenchTickMessage[] = [];
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let wake = () => {};
  thread.on("message", (message: BenchTickMessage) => {
    waiting.push(message);
    wake();
  });
  thread.on("error", reject);
  thread.on("exit", (code) => reject(new Error(`The bench thread ended early: code ${code}`)));
  failed.catch(() => {}); // the exit after the last message is nobody's failure
  return async <Kind extends BenchTickMessage["kind"]>(kind: Kind): Promise<Mail<Kind>> => {
    while (waiting.length === 0) {
      await Promise.race([failed, new Promise<void>((resolve) => (wake = resolve))]);
    }
    const message = waiting.shift()!;
    if (message.kind !== kind)
      throw new Error(`The bench thread said ${message.kind}, not ${kind}`);
    return message as Mail<Kind>;
  };
}

/** The report as a person reads it. */
export function formatBenchTick(report: BenchTickReport): string {
  const row = (name: string, figures: WakeFigures | null) => {
    if (figures === null) return `${name}  no figures`;
    const { p50, p90, p99, max } = figures;
    const cells = [p50, p90, p99, max].map((us) => us.toFixed(1).padStart(9));
    return `${name}${cells.join("")}`;
  };
  const ratio = (value: number | null) => (value === null ? "none" : value.toFixed(2));
  const voidCount = report.pairs.filter((pair) => pair.is_void).length;
  const lines = [
    `${report.run_ticks} ticks at ${report.rate_hz} Hz a run, ${report.pairs.length} pairs, ` +
      `${voidCount} void, spin tail ${report.spin_tail_us} us`,
    "wake-up, us      p50      p90      p99      max",
    row("cyclictest", report.cyclictest_us),
    row("holdfast  ", report.ours_us),
    `p50_ratio ${ratio(report.p50_ratio)} (goal ${report.goals.p50_ratio})  ` +
      `p90_ratio ${ratio(report.p90_ratio)} (goal ${report.goals.p90_ratio})`,
    `later than 1 ms: ${report.late_1ms_ticks}, missed: ${report.missed_ticks}`,
    `verdict: ${report.verdict}`,
  ];
  if (!report.realtime.granted) {
    lines.push(`real-time priority refused: ${report.realtime.refusal}; see holdfast doctor`);
  }
  for (const { name, policy, priority } of report.undeclared_realtime_threads) {
    lines.push(`undeclared real-time thread: ${name} ${policy} ${priority}`);
  }
  return lines.join("\n");
}
