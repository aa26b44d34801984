// OpenpiSession: our end of a connection to an openpi server, sans-IO. It is told the time and what
// the socket met; it answers what to do next: dial, send or hang up. Its timers are data.
//
// openpi numbers nothing: an answer belongs to the question before it, and to no other. So one
// question is under way at most, and whatever breaks the turn-taking (an answer that is late, or
// that nobody asked for) ends the connection, because the next answer could not be told from it.

import { assert } from "../contracts/assert.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { Backoff } from "./backoff.ts";
import { cut } from "./foreign-text.ts";
import { decodeMap, readArray } from "./openpi-codec.ts";
import type { Problem, ReadArray } from "./openpi-codec.ts";

/** `greeting` is connected and waits for the metadata, which the server sends unasked. */
export type OpenpiPhase = "idle" | "dialing" | "greeting" | "ready" | "waiting";

export type OpenpiOutput =
  | { readonly kind: "dial" }
  | { readonly kind: "send"; readonly bytes: Uint8Array }
  | { readonly kind: "hangUp" };

/** `expected` of a failure is empty where nothing can be said but what happened. */
export type OpenpiAnswer =
  | { readonly requestId: number; readonly actions: ReadArray }
  | { readonly requestId: number; readonly failure: Problem };

/**
 * A server says nothing while it thinks, not even to a ping, so a dead one is known by its answer
 * staying away: within the 750 ms of every policy link, however long the window is.
 */
export const OPENPI_ANSWER_NS_MAX = milliseconds(750);
/**
 * From dialling to the metadata. With the longest pause before it a server that is back has
 * answered within 2 s; one that thinks for another robot meanwhile is dialled again.
 */
const GREETING_NS_MAX = milliseconds(900);

const NEVER = instant(Infinity);

export class OpenpiSession {
  readonly #backoff: Backoff;
  readonly #outputs: OpenpiOutput[] = [];
  readonly #answers: OpenpiAnswer[] = [];
  #phase: OpenpiPhase = "idle";
  #connection = 0;
  #trouble = "not connected yet";
  #metadata: string | undefined;
  #requestId = 0;
  #request: { readonly id: number; readonly endNs: Instant } | undefined;
  #phaseDueNs: Instant = NEVER;

  constructor(random: SeededRandom) {
    this.#backoff = new Backoff(random);
  }

  get phase(): OpenpiPhase {
    return this.#phase;
  }
  /** Counts connections, from 1. */
  get connection(): number {
    return this.#connection;
  }
  /**
   * What is wrong, for a person; empty while decisions come. It stays until one does, so that a
   * trouble that repeats with each connection is one trouble.
   */
  get trouble(): string {
    return this.#trouble;
  }
  get isBusy(): boolean {
    return this.#request !== undefined;
  }

