// openpi's bytes: both directions against what python3-msgpack and numpy make, the reference's own
// vector among them; and everything that is not such bytes is refused in words, cheaply.

import { describe, expect, test } from "bun:test";
import { decode } from "@msgpack/msgpack";
import fc from "fast-check";
import vectors from "../../firmware-tests/vectors/openpi.json" with { type: "json" };
import {
  decodeMap,
  encodeMessage,
  float32Array,
  OPENPI_RECEIVE_SIZE_BYTES_MAX,
  readArray,
} from "./openpi-codec.ts";
import type { ReadArray } from "./openpi-codec.ts";

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, "hex");
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** A good map of so many bytes. */
function largeMap(sizeBytes: number): Uint8Array {
  const head = [0x81, 0xa1, 0x61, 0xc6];
  const frame = Buffer.alloc(sizeBytes);
  frame.set(head);
  frame.writeUInt32BE(sizeBytes - head.length - 4, head.length);
  return frame;
}

function mapOf(hex: string): Readonly<Record<string, unknown>> {
  const result = decodeMap(bytesOf(hex));
  if (!("map" in result)) throw new Error(`${result.expected}, ${result.found}`);
  return result.map;
}

test("an observation is the bytes that openpi's own client makes", () => {
  const cam = {
    dtype: "|u1",
    shape: [2, 2, 3],
    bytes: Uint8Array.from({ length: 12 }, (_, i) => i),
  };
  const message = {
    "observation/joint_position": float32Array([0.5, -1.25]),
    images: { cam: cam as never },
    prompt: "Pick up the cube, größe.",
  };
  expect(hexOf(encodeMessage(message))).toBe(vectors.observation);
});

test("an array is the reference's vector", () => {
  const hex = hexOf(encodeMessage({ a: float32Array([1, 2]) }));
  expect(hex).toBe(`81a161${vectors.array}`);
  const spaced =
    "84 C4 0B 5F 5F 6E 64 61 72 72 61 79 5F 5F C3 C4 04 64 61 74 61 C4 08 00 00 80 3F 00 00 00 40" +
    " C4 05 64 74 79 70 65 A3 3C 66 34 C4 05 73 68 61 70 65 91 02";
  expect(hex.slice(6)).toBe(spaced.replaceAll(" ", "").toLowerCase());
});

test("sizes of every width are read back by another decoder", () => {
  const key = (value: unknown): string =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  for (const count of [0, 1, 31, 32, 63, 64, 255, 256, 70_000]) {
    const text = "x".repeat(count);
    const bytes = new Uint8Array(count).fill(7);
    const message = { text, array: { dtype: "|u1", shape: [count], bytes } as const };
    expect(decode(encodeMessage(message), { mapKeyConverter: key })).toEqual({
      text,
      array: { __ndarray__: true, data: bytes, dtype: "|u1", shape: [count] },
    });
  }
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, "v"]));
  expect(decode(encodeMessage(many))).toEqual(many);
});

test.each([vectors.answer_float32, vectors.answer_float64])(
  "actions of an answer, of either width",
  (hex) => {
    expect(readArray(mapOf(hex)["actions"])).toEqual({
      shape: [2, 3],
      values: Float64Array.of(1, 2, 3, 4, 5, 6.5),
    });
  },
);

test("metadata is any map, an empty one too", () => {
  expect(mapOf(vectors.metadata)).toEqual({ reset_pose: [0, -1.5, 1.5] });
  expect(mapOf(vectors.no_metadata)).toEqual({});
});

test("integers and bytes are widened; other kinds are refused by name", () => {
  const array = (dtype: string, hex: string, shape: number[]): ReadArray | object =>
    readArray({ __ndarray__: true, data: bytesOf(hex), dtype, shape });
  expect(array("<i8", "0700000000000000ffffffffffffffff", [2, 1])).toEqual({
    shape: [2, 1],
    values: Float64Array.of(7, -1),
  });
  expect(array("<i4", "feffffff", [1])).toMatchObject({ values: Float64Array.of(-2) });
  expect(array("|u1", "ff", [1])).toMatchObject({ values: Float64Array.of(255) });
  expect(readArray(mapOf(vectors.complex)["actions"])).toEqual({
    expected: "a dtype among <f4 <f8 <i4 <i8 |u1",
    found: '"<c8"',
  });
});

