// HostSession: the host's end of one stream, sans-IO. A hello first, then observations for the one
// policy that this robot has here; while that policy is busy the newest observation waits and older
// ones are forgotten. Every robot has a session, a policy and epochs of its own.

import { create } from "@bufbuild/protobuf";
import { assert } from "../contracts/assert.ts";
import type { Instant } from "../contracts/units.ts";
import { cut } from "./foreign-text.ts";
import {
  ChunkSchema,
  HostMessageSchema,
  HostStatus_State,
  HostStatusSchema,
  PongSchema,
  RefusalSchema,
  WelcomeSchema,
} from "./generated/policy_pb.js";
import type {
  EdgeMessage,
  Hello,
  HostMessage,
  Observation,
  PolicyFacts,
  Refusal,
} from "./generated/policy_pb.js";
import { refusalOfHello } from "./handshake.ts";
import { countWord, HostCounts } from "./host-counts.ts";
import { PROTOCOL_VERSION, SILENT_LOOK_COUNT_MAX, TROUBLE_NS_MIN } from "./limits.ts";

export type HostOutput =
  | { readonly kind: "send"; readonly message: HostMessage }
  /** Make this robot's policy; `welcome` or `refuse` answers it. */
  | { readonly kind: "open"; readonly hello: Hello }
  | { readonly kind: "reset"; readonly epoch: number }
  /** Decide; `decided` answers it. */
  | { readonly kind: "act"; readonly observation: Observation }
  | { readonly kind: "end" };

/** A decision in the columns of the policy's own schema. */
export type Decision = {
  readonly horizon: number;
  readonly dtNs: number;
  /** Of row 0, from the stamp of the state; undefined where the robot's side has it begin. */
  readonly startOffsetNs: number | undefined;
  /** Row-major, in the columns of the schema. */
  readonly rows: readonly number[];
  readonly inferenceNs: number;
};

/** What is sent when the policy made no decision: else an edge in lockstep would wait for ever. */
const NOTHING: Decision = {
  horizon: 0,
  dtNs: 0,
  startOffsetNs: undefined,
  rows: [],
  inferenceNs: 0,
};

type Send = Extract<HostMessage["message"], { value: unknown }>;

export class HostSession {
  readonly #versions: Readonly<Record<string, string>>;
  readonly #outputs: HostOutput[] = [];
  #hello: Hello | undefined;
  #facts: PolicyFacts | undefined;
  #state = HostStatus_State.LOADING;
  #epoch = -1;
  #waiting: { readonly observation: Observation; readonly arrivedNs: Instant } | undefined;
  #acting: { readonly observation: Observation; readonly queueNs: number } | undefined;
  /** Why the last act that came to nothing did, and what the edge knows of it. */
  #trouble = "";
  #toldTrouble = "";
  #troubleDueNs = -Infinity;
  /** Looks since the robot was last heard. */
  #silentLookCount = 0;
  readonly counts = new HostCounts();

  constructor(runtimeVersions: Readonly<Record<string, string>>) {
    this.#versions = runtimeVersions;
  }

  get robot(): string {
    return this.#hello?.robot ?? "";
  }
  /** How its policy stands. */
  get state(): HostStatus_State {
    return this.#state;
  }
  /** Why its policy decides nothing; empty while it decides. */
  get trouble(): string {
    return this.#trouble;
  }

