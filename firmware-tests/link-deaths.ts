// How a policy link dies, as a table: what the robot meets, what its side says of it, and how the
// peer comes back. Hosts are processes of their own, lines are real TCP. TCP hides what is lost, so
// a lossy line is here what TCP makes of one; exact loss is in `runtime/link/edge-link.test.ts`.

import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { FAIR } from "../runtime/link/grpc-fault-proxy.ts";
import type { LineWeather } from "../runtime/link/grpc-fault-proxy.ts";
import { ALL_STREAMS, GoAwayLine } from "./go-away-line.ts";
import type { GoAway } from "./go-away-line.ts";
import { HostProcess, LinkRig } from "./link-rig.ts";

/** What a host is started with. */
type HostArguments = readonly string[];
const HONEST: HostArguments = ["--policy", "sine"];
const served = (url: URL): HostArguments => ["--policy", url.pathname];
/** Two files whose policies say the same of themselves. */
const STANDS = served(new URL("./fixtures/policy-stands.ts", import.meta.url));
const STANDS_OTHERWISE = served(new URL("./fixtures/policy-stands-otherwise.ts", import.meta.url));

/** A robot's side, and the hosts that it can be led to: it begins with the first. */
export class World {
  readonly rig: LinkRig;
  readonly hosts: HostProcess[];
  /** Between the robot and its host, where that is to go away. */
  readonly line: GoAwayLine | undefined;
  standIn: StandIn | undefined;

  private constructor(rig: LinkRig, hosts: HostProcess[], line: GoAwayLine | undefined) {
    this.rig = rig;
    this.hosts = hosts;
    this.line = line;
  }

  static async open(hosts: readonly HostProcess[], death: Death): Promise<World> {
    const { port } = hosts[0]!;
    const line = death.goesAway === true ? await GoAwayLine.open(port) : undefined;
    return new World(await LinkRig.open(line?.port ?? port), [...hosts], line);
  }

  get host(): HostProcess {
    return this.hosts[0]!;
  }

  close(): void {
    this.rig.close();
    this.line?.close();
    this.standIn?.close();
  }
}

type Act = (world: World) => Promise<void> | void;

export type Death = {
  readonly name: string;
  readonly hosts: readonly HostArguments[];
  /** What dies is not the hosts: the tries of the case share them. */
  readonly isShared: boolean;
  /** The first host serves what it counts, on a port of its own. */
  readonly countsOnFirst?: boolean;
  /** The first host is behind a line that can say GOAWAY for it. */
  readonly goesAway?: boolean;
  readonly begin: Act;
  /** What the robot's side says of it, in this order; the first is how the death is known. */
  readonly says: readonly RegExp[];
  readonly end: Act;
};

/** Accepts where a host was, and doesn't serve. */
export class StandIn {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `greeting` is all that it ever says. Port 0 for any. */
  static open(port: number, greeting: Buffer): Promise<StandIn> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      const standIn = new StandIn(server);
      server.on("connection", (socket) => standIn.#greet(socket, greeting));
      server.on("error", reject);
      server.listen(port, "127.0.0.1", () => resolve(standIn));
    });
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #greet(socket: Socket, greeting: Buffer): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.write(greeting);
  }
}

export const SILENCE = Buffer.alloc(0);
/** An empty SETTINGS, and a GOAWAY before any stream. */
export const GO_AWAY = Buffer.from(
  "000000040000000000" + "0000080700000000000000000000000000",
  "hex",
);

const weather = (change: Partial<LineWeather>): Act => {
  return ({ rig }) => {
    rig.proxy.weather = { ...FAIR, ...change };
  };
};

const replacedBy = (args: HostArguments): Act => {
  return async (world) => {
    world.standIn?.close();
    const { port } = world.host;
    await world.host.kill();
    world.hosts[0] = await HostProcess.start(args, port);
  };
};

const restarted = replacedBy(HONEST);

const standInFor = (greeting: Buffer): Act => {
  return async (world) => {
    await world.host.kill();
    world.standIn = await StandIn.open(world.host.port, greeting);
  };
};

/** Leads to the other host from here on. */
const swapped: Act = ({ rig, hosts }) => {
  hosts.reverse();
  rig.leadTo(hosts[0]!.port);
  rig.proxy.reset();
};

/** What follows is the kernel's word for how the line ended, or that it did. */
const DROPPED = /UNAVAILABLE: (Connection dropped|read ECONNRESET|write E)/;
const SILENT = /nothing heard for 600 ms/;
const LATE = /no answer in time/;

