// Who a host takes for gone, on real sockets: a robot whose line swallows everything, though nobody
// closes it; a connection that asks nothing; and one robot more than it serves. Waits are for what
// must happen, however long the machine takes.

import { afterEach, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Client, credentials, ServerCredentials } from "@grpc/grpc-js";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration, instant } from "../contracts/units.ts";
import { EdgeLink } from "./edge-link.ts";
import { facts, hello } from "./fixture.ts";
import type { DescribeReply } from "./generated/policy_pb.js";
import {
  DescribeRequestSchema,
  HostStatus_State,
  ObservationSchema,
} from "./generated/policy_pb.js";
import { GrpcEdge } from "./grpc-edge.ts";
import { FAIR, FaultProxy } from "./grpc-fault-proxy.ts";
import { GrpcHost } from "./grpc-host.ts";
import type { HostPolicyEvents } from "./grpc-host.ts";
import { policyHostService } from "./grpc-service.ts";
import { ROBOT_COUNT_MAX } from "./limits.ts";
import { Mischief } from "./mischief.ts";

/** Of the host and the line: neither is asked to wait. */
const nowNs = () => instant(0);
const PUMP_MS = 5;
/** Robots live faster than the host looks, so that on a slow machine none seems silent. */
const PUMP_NS = 20e6;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const NEVER = duration(0);
const PLAYS_DEAD = {
  lie: undefined,
  latencyNs: NEVER,
  jitterNs: NEVER,
  dropRatio: 0,
  freezeFromNs: NEVER,
  freezeUntilNs: duration(3_600e9),
};

class Served {
  readonly port: number;
  readonly notes: string[];
  /** Policies that were opened and not closed. */
  servedCount = 0;
  /** Acts that were asked for. */
  askedCount = 0;
  mischief: Mischief | undefined;
  /** What its policies say once they are made, and what those that serve hear from here on. */
  state: HostStatus_State = HostStatus_State.READY;
  readonly tells: HostPolicyEvents[] = [];
  readonly #host: GrpcHost;

  private constructor(host: GrpcHost, port: number, notes: string[]) {
    this.#host = host;
    this.port = port;
    this.notes = notes;
    closers.push(() => host.close());
  }

  static async open(): Promise<Served> {
    const notes: string[] = [];
    let served: Served;
    const opened = await GrpcHost.open("127.0.0.1:0", {
      credentials: ServerCredentials.createInsecure(),
      nowNs,
      runtimeVersions: {},
      get mischief() {
        return served?.mischief;
      },
      openPolicy: (_hello, events) => {
        served.servedCount += 1;
        events.made(facts());
        events.status(served.state, "");
        served.tells.push(events);
        const close = (): void => {
          served.servedCount -= 1;
        };
        const act = (): void => {
          served.askedCount += 1;
        };
        return { reset: () => undefined, act, close };
      },
      note: (text) => notes.push(text),
    });
    served = new Served(opened.host, opened.port, notes);
    return served;
  }

  get connectedCount(): number {
    const robots = [...this.#host.counts().values()];
    return robots.reduce((sum, { connectedCount }) => sum + connectedCount, 0);
  }
}

class Robot {
  readonly link: EdgeLink;
  readonly #edge: GrpcEdge;
  readonly #timer: ReturnType<typeof setInterval>;
  #nowNs = 0;

  constructor(port: number, seed = 1, pumpNs = PUMP_NS) {
    this.link = new EdgeLink({
      makeHello: (session) => hello(session),
      random: new SeededRandom(seed),
    });
    this.#edge = new GrpcEdge(this.link, {
      target: `127.0.0.1:${port}`,
      credentials: credentials.createInsecure(),
      nowNs: () => instant(this.#nowNs),
      onAnswer: () => undefined,
    });
    this.link.start(instant(0));
    this.#timer = setInterval(() => {
      this.#nowNs += pumpNs;
      this.#edge.pump();
    }, PUMP_MS);
    closers.push(() => this.leave());
  }

  leave(): void {
    clearInterval(this.#timer);
    this.#edge.close();
  }
}

