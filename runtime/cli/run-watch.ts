// RunWatch: what both kinds of run do with their tick records and evidence: count them, tell people
// what happened, judge cues by the newest of them, and make status and report of it all. It drives
// nothing: the run hands cues on.

import type { Evidence, EvidenceSink } from "../contracts/evidence.ts";
import { CommandKind } from "../contracts/command.ts";
import { HOST_TIMES_SLOT_COUNT } from "../contracts/host-times.ts";
import { OperatorCue } from "../contracts/mode.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { RunStats } from "../record/run-stats.ts";
import { TraceHash } from "../record/trace-hash.ts";
import { handedOnText, refusalOf } from "./cue-answer.ts";
import { FaultTimes } from "./fault-times.ts";
import type { RunReport, TaskOutcome } from "./report.ts";
import type { CueAnswer, RunHandle, RunStatus } from "./run-handle.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import { statusOf } from "./run-status.ts";

/** What only the run itself knows at its end. */
type ReportFacts = Pick<
  RunReport,
  "policySafeTicks" | "policySafeEpisodes" | "realtimeFactor" | "failure"
>;

export class RunWatch implements TickSink, EvidenceSink {
  readonly stats: RunStats;
  /** By its own name once that is known. */
  policy: string;
  warnings: readonly string[] = [];
  /** Which thread ended unasked and why; empty when all live. */
  lostThread = "";
  /** Why the policy decides nothing; empty while it decides, or nothing is known. */
  policyTrouble = "";
  /** What a policy host says of its time. */
  hostTimes = new Float64Array(HOST_TIMES_SLOT_COUNT);
  /** The e-stop, in words. */
  estop = "none";
  /** Its reset can be pressed at this run. */
  estopArmsFromHere = false;
  /** How long it takes to cut, added up; empty without one. */
  cutTime = "";
  readonly #options: RunOptions;
  readonly #hooks: RunHooks;
  readonly #task: () => TaskOutcome;
  readonly #hash: TraceHash;
  readonly #faultTimes: FaultTimes;
  #toldCount = 0;
  /** Cues that were handed on and that no tick has taken yet. */
  #waitingCueBits = 0;
  #isSteered = false;
  #isTraceOver = false;

  constructor(options: RunOptions, hooks: RunHooks, task: () => TaskOutcome) {
    const { robot, policy } = options.plan;
    this.#options = options;
    this.#hooks = hooks;
    this.#task = task;
    this.policy = policy;
    this.stats = new RunStats(tickSlotCount(robot.joints.length), robot.supervisor.lateNsMax);
    this.#hash = new TraceHash(robot.joints.length);
    this.#faultTimes = new FaultTimes(options.plan);
  }

  note(code: Evidence): void {
    this.stats.note(code);
  }

  /** A person ended a run that repeats by its number of ticks: what follows is not part of it. */
  endTrace(): void {
    this.#isTraceOver = true;
  }

  write(record: Float64Array): void {
    const { stats } = this;
    if (this.#isTraceOver) {
      stats.follow(record);
      return;
    }
    stats.write(record);
    this.#hooks.ticked?.(record);
    this.#hash.write(record);
    this.#waitingCueBits &= ~record[TickSlot.cues]!;
    this.#faultTimes.tellUntil(stats.lastNs - stats.firstNs, (text) => this.#hooks.note(text));
    if (stats.story.changeCount === this.#toldCount) return;
    this.#toldCount = stats.story.changeCount;
    this.#hooks.changed(stats.story.changes.at(-1)!, stats.firstNs);
  }

  status(): RunStatus {
    return statusOf(this.#options, { ...this, task: this.#task() });
  }

  /** A person's cues, judged, then handed on by `put`, which says whether there was room. */
  cues(
    put: (cue: OperatorCue) => void,
  ): Pick<RunHandle, "stop" | "park" | "letGo" | "parks" | "reset" | "start"> {
    return {
      parks: this.#options.plan.robot.parkNs !== undefined,
      stop: () => this.#answer(OperatorCue.Stop, put),
      park: () => this.#answer(OperatorCue.Park, put),
      letGo: () => this.#letGo(put),
      reset: () => this.#answer(OperatorCue.Reset, put),
      start: () => this.#answer(OperatorCue.Start, put),
    };
  }

  /** Hands an answer on, and keeps in mind that a person did what it accepts. */
  byHand(answer: CueAnswer): CueAnswer {
    this.#isSteered ||= answer.accepted;
    return answer;
  }

  #answer(cue: OperatorCue, put: (cue: OperatorCue) => void): CueAnswer {
    const { last } = this.stats;
    const mode = last[TickSlot.mode]!;
    const facts = { mode, faultBits: last[TickSlot.faults]!, waitingCueBits: this.#waitingCueBits };
    const refusal = refusalOf(cue, facts);
    if (refusal !== undefined) return { accepted: false, text: refusal };
    put(cue);
    this.#waitingCueBits |= 1 << cue;
    const { parkNs } = this.#options.plan.robot;
    const isParking = last[TickSlot.kind] === CommandKind.Park;
    return this.byHand({ accepted: true, text: handedOnText(cue, mode, { parkNs, isParking }) });
  }

  /** In the tick a stop that comes while the robot is being parked lets go. */
  #letGo(put: (cue: OperatorCue) => void): boolean {
    const isHeld = Number.isNaN(this.stats.release.releasedNs);
    if (this.#options.plan.robot.parkNs === undefined || !isHeld) return false;
    put(OperatorCue.Stop);
    return true;
  }

  report(facts: ReportFacts): RunReport {
    const { stats, policy, hostTimes, warnings } = this;
    return {
      ...facts,
      options: this.#options,
      stats,
      policy,
      hostTimes,
      warnings,
      task: this.#task(),
      traceHash: stats.lostCount === 0 ? this.#hash.digest() : undefined,
      isSteered: this.#isSteered,
    };
  }
}
