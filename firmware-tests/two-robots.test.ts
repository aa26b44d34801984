// Two robots of one kind at once on one policy host, in a process of its own, with a session and an
// epoch space each. Whatever the one does (begins another epoch, leaves without a word, loses its
// line), the other's decisions are to the bit those of a robot that is alone there.

import { afterEach, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import type { ClientDuplexStream } from "@grpc/grpc-js";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { helloOf } from "../runtime/link/edge-messages.ts";
import { EdgeMessageSchema, HostStatus_State } from "../runtime/link/generated/policy_pb.js";
import type { Chunk, EdgeMessage, HostMessage } from "../runtime/link/generated/policy_pb.js";
import { FaultProxy } from "../runtime/link/grpc-fault-proxy.ts";
import { policyHostService } from "../runtime/link/grpc-service.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";
import { HostProcess, killHosts } from "./link-rig.ts";

const robot = loadRobot("so101");
const layout = new StateLayout(robot, robot.sources, "");
const edgeFacts = {
  robot,
  task: loadTask("none"),
  layout,
  manifestSha256: new Uint8Array(0),
  runtimeVersions: {},
};
const homeRad = robot.joints.map((joint) => joint.homeRad);
/** A robot that says nothing for 750 ms has left. */
const PING_MS = 50;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await killHosts();
});

/** An edge by hand: it says what it is told to, and keeps what it hears. */
class Edge {
  readonly chunks: Chunk[] = [];
  readonly #session: bigint;
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<EdgeMessage, HostMessage>;
  readonly #pinging: ReturnType<typeof setInterval>;
  #isReady = false;
  #askCount = 0;
  #heard: () => void = () => undefined;

  private constructor(port: number, session: number) {
    this.#session = BigInt(session);
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
    const { path, requestSerialize, responseDeserialize } = policyHostService.run;
    this.#stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    this.#stream.on("data", ({ message }: HostMessage) => {
      if (message.case === "chunk") this.chunks.push(message.value);
      this.#isReady ||= message.case === "status" && message.value.state === HostStatus_State.READY;
      this.#heard();
    });
    this.#stream.on("error", () => undefined);
    this.#say({ case: "hello", value: helloOf(edgeFacts, this.#session) });
    this.#pinging = setInterval(() => this.#say({ case: "ping", value: {} }), PING_MS);
    closers.push(() => this.leave());
  }

  static async open(port: number, session: number): Promise<Edge> {
    const edge = new Edge(port, session);
    await edge.#until(() => edge.#isReady);
    return edge;
  }

  begin(epoch: number): void {
    this.#say({ case: "reset", value: { linkSession: this.#session, epoch: BigInt(epoch) } });
  }

  /** Where it is, `ms` after its epoch began, a little further from home each time. */
  async ask(epoch: number, ms: number): Promise<Chunk> {
    this.#askCount += 1;
    const positionRad = homeRad.map((rad) => rad + ms * 1e-5);
    const value = {
      linkSession: this.#session,
      observationId: BigInt(this.#askCount),
      epoch: BigInt(epoch),
      positionRad,
      commandRad: positionRad,
      sinceResetNs: BigInt(ms) * 1_000_000n,
    };
    this.#say({ case: "observation", value });
    await this.#until(() => this.chunks.length === this.#askCount);
    return this.chunks.at(-1)!;
  }

  /** Without a word. */
  leave(): void {
    clearInterval(this.#pinging);
    this.#stream.cancel();
    this.#client.close();
  }

  #say(message: NonNullable<MessageInitShape<typeof EdgeMessageSchema>["message"]>): void {
    this.#stream.write(create(EdgeMessageSchema, { message }));
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#heard = resolve;
      await promise;
    }
  }
}

const EPOCH = 100;
const ASK_COUNT = 12;

/** What a robot is told in an epoch, while something else goes on between its questions. */
async function decisions(
  port: number,
  session: number,
  between: (ask: number) => Promise<void>,
): Promise<number[][]> {
  const edge = await Edge.open(port, session);
  edge.begin(EPOCH);
  for (let ask = 0; ask < ASK_COUNT; ask += 1) {
    await between(ask);
    await edge.ask(EPOCH, 50 * ask);
  }
  edge.leave();
  const marks = edge.chunks.map((chunk) => marksOf(chunk));
  expect(marks).toEqual(marks.map((_, index) => [session, EPOCH, index + 1]));
  return edge.chunks.map(({ values }) => values);
}

const marksOf = ({ linkSession, epoch, observationId }: Chunk): number[] =>
  [linkSession, epoch, observationId].map(Number);

test("two robots on one host: whatever one does, the other's decisions are its own", async () => {
  const { port } = await HostProcess.start(["--policy", "sine"]);
  const alone = await decisions(port, 40, async () => undefined);
  const parts = { random: new SeededRandom(1), nowNs: () => 0 };
  const proxy = await FaultProxy.open(
    { host: "127.0.0.1", port: 0 },
    { host: "127.0.0.1", port },
    parts,
  );
  closers.push(() => proxy.close());
  let other: Edge | undefined;
  const told: number[][] = [];
  const asks = async (epoch: number, ms: number): Promise<void> => {
    told.push(marksOf(await other!.ask(epoch, ms)));
  };
  /** What the other robot does before each question of the first. */
  const acts: Readonly<Record<number, () => Promise<void>>> = {
    1: async () => {
      other = await Edge.open(port, 7);
      other.begin(3);
      await asks(3, 0);
    },
    3: () => asks(3, 400),
    4: async () => {
      other!.begin(4);
      await asks(4, 0);
    },
    5: async () => other!.begin(EPOCH),
    6: () => asks(EPOCH, 50),
    7: async () => other!.leave(),
    8: async () => {
      other = await Edge.open(proxy.port, 8);
      await asks(1, 0);
    },
    9: async () => proxy.reset(),
  };
  const beside = await decisions(port, 41, async (ask) => acts[ask]?.());
  expect(told).toEqual([
    [7, 3, 1],
    [7, 3, 2],
    [7, 4, 3],
    [7, EPOCH, 4],
    [8, 1, 1],
  ]);
  expect(beside).toEqual(alone);
  expect(new Set(alone.map(String)).size).toBe(ASK_COUNT);
}, 60_000);
