// JPEG of a picture and back, on the runtime's own image codec and off this thread. A bitmap header
// in front of the pixels is the form in which that codec takes them raw; it gives none out, so what
// it has decoded comes as a PNG that is not packed. What comes from elsewhere is judged first.

import { inflateSync } from "node:zlib";
import { assert } from "../runtime/contracts/assert.ts";
import { jpegFault } from "./jpeg-check.ts";
import type { JpegFault } from "./jpeg-check.ts";

const HEADER_SIZE_BYTES = 54;
const PIXELS_PER_METRE = 2_835;
const PNG_HEADER_SIZE_BYTES = 8;
/** Length, kind and checksum of a chunk. */
const PNG_CHUNK_SIZE_BYTES = 12;
const PNG_DATA = 0x49444154;
/** Red, green, blue and how opaque: what the codec writes of any picture. */
const PNG_PIXEL_SIZE_BYTES = 4;

/** Bytes from elsewhere that are no JPEG as it was stated. */
export class JpegError extends Error {
  override readonly name = "JpegError";
  readonly expected: string;
  readonly found: string;

  constructor({ expected, found }: JpegFault, cause?: unknown) {
    super(`expected ${expected}, found ${found}`, { cause });
    this.expected = expected;
    this.found = found;
  }
}

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

/**
 * Decodes a JPEG of this very size: rows from the top, red green blue. The bytes are borrowed until
 * it is done. Rejects with JpegError.
 */
export async function decodeJpeg(
  jpeg: Uint8Array,
  widthPx: number,
  heightPx: number,
): Promise<Uint8Array> {
  const wrong = jpegFault(jpeg, widthPx, heightPx);
  if (wrong !== undefined) throw new JpegError(wrong);
  const options = { maxPixels: widthPx * heightPx, autoOrient: false };
  const image = new Bun.Image(jpeg, options).png({ compressionLevel: 0 });
  return rgbOf(await decoded(image), widthPx, heightPx);
}

async function decoded(image: Bun.Image): Promise<Uint8Array> {
  try {
    return await image.bytes();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_IMAGE_DECODE_FAILED") throw error;
    throw new JpegError({ expected: "a JPEG that can be decoded", found: "a broken one" }, error);
  }
}

/** The pixels of a PNG that the codec has just written: neither packed nor filtered. */
function rgbOf(png: Uint8Array, widthPx: number, heightPx: number): Uint8Array {
  const view = new DataView(png.buffer, png.byteOffset, png.length);
  const parts: Uint8Array[] = [];
  for (let at = PNG_HEADER_SIZE_BYTES; at < png.length; ) {
    const sizeBytes = view.getUint32(at);
    if (view.getUint32(at + 4) === PNG_DATA) parts.push(png.subarray(at + 8, at + 8 + sizeBytes));
    at += PNG_CHUNK_SIZE_BYTES + sizeBytes;
  }
  const rows = inflateSync(Buffer.concat(parts));
  const rowSizeBytes = 1 + widthPx * PNG_PIXEL_SIZE_BYTES;
  assert(rows.length === rowSizeBytes * heightPx, "the codec writes four bytes per pixel");
  const rgb = new Uint8Array(widthPx * heightPx * 3);
  let to = 0;
  for (let y = 0; y < heightPx; y += 1) {
    let from = y * rowSizeBytes;
    assert(rows[from] === 0, "rows that are not packed have no filter");
    from += 1;
    for (let x = 0; x < widthPx; x += 1) {
      rgb[to] = rows[from]!;
      rgb[to + 1] = rows[from + 1]!;
      rgb[to + 2] = rows[from + 2]!;
      to += 3;
      from += PNG_PIXEL_SIZE_BYTES;
    }
  }
  return rgb;
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
