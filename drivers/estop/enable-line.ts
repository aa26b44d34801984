// The enable line of an emulated board: its two outputs as one byte each time they change. A byte
// carries its outputs twice, once inverted, under a mark that no text has, so that of 256 bytes
// four mean something. What means nothing is no power: who reads it believes the line no more.

import { assert } from "../../runtime/contracts/assert.ts";
import { EstopOutput } from "../../runtime/contracts/estop-codes.ts";

const MARK = 0xa0;
/** What `enableOutputs` says of a byte that no board sends. */
export const NO_ENABLE = -1;

/** The byte for these outputs: bit 0 is A, bit 1 is B. */
export function enableByte(outputBits: number): number {
  assert((outputBits & ~EstopOutput.Both) === 0, "a board has two outputs");
  return MARK | (outputBits << 2) | (outputBits ^ EstopOutput.Both);
}

/** The outputs that a byte stands for, or NO_ENABLE. */
export function enableOutputs(byte: number): number {
  const outputBits = (byte >>> 2) & EstopOutput.Both;
  return byte === enableByte(outputBits) ? outputBits : NO_ENABLE;
}
