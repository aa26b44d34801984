// ObsTransform: how a camera's picture becomes what a policy sees. The one implementation: the
// policy link, policies on this machine and the dataset export all use it, so that a model meets
// the pixels that it was trained on. Its version and golden hash are part of every handshake.
//
// Bilinear, half-pixel centres, edges repeated, no smoothing before; the picture is stretched to a
// square. Weights are whole numbers of 448ths, so each byte is exact and equal on every CPU. What a
// model adds (such as x/127.5 − 1) is stated in its manifest and applied next to it.

import { assert } from "./assert.ts";

export const OBS_TRANSFORM_VERSION = 1;
/** Side of the square that comes out, in pixels. */
export const OBS_SIDE_PX = 224;
/** Bytes that come out: rows from the top, red, green, blue. */
export const OBS_SIZE_BYTES = OBS_SIDE_PX * OBS_SIDE_PX * 3;
/** SHA-256 of what comes out of `goldenPicture`, as hexadecimal text. */
export const OBS_TRANSFORM_SHA256 =
  "89d24d278cf22becba53198b772bef9ff1c417678ba9e5d851c9c2c8693de86f";

export type ByteOrder = "rgb" | "bgr";

const BYTES_PER_PIXEL = 3;
const PICTURE_PX_MAX = 8_192;

/** An output's centre lies at a whole number of these between two inputs. */
const PARTS = 2 * OBS_SIDE_PX;
const AREA = PARTS * PARTS;

/** For each output column or row: the two inputs it lies between, and the second's weight. */
type Axis = {
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly secondParts: Int32Array;
};

/** Transforms pictures of one size. Tables are made once; `transformInto` allocates nothing. */
export class ObsTransform {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly #columns: Axis;
  readonly #rows: Axis;
  /** Offsets of red, green and blue within a pixel that comes in. */
  readonly #offsets: readonly [number, number, number];

  constructor(widthPx: number, heightPx: number, order: ByteOrder) {
    for (const px of [widthPx, heightPx]) {
      assert(Number.isInteger(px) && px >= 1 && px <= PICTURE_PX_MAX, "a side is 1 to 8192 pixels");
    }
    this.widthPx = widthPx;
    this.heightPx = heightPx;
    this.#columns = axis(widthPx);
    this.#rows = axis(heightPx);
    this.#offsets = order === "rgb" ? [0, 1, 2] : [2, 1, 0];
  }

  /**
   * `pixels` holds rows from the top, three bytes a pixel, no padding; `out` has `OBS_SIZE_BYTES`.
   */
  transformInto(out: Uint8Array, pixels: Uint8Array): void {
    const { widthPx, heightPx } = this;
    assert(out.length === OBS_SIZE_BYTES, "the output is one square of pixels");
    assert(pixels.length === widthPx * heightPx * BYTES_PER_PIXEL, "the picture has its size");
    const columns = this.#columns;
    const rows = this.#rows;
    let at = 0;
    for (let y = 0; y < OBS_SIDE_PX; y += 1) {
      const upper = rows.first[y]! * widthPx;
      const lower = rows.second[y]! * widthPx;
      const down = rows.secondParts[y]!;
      for (let x = 0; x < OBS_SIDE_PX; x += 1) {
        const left = columns.first[x]!;
        const right = columns.second[x]!;
        const along = columns.secondParts[x]!;
        for (let colour = 0; colour < BYTES_PER_PIXEL; colour += 1) {
          const offset = this.#offsets[colour]!;
          const a = pixels[(upper + left) * BYTES_PER_PIXEL + offset]!;
          const b = pixels[(upper + right) * BYTES_PER_PIXEL + offset]!;
          const c = pixels[(lower + left) * BYTES_PER_PIXEL + offset]!;
          const d = pixels[(lower + right) * BYTES_PER_PIXEL + offset]!;
          const above = a * PARTS + (b - a) * along;
          const below = c * PARTS + (d - c) * along;
          out[at] = Math.floor((above * PARTS + (below - above) * down + AREA / 2) / AREA);
          at += 1;
        }
      }
    }
  }
}

/** Set-up only: the picture behind the golden hash, 97 × 61, each byte by a rule. */
export function goldenPicture(): Uint8Array {
  const bytes = new Uint8Array(97 * 61 * BYTES_PER_PIXEL);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = (index * index * 31 + index * 7 + 13) % 251;
  }
  return bytes;
}

/** Set-up only. */
function axis(inputPx: number): Axis {
  const first = new Int32Array(OBS_SIDE_PX);
  const second = new Int32Array(OBS_SIDE_PX);
  const secondParts = new Int32Array(OBS_SIDE_PX);
  for (let index = 0; index < OBS_SIDE_PX; index += 1) {
    // (index + 0.5) · inputs / side − 0.5, in parts.
    const parts = (2 * index + 1) * inputPx - OBS_SIDE_PX;
    const clamped = Math.min(Math.max(parts, 0), (inputPx - 1) * PARTS);
    first[index] = Math.floor(clamped / PARTS);
    second[index] = Math.min(first[index]! + 1, inputPx - 1);
    secondParts[index] = clamped - first[index]! * PARTS;
  }
  return { first, second, secondParts };
}
