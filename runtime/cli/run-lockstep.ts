// A lockstep run: core, robot and policy in this thread, time a count of ticks. As fast as it goes,
// reproducible to the bit; keys and signals are served between batches of ticks. A batch ends by
// wall time, so that a slow policy does not keep a person waiting; no tick ever sees that time.

import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { StateLayout } from "../contracts/state.ts";
import { duration, instant, NS_PER_MS } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import { ALL_ALIVE } from "../record/input-log.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { controlTick } from "../core/tick.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { LockstepPolicyPort } from "../policy/lockstep-port.ts";
import { makeRunner } from "../policy/make-runner.ts";
import type { PolicyRunner } from "../policy/runner.ts";
import { makeBody } from "../workers/body.ts";
import type { Body } from "../workers/body.ts";
import { layoutOf } from "../workers/plan.ts";
import { SystemClock, sessionOrigin } from "../workers/system-clock.ts";
import type { RunReport, TaskOutcome } from "./report.ts";
import { printable } from "./output.ts";
import { RestWatch } from "./rest-watch.ts";
import type { RunHandle } from "./run-handle.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import { RunWatch } from "./run-watch.ts";

/** Wall time between two looks at keys and signals: a stop is heard as soon as in streaming. */
const BATCH_NS = 20e6;

/** How long loading may go on once the end is asked for. */
const LOAD_MS_PATIENCE = 1_000;

const NO_ESTOP_ANSWER = { accepted: false, text: "e-stop refused: lockstep has none" };

/** An answer that takes longer is told to a person: no time passes until it comes. */
const ANSWER_MS_PATIENCE = 2_000;

const WAITING =
  "waiting: the policy has not answered, and in lockstep no time passes until it does";

const LOADING = "loading physics";

/** Looks at the robot before the first tick: with the priming one, as many as the gate compares. */
const LOOKS = 2;

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

/** Undefined when the end was asked for and loading went on: a policy's module may never end. */
export async function runLockstep(
  options: RunOptions,
  hooks: RunHooks,
): Promise<RunReport | undefined> {
  hooks.note(LOADING);
  const run = await Promise.race([load(options, hooks), impatience(hooks.endAsked)]);
  if (run === undefined) return undefined;
  hooks.onHandle(run.handle());
  await run.toTheEnd();
  return run.report();
}

async function load(options: RunOptions, hooks: RunHooks): Promise<LockstepRun> {
  const { plan } = options;
  const layout = layoutOf(plan);
  const runner = await makeRunner(plan, layout);
  return new LockstepRun(options, layout, runner, await makeBody(plan), hooks);
}

async function impatience(endAsked: Promise<void>): Promise<undefined> {
  await endAsked;
  await new Promise<void>((resolve) => {
    setTimeout(resolve, LOAD_MS_PATIENCE).unref();
  });
}

class LockstepRun {
  readonly #options: RunOptions;
  readonly #core: ControlCore;
  readonly #runner: PolicyRunner;
  readonly #body: Body;
  readonly #hooks: RunHooks;
  readonly #watch: RunWatch;
  readonly #cues = new CueQueue();
  readonly #clock = new SystemClock(sessionOrigin(), duration(0), NEVER);
  #tick = 0;
  #wallNs = 0;
  #quit = false;
  readonly #rest: RestWatch;
  /** Where a run that was told to end ends at the latest. */
  #endTick = Infinity;
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
    this.#rest = new RestWatch(robot);
    this.#watch = new RunWatch(options, hooks, () => this.#task());
    this.#watch.policy = printable(runner.policyName);
    this.#core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: body.sensor,
      actuator: body,
      policy: new LockstepPolicyPort(runner, robot.policy.anchoring),
      cues: this.#cues,
      alive: ALL_ALIVE,
      ticks: this.#watch,
      evidence: this.#watch,
      deadlineIsFault: false,
    });
  }

  /** Runs the asked number of ticks, or until somebody quits. */
  async toTheEnd(): Promise<void> {
    const { robot } = this.#options.plan;
    const tickCount = Math.round((this.#options.durationS ?? Infinity) * robot.controlHz);
    // World time of tick k is half a period behind its tick, as the phase grid has it live.
    this.#body.begin(instant(-(LOOKS + 0.5) * robot.periodNs));
    for (let look = LOOKS; look > 0; look -= 1) {
      this.#core.look(instant(-look * robot.periodNs));
      this.#body.advanceTo(instant((0.5 - look) * robot.periodNs));
    }
    this.#core.prime(instant(0));
    this.#cues.put(OperatorCue.Start); // typing `run` is the start act
    const fromNs = this.#clock.nowNs();
    while (this.#tick < this.#untilTick(tickCount) && !this.#quit) {
      await this.#batch(tickCount);
      await nextTurn();
    }
    this.#wallNs = this.#clock.nowNs() - fromNs;
    this.#body.robot.lifecycle.close();
  }

  async #batch(untilTick: number): Promise<void> {
    const { robot } = this.#options.plan;
    const fromNs = this.#clock.nowNs();
    for (; this.#tick < this.#untilTick(untilTick) && !this.#quit; this.#tick += 1) {
      if (this.#clock.nowNs() - fromNs > BATCH_NS) return;
      const nowNs = tickTimeNs(this.#tick, robot.controlHz, 1);
      controlTick(this.#core, nowNs);
      this.#body.advanceTo(instant(nowNs + robot.periodNs / 2));
      if (this.#endTick === Infinity) {
        if (this.#runner.isPending) await this.#settled();
      } else if (this.#rest.isOver(this.#watch.stats.last)) this.#quit = true;
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
    this.#watch.warnings = lastError === "" ? [] : [`the policy threw: ${lastError}`];
    return this.#watch.report({
      policySafeTicks: safeTicks,
      policySafeEpisodes: safeEpisodes,
      realtimeFactor: (this.#tick * robot.periodNs) / this.#wallNs,
      failure: this.#body.sim?.fault?.message,
    });
  }

  handle(): RunHandle {
    const cues = this.#watch.cues((cue) => {
      this.#cues.put(cue);
      return true;
    });
    return {
      ...cues,
      status: () => this.#watch.status(),
      estop: () => NO_ESTOP_ANSWER,
      arm: () => NO_ESTOP_ANSWER,
      prooftest: () => NO_ESTOP_ANSWER,
      quit: () => this.#askEnd(),
      frame: () => Promise.resolve(undefined),
    };
  }

  /** Once the end is asked, a robot that would fall may take the time that parking takes. */
  #untilTick(tickCount: number): number {
    return this.#endTick === Infinity ? tickCount : this.#endTick;
  }

  /** Between two ticks: a robot that would fall is parked first. The second time ends at once. */
  #askEnd(): void {
    this.#stopWaiting();
    if (!this.#rest.letsGo || this.#endTick !== Infinity) {
      this.#quit = true;
      return;
    }
    const { periodNs } = this.#options.plan.robot;
    this.#endTick = this.#tick + Math.ceil((this.#rest.restMsMax * NS_PER_MS) / periodNs);
    this.#watch.endTrace();
    this.#cues.put(OperatorCue.Shutdown);
  }

  #task(): TaskOutcome {
    const { success, episodeCount, isEpisodeUnderWay, successCount } = this.#body;
    const { name } = this.#options.plan.task;
    return { name, success, episodeCount, isEpisodeUnderWay, successCount };
  }
}

/** Lets keys, signals and the socket have their turn. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
