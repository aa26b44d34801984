// RemotePolicy: a policy on another machine, behind the same interface as one in this process. Each
// act is one request over the link; an act without a link, or without an answer in time, decides
// nothing, and the status says why. The robot's safety needs none of it: no decision is a hold.
//
// Ids are allocated as a request is sent, so that the second of two requests outranks the first
// whatever the order of their answers.

import { ChunkView } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { Evidence, evidenceNames, isVerdict } from "../contracts/evidence.ts";
import type { PictureReader, Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { Anchoring } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { BufferedRows } from "./buffered-rows.ts";
import { ChunkCheck } from "./chunk-check.ts";
import type { Asked } from "./chunk-check.ts";
import { observationOf, turnToJpeg } from "./edge-messages.ts";
import { HostTimes } from "./host-times.ts";
import type { EdgeLink, LinkAnswer, LinkPhase } from "./edge-link.ts";
import type { Observation, PolicyFacts } from "./generated/policy_pb.js";
import { schemaOf } from "./handshake.ts";

/** Decisions whose verdict is awaited at once: one a tick or two, and a few behind. */
const DELIVERED_COUNT_MAX = 8;
/** Answers that a latency is judged by. */
const JUDGED_COUNT = 4;

/** Makes a JPEG of an ObsTransform's square, not in this turn. It keeps no hold on the pixels. */
export type EncodePicture = (rgb: Uint8Array) => Promise<Uint8Array>;

const NOTHING_DECIDED = "the host's policy decides nothing";

export type RemoteParts = {
  readonly link: EdgeLink;
  /** Carries out what the link wants, now. */
  readonly pump: () => void;
  /** Hangs up, for good. */
  readonly hangUp: () => void;
  /** The link's clock: in streaming that of the states too. */
  readonly nowNs: () => Instant;
  readonly pictures: PictureReader | undefined;
  /** Where the run puts a chunk that names no time. */
  readonly anchoring: Anchoring;
  /** Absent where pictures go as they are. */
  readonly encodePicture?: EncodePicture;
  /** In lockstep no time passes until the answer comes, so none is too late. */
  readonly waitsForEver: boolean;
};

/** What will be asked, as it stood at the act. */
type Question = {
  readonly observation: Observation;
  readonly stateStampNs: Instant;
  /** On the clock of the states. */
  readonly actNs: Instant;
  /** The same moment on the link's clock, and when the answer is too late. */
  readonly askNs: Instant;
  readonly endNs: Instant;
};

/** A decision that was handed on, as it was, until the buffer's verdict is known. */
type Delivered = { readonly observationId: number; readonly chunk: ChunkView };

type Pending = {
  readonly observationId: number;
  readonly asked: Asked;
  /** The stamp of the asked state, on the link's clock. */
  readonly stampNs: Instant;
  readonly settle: (chunk: ChunkView | null) => void;
};

export class RemotePolicy implements Policy {
  readonly name: string;
  readonly schema: ActionSchema;
  readonly selectsMode = false;
  /** Chunks refused here, by word. */
  readonly refusals = new Map<string, number>();
  readonly #parts: RemoteParts;
  readonly #check: ChunkCheck;
  readonly #windowNs: number;
  readonly #promisedNs: number;
  readonly #chunk = new ChunkView();
  #allocator: SequenceAllocator | undefined;
  #pending: Pending | undefined;
  #lastFailure = "";
  #firstActNs: Instant | undefined;
  /** The newest ones, oldest first. */
  #delivered: readonly Delivered[] = [];
  readonly #rows: BufferedRows;
  readonly #times = new HostTimes();

  /** `facts` are those of the first welcome; a later host must say the same of its actions. */
  constructor(facts: PolicyFacts, parts: RemoteParts) {
    const schema = schemaOf(facts);
    assert(schema !== undefined, "a welcome with a strange schema was refused");
    this.name = facts.name;
    this.schema = schema;
    this.#parts = parts;
    const { horizon } = facts;
    const dtNs = Number(facts.dtNs);
    this.#check = new ChunkCheck({ schema, horizon, dtNs });
    this.#windowNs = horizon * dtNs;
    this.#promisedNs = Number(facts.latencyNsP99);
    this.#rows = new BufferedRows(parts.anchoring);
  }

  get phase(): LinkPhase {
    return this.#parts.link.phase;
  }

  /** Why no decisions come; empty while they do. */
  get trouble(): string {
    const { link } = this.#parts;
    if (link.phase !== "ready") return link.text;
    const { hostTrouble } = link;
    return hostTrouble === "" ? this.#lastFailure : `${NOTHING_DECIDED}: ${hostTrouble}`;
  }

  get hostTimes(): Float64Array {
    return this.#times.read(this.#parts.link.times.roundTripNs);
  }

  /** One line for a person: how the link stands, and the last decision that came to nothing. */
  get statusText(): string {
    const { link } = this.#parts;
    const isAnswered = link.phase === "ready" && link.hostTrouble === "";
    if (isAnswered && this.isSlow) {
      const promised = `the ${(this.#promisedNs / 1e6).toFixed(0)} ms that the host promised`;
      return `answers take longer than ${promised}: the robot moves at reduced speed`;
    }
    return this.trouble === "" ? link.text : this.trouble;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#rows.clear();
    this.#firstActNs = undefined;
    // In lockstep no state grows old behind what the host still thinks about.
    if (this.#parts.waitsForEver) this.#parts.link.abandon();
    this.#settle(null);
  }

  act(state: StateView, nowNs: Instant): Promise<ChunkView | null> | null {
    const { link, pictures } = this.#parts;
    const allocator = this.#allocator;
    assert(allocator !== undefined, "reset comes before the first act");
    // Busy: an epoch before is still being answered, which nobody takes any more.
    if (link.phase !== "ready" || link.isBusy) return null;
    const leftNs = this.#parts.waitsForEver ? Infinity : this.#windowNs - (nowNs - state.stampNs);
    if (leftNs <= 0) return this.#nothing("the state is older than the host's rows are long");
    const askNs = this.#parts.nowNs();
    const observation = observationOf(state, allocator.epoch, nowNs, pictures);
    if (observation === null) return this.#nothing("a picture was overwritten before it was sent");
    this.#firstActNs ??= nowNs;
    observation.sinceResetNs = BigInt(Math.round(nowNs - this.#firstActNs));
    const endNs = instant(askNs + leftNs);
    const question = { observation, stateStampNs: state.stampNs, actNs: nowNs, askNs, endNs };
    const { encodePicture } = this.#parts;
    const isRaw = encodePicture === undefined || observation.images.length === 0;
    return isRaw ? this.#ask(question, allocator, 0) : this.#askWithJpeg(question, encodePicture);
  }

  /**
   * Encodes, then asks. Whatever ended meanwhile (the epoch, the session, the time for an answer)
   * has ended this act: what was seen before it is not sent after it.
   */
  async #askWithJpeg(question: Question, encodePicture: EncodePicture): Promise<ChunkView | null> {
    const { link, waitsForEver, nowNs } = this.#parts;
    const { observation, askNs, endNs } = question;
    const { session } = link;
    const allocator = this.#allocator!;
    const jpegs = await Promise.all(observation.images.map(({ pixels }) => encodePicture(pixels)));
    if (this.#allocator !== allocator) return null;
    const isSame = link.phase === "ready" && link.session === session;
    if (!isSame) return this.#nothing("the connection was lost as a picture was encoded");
    // In lockstep no time has passed.
    const laterNs = duration(waitsForEver ? 0 : nowNs() - askNs);
    if (askNs + laterNs >= endNs) return this.#nothing("encoding a picture took too long");
    turnToJpeg(observation, jpegs, laterNs);
    return this.#ask(question, allocator, laterNs);
  }

  /** Sends it, so much later than the act. */
  #ask(
    { observation, stateStampNs, actNs, askNs, endNs }: Question,
    allocator: SequenceAllocator,
    laterNs: number,
  ): Promise<ChunkView | null> {
    const { link } = this.#parts;
    this.#addBuffered(observation, instant(actNs + laterNs));
    const asked = { epoch: allocator.epoch, seq: allocator.next(), stampNs: stateStampNs };
    const id = link.request(observation, instant(askNs + laterNs), endNs);
    assert(id !== undefined, "a ready link that is not busy asks");
    const stampNs = instant(askNs - (actNs - stateStampNs));
    const answer = new Promise<ChunkView | null>((settle) => {
      this.#pending = { observationId: id, asked, stampNs, settle };
    });
    this.#parts.pump();
    return answer;
  }

  /** The median of the last answers is above what the host promised. */
  get isSlow(): boolean {
    const { delayNs, delayCount } = this.#parts.link.times;
    return this.#promisedNs > 0 && delayCount >= JUDGED_COUNT && delayNs > this.#promisedNs;
  }

  /** Tells the host what the robot made of its chunk, and goes on from there. */
  receipt(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    if (!isVerdict(code)) return;
    const told = this.#delivered.find(({ chunk }) => chunk.seq === seq && chunk.epoch === epoch);
    if (told === undefined) return;
    const isAccepted = code === Evidence.Accepted;
    this.#parts.link.receipt(told.observationId, isAccepted, evidenceNames[code]);
    if (epoch !== this.#allocator?.epoch) return;
    if (isAccepted) this.#rows.accepted(told.chunk, nowNs);
    else this.#rows.voided(seq);
  }

  close(): void {
    this.#parts.hangUp();
  }

  /** The transport brings an answer. */
  answered(answer: LinkAnswer): void {
    const pending = this.#pending;
    if (pending === undefined || pending.observationId !== answer.observationId) {
      const isChunk = "chunk" in answer;
      if (isChunk) this.#parts.link.receipt(answer.observationId, false, "stale_epoch");
      return;
    }
    if ("failure" in answer) {
      this.#lastFailure = `no decision: ${answer.failure}`;
      this.#settle(null);
      return;
    }
    const { link, nowNs } = this.#parts;
    const { chunk } = answer;
    if (chunk.horizon === 0) {
      this.#lastFailure = "";
      this.#settle(null);
      return;
    }
    const refusal = this.#check.refusalOf(chunk, pending.asked);
    if (refusal !== undefined) {
      this.refusals.set(refusal, (this.refusals.get(refusal) ?? 0) + 1);
      this.#lastFailure = `the host's chunk was refused: ${refusal}`;
      link.receipt(answer.observationId, false, refusal);
      this.#settle(null);
      return;
    }
    this.#times.answered(chunk);
    this.#check.writeInto(this.#chunk, chunk, pending.asked);
    link.times.answered(duration(nowNs() - pending.stampNs));
    this.#deliver(pending.observationId);
    this.#lastFailure = "";
    this.#settle(this.#chunk);
  }

  #nothing(why: string): null {
    this.#lastFailure = `no decision: ${why}`;
    return null;
  }

  #settle(chunk: ChunkView | null): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.settle(chunk);
  }

  #deliver(observationId: number): void {
    const chunk = new ChunkView();
    chunk.copyFrom(this.#chunk);
    const before = this.#delivered.slice(1 - DELIVERED_COUNT_MAX);
    this.#delivered = [...before, { observationId, chunk }];
  }

  /** For real-time chunking: what will still be executed, and how long an answer takes. */
  #addBuffered(
    observation: { bufferedRows: number[]; bufferedRowCount: number; measuredDelayNs: bigint },
    nowNs: Instant,
  ): void {
    observation.measuredDelayNs = BigInt(Math.round(this.#parts.link.times.delayNs));
    observation.bufferedRows = [...this.#rows.at(nowNs)];
    observation.bufferedRowCount = observation.bufferedRows.length / this.schema.columns.length;
  }
}
