// What passes between robot and host while they pair: four lines of JSON, each with a size limit,
// over TLS. Whatever does not read is refused whole; nothing is guessed.

import type { PairRefusal } from "./pair-desk.ts";

/** Robot to host, first: who asks, with a request for a certificate. */
export type PairHello = {
  readonly version: number;
  readonly nonce: string;
  readonly name: string;
  /** PKCS#10, PEM. The private key stays where it was made. */
  readonly request: string;
};
/** Host to robot: makes the exchange unlike any other. */
export type PairChallenge = { readonly nonce: string };
/** Robot to host: knows the code. */
export type PairProof = { readonly proof: string };
/** Host to robot, last: what the robot needs from now on, proved by the code as well. */
export type PairGrant = {
  readonly name: string;
  readonly authority: string;
  readonly certificate: string;
  readonly proof: string;
};
export type PairRefused = { readonly refusal: PairRefusal; readonly leftTryCount: number };

export const PAIR_VERSION = 1;
export const NONCE_SIZE_BYTES = 16;
/** All that one side says: a request is 500 bytes, a grant 2 KB. */
export const SAID_SIZE_BYTES_MAX = 8_192;

const refusals: readonly PairRefusal[] = [
  "wrong_code",
  "void_code",
  "used_code",
  "expired_code",
  "malformed",
];

export function readHello(line: string): PairHello | undefined {
  const { version, nonce, name, request } = fieldsOf(line);
  if (version !== PAIR_VERSION) return undefined;
  if (!isText(nonce) || !isText(name) || !isText(request)) return undefined;
  return { version, nonce, name, request };
}

export function readProof(line: string): PairProof | undefined {
  const { proof } = fieldsOf(line);
  return isText(proof) ? { proof } : undefined;
}

export function readChallenge(line: string): PairChallenge | undefined {
  const { nonce } = fieldsOf(line);
  return isText(nonce) ? { nonce } : undefined;
}

export function readGrant(line: string): PairGrant | undefined {
  const { name, authority, certificate, proof } = fieldsOf(line);
  const isGrant = isText(name) && isText(authority) && isText(certificate) && isText(proof);
  return isGrant ? { name, authority, certificate, proof } : undefined;
}

export function readRefused(line: string): PairRefused | undefined {
  const { refusal, leftTryCount } = fieldsOf(line);
  const known = refusals.find((each) => each === refusal);
  if (known === undefined || typeof leftTryCount !== "number") return undefined;
  return { refusal: known, leftTryCount };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function fieldsOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch (cause) {
    if (cause instanceof SyntaxError) return {};
    throw cause;
  }
}

/** Bytes to whole lines. */
export class LineReader {
  #rest = Buffer.alloc(0);
  #sizeBytes = 0;

  /** The lines that are complete; undefined when more was said than anybody has to say. */
  read(bytes: Uint8Array): string[] | undefined {
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > SAID_SIZE_BYTES_MAX) return undefined;
    const all = Buffer.concat([this.#rest, bytes]);
    const end = all.lastIndexOf(0x0a);
    this.#rest = all.subarray(end + 1);
    return end < 0 ? [] : all.toString("utf8", 0, end).split("\n");
  }
}
