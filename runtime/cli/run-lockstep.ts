// A lockstep run: core and robot in this thread, the policy in its own, time a count of ticks. As
// fast as it goes, reproducible to the bit; keys and signals are served between batches of ticks
// and while a decision is waited for. A batch ends by wall time, so that a person is heard; no tick
// ever sees that time.

import { lockstepPolicyThread } from "../compose.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import { duration, instant, NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import { ALL_ALIVE } from "../record/input-log.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { controlTick } from "../core/tick.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { anchoringOf, policyKind } from "../policy/policy-kind.ts";
import { AskedPolicyPort } from "../workers/asked-policy-port.ts";
import { makeBody } from "../workers/body.ts";
import type { Body } from "../workers/body.ts";
import { layoutOf } from "../workers/plan.ts";
import type { PolicyThread } from "../workers/policy-thread.ts";
import { SilenceWatch } from "../workers/silence-watch.ts";
import { SystemClock, sessionOrigin } from "../workers/system-clock.ts";
import { FlightWatch } from "./flight-watch.ts";
import { NoteLimit } from "./note-limit.ts";
import { printable } from "./output.ts";
import type { RunReport, TaskOutcome } from "./report.ts";
import { RestWatch } from "./rest-watch.ts";
import type { RunHandle } from "./run-handle.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import { RunWatch } from "./run-watch.ts";

/** What wall time decides in a lockstep run; nothing of it reaches a tick. */
export type Patience = {
  /** Time between two looks at keys and signals. */
  readonly batchNs: Duration;
  /** A policy that gives its own thread no turn for longer is lost. */
  readonly silenceNsMax: Duration;
  /** So is one that promises an answer and does not keep it for longer. */
  readonly promiseNsMax: Duration;
  /** The same of one on another machine: its link answers for it, after a minute at the latest. */
  readonly remotePromiseNsMax: Duration;
};

/** A stop is heard as soon as in streaming; the first act of a large model takes seconds. */
export const PATIENCE: Patience = {
  batchNs: duration(20 * NS_PER_MS),
  silenceNsMax: duration(10 * NS_PER_S),
  promiseNsMax: duration(10 * NS_PER_S),
  remotePromiseNsMax: duration(70 * NS_PER_S),
};

/** How long loading may go on once the end is asked for. */
const LOAD_MS_PATIENCE = 500;

const NO_ESTOP_ANSWER = { accepted: false, text: "e-stop refused: lockstep has none" };

/** How long an answer is waited for before keys and signals have a turn. */
const WAIT_MS = 5;

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

/**
 * Undefined when the end was asked for and loading went on: a policy's module may never end.
 * Tests have a patience of their own.
 */
export async function runLockstep(
  options: RunOptions,
  hooks: RunHooks,
  patience: Patience = PATIENCE,
): Promise<RunReport | undefined> {
  hooks.note(LOADING);
  const thread = lockstepPolicyThread(options.plan);
  try {
    const body = await Promise.race([load(options, hooks, thread), impatience(hooks.endAsked)]);
    if (body === undefined) return undefined;
    const run = new LockstepRun(options, hooks, body, thread, patience);
    hooks.onHandle(run.handle());
    await run.toTheEnd();
    return run.report();
  } finally {
    await thread.end();
  }
}

