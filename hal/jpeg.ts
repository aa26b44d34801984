// JPEG encoding of a picture, on the runtime's own image codec and off this thread. A bitmap header
// in front of the pixels is the form in which that codec takes them raw.

import { assert } from "../runtime/contracts/assert.ts";

const HEADER_SIZE_BYTES = 54;
const PIXELS_PER_METRE = 2_835;

/** Encodes rows from the top, red green blue. The bytes are copied before this returns. */
export function encodeJpeg(
  rgb: Uint8Array,
  widthPx: number,
  heightPx: number,
  qualityPercent: number,
): Promise<Uint8Array> {
  assert(rgb.length === widthPx * heightPx * 3, "the picture has three bytes per pixel");
  return new Bun.Image(bitmapOf(rgb, widthPx, heightPx)).jpeg({ quality: qualityPercent }).bytes();
}

/** A 24-bit bitmap file: bottom row first, blue green red, rows padded to four bytes. */
export function bitmapOf(rgb: Uint8Array, widthPx: number, heightPx: number): Uint8Array {
  const rowSizeBytes = (widthPx * 3 + 3) & ~3;
  const bitmap = new Uint8Array(HEADER_SIZE_BYTES + rowSizeBytes * heightPx);
  const header = new DataView(bitmap.buffer);
  header.setUint16(0, 0x424d);
  header.setUint32(2, bitmap.length, true);
  header.setUint32(10, HEADER_SIZE_BYTES, true);
  header.setUint32(14, 40, true);
  header.setInt32(18, widthPx, true);
  header.setInt32(22, heightPx, true);
  header.setUint16(26, 1, true);
  header.setUint16(28, 24, true);
  header.setUint32(34, rowSizeBytes * heightPx, true);
  header.setInt32(38, PIXELS_PER_METRE, true);
  header.setInt32(42, PIXELS_PER_METRE, true);
  for (let y = 0; y < heightPx; y += 1) {
    let to = HEADER_SIZE_BYTES + (heightPx - 1 - y) * rowSizeBytes;
    let from = y * widthPx * 3;
    for (let x = 0; x < widthPx; x += 1) {
      bitmap[to] = rgb[from + 2]!;
      bitmap[to + 1] = rgb[from + 1]!;
      bitmap[to + 2] = rgb[from]!;
      to += 3;
      from += 3;
    }
  }
  return bitmap;
}