/** The robot follows its host until this, and stops. */
export const lasting: readonly Death[] = [
  {
    name: "host killed",
    hosts: [HONEST],
    isShared: false,
    begin: ({ host }) => host.kill(),
    says: [DROPPED],
    end: restarted,
  },
  {
    name: "host ended in order",
    hosts: [HONEST],
    isShared: false,
    begin: ({ host }) => host.kill("SIGTERM"),
    says: [/CANCELLED|UNAVAILABLE|the host closed/],
    end: restarted,
  },
  {
    name: "host stopped",
    hosts: [HONEST],
    isShared: false,
    begin: ({ host }) => host.child.kill("SIGSTOP"),
    says: [SILENT],
    end: ({ host }) => host.child.kill("SIGCONT"),
  },
  {
    name: "black hole",
    hosts: [HONEST],
    isShared: true,
    begin: weather({ isBlackHole: true }),
    says: [SILENT],
    end: weather({}),
  },
  {
    name: "host killed, a peer accepts in its place and says no SETTINGS",
    hosts: [HONEST],
    isShared: false,
    begin: standInFor(SILENCE),
    says: [DROPPED, /no connection within 1000 ms/],
    end: restarted,
  },
  {
    name: "host killed, a peer says GOAWAY in its place",
    hosts: [HONEST],
    isShared: false,
    begin: standInFor(GO_AWAY),
    says: [DROPPED, /UNAVAILABLE: Stream refused by server/],
    end: restarted,
  },
  {
    name: "200 ms of delay each way and 10 % loss, as TCP shows it: a tenth comes 600 ms later",
    hosts: [HONEST],
    isShared: true,
    begin: weather({ latencyMs: 200, jitterMs: 600 }),
    says: [LATE],
    end: weather({}),
  },
  {
    name: "host restarted with another policy",
    hosts: [HONEST],
    isShared: false,
    begin: replacedBy(["--policy", "trajectory"]),
    says: [DROPPED, /policy\.name: expected sine, found trajectory/],
    end: restarted,
  },
  {
    name: "host restarted with other bytes under the same name",
    hosts: [STANDS],
    isShared: false,
    begin: replacedBy(STANDS_OTHERWISE),
    says: [DROPPED, /policy\.manifest_sha256: expected [0-9a-f]{12}, found [0-9a-f]{12}: its file/],
    end: replacedBy(STANDS),
  },
];

/** Over as soon as it was there, so it happens twice; the robot may not even notice. */
export const passing: readonly Death[] = [
  {
    name: "line reset (RST)",
    hosts: [HONEST],
    isShared: true,
    begin: ({ rig }) => rig.proxy.reset(),
    says: [DROPPED],
    end: ({ rig }) => rig.proxy.reset(),
  },
  {
    name: "line half-closed (FIN)",
    hosts: [HONEST],
    isShared: true,
    begin: ({ rig }) => rig.proxy.halfClose(),
    says: [DROPPED],
    end: ({ rig }) => rig.proxy.halfClose(),
  },
  {
    name: "two hosts behind one address, in turn",
    hosts: [HONEST, HONEST],
    isShared: true,
    begin: swapped,
    says: [DROPPED],
    end: swapped,
  },
];

const goingAway = (how: string, goAway: GoAway, ...says: readonly RegExp[]): Death => {
  const say: Act = ({ line }) => line!.say(goAway);
  const name = `host says GOAWAY while it serves, ${how}`;
  return { name, hosts: [HONEST], isShared: true, goesAway: true, begin: say, says, end: say };
};

/** A live stream ends with these, and a whole new session is made. */
export const goingsAway: readonly Death[] = [
  goingAway(
    "and forgets the stream",
    { lastStreamId: 0, code: 0 },
    /UNAVAILABLE: Stream refused by server/,
  ),
  // What gRPC's own servers say to those who ping too often.
  goingAway("as it has enough", { lastStreamId: ALL_STREAMS, code: 11 }, /RESOURCE_EXHAUSTED/),
];

/** It will take no new stream, and serves the one it has: nothing is lost. */
export const drained: Death = goingAway(
  "and serves on",
  { lastStreamId: ALL_STREAMS, code: 0 },
  /connected/,
);

const lying = (name: string, lie: readonly string[], ...says: readonly RegExp[]): Death => {
  const hosts = [[...HONEST, ...lie], HONEST];
  return { name, hosts, isShared: true, begin: swapped, says, end: swapped };
};

/** The first host answers wrongly, whenever it is asked; the second is honest. */
export const lies: readonly Death[] = [
  lying("answers another epoch", ["--lie", "epoch"], /refused: wrong_epoch/),
  lying("answers another session", ["--lie", "session"], LATE),
  lying("answers out of order", ["--lie", "order"], LATE),
  lying("answers late, by 500 ms", ["--latency", "500ms"], LATE),
  // Of its first answers none is drawn to be quick.
  lying("answers late, by up to 1000 s", ["--jitter", "1000s"], LATE),
  lying("loses its answers", ["--drop", "1"], LATE),
  lying("answers of another schema", ["--lie", "schema"], /refused: wrong_schema/),
  lying("answers too long", ["--lie", "long"], /refused: wrong_horizon/),
  lying("answers too wide", ["--lie", "wide"], /refused: wrong_width/),
  lying("answers NaN", ["--lie", "nan"], /refused: not_finite/),
  // So much takes its time, and may be late before it is refused.
  lying("answers of 10 MB", ["--lie", "huge"], /no answer in time|RESOURCE/, /RESOURCE_EXHAUSTED/),
  lying("answers garbage", ["--lie", "garbage"], /INTERNAL/),
];

/** Each try has hosts of its own: what the first is told of its answers is that try's alone. */
export const twice: Death = {
  ...lying("answers twice", ["--lie", "twice"], /connected/),
  isShared: false,
  countsOnFirst: true,
};

/** Plays dead in the middle of a run, in a process that lives. */
export const frozen: Death = {
  name: "plays dead from 6 s on, for 1.5 s",
  hosts: [[...HONEST, "--freeze", "6s+1500ms"]],
  isShared: false,
  begin: () => undefined,
  says: [SILENT, /connected/],
  end: () => undefined,
};