async function load(options: RunOptions, hooks: RunHooks, thread: PolicyThread): Promise<Body> {
  const started = thread.start((text) => hooks.note(text));
  const [body] = await Promise.all([makeBody(options.plan), started]);
  return body;
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
  readonly #policy: AskedPolicyPort;
  readonly #thread: PolicyThread;
  readonly #patience: Patience;
  readonly #body: Body;
  readonly #hooks: RunHooks;
  readonly #watch: RunWatch;
  readonly #flight: FlightWatch;
  readonly #notes: NoteLimit;
  #toldText = "";
  readonly #cues = new CueQueue();
  readonly #clock = new SystemClock(sessionOrigin(), duration(0), NEVER);
  #tick = 0;
  #wallNs = 0;
  #quit = false;
  readonly #rest: RestWatch;
  /** Where a run that was told to end ends at the latest. */
  #endTick = Infinity;

  constructor(
    options: RunOptions,
    hooks: RunHooks,
    body: Body,
    thread: PolicyThread,
    patience: Patience,
  ) {
    const { plan } = options;
    const { robot } = plan;
    this.#options = options;
    this.#hooks = hooks;
    this.#body = body;
    this.#thread = thread;
    this.#patience = patience;
    this.#policy = new AskedPolicyPort(thread.arena, anchoringOf(robot, plan.policy));
    this.#rest = new RestWatch(robot);
    this.#watch = new RunWatch(options, hooks, () => this.#task());
    this.#watch.policy = printable(thread.name);
    this.#flight = new FlightWatch(options, (text) => hooks.note(text));
    this.#notes = new NoteLimit((text) => hooks.note(text));
    this.#core = new ControlCore({
      profile: robot,
      layout: layoutOf(plan),
      schemaFingerprint: commandFingerprint(robot),
      sensor: body.sensor,
      actuator: body,
      policy: this.#policy,
      cues: this.#cues,
      alive: ALL_ALIVE,
      ticks: this.#watch,
      evidence: {
        note: (code, epoch, seq, nowNs) => {
          this.#watch.note(code);
          this.#policy.receipts.note(code, epoch, seq, nowNs);
        },
      },
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
      this.#tellText();
      await nextTurn();
    }
    this.#wallNs = this.#clock.nowNs() - fromNs;
    this.#noteLoss();
    this.#tellText();
    this.#notes.tell(Infinity);
    this.#body.robot.lifecycle.close();
  }

  /** Within a batch the policy decides for the next tick while the world moves on from this one. */
  async #batch(tickCount: number): Promise<void> {
    const { robot } = this.#options.plan;
    const timeOf = (tick: number) => tickTimeNs(tick, robot.controlHz, 1);
    const untilNs = this.#clock.nowNs() + this.#patience.batchNs;
    this.#policy.ask(this.#tick, timeOf(this.#tick));
    if (!this.#policy.awaitAnswer(WAIT_MS)) await this.#answered();
    let isLast = false;
    while (!isLast && !this.#quit) {
      const nowNs = timeOf(this.#tick);
      controlTick(this.#core, nowNs);
      this.#flight.see(this.#watch.stats.last);
      this.#tick += 1;
      isLast = this.#tick >= this.#untilTick(tickCount) || this.#clock.nowNs() > untilNs;
      // Nobody may quit between a decision and its tick, so the last one leaves none under way.
      if (isLast) this.#policy.settle();
      else this.#policy.ask(this.#tick, timeOf(this.#tick));
      this.#body.advanceTo(instant(nowNs + robot.periodNs / 2));
      if (this.#endTick !== Infinity && this.#rest.isOver(this.#watch.stats.last)) {
        this.#quit = true;
      }
      if (!this.#policy.awaitAnswer(WAIT_MS)) await this.#answered();
    }
  }

  /** The clock waits for an answer until there can be none, or the run is told to end. */
  async #answered(): Promise<void> {
    const thread = this.#thread;
    const tell = setTimeout(() => this.#hooks.note(WAITING), ANSWER_MS_PATIENCE);
    const { silenceNsMax, promiseNsMax, remotePromiseNsMax } = this.#patience;
    const isRemote = policyKind(this.#options.plan.policy) === "remote";
    const keepNsMax = isRemote ? remotePromiseNsMax : promiseNsMax;
    const silence = new SilenceWatch(silenceNsMax, thread.beatCount, this.#clock.nowNs());
    const promise = new SilenceWatch(keepNsMax, 0, this.#clock.nowNs());
    do {
      await nextTurn();
      const nowNs = this.#clock.nowNs();
      if (silence.isSilent(thread.beatCount, nowNs)) {
        thread.lose(`it has not answered for ${silenceNsMax / NS_PER_S} s`);
      }
      if (promise.isSilent(0, nowNs)) {
        thread.lose(`it has not kept the promise of an answer for ${keepNsMax / NS_PER_S} s`);
      }
      this.#noteLoss();
    } while (!this.#quit && !this.#policy.awaitAnswer(WAIT_MS));
    clearTimeout(tell);
  }

  /** How it goes with a policy elsewhere, as it changes. Tick time may fly: one line a second. */
  #tellText(): void {
    const nowNs = this.#clock.nowNs();
    const text = this.#policy.statusText;
    if (text !== this.#toldText) {
      this.#notes.note(`policy ${this.#options.plan.policy}: ${text}`, nowNs);
    }
    this.#toldText = text;
    this.#watch.policyTrouble = this.#policy.trouble;
    this.#watch.hostTimes = this.#policy.status.hostTimes;
    this.#notes.tell(nowNs);
  }

  /** Told once, and a cue of the next tick. */
  #noteLoss(): void {
    const { lostWhy } = this.#thread;
    if (lostWhy === undefined || this.#watch.lostThread !== "") return;
    const text = `the policy thread ended: ${lostWhy}`;
    this.#watch.lostThread = text;
    this.#hooks.note(text);
    this.#policy.giveUp();
    this.#cues.put(OperatorCue.PolicyLost);
  }

  report(): RunReport {
    const { robot } = this.#options.plan;
    const { lastError, status } = this.#policy;
    const { lostThread } = this.#watch;
    this.#watch.warnings = lastError === "" ? [] : [`the policy threw: ${lastError}`];
    return this.#watch.report({
      policySafeTicks: status.safeTicks,
      policySafeEpisodes: status.safeEpisodes,
      realtimeFactor: (this.#tick * robot.periodNs) / this.#wallNs,
      failure: this.#body.sim?.fault?.message ?? (lostThread === "" ? undefined : lostThread),
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
    if (!this.#rest.letsGo || this.#endTick !== Infinity) {
      this.#quit = true;
      return;
    }
    const { periodNs } = this.#options.plan.robot;
    this.#endTick = this.#tick + Math.ceil((this.#rest.restMsMax * NS_PER_MS) / periodNs);
    this.#policy.giveUp(); // nobody waits for a decision that would move nothing
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
