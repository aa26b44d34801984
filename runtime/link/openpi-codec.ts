// The bytes of openpi: msgpack in which a numpy array is a map with binary keys. What comes in is
// scanned for its nesting before it is decoded and judged before it is believed: sizes, types and
// shapes have limits, and whatever does not fit comes back as a problem in words, never as a throw.

import { decode } from "@msgpack/msgpack";

/** An array as it is sent. */
export type NdArray = {
  readonly dtype: "<f4" | "|u1";
  readonly shape: readonly number[];
  /** Row-major, least significant byte first. */
  readonly bytes: Uint8Array;
};

/** What an observation is made of. */
export type OpenpiMessage = { readonly [key: string]: string | NdArray | OpenpiMessage };

/** An array as it came, widened. */
export type ReadArray = { readonly shape: readonly number[]; readonly values: Float64Array };

/** What is wrong with what came. */
export type Problem = { readonly expected: string; readonly found: string };

/**
 * Largest frame that is looked at: 64 rows of 32 float64 are 16 KiB, and a server adds the state
 * and some timings.
 */
export const OPENPI_RECEIVE_SIZE_BYTES_MAX = 1 << 18;
/** An answer goes three levels down: the map, an array's map, its shape. */
const DEPTH_MAX = 8;
const RANK_MAX = 4;
const LIST_COUNT_MAX = 4_096;
const MAP_COUNT_MAX = 256;

const ARRAY_KEY = "__ndarray__";
const utf8 = new TextEncoder();

export const isNdArray = (value: OpenpiMessage[string]): value is NdArray =>
  typeof value === "object" && value["bytes"] instanceof Uint8Array;

/** float32 values as an array of one dimension. */
export function float32Array(values: readonly number[]): NdArray {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  return { dtype: "<f4", shape: [values.length], bytes };
}

/** An observation as openpi's own client writes it. */
export function encodeMessage(message: OpenpiMessage): Uint8Array {
  const parts: Uint8Array[] = [];
  writeMap(parts, message);
  return Buffer.concat(parts);
}

function writeMap(parts: Uint8Array[], message: OpenpiMessage): void {
  const entries = Object.entries(message);
  parts.push(countHead(entries.length, 0x80, 0xde));
  for (const [key, value] of entries) {
    writeText(parts, key);
    if (typeof value === "string") writeText(parts, value);
    else if (isNdArray(value)) writeArray(parts, value);
    else writeMap(parts, value);
  }
}

function writeArray(parts: Uint8Array[], { bytes, dtype, shape }: NdArray): void {
  parts.push(Uint8Array.of(0x84));
  writeBytes(parts, utf8.encode(ARRAY_KEY));
  parts.push(Uint8Array.of(0xc3));
  writeBytes(parts, utf8.encode("data"));
  writeBytes(parts, bytes);
  writeBytes(parts, utf8.encode("dtype"));
  writeText(parts, dtype);
  writeBytes(parts, utf8.encode("shape"));
  parts.push(countHead(shape.length, 0x90, 0xdc));
  for (const size of shape) parts.push(wholeNumber(size));
}

function writeText(parts: Uint8Array[], text: string): void {
  const bytes = utf8.encode(text);
  const { length } = bytes;
  if (length < 32) parts.push(Uint8Array.of(0xa0 | length));
  else if (length < 1 << 8) parts.push(Uint8Array.of(0xd9, length));
  else parts.push(sized(0xda, length, length < 1 << 16 ? 2 : 4));
  parts.push(bytes);
}

function writeBytes(parts: Uint8Array[], bytes: Uint8Array): void {
  const { length } = bytes;
  const sizeBytes = length < 1 << 8 ? 1 : length < 1 << 16 ? 2 : 4;
  parts.push(sized(sizeBytes === 1 ? 0xc4 : 0xc5, length, sizeBytes), bytes);
}

function wholeNumber(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value);
  const sizeBytes = value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : 4;
  return sized(sizeBytes === 1 ? 0xcc : 0xcd, value, sizeBytes);
}

function countHead(count: number, small: number, large: number): Uint8Array {
  return count < 16 ? Uint8Array.of(small | count) : sized(large, count, 2);
}

/** A head and a big-endian number behind it. Where four bytes follow, the head is the next one. */
function sized(head: number, value: number, sizeBytes: number): Uint8Array {
  const bytes = Buffer.alloc(1 + sizeBytes);
  bytes[0] = sizeBytes === 4 ? head + 1 : head;
  bytes.writeUIntBE(value, 1, sizeBytes);
  return bytes;
}

