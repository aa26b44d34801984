// The robot's end of a pairing, on a socket. The host's certificate is not believed: its key goes
// into what both sides prove, so whoever stands between them cannot. Nothing is kept unless the
// host has proved that it knows the code.

import { randomBytes, X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { LinkAddress } from "./address.ts";
import { codeKey, isSameProof, proofOf } from "./pair-code.ts";
import type { PairRefusal } from "./pair-desk.ts";
import { PairingError } from "./pair-error.ts";
import {
  LineReader,
  NONCE_SIZE_BYTES,
  PAIR_VERSION,
  readChallenge,
  readGrant,
  readRefused,
} from "./pair-messages.ts";
import type { PairedHost } from "./pair-store.ts";
import { makeRequest, requestFingerprint } from "./tls-authority.ts";
import { certificateFingerprint, HOST_TLS_NAME } from "./tls-certificates.ts";

/** From the first packet to the last line. */
const EXCHANGE_MS_MAX = 20_000;

const NEW_CODE = "on the host type holdfast pair host for a new one";

/** What each refusal means to the person at the robot: expected, found. */
const refusalTexts: Readonly<Record<PairRefusal, readonly [string, string]>> = {
  wrong_code: ["the code that the host shows now", "another: look again and type it anew"],
  void_code: [`a code without three wrong tries: ${NEW_CODE}`, "one that is void"],
  used_code: [`a code that nobody has used: ${NEW_CODE}`, "one that has paired a robot"],
  expired_code: [`a code of the last 5 minutes: ${NEW_CODE}`, "one that has expired"],
  malformed: ["a host of the same version of holdfast", "one that does not understand this one"],
};

export type PairRobotOptions = {
  readonly address: LinkAddress;
  readonly code: string;
  /** What this robot calls itself. */
  readonly name: string;
};

export type Paired = {
  readonly host: PairedHost;
  readonly robotName: string;
  readonly robotFingerprint: string;
};

/** Pairs with a host that waits for it. Throws PairingError. */
export async function pairWithHost(options: PairRobotOptions): Promise<Paired> {
  const { address, name, code } = options;
  const action = `Cannot pair with ${address.target}`;
  const { key: robotKey, request } = await makeRequest();
  const line = new PairLine(address, action);
  try {
    const hostFingerprint = await line.open();
    const robotNonce = randomBytes(NONCE_SIZE_BYTES).toString("base64url");
    line.send({ version: PAIR_VERSION, nonce: robotNonce, name, request });
    const challenge = await line.next(readChallenge);
    const robotFingerprint = (await requestFingerprint(request))!;
    const key = await codeKey(code, {
      robotNonce,
      hostNonce: challenge.nonce,
      robotFingerprint,
      hostFingerprint,
      robotName: name,
    });
    line.send({ proof: proofOf(key, "robot", []) });
    const grant = await line.next(readGrant);
    const { authority, certificate } = grant;
    const proof = proofOf(key, "host", [grant.name, authority, certificate]);
    if (!isSameProof(grant.proof, proof)) {
      throw new PairingError(action, "a host that knows the code", "one that does not: not paired");
    }
    const host: PairedHost = {
      name: address.host,
      fingerprint: hostFingerprint,
      isRevoked: false,
      authority,
      certificate,
      key: robotKey,
    };
    return { host, robotName: grant.name, robotFingerprint };
  } finally {
    line.close();
  }
}

/** Lines over TLS to somebody who is not believed yet. */
class PairLine {
  readonly #action: string;
  readonly #socket: TLSSocket;
  readonly #reader = new LineReader();
  readonly #lines: string[] = [];
  readonly #timer: ReturnType<typeof setTimeout>;
  #failure: PairingError | undefined;
  #wake: () => void = () => undefined;
  #isOpen = false;

  constructor({ host, port, target }: LinkAddress, action: string) {
    this.#action = action;
    const tls = { rejectUnauthorized: false, minVersion: "TLSv1.3" } as const;
    const socket = connect({ host, port, servername: HOST_TLS_NAME, ...tls });
    this.#socket = socket;
    const waits =
      "a host that waits for a robot (there type holdfast pair host; a code works once, 5 minutes)";
    socket.on("secureConnect", () => {
      this.#isOpen = true;
      this.#wake();
    });
    socket.on("data", (bytes: Buffer) => {
      const lines = this.#reader.read(bytes);
      if (lines === undefined) this.#fail("a pairing host", "one that says too much");
      else this.#lines.push(...lines);
      this.#wake();
    });
    socket.on("error", (error: Error & { code?: string }) => {
      this.#fail(waits, `${error.code ?? error.message} at ${target}`);
    });
    socket.on("close", () => this.#fail(waits, "one that hung up"));
    this.#timer = setTimeout(() => {
      this.#fail(waits, `no answer within ${EXCHANGE_MS_MAX / 1e3} s`);
    }, EXCHANGE_MS_MAX);
  }

  /** The fingerprint of whoever is there. */
  async open(): Promise<string> {
    while (!this.#isOpen) await this.#change();
    return certificateFingerprint(new X509Certificate(this.#socket.getPeerCertificate().raw).raw);
  }

  send(message: object): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** The next line; a refusal is thrown. */
  async next<T>(read: (line: string) => T | undefined): Promise<T> {
    while (this.#lines.length === 0) await this.#change();
    const line = this.#lines.shift()!;
    const refused = readRefused(line);
    if (refused !== undefined) {
      const [expected, found] = refusalTexts[refused.refusal];
      const left = refused.refusal === "wrong_code" ? `, ${refused.leftTryCount} left` : "";
      throw new PairingError(this.#action, expected, `${found}${left}`);
    }
    const message = read(line);
    if (message !== undefined) return message;
    throw new PairingError(this.#action, "a pairing host", "something else at that address");
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  async #change(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #fail(expected: string, found: string): void {
    this.#failure ??= new PairingError(this.#action, expected, found);
    this.#wake();
  }
}
