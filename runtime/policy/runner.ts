// PolicyRunner: the policy side of the seam, whatever thread it runs on. It judges a state before a
// policy sees it, keeps the cadence by counting ticks (a refused act keeps it too), and hands each
// decision on in the robot's own command space.
//
// It reads no clock and draws no chance but a given latency model. A policy that throws, answers
// rubbish or never answers costs decisions, nothing else: it is counted by reason.

import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { deepFreeze } from "../contracts/frozen.ts";
import type { Evidence } from "../contracts/evidence.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import { Reason, REASON_COUNT } from "../contracts/reason.ts";
import { Hypothesis, StateSlot, StateView } from "../contracts/state.ts";
import type { FieldView, StateLayout } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { ActionAdapter } from "./adapter.ts";
import { copyAnswerInto } from "./answer.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import type { LatencyModel } from "./latency.ts";
import { errorText } from "./error-text.ts";
import { PolicyError } from "./policy-error.ts";
import { PolicyGuard } from "./policy-guard.ts";

export type RunnerOptions = {
  readonly policy: Policy;
  readonly adapter: ActionAdapter;
  readonly layout: StateLayout;
  /** Ticks from one act to the next: control rate over policy rate, a whole number. */
  readonly everyTicks: number;
  /** Sources the task requires, beside proprioception. */
  readonly requires: readonly string[];
  readonly qualityRatioMin: number;
  readonly latency?: LatencyModel;
};

/** A promised answer that takes longer is told: the policy may never keep it. */
const PROMISE_NS_PATIENCE = milliseconds(1_000);
const NOT_KEPT = "the policy has promised an answer and not given it";

export class PolicyRunner {
  /** Acts refused, per Reason: the policy side of `safe_entries`. */
  readonly safeTicks = new Float64Array(REASON_COUNT);
  /** How often a refusal began, per Reason: the policy side of `safe_episodes`. */
  readonly safeEpisodes = new Float64Array(REASON_COUNT);
  readonly policyName: string;
  readonly #options: RunnerOptions;
  readonly #queue = new ChunkQueue();
  /** Our copy of a decision as the policy gave it, and as the adapter turned it. */
  readonly #given = new ChunkView();
  readonly #adapted = new ChunkView();
  readonly #latest: StateView;
  readonly #required: readonly FieldView[];
  /** The state of the act under way, which a promise may read until it ends. */
  #acting: StateView;
  #dueTick = -1;
  #reason: Reason = Reason.Ok;
  #allocator: SequenceAllocator | undefined;
  #resetFailed = false;
  readonly #guard: PolicyGuard;
  /** What the newest act or reset that failed threw. */
  #thrown = "";
  #pending: Promise<void> | undefined;
  /** When the newest act began, and when `step` was last called. */
  #actedNs = 0;
  #steppedNs = 0;
  #abandonedCount = 0;

