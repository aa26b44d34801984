// What passes between strangers: lines come out whole however their bytes were cut, too much is
// refused, and nothing that does not read throws.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  LineReader,
  readChallenge,
  readGrant,
  readHello,
  readProof,
  readRefused,
  SAID_SIZE_BYTES_MAX,
} from "./pair-messages.ts";

const readers = [readHello, readProof, readChallenge, readGrant, readRefused];

test("whatever is no message reads as none, without a throw", () => {
  const strange = ["", "null", "[]", "{", "7", '"x"', '{"version":2}', '{"nonce":5}'];
  for (const line of strange)
    expect(readers.map((read) => read(line))).toEqual(readers.map(() => undefined));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      for (const read of readers) read(line);
    }),
  );
});

test("a hello of another version is not understood", () => {
  const hello = { version: 1, nonce: "n", name: "arm", request: "pem" };
  expect(readHello(JSON.stringify(hello))).toEqual(hello);
  expect(readHello(JSON.stringify({ ...hello, version: 2 }))).toBeUndefined();
  expect(readHello(JSON.stringify({ ...hello, name: "" }))).toBeUndefined();
});

test("a refusal that nobody knows is none", () => {
  expect(readRefused('{"refusal":"wrong_code","leftTryCount":2}')).toBeDefined();
  expect(readRefused('{"refusal":"toString","leftTryCount":2}')).toBeUndefined();
});

test("lines come out whole however they were cut", () => {
  const cuts = fc.array(fc.nat(40), { maxLength: 8 });
  fc.assert(
    fc.property(cuts, (places) => {
      const bytes = Buffer.from("one\ntwo ü\n\nthree\nrest");
      const reader = new LineReader();
      const ends = [...places.toSorted((a, b) => a - b), bytes.length];
      let from = 0;
      const lines = ends.flatMap((end) => {
        const part = bytes.subarray(from, end);
        from = Math.max(from, Math.min(end, bytes.length));
        return reader.read(part) ?? ["too much"];
      });
      expect(lines).toEqual(["one", "two ü", "", "three"]);
    }),
  );
});

test("more than anybody has to say is refused, in one line or in many", () => {
  expect(new LineReader().read(new Uint8Array(SAID_SIZE_BYTES_MAX + 1))).toBeUndefined();
  const reader = new LineReader();
  const line = Buffer.from(`${"x".repeat(1_023)}\n`);
  for (let count = 0; count < SAID_SIZE_BYTES_MAX / 1_024; count += 1) {
    expect(reader.read(line)).toHaveLength(1);
  }
  expect(reader.read(line)).toBeUndefined();
});