/** The map of a frame, or why it is none. */
export function decodeMap(
  frame: Uint8Array,
): { readonly map: Readonly<Record<string, unknown>> } | Problem {
  const { length } = frame;
  if (length > OPENPI_RECEIVE_SIZE_BYTES_MAX) {
    return { expected: `at most ${OPENPI_RECEIVE_SIZE_BYTES_MAX} bytes`, found: `${length}` };
  }
  if (!isShallow(frame)) return { expected: "one msgpack map, not deep", found: "other bytes" };
  let value: unknown;
  try {
    value = decode(frame, {
      maxArrayLength: LIST_COUNT_MAX,
      maxMapLength: MAP_COUNT_MAX,
      mapKeyConverter: textOfKey,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { expected: "msgpack within limits", found: why };
  }
  if (isMap(value)) return { map: value };
  return { expected: "a msgpack map", found: kindOf(value) };
}

/** The array in a decoded value, or why there is none. */
export function readArray(value: unknown): ReadArray | Problem {
  if (!isMap(value) || value[ARRAY_KEY] !== true) {
    return { expected: "a numpy array", found: kindOf(value) };
  }
  const { dtype, shape, data } = value;
  const reader = dtypes.get(typeof dtype === "string" ? dtype : "");
  if (reader === undefined) {
    return { expected: `a dtype among ${[...dtypes.keys()].join(" ")}`, found: kindOf(dtype) };
  }
  if (!isShape(shape)) return { expected: "a shape", found: kindOf(shape) };
  if (!(data instanceof Uint8Array)) return { expected: "bytes", found: kindOf(data) };
  const count = shape.reduce((product, size) => product * size, 1);
  if (data.length !== count * reader.sizeBytes) {
    const expected = `${count * reader.sizeBytes} bytes for the shape (${shape.join(", ")})`;
    return { expected, found: `${data.length}` };
  }
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const values = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    values[index] = reader.read(view, index * reader.sizeBytes);
  }
  return { shape, values };
}

type Reader = {
  readonly sizeBytes: number;
  readonly read: (view: DataView, offset: number) => number;
};

/** The kinds V, O and c are no numbers; others have no use here. */
const dtypes: ReadonlyMap<string, Reader> = new Map([
  ["<f4", { sizeBytes: 4, read: (view: DataView, at: number) => view.getFloat32(at, true) }],
  ["<f8", { sizeBytes: 8, read: (view: DataView, at: number) => view.getFloat64(at, true) }],
  ["<i4", { sizeBytes: 4, read: (view: DataView, at: number) => view.getInt32(at, true) }],
  [
    "<i8",
    { sizeBytes: 8, read: (view: DataView, at: number) => Number(view.getBigInt64(at, true)) },
  ],
  ["|u1", { sizeBytes: 1, read: (view: DataView, at: number) => view.getUint8(at) }],
]);

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Uint8Array);

function isShape(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > RANK_MAX) return false;
  const sizeMax = OPENPI_RECEIVE_SIZE_BYTES_MAX;
  return value.every((size) => Number.isInteger(size) && size >= 0 && size <= sizeMax);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (isMap(value)) return "another map";
  return typeof value === "string" ? JSON.stringify(value.slice(0, 20)) : String(value);
}

/** Keys of an array are binary, the others text. */
function textOfKey(key: unknown): string {
  if (typeof key === "string") return key;
  if (key instanceof Uint8Array) return new TextDecoder("utf-8", { fatal: true }).decode(key);
  throw new TypeError("a key is neither text nor bytes");
}

/** What follows a head byte from 0xc0 on: bytes of a number, and of what its value counts. */
type Follow = { readonly size: number; readonly per: "byte" | "item" | "pair" | undefined };
const fixed = (size: number): Follow => ({ size, per: undefined });
const counted = (size: number, per: "byte" | "item" | "pair"): Follow => ({ size, per });
const follows: readonly (Follow | undefined)[] = [
  ...[fixed(0), undefined, fixed(0), fixed(0)], // nil, never used, false, true
  ...[counted(1, "byte"), counted(2, "byte"), counted(4, "byte")], // bin
  ...[undefined, undefined, undefined], // ext: openpi has none
  ...[fixed(4), fixed(8)], // float
  ...[fixed(1), fixed(2), fixed(4), fixed(8), fixed(1), fixed(2), fixed(4), fixed(8)], // int
  ...[undefined, undefined, undefined, undefined, undefined], // fixext
  ...[counted(1, "byte"), counted(2, "byte"), counted(4, "byte")], // str
  ...[counted(2, "item"), counted(4, "item")], // array
  ...[counted(2, "pair"), counted(4, "pair")], // map
];

/**
 * One whole value, not too deeply nested. The library keeps a stack of objects: 256 KiB of opening
 * brackets would cost it 100 MB.
 */
function isShallow(frame: Uint8Array): boolean {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  const left = [1];
  let at = 0;
  while (left.length > 0) {
    if (left.at(-1) === 0) {
      left.pop();
      continue;
    }
    left[left.length - 1]! -= 1;
    if (at >= bytes.length) return false;
    const head = bytes[at]!;
    at += 1;
    let items = 0;
    if (head >= 0xe0 || head < 0x80) continue;
    if (head < 0x90) items = 2 * (head & 15);
    else if (head < 0xa0) items = head & 15;
    else if (head < 0xc0) at += head & 31;
    else {
      const follow = follows[head - 0xc0];
      if (follow === undefined || at + follow.size > bytes.length) return false;
      const count = follow.per === undefined ? 0 : bytes.readUIntBE(at, follow.size);
      at += follow.size;
      if (follow.per === "byte") at += count;
      else items = follow.per === "pair" ? 2 * count : count;
    }
    if (items > 0) left.push(items);
    if (left.length > DEPTH_MAX + 1) return false;
  }
  return at === bytes.length;
}
