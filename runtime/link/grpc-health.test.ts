// The standard health service over a real socket, in bytes that were written down from the
// protocol's own text, asked by a client of grpc-js: what Check answers, what Watch says at once
// and as the host closes, clients that go away, and more of them than a host has room for.

import { afterEach, expect, test } from "bun:test";
import { Client, credentials, ServerCredentials } from "@grpc/grpc-js";
import type { ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { FaultProxy } from "./grpc-fault-proxy.ts";
import { GrpcHost } from "./grpc-host.ts";
import { HEALTH_WATCHER_COUNT_MAX } from "./limits.ts";

const SERVING = "0801";
const NOT_SERVING = "0802";
const SERVICE_UNKNOWN = "0803";
const WHOLE = Buffer.alloc(0);

const asBytes = (bytes: Buffer): Buffer => bytes;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function served(): Promise<{ readonly host: GrpcHost; readonly port: number }> {
  const opened = await GrpcHost.open("127.0.0.1:0", {
    credentials: ServerCredentials.createInsecure(),
    nowNs: () => instant(0),
    runtimeVersions: {},
    mischief: undefined,
    openPolicy: () => ({ reset: () => undefined, act: () => undefined, close: () => undefined }),
    note: () => undefined,
  });
  closers.push(() => opened.host.close());
  return opened;
}

/** Each on a connection of its own. */
function clientOf(port: number): Client {
  const options = { "grpc.use_local_subchannel_pool": 1 };
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  closers.push(() => client.close());
  return client;
}

function check(client: Client, request: Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const path = "/grpc.health.v1.Health/Check";
  client.makeUnaryRequest(path, asBytes, asBytes, request, (error, reply) => {
    resolve(error === null ? (reply?.toString("hex") ?? "nothing") : `code ${error.code}`);
  });
  return promise;
}

/** What a watch says, one after the other: statuses, then the code that it ended with. */
class Watch {
  readonly #said: string[] = [];
  readonly #waiting: ((said: string) => void)[] = [];
  readonly #call: ClientReadableStream<Buffer>;

  constructor(client: Client, request: Buffer) {
    const path = "/grpc.health.v1.Health/Watch";
    this.#call = client.makeServerStreamRequest(path, asBytes, asBytes, request);
    this.#call.on("data", (bytes: Buffer) => this.#hear(bytes.toString("hex")));
    this.#call.on("error", ({ code }: ServiceError) => this.#hear(`code ${code}`));
    this.#call.on("end", () => this.#hear("end"));
  }

  next(): Promise<string> {
    const said = this.#said.shift();
    if (said !== undefined) return Promise.resolve(said);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
  leave(): void {
    this.#call.cancel();
  }

  #hear(said: string): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#said.push(said);
    else waiting(said);
  }
}

/** HealthCheckRequest: field 1, a text. */
const asking = (service: string): Buffer =>
  Buffer.concat([Buffer.of(0x0a, service.length), Buffer.from(service)]);
const OURS = asking("holdfast.policy.v1.PolicyHost");

test("a host serves, as a whole and by the name of its service, and no other", async () => {
  const { port } = await served();
  const client = clientOf(port);
  expect(await check(client, WHOLE)).toBe(SERVING);
  expect(await check(client, OURS)).toBe(SERVING);
  expect(await check(client, asking("another.Service"))).toBe("code 5");
  expect(await check(client, Buffer.of(0xff, 0xff))).toBe("code 5");
});

test("a watch is told at once, and as the host closes, and then it ends", async () => {
  const { host, port } = await served();
  const client = clientOf(port);
  const watches = [WHOLE, OURS].map((request) => new Watch(client, request));
  for (const watch of watches) expect(await watch.next()).toBe(SERVING);
  await host.close();
  for (const watch of watches) {
    expect([await watch.next(), await watch.next()]).toEqual([NOT_SERVING, "end"]);
  }
});

test("a service that is not there is watched as unknown, and is no error", async () => {
  const { host, port } = await served();
  const watch = new Watch(clientOf(port), asking("another.Service"));
  expect(await watch.next()).toBe(SERVICE_UNKNOWN);
  await host.close();
  expect(await watch.next()).toBe("end");
});

const isRefused = async (client: Client): Promise<boolean> =>
  (await new Watch(client, WHOLE).next()) === "code 8";

/** A host hears a little later that somebody left. */
const ASKS_MAX = 1_000;
async function asksUntilHeard(client: Client): Promise<number> {
  let asks = 0;
  while (asks < ASKS_MAX && (await isRefused(client))) asks += 1;
  return asks;
}

test("many watch at once, one more is refused, and has room as soon as one has left", async () => {
  const { host, port } = await served();
  const watches: Watch[] = [];
  for (let count = 0; count < HEALTH_WATCHER_COUNT_MAX; count += 1) {
    const watch = new Watch(clientOf(port), WHOLE);
    expect(await watch.next()).toBe(SERVING);
    watches.push(watch);
  }
  const client = clientOf(port);
  expect(await isRefused(client)).toBe(true);
  expect(await check(client, WHOLE)).toBe(SERVING); // a check takes no room
  watches[0]!.leave();
  expect(await watches[0]!.next()).toBe("code 1");
  expect(await asksUntilHeard(client)).toBeLessThan(ASKS_MAX);
  await host.close();
  for (const watch of watches.slice(1)) expect(await watch.next()).toBe(NOT_SERVING);
});

test("a client whose connection dies leaves no watch behind", async () => {
  const { port } = await served();
  const parts = { random: new SeededRandom(1), nowNs: () => instant(0) };
  const at = { host: "127.0.0.1", port: 0 };
  const proxy = await FaultProxy.open(at, { host: "127.0.0.1", port }, parts);
  closers.push(() => proxy.close());
  for (let count = 0; count < HEALTH_WATCHER_COUNT_MAX; count += 1) {
    expect(await new Watch(clientOf(proxy.port), WHOLE).next()).toBe(SERVING);
  }
  const client = clientOf(port);
  expect(await isRefused(client)).toBe(true);
  proxy.reset();
  expect(await asksUntilHeard(client)).toBeLessThan(ASKS_MAX);
});

test("a host closes soon, whether those who watch read or not", async () => {
  const { host, port } = await served();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data: () => undefined,
      open: (own) => void own.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    },
  });
  await host.close(); // a peer that says no more than this would be waited for without end
  socket.terminate();
});
