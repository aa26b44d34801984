// A lockstep run: core, robot and policy in this thread, time a count of ticks. As fast as it goes,
// reproducible to the bit; keys and signals are served between batches of ticks.

import { OperatorCue, modeNames } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import { EvidenceLog } from "../core/evidence-log.ts";
import { ALL_ALIVE } from "../core/input-log.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { RunStats } from "../core/run-stats.ts";
import { controlTick } from "../core/tick.ts";
import { TraceHash } from "../core/trace-hash.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { LockstepPolicyPort } from "../policy/lockstep-port.ts";
import { makeRunner } from "../policy/make-runner.ts";
import { makeBody } from "../workers/body.ts";
import { layoutOf } from "../workers/plan.ts";
import { SystemClock, sessionOrigin } from "../workers/system-clock.ts";
import type { RunReport } from "./report.ts";
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
  const { robot, task } = plan;
  const layout = layoutOf(plan);
  const runner = await makeRunner(plan, layout);
  const body = await makeBody(plan);
  const cues = new CueQueue();
  const stats = new RunStats(tickSlotCount(layout.jointCount), robot.supervisor.lateNsMax);
  const hash = new TraceHash(layout.jointCount);
  const evidence = new EvidenceLog();
  const core = new ControlCore({
    profile: robot,
    layout,
    schemaFingerprint: commandFingerprint(robot),
    sensor: body.sensor,
    actuator: body.robot.actuator,
    policy: new LockstepPolicyPort(runner, robot.policy.anchoring),
    cues,
    alive: ALL_ALIVE,
    ticks: new Fan([stats, hash]),
    evidence,
    deadlineIsFault: false,
  });
  let quit = false;
  let stopWaiting = (): void => undefined;
  const taskOutcome = () => ({
    name: task.name,
    success: body.success,
    episodeCount: body.episodeCount,
    successCount: body.successCount,
  });
  const handle = lockstepHandle(options, stats, cues, taskOutcome, () => {
    quit = true;
    stopWaiting();
  });
  // The clock waits for the answer of an act, as long as it takes or until the run is told to end.
  const settled = async (): Promise<void> => {
    const tell = setTimeout(() => hooks.note(WAITING), ANSWER_MS_PATIENCE);
    const told = new Promise<void>((resolve) => {
      stopWaiting = resolve;
    });
    await Promise.race([runner.settled(), told]);
    clearTimeout(tell);
  };
  hooks.onHandle(handle);

  // World time of tick k is half a period behind its tick, as the phase grid has it live.
  const phaseNs = robot.periodNs / 2;
  body.begin(instant(-phaseNs));
  core.prime(instant(0));
  cues.put(OperatorCue.Start);
  const clock = new SystemClock(sessionOrigin(), duration(0), NEVER);
  const startedNs = clock.nowNs();
  const tickCount = Math.round((options.durationS ?? Infinity) * robot.controlHz);
  let tick = 0;
  while (tick < tickCount && !quit) {
    const until = Math.min(tick + BATCH_TICKS, tickCount);
    for (; tick < until && !quit; tick += 1) {
      const nowNs = tickTimeNs(tick, robot.controlHz, 1);
      controlTick(core, nowNs);
      body.advanceTo(instant(nowNs + phaseNs));
      if (runner.isPending) await settled();
    }
    await nextTurn();
  }
  const wallS = (clock.nowNs() - startedNs) / 1e9;
  body.robot.lifecycle.close();
  return {
    options,
    stats,
    policySafeTicks: runner.safeTicks,
    policySafeEpisodes: runner.safeEpisodes,
    evidenceCounts: evidence.counts,
    task: taskOutcome(),
    traceHash: hash.digest(),
    realtimeFactor: tick / robot.controlHz / wallS,
    warnings: runner.lastError === "" ? [] : [`the policy threw: ${runner.lastError}`],
    failure: body.sim?.fault?.message,
    next: `Again, to the bit: the same command. In real time: holdfast run ${robot.name}`,
  };
}

/** Lets keys, signals and the socket have their turn. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function lockstepHandle(
  options: RunOptions,
  stats: RunStats,
  cues: CueQueue,
  task: () => RunReport["task"],
  quit: () => void,
): RunHandle {
  const give = (cue: OperatorCue, text: string) => (): CueAnswer => {
    cues.put(cue);
    return { accepted: true, text };
  };
  const mode = (): string => modeNames[stats.path[stats.path.length - 1] ?? 0] ?? "STARTING";
  return {
    status: () => statusOf(options, stats, task(), []),
    stop: give(OperatorCue.Stop, "stop asked"),
    reset: () => give(OperatorCue.Reset, `reset asked in ${mode()}`)(),
    start: () => give(OperatorCue.Start, `start asked in ${mode()}`)(),
    quit,
    frame: () => Promise.resolve(undefined),
  };
}
