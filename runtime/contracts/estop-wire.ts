// The e-stop line below its fields: COBS between zero bytes, a header after AUTOSAR E2E profile 4
// (length, counter, data id, CRC-32P4) and, keyed, a tag. Sans-IO: bytes go in and out one by one
// or in memory of the caller. Nothing here knows what a frame means, and nothing allocates after
// the constructors.

import { assert } from "./assert.ts";
import { EstopVerdict } from "./estop-codes.ts";
import { FrameTag, TAG_SIZE_BYTES } from "./estop-tag.ts";

const COUNTER_AT = 2;
const DATA_ID_AT = 4;
const CRC_AT = 8;
/** Where the fields of a frame begin. */
export const PAYLOAD_AT = 12;

/** A zero before the frame, the first code of COBS, a zero behind. */
export const WIRE_EXTRA_BYTES = 3;
const FRAME_SIZE_BYTES_MAX = 253;

/** What both ends agree on about one direction of the line. */
export type FrameKind = {
  /** Header and fields, without a tag. */
  readonly sizeBytes: number;
  readonly dataId: number;
};

const crcTable = makeCrcTable();

/** Set-up only. The polynomial 0xF4ACFB13, reflected. */
function makeCrcTable(): Int32Array {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xc8df_352f : crc >>> 1;
    }
    table[byte] = crc;
  }
  return table;
}

function crcUpdate(crc: number, bytes: Uint8Array, from: number, until: number): number {
  let sum = crc;
  for (let at = from; at < until; at += 1) {
    sum = (sum >>> 8) ^ crcTable[(sum ^ bytes[at]!) & 0xff]!;
  }
  return sum;
}

/** CRC-32P4 of bytes; "123456789" gives 0x1697D06A. */
export function crc32p4(bytes: Uint8Array, sizeBytes: number): number {
  return ~crcUpdate(-1, bytes, 0, sizeBytes) >>> 0;
}

/** Of a whole frame but its CRC field. */
function frameCrc(frame: Uint8Array, sizeBytes: number): number {
  return ~crcUpdate(crcUpdate(-1, frame, 0, CRC_AT), frame, PAYLOAD_AT, sizeBytes) >>> 0;
}

export function wordAt(frame: Uint8Array, at: number): number {
  return ((halfAt(frame, at) << 16) | halfAt(frame, at + 2)) >>> 0;
}

export function halfAt(frame: Uint8Array, at: number): number {
  return (frame[at]! << 8) | frame[at + 1]!;
}

export function putWord(frame: Uint8Array, at: number, word: number): void {
  putHalf(frame, at, word >>> 16);
  putHalf(frame, at + 2, word);
}

export function putHalf(frame: Uint8Array, at: number, half: number): void {
  frame[at] = half >>> 8;
  frame[at + 1] = half;
}

/** Puts frames of one kind on the line. Fill the fields of `frame`, then `sealInto`. */
export class FrameWriter {
  readonly frame: Uint8Array;
  readonly #kind: FrameKind;
  readonly #tag: FrameTag | null;

  /** With a key every frame carries a tag. */
  constructor(kind: FrameKind, key: Uint8Array | null) {
    const sizeBytes = kind.sizeBytes + (key === null ? 0 : TAG_SIZE_BYTES);
    assert(sizeBytes <= FRAME_SIZE_BYTES_MAX, "a frame fits one block of COBS");
    this.frame = new Uint8Array(sizeBytes);
    this.#kind = kind;
    this.#tag = key === null ? null : new FrameTag(key);
  }

  /** How many bytes `sealInto` writes. */
  get wireSizeBytes(): number {
    return this.frame.length + WIRE_EXTRA_BYTES;
  }

