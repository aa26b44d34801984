// PolicyRunner: the policy side of the seam, whatever thread it runs on. It judges a state before a
// policy sees it, keeps the cadence by counting ticks (a refused act keeps it too), and hands each
// decision on in the robot's own command space.
//
// It reads no clock and draws no chance but a given latency model. A policy that throws, answers
// rubbish or never answers costs decisions, nothing else: it is counted by reason.

import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import { Reason, REASON_COUNT } from "../contracts/reason.ts";
import { Hypothesis, StateSlot, StateView } from "../contracts/state.ts";
import type { FieldView, StateLayout } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { ActionAdapter } from "./adapter.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import type { LatencyModel } from "./latency.ts";
import { errorText } from "./error-text.ts";
import { PolicyError } from "./policy-error.ts";

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

type Answer = ChunkView | null | Promise<ChunkView | null>;

export class PolicyRunner {
  /** Acts refused, per Reason: the policy side of `safe_entries`. */
  readonly safeTicks = new Float64Array(REASON_COUNT);
  /** How often a refusal began, per Reason: the policy side of `safe_episodes`. */
  readonly safeEpisodes = new Float64Array(REASON_COUNT);
  readonly #options: RunnerOptions;
  readonly #queue = new ChunkQueue();
  readonly #latest: StateView;
  readonly #required: readonly FieldView[];
  /** The state of the act under way, which a promise may read until it ends. */
  #acting: StateView;
  #dueTick = -1;
  #reason: Reason = Reason.Ok;
  #hasEpoch = false;
  #resetFailed = false;
  #lastError = "";
  #pending: Promise<void> | undefined;
  #abandonedCount = 0;

  /** Throws PolicyError when the task requires a source that the state has no field for. */
  constructor(options: RunnerOptions) {
    const { layout, everyTicks, requires, policy } = options;
    assert(Number.isInteger(everyTicks) && everyTicks >= 1, "a policy acts every whole tick");
    this.#options = options;
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

  get policyName(): string {
    return this.#options.policy.name;
  }
  /** Text of the last error a policy threw; empty when it threw none. */
  get lastError(): string {
    return this.#lastError;
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
    this.#hasEpoch = true;
    this.#resetFailed = false;
    try {
      this.#options.policy.reset(epoch, new SequenceAllocator(epoch));
    } catch (error) {
      this.#resetFailed = true;
      this.#noteError(error);
    }
  }

  /** Acts if an act is due. At most one act is under way: a slow one delays the next. */
  step(tick: number, nowNs: Instant): void {
    if (!this.#hasEpoch || this.#pending !== undefined) return;
    const { everyTicks } = this.#options;
    if (this.#dueTick < 0) this.#dueTick = tick;
    if (tick < this.#dueTick) return;
    const beats = Math.floor((tick - this.#dueTick) / everyTicks) + 1;
    this.#dueTick += beats * everyTicks;
    const reason = this.#judge(nowNs);
    if (reason === Reason.Ok) this.#act(nowNs);
    else this.#settle(reason);
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

  #act(nowNs: Instant): void {
    const { policy, latency } = this.#options;
    const state = this.#acting;
    state.copyFrom(this.#latest);
    const readyNs = instant(nowNs + (latency === undefined ? 0 : latency.drawNs()));
    let answer: Answer;
    try {
      answer = policy.act(state, nowNs);
    } catch (error) {
      this.#noteError(error);
      this.#settle(Reason.PolicyThrew);
      return;
    }
    if (answer instanceof Promise) this.#await(answer, state, nowNs, readyNs);
    else this.#settle(this.#admit(answer, state, nowNs, readyNs));
  }

  #await(
    answer: Promise<ChunkView | null>,
    state: StateView,
    actNs: Instant,
    readyNs: Instant,
  ): void {
    const end = (reason: () => Reason) => {
      if (this.#pending !== pending) return; // a new epoch has abandoned it
      this.#pending = undefined;
      this.#settle(reason());
    };
    const pending: Promise<void> = answer.then(
      (chunk) => end(() => this.#admit(chunk, state, actNs, readyNs)),
      (error: unknown) =>
        end(() => {
          this.#noteError(error);
          return Reason.PolicyThrew;
        }),
    );
    this.#pending = pending;
  }

  /** Copies a decision, adapted, to its place in the queue. Anything but a chunk is an error. */
  #admit(chunk: ChunkView | null, state: StateView, actNs: Instant, readyNs: Instant): Reason {
    if (chunk === null) return Reason.Ok;
    if (!(chunk instanceof ChunkView)) {
      this.#lastError = "act answered neither a chunk, nor null, nor a promise of one";
      return Reason.PolicyThrew;
    }
    const place = this.#queue.add(readyNs);
    this.#options.adapter.adaptInto(place, chunk, state);
    const { record } = place;
    record[ChunkSlot.actStartNs] = actNs;
    // A slot that the policy left empty: which state it answers is known here.
    if (record[ChunkSlot.stateStampNs] === 0) record[ChunkSlot.stateStampNs] = state.stampNs;
    return Reason.Ok;
  }

  #settle(reason: Reason): void {
    if (reason !== Reason.Ok) {
      this.safeTicks[reason]! += 1;
      if (reason !== this.#reason) this.safeEpisodes[reason]! += 1;
    }
    this.#reason = reason;
  }

  #noteError(error: unknown): void {
    this.#lastError = errorText(error);
  }
}
