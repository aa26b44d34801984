// The two frames of the e-stop line and their fields, both ways: the chip's status with its
// question, and the host's answer. Sans-IO, in the byte order of `safety/firmware/PROTOCOL.md`.
// Codes that do not exist are refused. Each record is filled again and again; nothing allocates
// after set-up.

import { EstopBuild, EstopFlag, EstopInput, EstopOutput, EstopVerdict } from "./estop-codes.ts";
import { estopCauseNames, estopModeNames, estopProofNames } from "./estop-codes.ts";
import { FrameReader, FrameWriter, halfAt, PAYLOAD_AT, putHalf } from "./estop-wire.ts";
import { putWord, wordAt } from "./estop-wire.ts";
import type { FrameKind } from "./estop-wire.ts";
import { modeNames } from "./mode.ts";

/** The last byte of a data id is the version of the protocol. */
export const STATUS_KIND: FrameKind = { sizeBytes: 43, dataId: 0x4846_5301 };
export const ANSWER_KIND: FrameKind = { sizeBytes: 28, dataId: 0x4846_4101 };

/** A status comes this often, each with a fresh question. */
export const STATUS_PERIOD_US = 5_000;

/** What the host sends after each completed tick. */
export class EstopAnswer {
  counter = 0;
  bootNonce = 0;
  tickIndex = 0;
  answer = 0;
  questionId = 0;
  /** Mode of the supervisor: alive does not mean allowed. */
  hostMode = 0;
  /** Bits of `EstopFlag`. */
  flags = 0;
}

/** What the chip sends. `counter` names the question. */
export class EstopStatus {
  counter = 0;
  bootNonce = 0;
  question = 0;
  /** Of the last good answer. */
  tickIndex = 0;
  /** Bad answers since boot, 16 bits. */
  badCount = 0;
  silenceMs = 0;
  stopMs = 0;
  cutDelayMs = 0;
  discrepancyMs = 0;
  build = 0;
  mode = 0;
  cause = 0;
  /** Verdict of the last bad answer. */
  lastBad = 0;
  failCount = 0;
  inputs = 0;
  outputs = 0;
  proofStep = 0;
  hostMode = 0;

  /** Takes over every field, without allocating. */
  set(from: EstopStatus): void {
    this.counter = from.counter;
    this.bootNonce = from.bootNonce;
    this.question = from.question;
    this.tickIndex = from.tickIndex;
    this.badCount = from.badCount;
    this.silenceMs = from.silenceMs;
    this.stopMs = from.stopMs;
    this.cutDelayMs = from.cutDelayMs;
    this.discrepancyMs = from.discrepancyMs;
    this.build = from.build;
    this.mode = from.mode;
    this.cause = from.cause;
    this.lastBad = from.lastBad;
    this.failCount = from.failCount;
    this.inputs = from.inputs;
    this.outputs = from.outputs;
    this.proofStep = from.proofStep;
    this.hostMode = from.hostMode;
  }
}

export class AnswerWriter {
  readonly #writer: FrameWriter;

  constructor(key: Uint8Array | null) {
    this.#writer = new FrameWriter(ANSWER_KIND, key);
  }

  /** Size of `wire` needed. */
  get wireSizeBytes(): number {
    return this.#writer.wireSizeBytes;
  }

  /** Writes one answer as it goes over the line, and returns how many bytes. */
  writeInto(wire: Uint8Array, answer: EstopAnswer): number {
    const { frame } = this.#writer;
    putWord(frame, PAYLOAD_AT, answer.bootNonce);
    putWord(frame, 16, answer.tickIndex);
    putWord(frame, 20, answer.answer);
    putHalf(frame, 24, answer.questionId);
    frame[26] = answer.hostMode;
    frame[27] = answer.flags;
    return this.#writer.sealInto(wire, answer.counter);
  }
}

export class AnswerReader {
  readonly #reader: FrameReader;

  constructor(key: Uint8Array | null) {
    this.#reader = new FrameReader(ANSWER_KIND, key);
  }