  /** Completes the frame and writes it, stuffed, to `wire`. Returns how many bytes. */
  sealInto(wire: Uint8Array, counter: number): number {
    const { frame } = this;
    putHalf(frame, 0, frame.length);
    putHalf(frame, COUNTER_AT, counter);
    putWord(frame, DATA_ID_AT, this.#kind.dataId);
    putWord(frame, CRC_AT, 0);
    if (this.#tag !== null) {
      const taggedBytes = frame.length - TAG_SIZE_BYTES;
      this.#tag.writeInto(frame, taggedBytes, frame, taggedBytes);
    }
    putWord(frame, CRC_AT, frameCrc(frame, frame.length));
    return stuffInto(wire, frame);
  }
}

/** Each code tells how far the next zero is. */
function stuffInto(wire: Uint8Array, frame: Uint8Array): number {
  let codeAt = 1;
  wire[0] = 0;
  for (let from = 0; from < frame.length; from += 1) {
    const at = from + 2;
    wire[at] = frame[from]!;
    if (frame[from] !== 0) continue;
    wire[codeAt] = at - codeAt;
    codeAt = at;
  }
  const end = frame.length + 2;
  wire[codeAt] = end - codeAt;
  wire[end] = 0;
  return end + 1;
}

/** Takes frames of one kind off the line. After `Good` their fields are in `frame`. */
export class FrameReader {
  readonly frame: Uint8Array;
  readonly #kind: FrameKind;
  readonly #tag: FrameTag | null;
  readonly #tagMade = new Uint8Array(TAG_SIZE_BYTES);
  #sizeBytes = 0;
  #blockLeft = 0;
  #zeroDue = false;
  #any = false;
  #nonzero = false;

  constructor(kind: FrameKind, key: Uint8Array | null) {
    this.frame = new Uint8Array(kind.sizeBytes + (key === null ? 0 : TAG_SIZE_BYTES));
    this.#kind = kind;
    this.#tag = key === null ? null : new FrameTag(key);
  }

  get counter(): number {
    return halfAt(this.frame, COUNTER_AT);
  }

  /**
   * One byte from the line. `Pending` until a frame is over; then `Good` when it is intact and of
   * this kind, else `Corrupt`, `Foreign`, `Forged`, or `Ignored` for one of zeros only.
   */
  takeByte(byte: number): EstopVerdict {
    if (byte !== 0) {
      this.#any = true;
      if (this.#blockLeft > 0) {
        this.#blockLeft -= 1;
        this.#append(byte);
        return EstopVerdict.Pending;
      }
      if (this.#zeroDue) this.#append(0);
      this.#blockLeft = byte - 1;
      this.#zeroDue = byte !== 0xff;
      return EstopVerdict.Pending;
    }
    if (!this.#any) return EstopVerdict.Pending;
    const verdict = this.#judge();
    this.#sizeBytes = 0;
    this.#blockLeft = 0;
    this.#zeroDue = false;
    this.#any = false;
    this.#nonzero = false;
    return verdict;
  }

  /** A frame that is too long is counted on, but its rest is dropped. */
  #append(byte: number): void {
    if (byte !== 0) this.#nonzero = true;
    if (this.#sizeBytes < this.frame.length) this.frame[this.#sizeBytes] = byte;
    this.#sizeBytes += 1;
  }

  #judge(): EstopVerdict {
    const { frame } = this;
    if (this.#blockLeft === 0 && !this.#nonzero) return EstopVerdict.Ignored;
    if (this.#blockLeft !== 0 || this.#sizeBytes !== frame.length) return EstopVerdict.Corrupt;
    if (halfAt(frame, 0) !== frame.length) return EstopVerdict.Corrupt;
    if (wordAt(frame, CRC_AT) !== frameCrc(frame, frame.length)) return EstopVerdict.Corrupt;
    if (wordAt(frame, DATA_ID_AT) !== this.#kind.dataId) return EstopVerdict.Foreign;
    return this.#isForged() ? EstopVerdict.Forged : EstopVerdict.Good;
  }

  /** The tag covers the whole frame but itself, with the CRC field read as zero. */
  #isForged(): boolean {
    if (this.#tag === null) return false;
    const { frame } = this;
    const taggedBytes = frame.length - TAG_SIZE_BYTES;
    putWord(frame, CRC_AT, 0);
    this.#tag.writeInto(this.#tagMade, 0, frame, taggedBytes);
    let difference = 0;
    for (let at = 0; at < TAG_SIZE_BYTES; at += 1) {
      difference |= this.#tagMade[at]! ^ frame[taggedBytes + at]!;
    }
    return difference !== 0;
  }
}
