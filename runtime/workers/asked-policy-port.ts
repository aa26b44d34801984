// AskedPolicyPort: the tick's side of a policy thread under the lockstep clock. What the policy
// decides for a tick follows from the state of the tick before, so the run asks as soon as that one
// is over, moves the world meanwhile, and begins the tick once the answer is there.
//
// Most ticks need no answer: the last one says from when on there is something to ask. A policy
// that is given up on decides nothing more, whatever still comes of it.

import { ChunkView } from "../contracts/action.ts";
import { anchorChunk } from "../contracts/anchoring.ts";
import { assert } from "../contracts/assert.ts";
import type { EvidenceSink } from "../contracts/evidence.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { Anchoring } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import type { Arena } from "../shm/arena.ts";
import { Bell } from "../shm/bell.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { RingReader, RingWriter } from "../shm/spsc-ring.ts";
import { AnswerSlot, AskKind, AskSlot, textFrom } from "./lockstep-plan.ts";
import { policyStatusOf } from "./policy-status.ts";
import { ReceiptWriter } from "./receipts.ts";

export class AskedPolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  /** Tells the policy what became of its decisions, with the next ask. */
  readonly receipts: EvidenceSink;
  readonly #anchoring: Anchoring;
  readonly #chunks: RingReader;
  readonly #states: LatestWriter;
  readonly #asks: LatestWriter;
  readonly #answers: LatestReader;
  readonly #status: LatestReader;
  readonly #errors: LatestReader;
  readonly #texts: LatestReader;
  readonly #troubles: LatestReader;
  readonly #askBell: Bell;
  readonly #answerBell: Bell;
  #answeredCount = 0;
  #isAsked = false;
  #isGivenUp = false;
  /** A state was published that the policy has not been shown. */
  #isStateNew = false;
  /** An epoch began that the policy has not heard of. */
  #isEpochNew = false;

  constructor(arena: Arena, anchoring: Anchoring) {
    this.#anchoring = anchoring;
    this.#chunks = new RingReader(arena.ring("chunks"));
    this.receipts = new ReceiptWriter(new RingWriter(arena.ring("receipts")));
    this.#states = new LatestWriter(arena.cell("state"));
    this.#asks = new LatestWriter(arena.cell("ask"));
    this.#answers = new LatestReader(arena.cell("answer"));
    this.#status = new LatestReader(arena.cell("policy-status"));
    this.#errors = new LatestReader(arena.cell("policy-error"));
    this.#texts = new LatestReader(arena.cell("policy-text"));
    this.#troubles = new LatestReader(arena.cell("policy-trouble"));
    this.#askBell = new Bell(arena.words("ask-bell"));
    this.#answerBell = new Bell(arena.words("answer-bell"));
  }

  /** How the policy goes, as of the newest answer. */
  get status(): ReturnType<typeof policyStatusOf> {
    return policyStatusOf(this.#status.record);
  }
  /** Text of the last error the policy threw; empty when it threw none. */
  get lastError(): string {
    return textFrom(this.#errors.record);
  }

  /** How it goes with what the policy depends on; empty while there is nothing to say. */
  get statusText(): string {
    return textFrom(this.#texts.record);
  }

  /** Why it decides nothing; empty while it decides, or nothing is known. */
  get trouble(): string {
    return textFrom(this.#troubles.record);
  }

  takeChunk(nowNs: Instant): boolean {
    assert(!this.#isAsked, "a tick begins once its decision is answered");
    if (this.#isGivenUp || !this.#chunks.takeInto(this.chunk.record)) return false;
    anchorChunk(this.chunk, nowNs, this.#anchoring);
    return true;
  }

  publish(state: StateView): void {
    this.#states.record.set(state.record);
    this.#isStateNew = true;
  }

  beginEpoch(): void {
    this.#isEpochNew = true; // the state carries which
  }

  /** Asks for the decision of `tick` if one may be due. After the publish of the tick before. */
  ask(tick: number, nowNs: Instant): void {
    const { record } = this.#answers;
    const isDue = tick >= record[AnswerSlot.dueTick]! || nowNs >= record[AnswerSlot.nextLookNs]!;
    if (this.#owes || isDue) this.#put(AskKind.decide, tick, nowNs);
  }

  /** Has the policy end what it has begun, so that no act is under way between two batches. */
  settle(): void {
    if (this.#owes) this.#put(AskKind.settle, 0, 0);
  }

  /** Blocks until nothing is asked any more, `ms` at most. True if so. */
  awaitAnswer(ms: number): boolean {
    if (!this.#isAsked) return true;
    if (!this.#answerBell.waitPast(this.#answeredCount, ms)) return false;
    this.#answeredCount = this.#answerBell.count;
    this.#isAsked = false;
    this.#answers.take();
    this.#status.take();
    this.#errors.take();
    this.#texts.take();
    this.#troubles.take();
    return true;
  }

  /** From here on there are no decisions. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#isAsked = false;
  }

  /** The policy has something to end or to hear of, due or not. */
  get #owes(): boolean {
    return this.#isEpochNew || this.#answers.record[AnswerSlot.isPromised] === 1;
  }

  #put(kind: number, tick: number, nowNs: number): void {
    if (this.#isGivenUp) return;
    assert(!this.#isAsked, "one ask is under way at a time");
    const { record } = this.#asks;
    record[AskSlot.kind] = kind;
    record[AskSlot.tick] = tick;
    record[AskSlot.nowNs] = nowNs;
    this.#asks.publish();
    if (this.#isStateNew) this.#states.publish();
    this.#isStateNew = false;
    this.#isEpochNew = false;
    this.#isAsked = true;
    this.#askBell.ring();
  }
}
