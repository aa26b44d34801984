// Errors of a serial line on one frame, made in every way of a kind: so many flipped bits, a burst
// in each place, noise. For each it asks whether a codec takes the frame for intact, and counts. It
// knows no codec; the C code has its own loops of the same kinds in `host_ffi.c`.

import type { SeededRandom } from "../runtime/contracts/seeded-random.ts";

/** Whether a codec takes the bytes, with a delimiter to end them, for a frame without a fault. */
export type IsIntact = (wire: Uint8Array) => boolean;

export const BURST_BITS_MAX = 32;

/** The line sends the lowest bit of a byte first. */
function flip(wire: Uint8Array, bit: number): void {
  wire[bit >> 3]! ^= 1 << (bit & 7);
}

/** How many of all frames with exactly `flipCount` bits flipped are taken for intact. */
export function flipAll(wire: Uint8Array, flipCount: number, isIntact: IsIntact, from = 0): number {
  if (flipCount === 0) return isIntact(wire) ? 1 : 0;
  let intact = 0;
  for (let bit = from; bit < wire.length * 8; bit += 1) {
    flip(wire, bit);
    intact += flipAll(wire, flipCount - 1, isIntact, bit + 1);
    flip(wire, bit);
  }
  return intact;
}

/** How many of `roundCount` frames with one to five different random bits flipped are intact. */
export function flipRandom(
  wire: Uint8Array,
  roundCount: number,
  random: SeededRandom,
  isIntact: IsIntact,
): number {
  let intact = 0;
  for (let round = 0; round < roundCount; round += 1) {
    const bits = new Set<number>();
    const flipCount = 1 + Math.floor(random.next() * 5);
    while (bits.size < flipCount) bits.add(Math.floor(random.next() * wire.length * 8));
    for (const bit of bits) flip(wire, bit);
    if (isIntact(wire)) intact += 1;
    for (const bit of bits) flip(wire, bit);
  }
  return intact;
}

function flipPattern(wire: Uint8Array, bit: number, pattern: number): void {
  for (let at = 0; at < BURST_BITS_MAX; at += 1) {
    if (((pattern >>> at) & 1) === 1) flip(wire, bit + at);
  }
}

/**
 * How many of all frames with one burst of up to `bitCountMax` bits are intact: each place, and
 * each pattern that begins with a flipped bit.
 */
export function burstAll(wire: Uint8Array, bitCountMax: number, isIntact: IsIntact): number {
  const bitCount = wire.length * 8;
  let intact = 0;
  for (let bit = 0; bit < bitCount; bit += 1) {
    const width = Math.min(bitCountMax, bitCount - bit);
    for (let pattern = 1; pattern < 2 ** width; pattern += 2) {
      flipPattern(wire, bit, pattern);
      if (isIntact(wire)) intact += 1;
      flipPattern(wire, bit, pattern);
    }
  }
  return intact;
}

/** How many of `roundCount` frames with one random burst of up to 32 bits are intact. */
export function burstRandom(
  wire: Uint8Array,
  roundCount: number,
  random: SeededRandom,
  isIntact: IsIntact,
): number {
  const placeCount = wire.length * 8 - BURST_BITS_MAX + 1;
  let intact = 0;
  for (let round = 0; round < roundCount; round += 1) {
    const bit = Math.floor(random.next() * placeCount);
    const pattern = (Math.floor(random.next() * 2 ** BURST_BITS_MAX) | 1) >>> 0;
    flipPattern(wire, bit, pattern);
    if (isIntact(wire)) intact += 1;
    flipPattern(wire, bit, pattern);
  }
  return intact;
}

/** How many of `roundCount` rows of random bytes, each as long as `wire`, are intact. */
export function noise(
  wire: Uint8Array,
  roundCount: number,
  random: SeededRandom,
  isIntact: IsIntact,
): number {
  let intact = 0;
  for (let round = 0; round < roundCount; round += 1) {
    for (let at = 0; at < wire.length; at += 1) wire[at] = Math.floor(random.next() * 256);
    // Half of them are one block with a right length, so that they get as far as the CRC.
    if (round % 2 === 0) openAsOneBlock(wire);
    if (isIntact(wire)) intact += 1;
  }
  return intact;
}

function openAsOneBlock(wire: Uint8Array): void {
  const sizeBytes = wire.length - 3;
  for (let at = 0; at < wire.length; at += 1) wire[at]! |= 1;
  wire.set([0, 1, sizeBytes, sizeBytes]);
  wire[wire.length - 1] = 0;
}
