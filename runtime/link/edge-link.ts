// EdgeLink: the edge's end of the policy link, sans-IO. It is told the time, what the transport met
// and what the policy wants to ask; it answers what to do next: dial, send or hang up. Its timers
// are data. No socket, no clock, no promise.
//
// One request is under way at most. A session is one stream: whatever ends it, the next one begins
// with a new number and a whole handshake, and answers of an older session are refused.

import { create } from "@bufbuild/protobuf";
import { assert } from "../contracts/assert.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { Backoff } from "./backoff.ts";
import { cut } from "./foreign-text.ts";
import {
  EdgeMessageSchema,
  HostStatus_State,
  ObservationSchema,
  PingSchema,
  ReceiptSchema,
  ResetSchema,
} from "./generated/policy_pb.js";
import type {
  Chunk,
  EdgeMessage,
  Hello,
  HostMessage,
  HostStatus,
  Observation,
  PolicyFacts,
  Pong,
  Refusal,
  Welcome,
} from "./generated/policy_pb.js";
import { refusalOfWelcome, refusalText } from "./handshake.ts";
import {
  DIAL_NS_MAX,
  GREETING_NS_MAX,
  HOST_LOAD_NS_MAX,
  PING_NS,
  SILENCE_NS_MAX,
  VERSION_COUNT_MAX,
} from "./limits.ts";
import { LinkTimes } from "./link-times.ts";

/**
 * `greeting` has an open stream and no welcome; `loading` a host that says it has no policy yet;
 * `warming` a welcome and a policy that is not ready.
 */
export type LinkPhase =
  | "idle"
  | "dialing"
  | "greeting"
  | "loading"
  | "warming"
  | "ready"
  | "waiting";

export type LinkOutput =
  | { readonly kind: "dial" }
  | { readonly kind: "send"; readonly message: EdgeMessage }
  | { readonly kind: "hangUp" };

/** What became of a request: a chunk to judge, or why there is none. */
export type LinkAnswer =
  | { readonly observationId: number; readonly chunk: Chunk }
  | { readonly observationId: number; readonly failure: string };

type Body = NonNullable<EdgeMessage["message"]["value"]>;
type Request = { readonly id: number; readonly stampNs: Instant; readonly endNs: Instant };

export type EdgeLinkOptions = {
  /** The hello of a session: all of it but the session's number never changes. */
  readonly makeHello: (linkSession: bigint) => Hello;
  readonly random: SeededRandom;
};

const NEVER = instant(Infinity);
const AT_ONCE = instant(-Infinity);

export class EdgeLink {
  readonly times = new LinkTimes();
  readonly #makeHello: (linkSession: bigint) => Hello;
  readonly #backoff: Backoff;
  readonly #outputs: LinkOutput[] = [];
  readonly #answers: LinkAnswer[] = [];
  #phase: LinkPhase = "idle";
  #session = 0;
  #hello: Hello | undefined;
  #facts: PolicyFacts | undefined;
  #refusal: Refusal | undefined;
  /** Why it is not ready: while it tries anew, what ended the last session. */
  #why = "the first connection";
  #hostTrouble = "";
  #hostText = "";
  #epoch = -1;
  #requestId = 0;
  #request: Request | undefined;
  #pingId = 0;
  /** When the present phase has lasted too long, or the next dial is due. */
  #phaseDueNs: Instant = NEVER;
  #silenceDueNs: Instant = NEVER;
  #pingDueNs: Instant = NEVER;

  constructor(options: EdgeLinkOptions) {
    this.#makeHello = options.makeHello;
    this.#backoff = new Backoff(options.random);
    this.#assertWhole();
  }