  /** One byte from the line. `out` holds the answer when this returns `Good`. */
  takeInto(out: EstopAnswer, byte: number): EstopVerdict {
    const verdict = this.#reader.takeByte(byte);
    if (verdict !== EstopVerdict.Good) return verdict;
    const { frame } = this.#reader;
    out.counter = this.#reader.counter;
    out.bootNonce = wordAt(frame, PAYLOAD_AT);
    out.tickIndex = wordAt(frame, 16);
    out.answer = wordAt(frame, 20);
    out.questionId = halfAt(frame, 24);
    out.hostMode = frame[26]!;
    out.flags = frame[27]!;
    const known = out.hostMode < modeNames.length && out.flags <= EstopFlag.All;
    return known ? EstopVerdict.Good : EstopVerdict.Malformed;
  }
}

export class StatusWriter {
  readonly #writer: FrameWriter;

  constructor(key: Uint8Array | null) {
    this.#writer = new FrameWriter(STATUS_KIND, key);
  }

  /** Size of `wire` needed. */
  get wireSizeBytes(): number {
    return this.#writer.wireSizeBytes;
  }

  /** Writes one status as it goes over the line, and returns how many bytes. */
  writeInto(wire: Uint8Array, status: EstopStatus): number {
    const { frame } = this.#writer;
    putWord(frame, PAYLOAD_AT, status.bootNonce);
    putWord(frame, 16, status.question);
    putWord(frame, 20, status.tickIndex);
    putHalf(frame, 24, status.badCount);
    putHalf(frame, 26, status.silenceMs);
    putHalf(frame, 28, status.stopMs);
    putHalf(frame, 30, status.cutDelayMs);
    putHalf(frame, 32, status.discrepancyMs);
    frame[34] = status.build;
    frame[35] = status.mode;
    frame[36] = status.cause;
    frame[37] = status.lastBad;
    frame[38] = status.failCount;
    frame[39] = status.inputs;
    frame[40] = status.outputs;
    frame[41] = status.proofStep;
    frame[42] = status.hostMode;
    return this.#writer.sealInto(wire, status.counter);
  }
}

export class StatusReader {
  readonly #reader: FrameReader;

  constructor(key: Uint8Array | null) {
    this.#reader = new FrameReader(STATUS_KIND, key);
  }

  /** One byte from the line. `out` holds the status when this returns `Good`. */
  takeInto(out: EstopStatus, byte: number): EstopVerdict {
    const verdict = this.#reader.takeByte(byte);
    if (verdict !== EstopVerdict.Good) return verdict;
    const { frame } = this.#reader;
    out.counter = this.#reader.counter;
    out.bootNonce = wordAt(frame, PAYLOAD_AT);
    out.question = wordAt(frame, 16);
    out.tickIndex = wordAt(frame, 20);
    out.badCount = halfAt(frame, 24);
    out.silenceMs = halfAt(frame, 26);
    out.stopMs = halfAt(frame, 28);
    out.cutDelayMs = halfAt(frame, 30);
    out.discrepancyMs = halfAt(frame, 32);
    out.build = frame[34]!;
    out.mode = frame[35]!;
    out.cause = frame[36]!;
    out.lastBad = frame[37]!;
    out.failCount = frame[38]!;
    out.inputs = frame[39]!;
    out.outputs = frame[40]!;
    out.proofStep = frame[41]!;
    out.hostMode = frame[42]!;
    return isKnown(out) ? EstopVerdict.Good : EstopVerdict.Malformed;
  }
}

/** Every code and bit exists, so that a reader may look up its name. */
function isKnown(status: EstopStatus): boolean {
  return (
    status.build <= EstopBuild.All &&
    status.mode < estopModeNames.length &&
    status.cause < estopCauseNames.length &&
    status.lastBad < EstopVerdict.Ignored &&
    status.inputs <= EstopInput.All &&
    status.outputs <= EstopOutput.All &&
    status.proofStep < estopProofNames.length &&
    status.hostMode < modeNames.length
  );
}
