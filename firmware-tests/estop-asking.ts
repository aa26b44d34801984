// The firmware's core with its first question asked, and answers to it in every field that a test
// wants to set. Nothing here waits or arms: it is about single frames.

import { expect } from "bun:test";
import { EstopCore } from "../hal/ffi/estop-core.ts";
import { EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { ANSWER_KIND, StatusReader } from "../runtime/contracts/estop-frame.ts";
import { FrameTag, TAG_SIZE_BYTES } from "../runtime/contracts/estop-tag.ts";
import { crc32p4 } from "../runtime/contracts/estop-wire.ts";
import { SHIPPED } from "./estop-core-bench.ts";
import { answerOf } from "./estop-host.ts";
import { hostLibrary } from "./firmware-build.ts";
import vectors from "./vectors/estop-frames.json";

export const NONCE = 0x1234_abcd;
export const noKey: Uint8Array = new Uint8Array(8);
export const vectorKey: Uint8Array = Uint8Array.from(Buffer.from(vectors.key, "hex"));

/** A core that has asked its first question, and that question. Free the core. */
export function asking(
  keyed: boolean,
  ownKey: Uint8Array,
): { core: EstopCore; status: EstopStatus } {
  const core = new EstopCore(hostLibrary(keyed), SHIPPED, ownKey, NONCE, 1, 0);
  const status = new EstopStatus();
  const reader = new StatusReader(keyed ? ownKey : null);
  const wire = core.statusWire.slice(0, core.status(0));
  const verdicts = [...wire].map((byte) => reader.takeInto(status, byte));
  expect(verdicts.filter((verdict) => verdict !== EstopVerdict.Pending)).toEqual([0]);
  return { core, status };
}

/** An answer as it goes over the line. */
export function answerWire(fields: Partial<EstopAnswer>, ownKey: Uint8Array | null): Uint8Array {
  const writer = new AnswerWriter(ownKey);
  const wire = new Uint8Array(writer.wireSizeBytes);
  writer.writeInto(wire, Object.assign(new EstopAnswer(), fields));
  return wire;
}

/** The wire of a good first answer to a status. */
export function goodWire(status: EstopStatus, ownKey: Uint8Array | null): Uint8Array {
  const { bootNonce, question, counter: questionId } = status;
  const tickIndex = 77;
  const answer = answerOf(question, tickIndex);
  return answerWire({ bootNonce, questionId, tickIndex, answer, counter: 0xff01 }, ownKey);
}

/**
 * A frame before it is stuffed, put together here and not by the codec's writer, so that a test may
 * break any byte of it. `spoilTag` changes the tag before the CRC is made.
 */
export function answerFrame(
  fields: Partial<EstopAnswer>,
  ownKey: Uint8Array | null,
  spoilTag: (tag: Uint8Array) => void = () => {},
): Uint8Array {
  const answer = Object.assign(new EstopAnswer(), fields);
  const taggedBytes = ANSWER_KIND.sizeBytes;
  const frame = new Uint8Array(taggedBytes + (ownKey === null ? 0 : TAG_SIZE_BYTES));
  const view = new DataView(frame.buffer);
  view.setUint16(0, frame.length);
  view.setUint16(2, answer.counter);
  view.setUint32(4, ANSWER_KIND.dataId);
  view.setUint32(12, answer.bootNonce);
  view.setUint32(16, answer.tickIndex);
  view.setUint32(20, answer.answer);
  view.setUint16(24, answer.questionId);
  view.setUint8(26, answer.hostMode);
  view.setUint8(27, answer.flags);
  if (ownKey !== null) {
    new FrameTag(ownKey).writeInto(frame, taggedBytes, frame, taggedBytes);
    spoilTag(frame.subarray(taggedBytes));
  }
  const summed = Uint8Array.from([...frame.subarray(0, 8), ...frame.subarray(12)]);
  view.setUint32(8, crc32p4(summed, summed.length));
  return frame;
}

/** Any frame as it goes over the line. */
export function stuffed(frame: Iterable<number>): Uint8Array {
  const wire = [0];
  let block: number[] = [];
  for (const byte of [...frame, 0]) {
    if (byte !== 0) block.push(byte);
    else {
      wire.push(block.length + 1, ...block);
      block = [];
    }
  }
  return Uint8Array.from([...wire, 0]);
}
