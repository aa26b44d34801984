// FaultProxy: a TCP line with a weather of its own, between an edge and a host or any two programs.
// It passes bytes on late, slowly, in slices or not at all, and closes in the ways networks do. It
// reads nothing of what it passes.

import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";
import type { SeededRandom } from "../contracts/seeded-random.ts";

export type LineWeather = {
  /** Held back this long, each way. */
  readonly latencyMs: number;
  /** And up to this longer. Order is kept, as TCP keeps it. */
  readonly jitterMs: number;
  /** Bytes a second, each way; Infinity for no limit. */
  readonly bytesPerS: number;
  /** Written on in pieces of at most this many bytes. */
  readonly sliceSizeBytes: number;
  /** Swallows everything, and lets nobody know. */
  readonly isBlackHole: boolean;
};

export const FAIR: LineWeather = {
  latencyMs: 0,
  jitterMs: 0,
  bytesPerS: Infinity,
  sliceSizeBytes: Infinity,
  isBlackHole: false,
};

export type ProxyAddress = { readonly host: string; readonly port: number };

/** What a line needs from outside: chance from a seed, and the time. */
export type LineParts = { readonly random: SeededRandom; readonly nowNs: () => number };

export class FaultProxy {
  readonly port: number;
  weather: LineWeather = FAIR;
  readonly #server: Server;
  readonly #lines = new Set<Line>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Listens at `from` (port 0 for any) and passes on to `to`. Rejects when it cannot listen. */
  static open(from: ProxyAddress, to: ProxyAddress, parts: LineParts): Promise<FaultProxy> {
    return new Promise((resolve, reject) => {
      let proxy: FaultProxy | undefined;
      const server = createServer({ allowHalfOpen: true }, (near) => proxy?.join(near, to, parts));
      server.on("error", reject);
      server.listen(from.port, from.host, () => {
        const bound = server.address();
        if (bound === null || typeof bound === "string") return;
        proxy = new FaultProxy(server, bound.port);
        resolve(proxy);
      });
    });
  }

  get lineCount(): number {
    return this.#lines.size;
  }

  join(near: Socket, to: ProxyAddress, parts: LineParts): void {
    const far = connect({ ...to, allowHalfOpen: true });
    const line = new Line(near, far, () => this.weather, parts);
    this.#lines.add(line);
    line.onEnd(() => this.#lines.delete(line));
  }

  /** Ends every line at once with a reset, as a crashed machine's kernel does. */
  reset(): void {
    for (const line of this.#lines) line.reset();
  }

  /** Ends the direction from the far side on every line; the other goes on. */
  halfClose(): void {
    for (const line of this.#lines) line.halfClose();
  }

  close(): void {
    this.#server.close();
    this.reset();
  }
}

class Line {
  readonly #near: Socket;
  readonly #far: Socket;

  constructor(near: Socket, far: Socket, weather: () => LineWeather, parts: LineParts) {
    this.#near = near;
    this.#far = far;
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.reset());
    }
    pass(near, far, weather, parts);
    pass(far, near, weather, parts);
  }

  onEnd(listener: () => void): void {
    this.#near.on("close", listener);
  }

  reset(): void {
    this.#near.resetAndDestroy();
    this.#far.resetAndDestroy();
  }

  halfClose(): void {
    this.#near.end();
  }
}

/** Passes bytes from one socket to another, in order, as the weather has it. */
function pass(
  from: Socket,
  to: Socket,
  weather: () => LineWeather,
  { random, nowNs }: LineParts,
): void {
  let freeMs = 0; // when the line has carried what it was given
  const later = (delayMs: number, what: () => void): void => {
    const nowMs = nowNs() / 1e6;
    freeMs = Math.max(freeMs, nowMs + delayMs);
    if (freeMs <= nowMs) what();
    else setTimeout(what, freeMs - nowMs);
  };
  from.on("data", (bytes: Buffer) => {
    const { latencyMs, jitterMs, bytesPerS, sliceSizeBytes, isBlackHole } = weather();
    if (isBlackHole) return;
    const size = Math.min(sliceSizeBytes, bytes.length);
    for (let at = 0; at < bytes.length; at += size) {
      const slice = bytes.subarray(at, at + size);
      const delayMs = latencyMs + jitterMs * random.next();
      later(delayMs, () => {
        if (!weather().isBlackHole && to.writable) to.write(slice);
      });
      freeMs += (1e3 * slice.length) / bytesPerS;
    }
  });
  from.on("end", () => {
    if (!weather().isBlackHole) later(0, () => to.end());
  });
}
