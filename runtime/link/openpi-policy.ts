// OpenpiPolicy: the policy of an openpi server, behind the same interface as one in this process.
// Each act is one question. An act without a connection, or without an answer in time that fits the
// mapping, decides nothing, and the status says why. The robot's safety needs none of it.
//
// Ids are allocated as a question is sent; every decision names its own window, from the stamp of
// the state that was asked about.

import { ChunkView } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import type { OpenpiMapping } from "../contracts/openpi.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { OpenpiActions } from "./openpi-actions.ts";
import type { OpenpiObservation } from "./openpi-observation.ts";
import { OPENPI_ANSWER_NS_MAX } from "./openpi-session.ts";
import type { OpenpiAnswer, OpenpiPhase, OpenpiSession } from "./openpi-session.ts";

/** Where no time passes until the answer, a server that never answers is dead all the same. */
export const OPENPI_PATIENCE_NS = milliseconds(60_000);

export type OpenpiParts = {
  readonly session: OpenpiSession;
  readonly mapping: OpenpiMapping;
  readonly observation: OpenpiObservation;
  readonly actions: OpenpiActions;
  /** Carries out what the session wants, now. */
  readonly pump: () => void;
  /** Hangs up, for good. */
  readonly hangUp: () => void;
  readonly nowNs: () => Instant;
  /** In lockstep no time passes until the answer comes, so none is too late. */
  readonly isLockstep: boolean;
};

type Pending = {
  readonly requestId: number;
  readonly epoch: number;
  readonly seq: number;
  readonly state: StateView;
  readonly settle: (chunk: ChunkView | null) => void;
};

export class OpenpiPolicy implements Policy {
  readonly name = "openpi";
  readonly schema: ActionSchema;
  readonly selectsMode = false;
  readonly #parts: OpenpiParts;
  readonly #chunk = new ChunkView();
  readonly #windowNs: number;
  #allocator: SequenceAllocator | undefined;
  #pending: Pending | undefined;
  #missing = "";

  constructor(parts: OpenpiParts) {
    this.#parts = parts;
    this.schema = parts.actions.schema;
    this.#windowNs = parts.mapping.executedRowCount * parts.mapping.dtNs;
  }

  get phase(): OpenpiPhase {
    return this.#parts.session.phase;
  }

  /** Why no decisions come; empty while they do. */
  get trouble(): string {
    const trouble = this.#missing === "" ? this.#parts.session.trouble : this.#missing;
    return trouble === "" ? "" : `no decision: ${trouble}`;
  }

  /** One line for a person: why no decisions come, or that they do. */
  get statusText(): string {
    return this.trouble === "" ? "connected" : this.trouble;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#settle(null);
  }

  act(state: StateView, nowNs: Instant): Promise<ChunkView | null> | null {
    const { session, observation, isLockstep } = this.#parts;
    const allocator = this.#allocator;
    assert(allocator !== undefined, "reset comes before the first act");
    if (session.phase !== "ready" || session.isBusy) return null;
    const bytes = observation.encode(state);
    this.#missing = "missing" in bytes ? bytes.missing : "";
    if ("missing" in bytes) return null;
    const leftNs = Math.min(this.#windowNs - (nowNs - state.stampNs), OPENPI_ANSWER_NS_MAX);
    const patienceNs = isLockstep ? OPENPI_PATIENCE_NS : leftNs;
    const requestId = session.request(bytes, instant(this.#parts.nowNs() + patienceNs));
    assert(requestId !== undefined, "a session that is ready and not busy takes a question");
    const { epoch } = allocator;
    const seq = allocator.next();
    const answer = new Promise<ChunkView | null>((settle) => {
      this.#pending = { requestId, epoch, seq, state, settle };
    });
    this.#parts.pump();
    return answer;
  }

  close(): void {
    this.#parts.hangUp();
  }

  /** The socket brings an answer. */
  answered(answer: OpenpiAnswer): void {
    const pending = this.#pending;
    // The answer of an epoch that is over: nobody waits for it any more.
    if (pending === undefined || pending.requestId !== answer.requestId) return;
    const { session, actions } = this.#parts;
    const refusal = "failure" in answer ? answer.failure : actions.refusalOf(answer.actions);
    if ("failure" in answer || refusal !== undefined) {
      if (refusal !== undefined) session.refused(refusal);
      this.#settle(null);
      return;
    }
    const { state, epoch, seq } = pending;
    actions.writeInto(this.#chunk, answer.actions, state, epoch, seq);
    session.used();
    this.#settle(this.#chunk);
  }

  #settle(chunk: ChunkView | null): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.settle(chunk);
  }
}
