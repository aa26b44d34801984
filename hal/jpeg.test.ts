// Tests of the JPEG encoder: decoded by another codec path and by hand, every colour is where it
// was put, also when rows need padding.

import { inflateSync } from "node:zlib";
import { expect, test } from "bun:test";
import { encodeJpeg } from "./jpeg.ts";

/** Four quarters: red and green above, blue and white below. */
function quarters(widthPx: number, heightPx: number): Uint8Array {
  const colours = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [255, 255, 255],
  ];
  const rgb = new Uint8Array(widthPx * heightPx * 3);
  for (let pixel = 0; pixel < widthPx * heightPx; pixel += 1) {
    const isRight = pixel % widthPx >= widthPx / 2 ? 1 : 0;
    const isBottom = pixel >= (widthPx * heightPx) / 2 ? 2 : 0;
    rgb.set(colours[isRight + isBottom]!, 3 * pixel);
  }
  return rgb;
}

/** The pixels of a PNG: its data chunks inflated, and each row's filter undone. */
function pixelsOf(png: Uint8Array): { width: number; channels: number; data: Uint8Array } {
  const view = new DataView(png.buffer, png.byteOffset, png.length);
  const width = view.getUint32(16);
  const channels = png[25] === 6 ? 4 : 3;
  const parts: Uint8Array[] = [];
  for (let at = 8; at < png.length; at += 12 + view.getUint32(at)) {
    const isData = view.getUint32(at + 4) === 0x49444154;
    if (isData) parts.push(png.subarray(at + 8, at + 8 + view.getUint32(at)));
  }
  const raw = inflateSync(Buffer.concat(parts));
  const row = width * channels;
  const data = new Uint8Array((raw.length / (row + 1)) * row);
  for (let byte = 0; byte < data.length; byte += 1) {
    const column = byte % row;
    const line = (byte - column) / row;
    const left = column >= channels ? data[byte - channels]! : 0;
    const above = line > 0 ? data[byte - row]! : 0;
    const corner = line > 0 && column >= channels ? data[byte - row - channels]! : 0;
    const guess = left + above - corner;
    const nearest = [left, above, corner].toSorted(
      (a, b) => Math.abs(guess - a) - Math.abs(guess - b),
    );
    const filters = [0, left, above, (left + above) >> 1, nearest[0]!];
    data[byte] = raw[line * (row + 1) + 1 + column]! + filters[raw[line * (row + 1)]!]!;
  }
  return { width, channels, data };
}

test.each([
  [64, 48],
  [33, 21],
])("a picture of %d × %d comes back with its colours in place", async (widthPx, heightPx) => {
  const jpeg = await encodeJpeg(quarters(widthPx, heightPx), widthPx, heightPx, 95);
  const { width, channels, data } = pixelsOf(await new Bun.Image(jpeg).png().bytes());
  const at = (x: number, y: number): string =>
    [0, 1, 2]
      .map((channel) => Math.round(data[channels * (y * width + x) + channel]! / 255))
      .join("");
  const corners = [
    at(2, 2),
    at(widthPx - 3, 2),
    at(2, heightPx - 3),
    at(widthPx - 3, heightPx - 3),
  ];
  expect(jpeg.slice(0, 2)).toEqual(Uint8Array.of(0xff, 0xd8));
  expect({ width, rows: data.length / channels / width, corners }).toEqual({
    width: widthPx,
    rows: heightPx,
    corners: ["100", "010", "001", "111"],
  });
});

test("a picture whose size is not what was said is our own mistake", () => {
  expect(() => encodeJpeg(new Uint8Array(10), 2, 2, 90)).toThrow("three bytes per pixel");
});