  /**
   * Ends the session of a robot that says nothing any more, though nobody closed its line. Call it
   * every HOST_LOOK_MS. Looks are counted, not time: a host that was away itself heard nobody.
   */
  look(): void {
    this.#silentLookCount += 1;
    if (this.#silentLookCount === SILENT_LOOK_COUNT_MAX) this.#outputs.push({ kind: "end" });
  }

  received({ message }: EdgeMessage, nowNs: Instant): void {
    this.#silentLookCount = 0;
    if (message.case === "ping") {
      this.#pong(message.value.pingId, message.value.edgeSentNs, nowNs);
      this.#tellTrouble(nowNs);
      return;
    }
    if (message.case === "hello") {
      this.#greet(message.value);
      return;
    }
    if (this.#hello === undefined) {
      this.refuse("hello", "a hello before anything else", message.case ?? "nothing", "");
      return;
    }
    switch (message.case) {
      case "reset":
        this.#reset(Number(message.value.epoch));
        return;
      case "observation":
        this.counts.observationCount += 1;
        this.#observe(message.value, nowNs);
        return;
      case "receipt":
        countWord(this.counts.receipts, message.value.code);
        return;
      case "refusal":
      case undefined:
        this.#outputs.push({ kind: "end" });
    }
  }

  /** The policy is made: it is judged against the hello, and welcomed when it fits. */
  welcome(facts: PolicyFacts): void {
    assert(this.#hello !== undefined, "a policy is made for a hello");
    const refusal = refusalOfHello(this.#hello, facts);
    if (refusal !== undefined) {
      this.#end(refusal);
      return;
    }
    this.#facts = facts;
    const { linkSession } = this.#hello;
    const runtimeVersions = { ...this.#versions };
    const facts_ = { protocolVersion: PROTOCOL_VERSION, linkSession, policy: facts };
    this.#send({
      case: "welcome",
      value: create(WelcomeSchema, { ...facts_, runtimeVersions }),
    });
  }

  status(state: HostStatus_State, text: string): void {
    this.#state = state;
    if (this.#facts === undefined && state !== HostStatus_State.LOADING) return;
    this.#send({ case: "status", value: create(HostStatusSchema, { state, text }) });
  }

  refuse(field: string, expected: string, found: string, remedy: string): void {
    this.#end(create(RefusalSchema, { field, expected, found, remedy }));
  }

  /** The act under way has ended: with a decision, or null when the policy made none, and why. */
  decided(decision: Decision | null, trouble: string, nowNs: Instant): void {
    const acting = this.#acting;
    assert(acting !== undefined && this.#facts !== undefined, "one decision for one act");
    this.#acting = undefined;
    if (decision === null) this.counts.idleCount += 1;
    else this.counts.decided(decision.inferenceNs);
    if (decision !== null || trouble !== "") this.#trouble = cut(trouble);
    this.#tellTrouble(nowNs);
    const { observation, queueNs } = acting;
    if (Number(observation.epoch) === this.#epoch) {
      const { horizon, dtNs, startOffsetNs, rows, inferenceNs } = decision ?? NOTHING;
      const value = create(ChunkSchema, {
        linkSession: observation.linkSession,
        observationId: observation.observationId,
        epoch: observation.epoch,
        actionSchemaFingerprint: this.#facts.actionSchemaFingerprint,
        horizon,
        width: horizon === 0 ? 0 : rows.length / horizon,
        dtNs: BigInt(dtNs),
        ...(startOffsetNs !== undefined && { startOffsetNs: BigInt(startOffsetNs) }),
        values: [...Float32Array.from(rows)], // else what is too large could not be sent
        queueNs: BigInt(Math.round(queueNs)),
        inferenceNs: BigInt(Math.round(inferenceNs)),
      });
      this.#send({ case: "chunk", value });
    }
    this.#next(nowNs);
  }

  takeOutput(): HostOutput | undefined {
    return this.#outputs.shift();
  }

  #greet(hello: Hello): void {
    if (this.#hello !== undefined) {
      if (hello.linkSession === this.#hello.linkSession) return; // a repeat of the network's
      this.refuse("hello", "one hello a stream", "a second", "");
      return;
    }
    this.#hello = hello;
    this.#outputs.push({ kind: "open", hello });
  }

  #reset(epoch: number): void {
    if (epoch <= this.#epoch) return;
    this.#epoch = epoch;
    this.#waiting = undefined;
    this.#outputs.push({ kind: "reset", epoch });
  }

  #observe(observation: Observation, nowNs: Instant): void {
    const isOurs = observation.linkSession === this.#hello?.linkSession;
    const epoch = Number(observation.epoch);
    if (!isOurs || this.#facts === undefined || epoch < this.#epoch) {
      this.counts.forgottenCount += 1;
      return;
    }
    if (epoch > this.#epoch) this.#reset(epoch); // its reset was lost or comes later
    if (this.#waiting !== undefined) this.counts.forgottenCount += 1;
    this.#waiting = { observation, arrivedNs: nowNs };
    this.#next(nowNs);
  }

  #next(nowNs: Instant): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#acting !== undefined) return;
    this.#waiting = undefined;
    const { observation, arrivedNs } = waiting;
    this.#acting = { observation, queueNs: nowNs - arrivedNs };
    this.#outputs.push({ kind: "act", observation });
  }

  /** A status says it, as it changes: a person at the robot does not see the host's terminal. */
  #tellTrouble(nowNs: Instant): void {
    if (this.#trouble === this.#toldTrouble || nowNs < this.#troubleDueNs) return;
    this.#toldTrouble = this.#trouble;
    this.#troubleDueNs = nowNs + TROUBLE_NS_MIN;
    this.status(this.#state, this.#trouble);
  }

  #pong(pingId: bigint, edgeSentNs: bigint, nowNs: Instant): void {
    const hostNs = BigInt(Math.round(nowNs));
    const stamps = { pingId, edgeSentNs, hostReceivedNs: hostNs, hostSentNs: hostNs };
    this.#send({ case: "pong", value: create(PongSchema, { ...stamps, state: this.#state }) });
  }

  #end(refusal: Refusal): void {
    countWord(this.counts.refusals, refusal.field);
    this.#send({ case: "refusal", value: refusal });
    this.#outputs.push({ kind: "end" });
  }

  #send(message: Send): void {
    this.#outputs.push({ kind: "send", message: create(HostMessageSchema, { message }) });
  }
}
