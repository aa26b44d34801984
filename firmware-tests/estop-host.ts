// A host for the e-stop chip on a bench: it answers once in 5 ms, rightly or in one of the wrong
// ways, goes through the proof test and arms. It folds its answers from the vectors' tokens and
// decides nothing by itself; what the chip made of it is in `status`.

import { foldStage, openAnswer } from "../runtime/contracts/estop-answer.ts";
import { EstopFlag, EstopInput, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { ANSWER_KIND, STATUS_KIND, StatusReader } from "../runtime/contracts/estop-frame.ts";
import { FrameWriter } from "../runtime/contracts/estop-wire.ts";
import type { EstopBench } from "./estop-bench.ts";
import vectors from "./vectors/estop-frames.json";

export const BEAT_US = 5_000;
/** A tick may give several answers, numbered within it. */
const ANSWERS_PER_TICK = 16;
const BURST_COUNT = 4;
const BEATS_MAX = 2_000;

export type Beat =
  | "good"
  | "none"
  | "wrong"
  | "corrupt"
  | "foreign"
  | "malformed"
  | "unknown_flag"
  | "other_boot"
  | "old_boot"
  | "repeated"
  | "late"
  | "same_tick"
  | "burst"
  | "zeros";

/** The answer of a whole tick. */
export function answerOf(question: number, tickIndex: number): number {
  return vectors.tokens.reduce(foldStage, openAnswer(question, tickIndex));
}

export class EstopHost {
  readonly status = new EstopStatus();
  /** Statuses read, and bytes of the chip that were none. */
  statusCount = 0;
  brokenCount = 0;
  flags = 0;
  hostMode = 0;
  /** Tick index of the last good answer. */
  goodTick = 0;
  /** When the last good answer's last byte will have passed. */
  lastBeatUs = 0;
  readonly #bench: EstopBench;
  readonly #reader: StatusReader;
  readonly #writer: AnswerWriter;
  readonly #answer = new EstopAnswer();
  readonly #questions: EstopStatus[] = [];
  #nextUs: number;
  #counter = 0;
  #tick = 0;
  /** The last status of the boot before this one. */
  #oldBoot = new EstopStatus();
  #lastWire: Uint8Array = new Uint8Array(0);

  constructor(bench: EstopBench, key: Uint8Array | null = null) {
    this.#bench = bench;
    this.#reader = new StatusReader(key);
    this.#writer = new AnswerWriter(key);
    this.#nextUs = bench.nowUs;
  }

  /** One period of 5 ms that begins with this. */
  beat(kind: Beat = "good"): void {
    this.#read();
    this.#tick += ANSWERS_PER_TICK;
    this.#send(kind);
    this.#nextUs += BEAT_US;
    this.#bench.runUntil(this.#nextUs);
    this.#read();
  }

  beats(count: number, kind: Beat = "good"): void {
    for (let index = 0; index < count; index += 1) this.beat(kind);
  }

  /** Beats until the status says so; throws after ten seconds. */
  beatUntil(isReached: (status: EstopStatus) => boolean, kind: Beat = "good"): void {
    for (let index = 0; index < BEATS_MAX; index += 1) {
      if (isReached(this.status)) return;
      this.beat(kind);
    }
    throw new Error(`Cannot go on: the chip stays at ${JSON.stringify(this.status)}`);
  }

  /** Sends nothing for a while. */
  pause(us: number): void {
    this.#nextUs = this.#bench.nowUs + us;
    this.#bench.runUntil(this.#nextUs);
    this.#read();
  }

  /** The proof test, from a chip that is tripped or disarmed, to one that waits for its reset. */
  prove(): void {
    this.proveUntilOutputs();
    this.beatUntil(({ mode }) => mode !== EstopMode.Proof);
  }

  /** The proof test up to where output A is to close. */
  proveUntilOutputs(): void {
    this.beatUntil(({ failCount }) => failCount === 0);
    this.flags |= EstopFlag.Proof;
    this.beatUntil(({ mode }) => mode === EstopMode.Proof);
    this.flags &= ~EstopFlag.Proof;
    this.proveStep(EstopProof.Wrong, "wrong");
    this.proveStep(EstopProof.Corrupt, "corrupt");
    this.proveStep(EstopProof.Burst, "burst");
    this.proveStep(EstopProof.Five, "wrong");
    this.proveStep(EstopProof.Silence, "none");
    this.proveStep(EstopProof.Recover, "good");
  }

  /** Repeats one kind of beat for as long as the chip waits for it. */
  proveStep(step: EstopProof, kind: Beat): void {
    this.beatUntil(({ mode, proofStep }) => mode !== EstopMode.Proof || proofStep !== step, kind);
  }

  /** Presses the reset for 20 ms while the beats go on. */
  pressReset(): void {
    this.#bench.switchBits |= EstopInput.ResetPressed;
    this.beats(4);
    this.#bench.switchBits &= ~EstopInput.ResetPressed;
    this.beats(4);
  }

  /** From tripped to armed. Throws when that is not reached. */
  arm(): void {
    this.prove();
    this.beats(4);
    this.pressReset();
    if (this.status.mode === EstopMode.Armed) return;
    throw new Error(`Cannot arm: the chip is at ${JSON.stringify(this.status)}`);
  }

  /** Goes on as another process: counters and ticks begin anew. */
  restart(): void {
    this.#counter = 0;
    this.#tick = 0;
    this.flags = 0;
  }

  #read(): void {
    for (const byte of this.#bench.takeReceived()) {
      const verdict = this.#reader.takeInto(this.status, byte);
      if (verdict === EstopVerdict.Pending) continue;
      if (verdict !== EstopVerdict.Good) {
        this.brokenCount += 1;
        continue;
      }
      this.statusCount += 1;
      const last = this.#questions.at(-1);
      if (last !== undefined && last.bootNonce !== this.status.bootNonce) this.#oldBoot = last;
      this.#questions.push(Object.assign(new EstopStatus(), this.status));
      if (this.#questions.length > 5) this.#questions.shift();
    }
  }

  #send(kind: Beat): void {
    if (kind === "none" || this.statusCount === 0) return;
    if (kind === "zeros") {
      this.#bench.send(Uint8Array.from([0, ...Array(ANSWERS_PER_TICK * 2).fill(1), 0]));
      return;
    }
    if (kind === "repeated") {
      this.#bench.send(this.#lastWire);
      return;
    }
    const wire = this.#wireOf(kind, 0);
    this.#bench.send(wire);
    if (kind === "good") this.#lastWire = wire;
    if (kind === "good") this.goodTick = this.#tick;
    if (kind === "good") this.lastBeatUs = this.#bench.nowUs + wire.length * 20;
    if (kind !== "burst") return;
    for (let index = 1; index <= BURST_COUNT; index += 1) {
      this.#bench.send(this.#wireOf("good", index));
    }
  }

  #questionFor(kind: Beat): EstopStatus {
    if (kind === "old_boot") return this.#oldBoot;
    return kind === "late" ? this.#questions[0]! : this.status;
  }

  #wireOf(kind: Beat, within: number): Uint8Array {
    const asked = this.#questionFor(kind);
    const answer = this.#answer;
    this.#counter = (this.#counter + 1) % 65_536;
    answer.counter = this.#counter;
    answer.bootNonce = asked.bootNonce ^ (kind === "other_boot" ? 1 : 0);
    answer.questionId = asked.counter;
    answer.tickIndex = this.#tick + within - (kind === "same_tick" ? ANSWERS_PER_TICK : 0);
    answer.answer = answerOf(asked.question, answer.tickIndex) ^ (kind === "wrong" ? 0x8000 : 0);
    answer.hostMode = kind === "malformed" ? 6 : this.hostMode;
    answer.flags = kind === "unknown_flag" ? 0x10 : this.flags;
    const wire = new Uint8Array(this.#writer.wireSizeBytes);
    this.#writer.writeInto(wire, answer);
    if (kind === "corrupt") wire[12]! ^= wire[12] === 0x40 ? 0x20 : 0x40;
    return kind === "foreign" ? foreignWire(this.#counter) : wire;
  }
}

/** Intact and of the right length, but with the id of the other direction. */
function foreignWire(counter: number): Uint8Array {
  const { dataId } = STATUS_KIND;
  const writer = new FrameWriter({ sizeBytes: ANSWER_KIND.sizeBytes, dataId }, null);
  const wire = new Uint8Array(writer.wireSizeBytes);
  writer.sealInto(wire, counter);
  return wire;
}