async function until(question: () => boolean): Promise<void> {
  while (!question()) await Bun.sleep(PUMP_MS);
}

test("a robot whose cable is pulled has left, and its policy is free for its return", async () => {
  const served = await Served.open();
  const parts = { random: new SeededRandom(1), nowNs };
  const to = { host: "127.0.0.1", port: served.port };
  const proxy = await FaultProxy.open({ host: "127.0.0.1", port: 0 }, to, parts);
  closers.push(() => proxy.close());
  const robot = new Robot(proxy.port);
  await until(() => robot.link.phase === "ready");
  proxy.weather = { ...FAIR, isBlackHole: true };
  await until(() => served.servedCount === 0);
  expect(served.connectedCount).toBe(0);
  proxy.weather = FAIR;
  await until(() => robot.link.phase === "ready");
  expect([served.servedCount, served.connectedCount]).toEqual([1, 1]);
});

test("a host that plays dead ends nobody's stream: its robot finds out by itself", async () => {
  const served = await Served.open();
  served.mischief = new Mischief(PLAYS_DEAD, new SeededRandom(1), nowNs());
  const robot = new Robot(served.port, 1, PUMP_MS * 1e6); // it waits longer than a host looks
  await until(() => robot.link.phase === "greeting");
  await until(() => robot.link.phase !== "greeting");
  expect(robot.link.text).toContain("no welcome within 1000 ms");
});

test("one robot more than a host serves is told so, and served once another has left", async () => {
  const served = await Served.open();
  const robots = Array.from({ length: ROBOT_COUNT_MAX }, (_, at) => new Robot(served.port, at));
  await until(() => robots.every(({ link }) => link.phase === "ready"));
  const late = new Robot(served.port, ROBOT_COUNT_MAX);
  await until(() => late.link.refusal !== undefined);
  expect(late.link.refusal).toMatchObject({ field: "robots", expected: "at most 64 at once" });
  expect(served.servedCount).toBe(ROBOT_COUNT_MAX);
  robots[0]!.leave();
  await until(() => late.link.phase === "ready");
  expect(served.servedCount).toBe(ROBOT_COUNT_MAX);
});

test("a connection that asks nothing is ended, one with a robot is not", async () => {
  const served = await Served.open();
  const robot = new Robot(served.port);
  const socket = connect(served.port, "127.0.0.1").resume();
  await once(socket, "close");
  expect([robot.link.phase, robot.link.session]).toEqual(["ready", 1]);
}, 60_000);

/** How a host is, in its own words. */
function described(port: number): Promise<unknown[]> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = policyHostService.describe;
  const request = create(DescribeRequestSchema);
  const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    (error, reply?: DescribeReply) => {
      client.close();
      const { state, text, edgeCount } = reply?.status ?? {};
      if (error === null) resolve([state && HostStatus_State[state], text, edgeCount]);
      else reject(error);
    },
  );
  return promise;
}

test("a host is described by the robot whose policy is furthest from deciding", async () => {
  const served = await Served.open();
  expect(await described(served.port)).toEqual(["READY", "", 0]);
  const robot = new Robot(served.port);
  await until(() => robot.link.phase === "ready");
  expect(await described(served.port)).toEqual(["READY", "", 1]);
  served.state = HostStatus_State.WARMING_UP;
  const other = new Robot(served.port, 2);
  await until(() => other.link.phase === "warming");
  expect(await described(served.port)).toEqual(["WARMING_UP", "", 2]);
  served.tells[1]!.status(HostStatus_State.READY, "");
  await until(() => other.link.phase === "ready");
  const question = { epoch: 1n, positionRad: [0, 0], commandRad: [0, 0] };
  const asked = create(ObservationSchema, question);
  expect(other.link.request(asked, instant(0), instant(1e18))).toBe(1);
  await until(() => served.askedCount === 1);
  served.tells[1]!.decided(null, "act threw: no model");
  expect(await described(served.port)).toEqual(["READY", "two: act threw: no model", 2]);
  served.tells[0]!.status(HostStatus_State.LOADING, "");
  expect(await described(served.port)).toEqual(["LOADING", "two: act threw: no model", 2]);
});
