// Codes as people type them, and proofs: the right code over the same exchange, and nothing else,
// gives the same proof. The cost of a guess is measured against node:crypto with its own numbers.

import { createHash, createHmac, scryptSync } from "node:crypto";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { CODE_SIZE_BYTES, codeKey, codeOf, isSameProof, parseCode, proofOf } from "./pair-code.ts";
import type { Transcript } from "./pair-code.ts";

const transcript: Transcript = {
  robotNonce: "robot nonce",
  hostNonce: "host nonce",
  robotFingerprint: "SHA256:robot",
  hostFingerprint: "SHA256:host",
  robotName: "arm",
};

const fiveBytes = fc.uint8Array({ minLength: CODE_SIZE_BYTES, maxLength: CODE_SIZE_BYTES });

test("a code has 40 bits, each of which changes it, and reads back as itself", () => {
  expect(codeOf(new Uint8Array(5))).toBe("0000-0000");
  expect(codeOf(new Uint8Array(5).fill(255))).toBe("ZZZZ-ZZZZ");
  fc.assert(
    fc.property(fiveBytes, fc.nat(39), (bytes, bit) => {
      const code = codeOf(bytes);
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
      expect(parseCode(code)).toBe(code);
      const other = bytes.slice();
      other[bit >> 3]! ^= 1 << (bit & 7);
      expect(codeOf(other)).not.toBe(code);
    }),
  );
});

test.each([
  ["abcd-efgh", "ABCD-EFGH"],
  ["ABCDEFGH", "ABCD-EFGH"],
  [" abcd efgh\n", "ABCD-EFGH"],
  ["OIL0-1111", "0110-1111"],
])("%p is read as %p", (typed, code) => {
  expect(parseCode(typed)).toBe(code);
});

test.each(["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFGU", "ABCD_EFGH", "ÄBCD-EFGH"])(
  "%p is no code",
  (typed) => {
    expect(parseCode(typed)).toBeUndefined();
  },
);

test("a guess costs scrypt over 64 MiB, and a proof says who proves what", async () => {
  const said = ["holdfast pairing 1", ...Object.values(transcript)];
  const salt = createHash("sha256").update(JSON.stringify(said)).digest();
  const cost = { N: 65_536, r: 8, p: 1, maxmem: 2 ** 28 };
  const expected = scryptSync("ABCD-EFGH", salt, 32, cost);
  const key = await codeKey("ABCD-EFGH", transcript);
  expect(key.equals(expected)).toBe(true);
  const mac = createHmac("sha256", expected).update('["robot"]').digest("base64");
  expect(isSameProof(proofOf(key, "robot", []), mac)).toBe(true);
  expect(isSameProof(proofOf(key, "host", []), mac)).toBe(false);
  expect(isSameProof(proofOf(key, "robot", ["more"]), mac)).toBe(false);
  expect(isSameProof("", mac)).toBe(false);
});

test("another code, and any other part of the exchange, gives another key", async () => {
  const key = await codeKey("ABCD-EFGH", transcript);
  expect(key.equals(await codeKey("ABCD-EFGJ", transcript))).toBe(false);
  for (const part of Object.keys(transcript)) {
    const other = { ...transcript, [part]: "another" };
    expect(key.equals(await codeKey("ABCD-EFGH", other))).toBe(false);
  }
});
