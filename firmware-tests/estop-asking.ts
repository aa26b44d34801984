// The firmware's core with its first question asked, and answers to it in every field that a test
// wants to set. Nothing here waits or arms: it is about single frames.

import { expect } from "bun:test";
import { EstopCore } from "../hal/ffi/estop-core.ts";
import { EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { StatusReader } from "../runtime/contracts/estop-frame.ts";
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
