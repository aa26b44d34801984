// A lockstep run: core, robot and policy in this thread, time a count of ticks. As fast as it goes,
// reproducible to the bit; keys and signals are served between batches of ticks.

import { OperatorCue, modeNames } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { StateLayout } from "../contracts/state.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import { EvidenceLog } from "../core/evidence-log.ts";
import { ALL_ALIVE } from "../record/input-log.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { RunStats } from "../record/run-stats.ts";
import { controlTick } from "../core/tick.ts";
import { TraceHash } from "../record/trace-hash.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { LockstepPolicyPort } from "../policy/lockstep-port.ts";
import { makeRunner } from "../policy/make-runner.ts";
import type { PolicyRunner } from "../policy/runner.ts";
import { makeBody } from "../workers/body.ts";
import type { Body } from "../workers/body.ts";
import { layoutOf } from "../workers/plan.ts";
import { SystemClock, sessionOrigin } from "../workers/system-clock.ts";
import type { RunReport, TaskOutcome } from "./report.ts";
import type { CueAnswer, RunHandle } from "./run-handle.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import { statusOf } from "./run-status.ts";

/** Ticks between two looks at keys and signals: 2 ms of work at a thousand times real time. */
const BATCH_TICKS = 400;

/** An answer that takes longer is told to a person: no time passes until it comes. */
const ANSWER_MS_PATIENCE = 2_000;

const WAITING =
  "waiting: the policy has not answered, and in lockstep no time passes until it does";

const NEVER = { stopped: false };

/** Cues from keys and the socket, in order. */
class CueQueue implements CuePort {
  readonly #waiting: OperatorCue[] = [];

  put(cue: OperatorCue): void {
    this.#waiting.push(cue);
  }

  takeCue(): OperatorCue {
    return this.#waiting.shift() ?? OperatorCue.None;
  }
}

class Fan implements TickSink {
  readonly #sinks: readonly TickSink[];

  constructor(sinks: readonly TickSink[]) {
    this.#sinks = sinks;
  }

  write(record: Float64Array): void {
    for (const sink of this.#sinks) sink.write(record);
  }
}

export async function runLockstep(options: RunOptions, hooks: RunHooks): Promise<RunReport> {
  const { plan } = options;
  const layout = layoutOf(plan);
  const runner = await makeRunner(plan, layout);
  const run = new LockstepRun(options, layout, runner, await makeBody(plan), hooks);
  hooks.onHandle(run.handle());
  await run.toTheEnd();
  return run.report();
}

class LockstepRun {
  readonly #options: RunOptions;
  readonly #core: ControlCore;
  readonly #runner: PolicyRunner;
  readonly #body: Body;
  readonly #hooks: RunHooks;
  readonly #stats: RunStats;
  readonly #hash: TraceHash;
  readonly #evidence = new EvidenceLog();
  readonly #cues = new CueQueue();
  readonly #clock = new SystemClock(sessionOrigin(), duration(0), NEVER);
  #tick = 0;
  #wallNs = 0;
  #quit = false;
  #stopWaiting: () => void = () => undefined;

  constructor(
    options: RunOptions,
    layout: StateLayout,
    runner: PolicyRunner,
    body: Body,
    hooks: RunHooks,
  ) {
    const { robot } = options.plan;
    this.#options = options;
    this.#runner = runner;
    this.#hooks = hooks;
    this.#body = body;
    this.#stats = new RunStats(tickSlotCount(layout.jointCount), robot.supervisor.lateNsMax);
    this.#hash = new TraceHash(layout.jointCount);
    this.#core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: body.sensor,
      actuator: body.robot.actuator,
      policy: new LockstepPolicyPort(runner, robot.policy.anchoring),
      cues: this.#cues,
      alive: ALL_ALIVE,
      ticks: new Fan([this.#stats, this.#hash]),
      evidence: this.#evidence,
      deadlineIsFault: false,
    });
  }

  /** Runs the asked number of ticks, or until somebody quits. */
  async toTheEnd(): Promise<void> {
    const { robot } = this.#options.plan;
    const tickCount = Math.round((this.#options.durationS ?? Infinity) * robot.controlHz);
    // World time of tick k is half a period behind its tick, as the phase grid has it live.
    this.#body.begin(instant(-robot.periodNs / 2));
    this.#core.prime(instant(0));
    this.#cues.put(OperatorCue.Start); // typing `run` is the start act
    const fromNs = this.#clock.nowNs();
    while (this.#tick < tickCount && !this.#quit) {
      await this.#batch(Math.min(this.#tick + BATCH_TICKS, tickCount));
      await nextTurn();
    }
    this.#wallNs = this.#clock.nowNs() - fromNs;
    this.#body.robot.lifecycle.close();
  }

  async #batch(untilTick: number): Promise<void> {
    const { robot } = this.#options.plan;
    for (; this.#tick < untilTick && !this.#quit; this.#tick += 1) {
      const nowNs = tickTimeNs(this.#tick, robot.controlHz, 1);
      controlTick(this.#core, nowNs);
      this.#body.advanceTo(instant(nowNs + robot.periodNs / 2));
      if (this.#runner.isPending) await this.#settled();
    }
  }

  /** The clock waits for an answer, as long as it takes or until the run is told to end. */
  async #settled(): Promise<void> {
    const tell = setTimeout(() => this.#hooks.note(WAITING), ANSWER_MS_PATIENCE);
    const told = new Promise<void>((resolve) => {
      this.#stopWaiting = resolve;
    });
    await Promise.race([this.#runner.settled(), told]);
    clearTimeout(tell);
  }

  report(): RunReport {
    const { robot } = this.#options.plan;
    const { lastError, safeTicks, safeEpisodes } = this.#runner;
    return {
      options: this.#options,
      stats: this.#stats,
      policySafeTicks: safeTicks,
      policySafeEpisodes: safeEpisodes,
      evidenceCounts: this.#evidence.counts,
      task: this.#task(),
      traceHash: this.#hash.digest(),
      realtimeFactor: (this.#tick * robot.periodNs) / this.#wallNs,
      warnings: lastError === "" ? [] : [`the policy threw: ${lastError}`],
      failure: this.#body.sim?.fault?.message,
      next: `Again, to the bit: the same command. In real time: holdfast run ${robot.name}`,
    };
  }

  handle(): RunHandle {
    const give = (cue: OperatorCue, word: string): CueAnswer => {
      this.#cues.put(cue);
      const { path } = this.#stats;
      const mode = modeNames[path[path.length - 1] ?? 0] ?? "STARTING";
      return { accepted: true, text: `${word} asked in ${mode}` };
    };
    return {
      status: () => statusOf(this.#options, this.#stats, this.#task(), []),
      stop: () => give(OperatorCue.Stop, "stop"),
      reset: () => give(OperatorCue.Reset, "reset"),
      start: () => give(OperatorCue.Start, "start"),
      quit: () => {
        this.#quit = true;
        this.#stopWaiting();
      },
      frame: () => Promise.resolve(undefined),
    };
  }

  #task(): TaskOutcome {
    const { success, episodeCount, successCount } = this.#body;
    return { name: this.#options.plan.task.name, success, episodeCount, successCount };
  }
}

/** Lets keys, signals and the socket have their turn. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
