// The host's end of the e-stop line with a pen at the other: statuses are written as a test wants
// them, answers are read back. No chip, and no time but the test's own.

import {
  EstopCause,
  EstopInput,
  EstopMode,
  EstopOutput,
  EstopProof,
  EstopVerdict,
} from "../runtime/contracts/estop-codes.ts";
import {
  AnswerReader,
  EstopAnswer,
  EstopStatus,
  StatusWriter,
} from "../runtime/contracts/estop-frame.ts";
import { ESTOP_BEAT_SLOT_COUNT, EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { BOARD_PROOF_TRIES_MAX, BOARD_SILENCE_NS_MAX, EstopLink } from "./estop-link.ts";
import type { EstopLinkOptions } from "./estop-link.ts";

const { Armed, Proof, Tripped } = EstopMode;
const MS = 1e6;
/** The link is opened then, so that no test passes by time zero. */
const OPENED_MS = 7_000;
const UNTOUCHED = 0xee;
export const NONCE = 0x0102_0304;

/** A link, what it hears, and what it sends. */
export class Line {
  readonly link: EstopLink;
  readonly beat = new Float64Array(ESTOP_BEAT_SLOT_COUNT);
  readonly status = Object.assign(new EstopStatus(), { bootNonce: NONCE, stopMs: 300 });
  nowMs = OPENED_MS;
  readonly #statuses: StatusWriter;
  readonly #wire: Uint8Array;

  constructor(options: Partial<EstopLinkOptions> = {}, chipKey: Uint8Array | null = null) {
    this.link = new EstopLink({
      stopNsMin: duration(300 * MS),
      silenceNsMax: BOARD_SILENCE_NS_MAX,
      startNsMax: duration(3_000 * MS),
      proofTryCountMax: BOARD_PROOF_TRIES_MAX,
      cutsOnFault: true,
      key: null,
      nowNs: instant(OPENED_MS * MS),
      ...options,
    });
    this.#statuses = new StatusWriter(chipKey);
    this.#wire = new Uint8Array(this.link.wireSizeBytesMax);
    this.beat.fill(0);
    this.beat[EstopBeatSlot.answerCount] = 1;
  }

  /** A status with these fields, 5 ms after the last; what it said before stays. */
  hear(fields: Partial<EstopStatus> = {}): boolean {
    this.status.counter = (this.status.counter + 1) & 0xffff;
    this.nowMs += 5;
    return this.replay(fields);
  }

  /** The same with the counter and the time as they are. */
  replay(fields: Partial<EstopStatus> = {}): boolean {
    const heard = this.hearBytes(this.statusBytes(fields));
    if (heard.slice(0, -1).includes(true)) throw new Error("Cannot go on: heard before its end");
    return heard.at(-1)!;
  }

  statusBytes(fields: Partial<EstopStatus>): Uint8Array {
    const wire = new Uint8Array(this.#statuses.wireSizeBytes);
    this.#statuses.writeInto(wire, Object.assign(this.status, fields));
    return wire;
  }

  hearBytes(bytes: Uint8Array): boolean[] {
    return [...bytes].map((byte) => this.link.takeByte(byte, instant(this.nowMs * MS)));
  }

  /** Time goes on without a status. */
  wait(ms: number): this {
    this.nowMs += ms;
    this.link.step(instant(this.nowMs * MS));
    return this;
  }

  /** What a completed tick sends, frame by frame: its verdict, and the answer. */
  send(): (EstopAnswer & { readonly verdict: EstopVerdict })[] {
    this.#wire.fill(UNTOUCHED);
    const size = this.link.writeInto(this.#wire, this.beat, instant(this.nowMs * MS));
    const reader = new AnswerReader(null);
    const answer = new EstopAnswer();
    const sent = [];
    for (const byte of this.#wire.subarray(0, size)) {
      const verdict = reader.takeInto(answer, byte);
      if (verdict !== EstopVerdict.Pending) sent.push({ ...answer, verdict });
    }
    const isOver = this.#wire.subarray(size).some((byte) => byte !== UNTOUCHED);
    if (isOver) throw new Error(`Cannot go on: wrote past its ${size} bytes`);
    return sent;
  }

  get flags(): number {
    return this.send()[0]!.flags;
  }

  /** Armed, as the chip says it. */
  armed(): this {
    this.hear({ mode: Armed, cause: EstopCause.None, outputs: EstopOutput.Both });
    return this;
  }

  /** The run has left STARTING. */
  begun(): this {
    this.beat[EstopBeatSlot.hostMode] = Mode.Running;
    this.send();
    return this;
  }

  /** The supervisor wishes for a cut from this tick on, or does not. */
  wish(wantsCut: boolean): this {
    this.beat[EstopBeatSlot.wantsCut] = Number(wantsCut);
    this.send();
    return this;
  }

  trip(cause: number): this {
    this.hear({ mode: Tripped, cause, outputs: 0 });
    return this;
  }

  /** A proof test in which both contacts were seen, up to its last step. */
  proved(): this {
    this.hear({ mode: Proof, outputs: 0, inputs: 0, proofStep: EstopProof.Wrong });
    this.send();
    const { Burst, CloseA, CloseB, Corrupt, Five, OpenA, Recover, Silence } = EstopProof;
    const bad = (proofStep: number, lastBad: number, more: number): void => {
      this.hear({ proofStep, lastBad, badCount: this.status.badCount + more });
    };
    bad(Corrupt, EstopVerdict.Wrong, 1);
    bad(Burst, EstopVerdict.Corrupt, 1);
    bad(Five, EstopVerdict.Early, 1);
    for (let tick = 0; tick < 9; tick += 1) {
      this.send();
      this.hear();
    }
    bad(Silence, EstopVerdict.Wrong, 5);
    this.nowMs += 100;
    this.hear({ proofStep: Recover, outputs: EstopOutput.TripShown });
    this.hear({ proofStep: CloseA, inputs: EstopInput.ReadBackA, outputs: EstopOutput.A });
    this.hear({ proofStep: OpenA, inputs: 0, outputs: 0 });
    this.hear({ proofStep: CloseB, inputs: EstopInput.ReadBackB, outputs: EstopOutput.B });
    return this;
  }

  /** A proof test that ends so after its first step. */
  failed(cause: number, lie: Partial<EstopStatus> = {}): this {
    this.hear({ mode: Proof, outputs: 0, proofStep: EstopProof.Wrong });
    this.hear(lie);
    return this.trip(cause);
  }
}