describe("refused", () => {
  const array = { __ndarray__: true, data: new Uint8Array(8), dtype: "<f4", shape: [2] };
  const arrays: readonly [string, unknown, string][] = [
    ["no array", undefined, "found nothing"],
    ["a list", [1, 2], "found a list of 2"],
    ["a map that is none", { data: 1 }, "found another map"],
    ["big-endian", { ...array, dtype: ">f4" }, 'found ">f4"'],
    ["a shape of more than the bytes", { ...array, shape: [3] }, "expected 12 bytes"],
    ["a shape of less than the bytes", { ...array, shape: [] }, "expected 4 bytes"],
    ["a negative size", { ...array, shape: [-1, -2] }, "expected a shape"],
    ["a broken size", { ...array, shape: [0.5, 4] }, "expected a shape"],
    ["five dimensions", { ...array, shape: [1, 1, 1, 1, 2] }, "expected a shape"],
    ["sizes whose product overflows", { ...array, shape: [2e5, 2e5, 2e5, 2e5] }, "expected 6.4"],
    ["text for bytes", { ...array, data: "12345678" }, "expected bytes"],
  ];
  test.each(arrays)("%s", (_name, value, text) => {
    const problem = readArray(value);
    if (!("expected" in problem)) throw new Error("it was read");
    expect(`expected ${problem.expected}, found ${problem.found}`).toContain(text);
  });

  const nested = (byte: number, count: number): Uint8Array =>
    new Uint8Array([...new Uint8Array(count).fill(byte), 0xc0]);
  const frames: readonly [string, Uint8Array][] = [
    ["nothing", new Uint8Array(0)],
    ["half a map", bytesOf(vectors.answer_float64).slice(0, -3)],
    ["a map and more", bytesOf(`${vectors.no_metadata}00`)],
    ["a list", bytesOf("9101")],
    ["no msgpack", bytesOf("c1ff")],
    ["an extension", bytesOf("81a161d40100")],
    ["a list of four billion", bytesOf("81a161ddffffffff")],
    ["a map of four billion", bytesOf("dfffffffff")],
    ["text of four gigabytes", bytesOf("81a161dbffffffff")],
    ["a list of 5000", new Uint8Array([0x81, 0xa1, 0x61, 0xdc, 0x13, 0x88, ...nested(1, 4_999)])],
    ["a key that is a number", bytesOf("810102")],
    ["a key that is not UTF-8", bytesOf("81c401ff02")],
    ["a key that would be a prototype", bytesOf("81a95f5f70726f746f5f5fc3")],
    ["lists in lists", new Uint8Array([0x81, 0xa1, 0x61, ...nested(0x91, 10)])],
    ["brackets without end", nested(0x91, 200_000)],
    ["maps in maps", nested(0x81, 200_000)],
    ["too large a map", largeMap(OPENPI_RECEIVE_SIZE_BYTES_MAX + 1)],
  ];
  test("the largest map is still one", () => {
    expect("map" in decodeMap(largeMap(OPENPI_RECEIVE_SIZE_BYTES_MAX))).toBe(true);
  });
  test.each(frames)("%s", (_name, frame) => {
    expect("map" in decodeMap(frame)).toBe(false);
  });

  test("whatever comes, nothing is thrown, and a flipped byte is a map or a problem", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (frame) => {
        const result = decodeMap(frame);
        if ("map" in result) readArray(result.map["actions"]);
      }),
      { numRuns: 2_000, seed: 1 },
    );
    const answer = bytesOf(vectors.answer_float32);
    for (let at = 0; at < answer.length; at += 1) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bent = answer.slice();
        bent[at]! ^= flip;
        const result = decodeMap(bent);
        if ("map" in result) readArray(result.map["actions"]);
      }
    }
  });
});
