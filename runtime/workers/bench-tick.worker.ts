// The thread of `bench tick`: our timer at SCHED_FIFO 80 with the pacer of a live run and nothing
// in the tick. It answers with the lateness of every wake-up; judging is the caller's business.
//
// It starts on any message, once, and gives its priority back before it answers.

import { parentPort, workerData } from "node:worker_threads";
import type { SessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
import { nameThread, setFifo, setNormal } from "../../hal/ffi/scheduling.ts";
import type { Grant } from "../../hal/ffi/scheduling.ts";
import { instant } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { Clock } from "../core/clock.ts";
import { StreamingPacer } from "../core/pacer.ts";
import { SystemClock } from "./system-clock.ts";

export type BenchTickPlan = {
  readonly threadName: string;
  /** SCHED_FIFO priority, 1 to 99. */
  readonly priority: number;
  readonly origin: SessionOrigin;
  readonly periodNs: Duration;
  readonly spinTailNs: Duration;
  readonly tickCount: number;
};

export type BenchTickMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "running"; readonly realtime: Grant }
  | { readonly kind: "done"; readonly lateNs: Float64Array; readonly missedCount: number };

const WARM_UP_TICKS = 50_000; // 15 ms; the first live ticks then run compiled code

const never = { stopped: false };

/** Jumps to each due time at once, so that a warm-up takes no time. */
class JumpClock implements Clock {
  #nowNs = instant(0);

  nowNs(): Instant {
    return this.#nowNs;
  }

  sleepUntil(dueNs: Instant): void {
    this.#nowNs = dueNs;
  }
}

function warmUp(clock: SystemClock, periodNs: Duration): void {
  const pacer = new StreamingPacer(new JumpClock(), never, periodNs, instant(0));
  for (let tick = 0; tick < WARM_UP_TICKS; tick += 1) {
    pacer.next();
    clock.sleepUntil(clock.nowNs()); // already due
  }
}

function post(message: BenchTickMessage): void {
  parentPort!.postMessage(message);
}

const plan = workerData as BenchTickPlan;
const clock = new SystemClock(plan.origin, plan.spinTailNs, never);
const lateNs = new Float64Array(plan.tickCount);
nameThread(plan.threadName);
warmUp(clock, plan.periodNs);

parentPort!.once("message", () => {
  const realtime = setFifo(plan.priority);
  post({ kind: "running", realtime });
  const pacer = new StreamingPacer(clock, never, plan.periodNs, clock.nowNs());
  let missedCount = 0;
  for (let tick = 0; tick < plan.tickCount; tick += 1) {
    pacer.next();
    lateNs[tick] = pacer.lateNs;
    missedCount += pacer.missedTicks;
  }
  setNormal();
  post({ kind: "done", lateNs, missedCount });
});
post({ kind: "ready" });
