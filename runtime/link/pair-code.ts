// The one-time code of a pairing, and what is proved with it. A code is typed by a person, so it is
// short; what it is short of, the cost of one guess makes up for. Nothing here keeps a secret: the
// code and its key live as long as the caller's variables.

import { createHash, createHmac, scrypt, timingSafeEqual } from "node:crypto";

/** Digits and letters without those that are read as another: 32 of them, 5 bits each. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const READ_AS: Readonly<Record<string, string>> = { O: "0", I: "1", L: "1" };
const CHARACTER_COUNT = 8;
const BITS = 5;
/** Random bytes that make a code: 40 bits. */
export const CODE_SIZE_BYTES = (CHARACTER_COUNT * BITS) / 8;

// A guess costs 128 · N · r = 64 MiB, written once and read once. Memory of 1 TB/s does at most
// 7,500 a second, so 2.2 million in the 5 minutes of a code; all 2^40 codes want 490,000 such
// machines. The salt holds both sides' nonces, so nothing can be worked out beforehand. It takes
// 0.2 to 0.7 s on one core (bun 1.4.5, x64), once on each side.
const COST = { N: 2 ** 16, r: 8, p: 1, maxmem: 2 ** 27 } as const;
const KEY_SIZE_BYTES = 32;

/** `XXXX-XXXX` from CODE_SIZE_BYTES random bytes. */
export function codeOf(random: Uint8Array): string {
  let bits = 0n;
  for (const byte of random) bits = (bits << 8n) | BigInt(byte);
  let code = "";
  for (let index = 0; index < CHARACTER_COUNT; index += 1) {
    code = `${ALPHABET[Number(bits & 31n)]!}${code}`;
    bits >>= 5n;
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** Reads what a person typed, in any case and with any gaps; undefined when it is no code. */
export function parseCode(text: string): string | undefined {
  const characters = [...text.toUpperCase().replaceAll(/[\s-]/g, "")];
  const code = characters.map((each) => READ_AS[each] ?? each).join("");
  const isCode =
    code.length === CHARACTER_COUNT && [...code].every((each) => ALPHABET.includes(each));
  return isCode ? `${code.slice(0, 4)}-${code.slice(4)}` : undefined;
}

/** What both sides saw. Whoever stands between them has shown one of them another key. */
export type Transcript = {
  readonly robotNonce: string;
  readonly hostNonce: string;
  /** Of the public key that the robot sent, and of the one in the host's certificate. */
  readonly robotFingerprint: string;
  readonly hostFingerprint: string;
  readonly robotName: string;
};

const PURPOSE = "holdfast pairing 1";

/** The key that only somebody has who knows the code of this very exchange. */
export function codeKey(code: string, transcript: Transcript): Promise<Buffer> {
  const { robotNonce, hostNonce, robotFingerprint, hostFingerprint, robotName } = transcript;
  const parts = [PURPOSE, robotNonce, hostNonce, robotFingerprint, hostFingerprint, robotName];
  const salt = createHash("sha256").update(JSON.stringify(parts)).digest();
  return new Promise((resolve, reject) => {
    scrypt(code, salt, KEY_SIZE_BYTES, COST, (error, key) => {
      if (error instanceof Error) reject(error);
      else resolve(key); // Bun says undefined where Node says null
    });
  });
}

/** Says who proves, and over what. */
export function proofOf(key: Uint8Array, side: "robot" | "host", said: readonly string[]): string {
  return createHmac("sha256", key)
    .update(JSON.stringify([side, ...said]))
    .digest("base64");
}

/** Compares in a time that tells nothing. */
export function isSameProof(proof: string, expected: string): boolean {
  const [one, other] = [Buffer.from(proof), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