  /** Throws PolicyError when the task requires a source that the state has no field for. */
  constructor(options: RunnerOptions) {
    const { layout, everyTicks, requires, policy } = options;
    assert(Number.isInteger(everyTicks) && everyTicks >= 1, "a policy acts every whole tick");
    this.#options = options;
    this.policyName = policy.name;
    this.#guard = new PolicyGuard(policy);
    // A policy meets the layout in every state; nobody changes it from here on.
    deepFreeze(layout);
    this.#latest = new StateView(new Float64Array(layout.slotCount), layout);
    this.#acting = new StateView(new Float64Array(layout.slotCount), layout);
    this.#required = requires.map((id) => {
      const field = this.#latest.field(id);
      if (field !== undefined) return field;
      const names = layout.fields.map((spec) => spec.name).join(", ");
      throw new PolicyError("unfit_task", `Cannot run policy "${policy.name}"`, {
        place: id,
        expected: `the required source "${id}" among the observation fields`,
        found: names === "" ? "none" : names,
      });
    });
  }

  /** Text of the last error a policy threw; empty when it threw none. */
  get lastError(): string {
    return this.#guard.lastError;
  }
  /** How it goes with what the policy depends on, in its own words; empty when it has none. */
  get statusText(): string {
    return this.#guard.statusText;
  }
  /** Why it decides nothing now, as far as that is known; empty while it decides. */
  get trouble(): string {
    if (this.#reason === Reason.PolicyThrew) return `the policy threw: ${this.#thrown}`;
    const { trouble } = this.#guard;
    if (trouble !== "") return trouble;
    const isLate = this.isPending && this.#steppedNs - this.#actedNs >= PROMISE_NS_PATIENCE;
    return isLate ? NOT_KEPT : "";
  }
  /** Its answers take longer than was promised. */
  get isSlow(): boolean {
    return this.#guard.isSlow;
  }
  /** Of a policy on a host: a record of `HostTimesSlot`. */
  get hostTimes(): Float64Array | undefined {
    return this.#options.policy.hostTimes;
  }
  /** Tells the policy what became of a decision. */
  receipt(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    this.#guard.receipt(code, epoch, seq, nowNs);
  }
  /** The run is over. A policy that cannot even end in order is left to its thread. */
  close(): void {
    this.#guard.close();
  }
  /** Decisions lost because too many were under way. */
  get droppedCount(): number {
    return this.#queue.droppedCount;
  }
  /** Decisions still under way when their epoch ended. */
  get abandonedCount(): number {
    return this.#abandonedCount;
  }
  /** Why the last act was refused, or Ok. */
  get reason(): Reason {
    return this.#reason;
  }
  /** True while an `act` has promised an answer and not given it. */
  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** Before this tick a `step` does nothing, unless an epoch begins. */
  get dueTick(): number {
    return this.#dueTick;
  }
  /** Before this moment a `takeInto` finds nothing, unless a `step` comes before it. */
  get nextLookNs(): number {
    return this.#queue.nextLookNs;
  }

  /** Copies the newest state. */
  observe(state: StateView): void {
    this.#latest.copyFrom(state);
  }

  /** All that was decided before is void. The next step acts at once. */
  beginEpoch(epoch: number): void {
    this.#queue.clear();
    if (this.#pending !== undefined) {
      // The abandoned act keeps the state it was given; the next one gets memory of its own.
      const { layout } = this.#options;
      this.#acting = new StateView(new Float64Array(layout.slotCount), layout);
      this.#pending = undefined;
      this.#abandonedCount += 1;
    }
    this.#dueTick = -1;
    const allocator = new SequenceAllocator(epoch);
    this.#allocator = allocator;
    this.#resetFailed = false;
    try {
      const done: unknown = this.#options.policy.reset(epoch, allocator);
      if (done instanceof Promise) void this.#awaitReset(done, allocator);
    } catch (error) {
      this.#resetFailed = true;
      this.#threw(error);
    }
  }

  /** An asynchronous reset delays nothing, but one that fails is a reset that failed. */
  async #awaitReset(done: Promise<unknown>, allocator: SequenceAllocator): Promise<void> {
    try {
      await done;
    } catch (error) {
      if (this.#allocator !== allocator) return;
      this.#resetFailed = true;
      this.#threw(error);
    }
  }

  /** Acts if an act is due. At most one act is under way: a slow one delays the next. */
  step(tick: number, nowNs: Instant): void {
    this.#steppedNs = nowNs;
    if (this.#allocator === undefined || this.#pending !== undefined) return;
    const { everyTicks } = this.#options;
    if (this.#dueTick < 0) this.#dueTick = tick;
    if (tick < this.#dueTick) return;
    const beats = Math.floor((tick - this.#dueTick) / everyTicks) + 1;
    this.#dueTick += beats * everyTicks;
    let reason: Reason | undefined;
    try {
      reason = this.#judge(nowNs);
      if (reason === Reason.Ok) reason = this.#act(nowNs);
    } catch (error) {
      reason = this.#threw(error);
    }
    if (reason !== undefined) this.#settle(reason);
  }

  /**
   * The decision that became ready first, at or before now, in the robot's command space. One that
   * the adapter refused carries the refusal. Call until false; the first call after a `step`
   * stamps the end of its act.
   */
  takeInto(out: ChunkView, nowNs: Instant): boolean {
    return this.#queue.takeInto(out, nowNs);
  }

  /** Resolves when no act is under way. A policy that never answers never lets it resolve. */
  async settled(): Promise<void> {
    while (this.#pending !== undefined) await this.#pending;
  }

  #judge(nowNs: Instant): Reason {
    if (this.#resetFailed) return Reason.PolicyThrew;
    const state = this.#latest;
    const fresh = state.freshness(nowNs);
    if (fresh !== Reason.Ok) return fresh;
    for (const field of this.#required) {
      const sourceFresh = field.freshness(nowNs);
      if (sourceFresh !== Reason.Ok) return sourceFresh;
    }
    const { qualityRatioMin, policy } = this.#options;
    const quality = state.qualityReason(qualityRatioMin);
    if (quality !== Reason.Ok) return quality;
    for (const field of this.#required) {
      // Negated, so that NaN fails too.
      if (!(field.qualityRatio >= qualityRatioMin)) return Reason.LowQuality;
      const kind = state.layout.sources[field.spec.sourceIndex]!.kind;
      const slot =
        kind === "image" ? StateSlot.qualityVisionRatio : StateSlot.qualityLocalizationRatio;
      if (!(state.record[slot]! >= qualityRatioMin)) return Reason.LowQuality;
    }
    if (state.hypothesis !== Hypothesis.Single && !policy.selectsMode) {
      return Reason.HypothesisUnsupported;
    }
    return Reason.Ok;
  }

  /** Why the act came to nothing, or Ok; undefined while its answer is promised. */
  #act(nowNs: Instant): Reason | undefined {
    const { policy, latency } = this.#options;
    const state = this.#acting;
    state.copyFrom(this.#latest);
    this.#actedNs = nowNs;
    const readyNs = instant(nowNs + (latency === undefined ? 0 : latency.drawNs()));
    const answer: unknown = policy.act(state, nowNs);
    if (!(answer instanceof Promise)) return this.#admit(answer, state, nowNs, readyNs);
    this.#await(answer, state, nowNs, readyNs);
    return undefined;
  }

  #await(answer: Promise<unknown>, state: StateView, actNs: Instant, readyNs: Instant): void {
    const wait = async (): Promise<void> => {
      let reason: Reason;
      await Promise.resolve(); // an answer may throw at the first look; `pending` is known by then
      try {
        const chunk = await answer;
        if (this.#pending !== pending) return; // a new epoch has abandoned it
        reason = this.#admit(chunk, state, actNs, readyNs);
      } catch (error) {
        if (this.#pending !== pending) return;
        reason = this.#threw(error);
      }
      this.#pending = undefined;
      this.#settle(reason);
    };
    const pending = wait();
    this.#pending = pending;
  }

  /** Copies a decision, adapted, to its place in the queue. Anything but a chunk is an error. */
  #admit(answer: unknown, state: StateView, actNs: Instant, readyNs: Instant): Reason {
    if (answer === null) return Reason.Ok;
    const wrong = copyAnswerInto(this.#given, answer);
    if (wrong !== undefined) return this.#threw(wrong);
    this.#options.adapter.adaptInto(this.#adapted, this.#given, state);
    const place = this.#queue.add(readyNs);
    place.copyFrom(this.#adapted);
    place.record[ChunkSlot.actStartNs] = actNs;
    // A slot that the policy left empty: which state it answers is known here.
    if (place.stateStampNs === 0) place.record[ChunkSlot.stateStampNs] = state.stampNs;
    return Reason.Ok;
  }

  #settle(reason: Reason): void {
    if (reason !== Reason.Ok) {
      this.safeTicks[reason]! += 1;
      if (reason !== this.#reason) this.safeEpisodes[reason]! += 1;
    }
    this.#reason = reason;
  }

  #threw(error: unknown): Reason {
    this.#thrown = errorText(error);
    this.#guard.lastError = this.#thrown;
    return Reason.PolicyThrew;
  }
}
