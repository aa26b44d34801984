// Constants of a build, changed in an image as `make m328p STOP_MS=…` would have built them. They
// are found by what `safety/firmware/estop_build.h` gives the emulated image, and nowhere else.

import { assert } from "../../runtime/contracts/assert.ts";

export type BuildConstants = {
  /** SS1-t. */
  readonly stopMs: number;
};

/** What a build without arguments has: an SS1-t that is long enough for a small arm. */
export const DEFAULT_STOP_MS = 300;
/** What the core takes; outside it refuses to arm. */
export const STOP_MS_MAX = 10_000;
const T_WD_MS = 100;
const CUT_DELAY_MS = 0;
const DISCREPANCY_MS = 100;
const SETTLE_MS = 50;
const WORDS = [T_WD_MS, DEFAULT_STOP_MS, CUT_DELAY_MS, DISCREPANCY_MS, SETTLE_MS];
const STOP_WORD = 1;

/** Changes the flash of the emulated image. */
export function buildIn(flash: Uint8Array, { stopMs }: BuildConstants): void {
  const isTaken = Number.isInteger(stopMs) && stopMs >= 10 && stopMs <= STOP_MS_MAX;
  assert(isTaken, "SS1-t is 10 to 10000 whole ms");
  const image = Buffer.from(flash.buffer, flash.byteOffset, flash.byteLength);
  const words = new Uint8Array(2 * WORDS.length);
  const view = new DataView(words.buffer);
  for (const [at, word] of WORDS.entries()) view.setUint16(2 * at, word, true);
  const from = image.indexOf(words);
  assert(from >= 0 && image.indexOf(words, from + 1) < 0, "the image has its constants once");
  image.writeUInt16LE(stopMs, from + 2 * STOP_WORD);
}
