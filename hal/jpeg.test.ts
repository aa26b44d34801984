// Tests of the JPEG encoder and decoder: decoded by another codec path and by hand, every colour is
// where it was put, also when rows need padding; and what comes from elsewhere is judged before the
// codec sees it.

import { inflateSync } from "node:zlib";
import { expect, test } from "bun:test";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { jpegFault } from "./jpeg-check.ts";
import { decodeJpeg, encodeJpeg, JpegError } from "./jpeg.ts";

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

test.each([
  [64, 48],
  [33, 21],
])("a picture of %d × %d is decoded to what another path makes of it", async (width, height) => {
  const jpeg = await encodeJpeg(quarters(width, height), width, height, 90);
  const { channels, data } = pixelsOf(await new Bun.Image(jpeg).png().bytes());
  const expected = data.filter((_, index) => channels === 3 || index % 4 !== 3);
  expect(await decodeJpeg(jpeg, width, height)).toEqual(expected);
});

/** A picture of 32 × 16 as our encoder writes it, and as it must not come. */
const WIDTH = 32;
const HEIGHT = 16;
const good = await encodeJpeg(quarters(WIDTH, HEIGHT), WIDTH, HEIGHT, 90);
const frameAt = indexOf(good, 0xc0);
const scanAt = indexOf(good, 0xda);

/** Where a marker's segment begins. */
function indexOf(jpeg: Uint8Array, marker: number): number {
  return Buffer.from(jpeg).indexOf(Uint8Array.of(0xff, marker));
}

function changed(change: (bytes: Uint8Array) => void): Uint8Array {
  const copy = good.slice();
  change(copy);
  return copy;
}

const joined = (...parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(Buffer.concat(parts));
const sized = (jpeg: Uint8Array, widthPx: number, heightPx: number, marker = 0xc0): Uint8Array => {
  const copy = jpeg.slice();
  const view = new DataView(copy.buffer);
  const at = indexOf(copy, marker);
  view.setUint16(at + 5, heightPx);
  view.setUint16(at + 7, widthPx);
  return copy;
};
const image = (): Bun.Image => new Bun.Image(good);
const progressive = await image().jpeg({ progressive: true }).bytes();
const size = "32 x 16 pixels, 3 colours of 8 bits";

const strangers: readonly [what: string, bytes: Uint8Array, expected: string, found: string][] = [
  ["nothing", new Uint8Array(0), "a JPEG", "no bytes"],
  ["a text", Buffer.from("no picture"), "a JPEG", "bytes that begin with 6e6f207069637475"],
  ["a PNG", await image().png().bytes(), "a JPEG", "bytes that begin with 89504e470d0a1a0a"],
  ["one of another size", sized(good, 16, 32), size, "16 x 32 pixels, 3 colours of 8 bits"],
  ["a bomb", sized(good, 65_535, 65_535), size, "65535 x 65535 pixels, 3 colours of 8 bits"],
  [
    "one that states its height later",
    sized(good, 32, 0),
    size,
    "32 x 0 pixels, 3 colours of 8 bits",
  ],
  ["a progressive one", progressive, "a baseline JPEG", "a progressive one"],
  [
    "a progressive bomb",
    sized(progressive, 65_535, 65_535, 0xc2),
    "a baseline JPEG",
    "a progressive one",
  ],
  [
    "one of 12 bits",
    changed((bytes) => (bytes[frameAt + 4] = 12)),
    size,
    "32 x 16 pixels, 3 colours of 12 bits",
  ],
  [
    "a grey one",
    changed((bytes) => (bytes[frameAt + 9] = 1)),
    size,
    "32 x 16 pixels, 1 colours of 8 bits",
  ],
  [
    "an arithmetic one",
    changed((bytes) => (bytes[frameAt + 1] = 0xc9)),
    "a baseline JPEG",
    "marker 0xc9",
  ],
  [
    "a second frame",
    joined(good.subarray(0, scanAt), good.subarray(frameAt)),
    "a baseline JPEG",
    "marker 0xc0",
  ],
  [
    "a scan without a frame",
    joined(good.subarray(0, 2), good.subarray(scanAt)),
    "a baseline JPEG",
    "marker 0xda",
  ],
  [
    "other bytes in the header",
    joined(good.subarray(0, 2), good),
    "a baseline JPEG",
    "marker 0xd8",
  ],
  [
    "a second scan",
    joined(good.subarray(0, -2), good.subarray(scanAt)),
    "one scan, and nothing after its end",
    "more",
  ],
  [
    "something after its end",
    joined(good, Uint8Array.of(0)),
    "one scan, and nothing after its end",
    "more",
  ],
  [
    "more bytes than raw pixels",
    joined(good, new Uint8Array(1_537)),
    "at most 1536 bytes, those of raw pixels",
    String(good.length + 1_537),
  ],
];

test.each(strangers)("%s is refused by name", async (_what, bytes, expected, found) => {
  const refused = await decodeJpeg(bytes, WIDTH, HEIGHT).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(JpegError);
  expect(refused).toMatchObject({ expected, found });
});

test("within a scan restarts may stand, and no other marker", () => {
  const from = scanAt + 20;
  const withMarker = (marker: number) =>
    jpegFault(
      joined(good.subarray(0, from), Uint8Array.of(0xff, marker), good.subarray(from)),
      32,
      16,
    );
  const judged = [0x00, 0xcf, 0xd0, 0xd7, 0xd8, 0xd9, 0xff].map(
    (marker) => withMarker(marker)?.found,
  );
  expect(judged).toEqual([undefined, "more", undefined, undefined, "more", "more", "more"]);
});

test("one that was cut off anywhere is refused", async () => {
  for (let length = 0; length < good.length; length += 1) {
    const refused = decodeJpeg(good.slice(0, length), WIDTH, HEIGHT).catch(
      (error: unknown) => error,
    );
    expect(await refused).toBeInstanceOf(JpegError);
  }
});

test("a comment and application data are no harm", async () => {
  const comment = Uint8Array.of(0xff, 0xfe, 0, 4, 0xff, 0xd9);
  const told = joined(good.subarray(0, 2), comment, good.subarray(2));
  expect(await decodeJpeg(told, WIDTH, HEIGHT)).toEqual(await decodeJpeg(good, WIDTH, HEIGHT));
});

test("whatever bytes are broken, a picture comes back or a refusal", async () => {
  const random = new SeededRandom(1);
  let refusedCount = 0;
  for (let round = 0; round < 500; round += 1) {
    const broken = good.slice();
    for (let count = 0; count < 1 + (round % 4); count += 1) {
      broken[Math.floor(random.next() * broken.length)] = Math.floor(random.next() * 256);
    }
    const came = await decodeJpeg(broken, WIDTH, HEIGHT).catch((error: unknown) => error);
    if (came instanceof Uint8Array) expect(came.length).toBe(WIDTH * HEIGHT * 3);
    else expect(came).toBeInstanceOf(JpegError);
    refusedCount += came instanceof JpegError ? 1 : 0;
  }
  expect(refusedCount).toBeGreaterThan(100);
});
