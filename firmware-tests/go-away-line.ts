// A line to a host on which the host seems to go away while it serves: between two frames of its
// own, a GOAWAY of HTTP/2. It reads no more than where each frame ends.

import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";

const HEADER_SIZE_BYTES = 9;
const GO_AWAY_TYPE = 7;

export type GoAway = {
  /** Streams above this number have been neglected; 0 neglects every one that is open. */
  readonly lastStreamId: number;
  /** Why, as HTTP/2 numbers it. */
  readonly code: number;
};
export const ALL_STREAMS = 0x7fff_ffff;

function frameOf({ lastStreamId, code }: GoAway): Buffer {
  const frame = Buffer.alloc(HEADER_SIZE_BYTES + 8);
  frame.writeUIntBE(8, 0, 3);
  frame[3] = GO_AWAY_TYPE;
  frame.writeUInt32BE(lastStreamId, HEADER_SIZE_BYTES);
  frame.writeUInt32BE(code, HEADER_SIZE_BYTES + 4);
  return frame;
}

export class GoAwayLine {
  /** All so far. */
  connectionCount = 0;
  readonly #server: Server;
  readonly #ends = new Set<HostEnd>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on any port and leads to `port` of this machine. */
  static open(port: number): Promise<GoAwayLine> {
    return new Promise((resolve, reject) => {
      const server = createServer((near) => line.#join(near, port));
      const line = new GoAwayLine(server);
      server.on("error", reject);
      server.listen(0, "127.0.0.1", () => resolve(line));
    });
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** On every connection, as soon as a frame has ended. */
  say(goAway: GoAway): void {
    for (const end of this.#ends) end.say(frameOf(goAway));
  }

  close(): void {
    this.#server.close();
    for (const end of this.#ends) end.close();
  }

  #join(near: Socket, port: number): void {
    this.connectionCount += 1;
    const end = new HostEnd(near, connect(port, "127.0.0.1"));
    this.#ends.add(end);
    near.on("close", () => this.#ends.delete(end));
  }
}

/** One connection. */
class HostEnd {
  readonly #near: Socket;
  readonly #far: Socket;
  /** What of a frame has come so far of the host. */
  #frame = Buffer.alloc(0);
  #unsaid: Buffer[] = [];

  constructor(near: Socket, far: Socket) {
    this.#near = near;
    this.#far = far;
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.close());
      socket.on("close", () => this.close());
    }
    near.on("data", (bytes: Buffer) => far.write(bytes));
    far.on("data", (bytes: Buffer) => this.#pass(bytes));
  }

  say(frame: Buffer): void {
    this.#unsaid.push(frame);
    this.#sayNow();
  }

  close(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  /** Whole frames only, so that between two of them there is room. */
  #pass(bytes: Buffer): void {
    this.#frame = Buffer.concat([this.#frame, bytes]);
    while (this.#frame.length >= HEADER_SIZE_BYTES) {
      const sizeBytes = HEADER_SIZE_BYTES + this.#frame.readUIntBE(0, 3);
      if (this.#frame.length < sizeBytes) break;
      this.#near.write(this.#frame.subarray(0, sizeBytes));
      this.#frame = this.#frame.subarray(sizeBytes);
    }
    this.#sayNow();
  }

  #sayNow(): void {
    for (const frame of this.#unsaid.splice(0)) this.#near.write(frame);
  }
}
