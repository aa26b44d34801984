// The codec against bytes written by hand from Atmel's AVR061: each request of a session, each
// reply in every cut, and what is refused.

import { expect, test } from "bun:test";
import { flashSession, getSync, holdsSync, ReplyReader, Stk500Error } from "./stk500.ts";
import type { Exchange } from "./stk500.ts";

const NONE = new Uint8Array(0);
const SIGNATURE = Uint8Array.of(0x1e, 0x95, 0x0f);

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Runs a session against a flash that keeps what it gets, but for what `change` does to it. */
function runSession(image: Uint8Array, change: (page: Uint8Array, at: number) => void = () => {}) {
  const exchanges: Exchange[] = [];
  const flash = new Map<number, Uint8Array>();
  let address = 0;
  let reply: Uint8Array = NONE;
  const session = flashSession(image);
  for (let step = session.next(NONE); step.done !== true; step = session.next(reply)) {
    const { request } = step.value;
    exchanges.push(step.value);
    reply = NONE;
    if (request[0] === 0x55) address = (request[1]! + request[2]! * 256) * 2;
    if (request[0] === 0x75) reply = SIGNATURE;
    if (request[0] === 0x64) flash.set(address, request.slice(4, -1));
    if (request[0] === 0x74) {
      reply = flash.get(address)!;
      change(reply, address);
    }
  }
  return { exchanges, flash };
}

test("a session is these bytes, in this order", () => {
  const image = Uint8Array.from({ length: 130 }, (_, at) => at);
  const { exchanges } = runSession(image);
  const first = hexOf(image.subarray(0, 128));
  const second = `8081${"ff".repeat(126)}`;
  expect(exchanges.map(({ request }) => hexOf(request))).toEqual([
    "5020",
    "7520",
    "55000020",
    `64008046${first}20`,
    "55400020",
    `64008046${second}20`,
    "55000020",
    "7400804620",
    "55400020",
    "7400804620",
    "5120",
  ]);
  expect(exchanges.map(({ replySizeBytes }) => replySizeBytes)).toEqual([
    0, 3, 0, 0, 0, 0, 0, 128, 0, 128, 0,
  ]);
  expect([hexOf(getSync.request), getSync.replySizeBytes]).toEqual(["3020", 0]);
});

test("an address of more than 256 words goes low byte first", () => {
  const { exchanges } = runSession(new Uint8Array(0x0500));
  const last = exchanges.findLast(({ request }) => request[0] === 0x55)!;
  expect(hexOf(last.request)).toBe("55400220"); // 0x0480 bytes are 0x0240 words
});

test("another chip is refused before anything is written", () => {
  const session = flashSession(new Uint8Array(1));
  session.next();
  session.next(NONE);
  expect(() => session.next(Uint8Array.of(0x1e, 0x94, 0x06))).toThrow(
    new Stk500Error(
      "wrong_signature",
      "Cannot flash this chip: expected signature 1E 95 0F of an ATmega328P, found 1E 94 06",
    ),
  );
});

test("a byte that reads back otherwise is told with its place", () => {
  const change = (page: Uint8Array, at: number): void => {
    if (at === 128) page[5] = 7;
  };
  expect(() => runSession(new Uint8Array(200), change)).toThrow(
    "Cannot verify the flash at 0x0085: expected 0x00, found 0x07",
  );
});

test("a reply is read in any pieces, and its data is what lies between the frame", () => {
  const exchange: Exchange = { request: NONE, replySizeBytes: 3, act: "" };
  const reply = Uint8Array.of(0x14, 0x1e, 0x95, 0x0f, 0x10);
  for (let cut = 0; cut <= reply.length; cut += 1) {
    const reader = new ReplyReader(exchange);
    const early = reader.take(reply.subarray(0, cut));
    expect(early === undefined).toBe(cut < reply.length);
    const whole = early ?? reader.take(reply.subarray(cut));
    expect(whole).toEqual(SIGNATURE);
  }
});

test("what is no reply is refused", () => {
  const refused: [number[], string][] = [
    [[0x15], "expected 0x14, found 0x15"],
    [[0x14, 0x11], "expected 0x10, found 0x11"],
    [[0x14, 0x10, 0x10], "a byte behind the reply: 0x10"],
  ];
  for (const [bytes, why] of refused) {
    expect(() => new ReplyReader(getSync).take(Uint8Array.from(bytes))).toThrow(why);
  }
});

test("a sync is found among other bytes, and only whole", () => {
  expect(holdsSync([0x00, 0x14, 0x47, 0x14, 0x10, 0x00])).toBe(true);
  expect(holdsSync([0x14, 0x00, 0x10])).toBe(false);
  expect(holdsSync([0x14])).toBe(false);
});
