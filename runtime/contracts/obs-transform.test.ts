// The transform against a second implementation in whole numbers, golden vectors, and what it may
// never be: allocating, or different between two pictures of one size.

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  goldenPicture,
  OBS_SIDE_PX,
  OBS_SIZE_BYTES,
  OBS_TRANSFORM_SHA256,
  ObsTransform,
} from "./obs-transform.ts";

const transformed = (
  pixels: Uint8Array,
  widthPx: number,
  heightPx: number,
  order: "rgb" | "bgr" = "rgb",
): Uint8Array => {
  const out = new Uint8Array(OBS_SIZE_BYTES);
  new ObsTransform(widthPx, heightPx, order).transformInto(out, pixels);
  return out;
};

/** One byte by the textbook: the mean of four neighbours by area, as an exact fraction. */
function exactByte(pixels: Uint8Array, widthPx: number, heightPx: number, at: number): number {
  const byte = (row: number, column: number): bigint => {
    const y = Math.min(Math.max(row, 0), heightPx - 1);
    const x = Math.min(Math.max(column, 0), widthPx - 1);
    return BigInt(pixels[(y * widthPx + x) * 3 + (at % 3)]!);
  };
  const [x0, along] = centre(Math.floor(at / 3) % OBS_SIDE_PX, widthPx);
  const [y0, down] = centre(Math.floor(at / 3 / OBS_SIDE_PX), heightPx);
  const row = (y: number): bigint => byte(y, x0) * (448n - along) + byte(y, x0 + 1) * along;
  const sum = row(y0) * (448n - down) + row(y0 + 1) * down; // over 448²
  return Number((2n * sum + 448n * 448n) / (2n * 448n * 448n)); // half up
}

/** Where an output's centre lies among the inputs' centres: which one, and 448ths beyond it. */
function centre(index: number, inputs: number): [number, bigint] {
  const parts = BigInt((2 * index + 1) * inputs - 224);
  const whole = parts < 0n ? (parts - 447n) / 448n : parts / 448n;
  return [Number(whole), parts - whole * 448n];
}

const sizes: readonly (readonly [number, number])[] = [
  [97, 61],
  [320, 240],
  [640, 480],
  [224, 224],
  [1, 1],
  [1, 500],
];

test.each(sizes)("every byte of a %i × %i picture is the exact one", (widthPx, heightPx) => {
  const pixels = new Uint8Array(widthPx * heightPx * 3).map((_, at) => (at * 73 + at * at) % 256);
  const out = transformed(pixels, widthPx, heightPx);
  const wrong = out.findIndex((byte, at) => byte !== exactByte(pixels, widthPx, heightPx, at));
  expect(wrong).toBe(-1);
});

test("a picture of the right size passes byte for byte", () => {
  const pixels = new Uint8Array(OBS_SIZE_BYTES).map((_, at) => (at * 31) % 256);
  expect(transformed(pixels, OBS_SIDE_PX, OBS_SIDE_PX)).toEqual(pixels);
});

test("blue, green, red comes out as red, green, blue", () => {
  const bgr = new Uint8Array([10, 20, 30]);
  expect([...transformed(bgr, 1, 1, "bgr").subarray(0, 3)]).toEqual([30, 20, 10]);
});

test("the golden hash is that of the golden picture", () => {
  const out = transformed(goldenPicture(), 97, 61);
  expect(createHash("sha256").update(out).digest("hex")).toBe(OBS_TRANSFORM_SHA256);
});

test("a picture or an output of another size is refused", () => {
  const transform = new ObsTransform(4, 2, "rgb");
  const out = new Uint8Array(OBS_SIZE_BYTES);
  expect(() => transform.transformInto(out, new Uint8Array(23))).toThrow("has its size");
  expect(() => transform.transformInto(out.subarray(1), new Uint8Array(24))).toThrow("one square");
  for (const side of [0, -1, 1.5, Number.NaN, 8_193]) {
    expect(() => new ObsTransform(side, 2, "rgb")).toThrow("1 to 8192");
  }
});