  start(nowNs: Instant): void {
    assert(this.#phase === "idle", "a session is started once");
    this.#dial(nowNs);
  }

  /** The socket is open. */
  opened(): void {
    if (this.#phase !== "dialing") return;
    this.#phase = "greeting";
  }

  /** The socket is gone, or was never open. */
  closed(why: string, nowNs: Instant): void {
    if (this.#phase === "idle" || this.#phase === "waiting") return;
    this.#lose(happened(why), nowNs);
  }

  /** A text frame is the server's way to fail, always. */
  receivedText(text: string, nowNs: Instant): void {
    if (this.#isOpen) this.#hangUp(happened(`the server failed: ${errorLine(text)}`), nowNs);
  }

  received(frame: Uint8Array, nowNs: Instant): void {
    if (this.#phase === "greeting") this.#greeted(frame, nowNs);
    else if (this.#phase === "ready") this.#answered(frame, nowNs);
  }

  /** Asks; the answer is late at `endNs`. Undefined when it cannot be asked now. */
  request(bytes: Uint8Array, endNs: Instant): number | undefined {
    if (this.#phase !== "ready" || this.#request !== undefined) return undefined;
    this.#requestId += 1;
    this.#request = { id: this.#requestId, endNs };
    this.#outputs.push({ kind: "send", bytes });
    return this.#requestId;
  }

  /** What the answer held was used. */
  used(): void {
    this.#trouble = "";
    this.#backoff.begin();
  }

  /** What the answer held was not used. */
  refused(problem: Problem): void {
    this.#trouble = cut(problemText(problem));
  }

  /** Serves the timers. */
  step(nowNs: Instant): void {
    if (this.#request !== undefined && nowNs >= this.#request.endNs) {
      this.#hangUp(happened("no answer in time"), nowNs);
    }
    if (nowNs < this.#phaseDueNs) return;
    if (this.#phase === "waiting") this.#dial(nowNs);
    else {
      const missing = this.#phase === "dialing" ? "connection" : "metadata";
      this.#hangUp(happened(`no ${missing} within ${GREETING_NS_MAX / 1e6} ms`), nowNs);
    }
  }

  takeOutput(): OpenpiOutput | undefined {
    return this.#outputs.shift();
  }

  takeAnswer(): OpenpiAnswer | undefined {
    return this.#answers.shift();
  }

  /** The end: nothing is dialled again. */
  close(): void {
    if (this.#isOpen || this.#phase === "dialing") this.#outputs.push({ kind: "hangUp" });
    this.#fail(happened("the run ended"));
    this.#phase = "idle";
    this.#phaseDueNs = NEVER;
  }

  get #isOpen(): boolean {
    return this.#phase === "greeting" || this.#phase === "ready";
  }

  #dial(nowNs: Instant): void {
    this.#connection += 1;
    this.#phase = "dialing";
    this.#phaseDueNs = instant(nowNs + GREETING_NS_MAX);
    this.#outputs.push({ kind: "dial" });
  }

  #greeted(frame: Uint8Array, nowNs: Instant): void {
    const metadata = decodeMap(frame);
    if (!("map" in metadata)) {
      this.#hangUp(of("metadata", metadata), nowNs);
      return;
    }
    const bytes = Buffer.from(frame).toString("base64");
    this.#metadata ??= bytes;
    if (this.#metadata !== bytes) {
      this.#backoff.slow(); // only a person mends it
      this.#hangUp(
        happened("the server came back with other metadata: end this run, start anew"),
        nowNs,
      );
      return;
    }
    this.#phase = "ready";
    this.#phaseDueNs = NEVER;
  }

  #answered(frame: Uint8Array, nowNs: Instant): void {
    const request = this.#request;
    if (request === undefined) {
      this.#hangUp(happened("the server answered what it was not asked"), nowNs);
      return;
    }
    const answer = decodeMap(frame);
    if (!("map" in answer)) {
      this.#hangUp(of("an answer", answer), nowNs);
      return;
    }
    this.#request = undefined;
    const requestId = request.id;
    const actions = readArray(answer.map["actions"]);
    if ("values" in actions) this.#answers.push({ requestId, actions });
    else this.#answers.push({ requestId, failure: of("actions", actions) });
  }

  #hangUp(problem: Problem, nowNs: Instant): void {
    this.#outputs.push({ kind: "hangUp" });
    this.#lose(problem, nowNs);
  }

  /** The next dial is due after a pause that grows until a decision is used. */
  #lose(problem: Problem, nowNs: Instant): void {
    this.refused(problem);
    this.#fail(problem);
    this.#phase = "waiting";
    this.#phaseDueNs = this.#backoff.dueNs(nowNs);
  }

  #fail(failure: Problem): void {
    if (this.#request === undefined) return;
    this.#answers.push({ requestId: this.#request.id, failure });
    this.#request = undefined;
  }
}

const happened = (found: string): Problem => ({ expected: "", found });

const of = (what: string, { expected, found }: Problem): Problem => ({
  expected: `${what}: ${expected}`,
  found,
});

/** One line for a person. */
export const problemText = ({ expected, found }: Problem): string =>
  expected === "" ? found : `expected ${expected}, found ${found}`;

/** What a person wants of an error: its first line, of a Python traceback the last. */
export function errorLine(text: string): string {
  const lines = text
    .slice(-TEXT_SEARCHED_MAX)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const line = text.startsWith("Traceback") ? lines.at(-1) : lines[0];
  return cut(line?.trim() ?? "an empty text");
}

/** A longer text's end is looked at: a traceback says what it is about there. */
const TEXT_SEARCHED_MAX = 65_536;
