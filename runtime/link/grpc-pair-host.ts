// The host's end of a pairing, on a socket: one listener that lives while a person waits beside it.
// The robot proves first, so a stranger gets nothing to guess on; the host then proves too, and
// signs. A connection may be slow, silent, too long or plain nonsense: it is dropped and costs
// nobody a try.

import { randomBytes } from "node:crypto";
import { createServer } from "node:tls";
import type { Server, TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import type { Instant } from "../contracts/units.ts";
import { codeKey, isSameProof, proofOf } from "./pair-code.ts";
import type { Transcript } from "./pair-code.ts";
import { PairDesk } from "./pair-desk.ts";
import type { PairRefusal } from "./pair-desk.ts";
import { LineReader, NONCE_SIZE_BYTES, readHello, readProof } from "./pair-messages.ts";
import type { PairHello } from "./pair-messages.ts";
import type { PairedRobot } from "./pair-store.ts";
import { requestFingerprint, signRequest } from "./tls-authority.ts";
import { certificateFingerprint } from "./tls-certificates.ts";
import type { HostIdentity } from "./tls-certificates.ts";

/** One robot pairs; the rest is strangers. The oldest makes room. */
const CONNECTION_COUNT_MAX = 8;
/** New ones in a second: a handshake costs a millisecond of one core. */
const CONNECTION_RATE_HZ_MAX = 20;
/** A slow robot takes some seconds for its proof. */
const CONNECTION_MS_MAX = 20_000;
/** Time for the last line to go out before the listener closes. */
const LINGER_MS = 500;
const POLL_MS = 10;

export type PairHostOptions = {
  readonly host: string;
  readonly port: number;
  readonly code: string;
  readonly identity: HostIdentity;
  readonly nowNs: () => Instant;
  /** Chooses the robot's name on this host, from what it calls itself. */
  readonly nameOf: (wished: string) => string;
  /** Keeps the robot. Called once, before it is told. */
  readonly keep: (robot: PairedRobot) => void;
  /** One line for a person. */
  readonly note: (text: string) => void;
};

export class PairHost {
  readonly desk: PairDesk;
  readonly #options: PairHostOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #hostFingerprint: string;
  #paired: PairedRobot | undefined;
  #second = -1;
  #secondCount = 0;

  private constructor(options: PairHostOptions) {
    const { key, certificate } = options.identity.host;
    this.#options = options;
    this.#hostFingerprint = certificateFingerprint(certificate);
    this.desk = new PairDesk(options.nowNs());
    const tls = { key, cert: certificate, minVersion: "TLSv1.3" } as const;
    this.#server = createServer(tls, (socket) => this.#serve(socket));
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    // Strangers that speak no TLS; `admit` has their socket.
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /** Rejects when it cannot listen. */
  static open(options: PairHostOptions): Promise<PairHost> {
    const host = new PairHost(options);
    return new Promise((resolve, reject) => {
      host.#server.once("error", reject);
      host.#server.listen(options.port, options.host, () => resolve(host));
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }
  /** Who was paired. */
  get paired(): PairedRobot | undefined {
    return this.#paired;
  }

  async close(): Promise<void> {
    this.#server.close();
    for (let waitedMs = 0; this.#sockets.size > 0 && waitedMs < LINGER_MS; waitedMs += POLL_MS) {
      await Bun.sleep(POLL_MS);
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  #admit(socket: Socket): void {
    if (this.#isFlood()) {
      socket.destroy();
      return;
    }
    const [oldest] = this.#sockets;
    if (oldest !== undefined && this.#sockets.size >= CONNECTION_COUNT_MAX) oldest.destroy();
    this.#sockets.add(socket);
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS_MAX);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
  }

  #isFlood(): boolean {
    const second = Math.floor(this.#options.nowNs() / 1e9);
    this.#secondCount = second === this.#second ? this.#secondCount + 1 : 1;
    this.#second = second;
    return this.#secondCount > CONNECTION_RATE_HZ_MAX;
  }

  #serve(socket: TLSSocket): void {
    const reader = new LineReader();
    let exchange: Exchange | undefined;
    let isOver = false;
    const end = (last: object): void => {
      isOver = true;
      socket.end(`${JSON.stringify(last)}\n`);
    };
    const refuse = (refusal: PairRefusal): void =>
      end({ refusal, leftTryCount: this.desk.leftTryCount });
    const take = async (line: string): Promise<void> => {
      if (exchange === undefined) {
        exchange = await this.#greet(line);
        if (exchange === undefined) refuse("malformed");
        else socket.write(`${JSON.stringify({ nonce: exchange.transcript.hostNonce })}\n`);
        return;
      }
      const answer = await this.#judge(line, exchange);
      if (typeof answer === "string") refuse(answer);
      else end(answer);
    };
    let turn = Promise.resolve();
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes: Buffer) => {
      const lines = isOver ? [] : reader.read(bytes);
      if (lines === undefined) {
        refuse("malformed");
        return;
      }
      for (const line of lines) {
        turn = turn.then(() => (isOver ? undefined : take(line)));
        turn.catch((cause: unknown) => {
          this.#options.note(`pairing failed: ${String(cause)}`);
          socket.destroy();
        });
      }
    });
  }

  async #greet(line: string): Promise<Exchange | undefined> {
    const hello = readHello(line);
    if (hello === undefined) return undefined;
    const robotFingerprint = await requestFingerprint(hello.request);
    if (robotFingerprint === undefined) return undefined;
    const transcript = {
      robotNonce: hello.nonce,
      hostNonce: randomBytes(NONCE_SIZE_BYTES).toString("base64url"),
      robotFingerprint,
      hostFingerprint: this.#hostFingerprint,
      robotName: hello.name,
    };
    return { hello, transcript };
  }

  /** The last line for the robot, or why there is none. */
  async #judge(line: string, { hello, transcript }: Exchange): Promise<object | PairRefusal> {
    const { code, identity, nowNs, nameOf, keep, note } = this.#options;
    const read = readProof(line);
    if (read === undefined) return "malformed";
    const closed = this.desk.begin(nowNs());
    if (closed !== undefined) return closed;
    const key = await codeKey(code, transcript);
    const isRight = isSameProof(read.proof, proofOf(key, "robot", []));
    const refusal = this.desk.end(isRight, nowNs());
    if (refusal !== undefined) {
      note(`a robot was refused: ${refusal}, ${this.desk.leftTryCount} tries left`);
      return refusal;
    }
    const { authority } = identity;
    const certificate = await signRequest(authority, hello.request);
    const name = nameOf(hello.name);
    const robot = { name, fingerprint: transcript.robotFingerprint, isRevoked: false };
    keep(robot);
    this.#paired = robot;
    const proof = proofOf(key, "host", [name, authority.certificate, certificate]);
    return { name, authority: authority.certificate, certificate, proof };
  }
}

type Exchange = { readonly hello: PairHello; readonly transcript: Transcript };