  get phase(): LinkPhase {
    return this.#phase;
  }
  /** Counts connections, from 1. */
  get session(): number {
    return this.#session;
  }
  /** What the host said of its policy in the first welcome; later ones must say the same. */
  get facts(): PolicyFacts | undefined {
    return this.#facts;
  }
  /** What the newest host that was welcomed is made of, and its policy's name; empty before it. */
  get hostText(): string {
    return this.#hostText;
  }
  /** Why the last session was refused, by either side; undefined once a welcome was accepted. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }
  /** One line for a person: how the link stands, and why. */
  get text(): string {
    return this.#phase === "ready" ? "connected" : `${this.#phase}: ${this.#why}`;
  }
  /** Why the host's policy decides nothing, in the host's words; empty while it decides. */
  get hostTrouble(): string {
    return this.#hostTrouble;
  }
  get isBusy(): boolean {
    return this.#request !== undefined;
  }

  start(nowNs: Instant): void {
    assert(this.#phase === "idle", "a link is started once");
    this.#dial(nowNs);
    this.#assertWhole();
  }

  /** The stream is open. */
  opened(nowNs: Instant): void {
    if (this.#phase !== "dialing") return;
    this.#phase = "greeting";
    this.#phaseDueNs = instant(nowNs + GREETING_NS_MAX);
    const hello = this.#makeHello(BigInt(this.#session));
    this.#hello = hello;
    this.#send({ case: "hello", value: hello });
    this.#assertWhole();
  }

  /** The stream ended, or never opened. */
  closed(why: string, nowNs: Instant): void {
    if (this.#phase === "idle" || this.#phase === "waiting") return;
    this.#lose(why, nowNs);
    this.#assertWhole();
  }

  received({ message }: HostMessage, nowNs: Instant): void {
    if (!this.#isOpen) return;
    this.#silenceDueNs = instant(nowNs + SILENCE_NS_MAX);
    this.#take(message, nowNs);
    this.#assertWhole();
  }

  #take(message: HostMessage["message"], nowNs: Instant): void {
    switch (message.case) {
      case "welcome":
        this.#welcome(message.value, nowNs);
        return;
      case "refusal":
        this.#refused(message.value, "the host", nowNs);
        return;
      case "status":
        this.#hostStatus(message.value, nowNs);
        return;
      case "chunk":
        this.#chunk(message.value);
        return;
      case "pong":
        this.#pong(message.value, nowNs);
        return;
      case undefined:
        this.#hangUp("the host sent a message without content", nowNs);
    }
  }

  /**
   * Asks for a decision on a state sampled at `stampNs`; the answer is late at `endNs`. Undefined
   * when the link is not ready or a request is under way, be it of an epoch before: the host is
   * busy with it, and the state would have grown old by the time it is looked at.
   */
  request(
    observation: Omit<Observation, "linkSession" | "observationId">,
    stampNs: Instant,
    endNs: Instant,
  ): number | undefined {
    if (this.#phase !== "ready" || this.isBusy) return undefined;
    const epoch = Number(observation.epoch);
    if (epoch !== this.#epoch) this.#reset(epoch);
    assert(endNs > stampNs, "an answer is late some time after its state");
    this.#requestId += 1;
    this.#request = { id: this.#requestId, stampNs, endNs };
    const value = create(ObservationSchema, {
      ...observation,
      linkSession: BigInt(this.#session),
      observationId: BigInt(this.#requestId),
    });
    this.#send({ case: "observation", value });
    this.#assertWhole();
    return this.#requestId;
  }

  /** Nobody waits for the answer any more: the next request goes out at once. */
  abandon(): void {
    this.#request = undefined;
  }

  /** Tells the host what became of its chunk. */
  receipt(observationId: number, accepted: boolean, code: string): void {
    if (this.#phase !== "ready") return;
    const linkSession = BigInt(this.#session);
    const facts = { linkSession, observationId: BigInt(observationId), accepted, code };
    this.#send({ case: "receipt", value: create(ReceiptSchema, facts) });
  }

  /** Serves the timers. */
  step(nowNs: Instant): void {
    if (this.#request !== undefined && nowNs >= this.#request.endNs) {
      this.#fail("no answer in time");
    }
    if (nowNs >= this.#phaseDueNs) this.#phaseOver(nowNs);
    if (nowNs >= this.#silenceDueNs) {
      this.#hangUp(`nothing heard for ${SILENCE_NS_MAX / 1e6} ms`, nowNs);
    }
    if (nowNs >= this.#pingDueNs) this.#ping(nowNs);
    this.#assertWhole();
  }

  takeOutput(): LinkOutput | undefined {
    return this.#outputs.shift();
  }

  takeAnswer(): LinkAnswer | undefined {
    return this.#answers.shift();
  }

  /** The end: the transport hangs up, and nothing is dialled again. */
  close(): void {
    if (this.#isOpen || this.#phase === "dialing") this.#outputs.push({ kind: "hangUp" });
    this.#fail("the run ended");
    this.#quiet("idle");
    this.#phaseDueNs = NEVER;
    this.#assertWhole();
  }

  /** What holds between any two calls. */
  #assertWhole(): void {
    const isWelcome = this.#phase === "warming" || this.#phase === "ready";
    assert(this.#request === undefined || this.#phase === "ready", "only a ready link is asked");
    assert(this.#isOpen || this.#silenceDueNs === NEVER, "only an open stream can be silent");
    const isThere = isWelcome || this.#phase === "loading";
    assert(isThere || this.#pingDueNs === NEVER, "only a host that has answered is pinged");
    assert(!isWelcome || this.#facts !== undefined, "a welcome names the policy");
    const lasts = this.#phase === "ready" || this.#phase === "idle";
    assert(lasts || this.#phaseDueNs < NEVER, "whatever is waited for is given up in the end");
    assert(this.#phase === "idle" || this.#session > 0, "a link that tries has a session");
  }

  get #isOpen(): boolean {
    return ["greeting", "loading", "warming", "ready"].includes(this.#phase);
  }

  #dial(nowNs: Instant): void {
    this.times.clear();
    this.#session += 1;
    this.#epoch = -1;
    this.#hostTrouble = "";
    this.#phase = "dialing";
    this.#phaseDueNs = instant(nowNs + DIAL_NS_MAX);
    this.#outputs.push({ kind: "dial" });
  }

  #phaseOver(nowNs: Instant): void {
    if (this.#phase === "waiting") {
      this.#dial(nowNs);
      return;
    }
    this.#backoff.begin(); // it has waited already
    if (this.#phase === "dialing") {
      this.#hangUp(`no connection within ${DIAL_NS_MAX / 1e6} ms`, nowNs);
    } else if (this.#phase === "greeting") {
      this.#hangUp(`no welcome within ${GREETING_NS_MAX / 1e6} ms`, nowNs);
    } else this.#hangUp(`not ready within ${HOST_LOAD_NS_MAX / 1e9} s (${this.text})`, nowNs);
  }

  #welcome(welcome: Welcome, nowNs: Instant): void {
    const isAwaited = this.#phase === "greeting" || this.#phase === "loading";
    if (!isAwaited) return; // a repeat of the network's
    assert(this.#hello !== undefined, "a hello went before");
    const refusal = refusalOfWelcome(this.#hello, welcome, this.#facts);
    if (refusal !== undefined) {
      this.#send({ case: "refusal", value: refusal });
      this.#refused(refusal, "this robot", nowNs);
      return;
    }
    this.#refusal = undefined;
    this.#facts ??= welcome.policy;
    this.#hostText = hostTextOf(welcome);
    if (this.#phase === "greeting") this.#phaseDueNs = instant(nowNs + HOST_LOAD_NS_MAX);
    this.#phase = "warming";
    this.#why = "the host has not said that it is ready";
    this.#pingDueNs = nowNs;
  }

  #refused(refusal: Refusal, by: string, nowNs: Instant): void {
    this.#refusal = refusal;
    this.#backoff.slow(); // only a person mends it
    this.#hangUp(`${by} refused ${cut(refusalText(refusal))}`, nowNs);
  }

  #hostStatus({ state, text }: HostStatus, nowNs: Instant): void {
    if (state === HostStatus_State.READY) this.#hostTrouble = cut(text);
    else this.#why = cut(text);
    this.#hostState(state, nowNs);
  }

  /** A host that is not ready is waited for, from its first word of it on, for so long. */
  #hostState(state: HostStatus_State, nowNs: Instant): void {
    if (this.#phase === "greeting" && state === HostStatus_State.LOADING) {
      this.#phase = "loading";
      this.#phaseDueNs = instant(nowNs + HOST_LOAD_NS_MAX);
      this.#pingDueNs = AT_ONCE;
    }
    if (this.#phase !== "warming" && this.#phase !== "ready") return;
    if (state === HostStatus_State.READY) {
      this.#phase = "ready";
      this.#phaseDueNs = NEVER;
      this.#backoff.begin();
    } else if (this.#phase === "ready") {
      this.#phase = "warming";
      this.#phaseDueNs = instant(nowNs + HOST_LOAD_NS_MAX);
      this.#fail("the host is not ready");
    }
  }

  #chunk(chunk: Chunk): void {
    const request = this.#request;
    const id = Number(chunk.observationId);
    if (Number(chunk.linkSession) !== this.#session) {
      this.receipt(id, false, "stale_session");
      return;
    }
    if (request?.id !== id) {
      this.receipt(id, false, id > this.#requestId ? "never_asked" : "late_or_repeated");
      return;
    }
    this.#request = undefined;
    this.#answers.push({ observationId: id, chunk });
  }

  #reset(epoch: number): void {
    this.#epoch = epoch;
    const facts = { linkSession: BigInt(this.#session), epoch: BigInt(epoch) };
    this.#send({ case: "reset", value: create(ResetSchema, facts) });
  }

  #ping(nowNs: Instant): void {
    this.#pingId += 1;
    this.#pingDueNs = instant(nowNs + PING_NS);
    const facts = { pingId: BigInt(this.#pingId), edgeSentNs: BigInt(nowNs) };
    this.#send({ case: "ping", value: create(PingSchema, facts) });
  }

  #pong(pong: Pong, nowNs: Instant): void {
    this.#hostState(pong.state, nowNs);
    if (Number(pong.pingId) > this.#pingId) return;
    this.times.pong(
      Number(pong.edgeSentNs),
      Number(pong.hostReceivedNs),
      Number(pong.hostSentNs),
      nowNs,
    );
  }

  #send(message: Extract<EdgeMessage["message"], { value: Body }>): void {
    assert(this.#isOpen, "only an open stream is written to");
    assert(this.#hello !== undefined, "a hello goes first");
    this.#outputs.push({ kind: "send", message: create(EdgeMessageSchema, { message }) });
  }

  #hangUp(why: string, nowNs: Instant): void {
    this.#outputs.push({ kind: "hangUp" });
    this.#lose(why, nowNs);
  }

  /** The session is over; the next dial is due after a pause that grows. */
  #lose(why: string, nowNs: Instant): void {
    this.#fail(why);
    this.#quiet("waiting");
    this.#why = cut(why);
    this.#phaseDueNs = this.#backoff.dueNs(nowNs);
  }

  #quiet(phase: LinkPhase): void {
    this.#phase = phase;
    this.#silenceDueNs = NEVER;
    this.#pingDueNs = NEVER;
  }

  #fail(failure: string): void {
    if (this.#request === undefined) return;
    this.#answers.push({ observationId: this.#request.id, failure });
    this.#request = undefined;
  }
}

function hostTextOf({ runtimeVersions, policy }: Welcome): string {
  const all = Object.entries(runtimeVersions).map(([name, version]) => `${name} ${version}`);
  const versions = all.toSorted().slice(0, VERSION_COUNT_MAX).join(", ");
  return cut(`${versions || "of no version"}; policy ${policy?.name}`);
}
