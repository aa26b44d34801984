// UF2, the form in which a Pico takes its image: blocks of 512 bytes, each with 256 of the flash.
// Reads what the firmware's packer writes, and refuses everything else with its block.

import { assert } from "../runtime/contracts/assert.ts";

const BLOCK_BYTES = 512;
const DATA_FROM = 32;
const CHUNK_BYTES = 256;
const FLASH_FROM = 0x1000_0000;
const FAMILY_RP2040 = 0xe48b_ff56;
const FAMILY_GIVEN = 0x2000;
const MAGIC = [0x0a32_4655, 0x9e5d_5157, 0x0ab1_6f30] as const;

/** The flash from its first byte on. */
export function readUf2(file: Uint8Array): Uint8Array {
  const count = file.length / BLOCK_BYTES;
  assert(Number.isInteger(count) && count > 0, "a UF2 file is whole blocks");
  const flash = new Uint8Array(count * CHUNK_BYTES);
  for (let at = 0; at < count; at += 1) {
    const block = new DataView(file.buffer, file.byteOffset + at * BLOCK_BYTES, BLOCK_BYTES);
    const head = Array.from({ length: 8 }, (_, word) => block.getUint32(4 * word, true));
    const expected = [
      ...MAGIC.slice(0, 2),
      FAMILY_GIVEN,
      FLASH_FROM + at * CHUNK_BYTES,
      CHUNK_BYTES,
      at,
      count,
      FAMILY_RP2040,
    ];
    assert(head.join() === expected.join(), `block ${at} has the head of its place`);
    assert(block.getUint32(BLOCK_BYTES - 4, true) === MAGIC[2], `block ${at} has its end`);
    const from = at * BLOCK_BYTES + DATA_FROM;
    flash.set(file.subarray(from, from + CHUNK_BYTES), at * CHUNK_BYTES);
  }
  return flash;
}
