// How a policy link dies, and comes back: real host processes, real gRPC, a real line that is cut,
// reset, swallowed or filled with nonsense, and the real core at 200 Hz. For each: the loss is
// known, the robot holds and stops, nothing moves until a person starts it again, a fresh decision
// is there soon after the peer is back, and no stale one is ever executed.
//
// Lengths of wall time are printed, and judged less what the machine itself was away; the exact
// bounds are proved in virtual time by `runtime/link/edge-link.test.ts`.

import { afterEach, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import { FAIR } from "../runtime/link/grpc-fault-proxy.ts";
import type { LineWeather } from "../runtime/link/grpc-fault-proxy.ts";
import { isLong, noteFigure } from "./figures.ts";
import { HostProcess, LinkRig, WINDOW_NS, killHosts, staleMotion } from "./link-rig.ts";

afterEach(killHosts);

const RUNS = isLong ? 20 : 3;
/** For a test to hang: a run is over within ten. */
const RUN_MS_MAX = 40_000;
const DETECT_MS_MAX = 750;
const BACK_MS_MAX = 2_000;
const PATIENCE_MS = 8_000;
/** A person's, on a machine that is away now and then. */
const TRIES_MAX = 20;

type World = { rig: LinkRig; host: HostProcess };
type Death = {
  readonly name: string;
  readonly kill: (world: World) => Promise<void> | void;
  readonly revive: (world: World) => Promise<void> | void;
};

const weather = (change: Partial<LineWeather>) => (world: World) => {
  world.rig.proxy.weather = { ...FAIR, ...change };
};

const deaths: readonly Death[] = [
  {
    name: "host killed",
    kill: ({ host }) => host.kill(),
    revive: async (world) => {
      world.host = await HostProcess.start(["--policy", "sine"], world.host.port);
    },
  },
  {
    name: "host ended in order",
    kill: ({ host }) => host.kill("SIGTERM"),
    revive: async (world) => {
      world.host = await HostProcess.start(["--policy", "sine"], world.host.port);
    },
  },
  {
    name: "host stopped",
    kill: ({ host }) => host.child.kill("SIGSTOP"),
    revive: ({ host }) => host.child.kill("SIGCONT"),
  },
  { name: "black hole", kill: weather({ isBlackHole: true }), revive: weather({}) },
];

async function startedWorld(args: readonly string[] = ["--policy", "sine"]): Promise<World> {
  const host = await HostProcess.start(args);
  const rig = await LinkRig.open(host.port);
  return { rig, host };
}

async function endWorld({ rig, host }: World): Promise<void> {
  rig.close();
  await host.kill();
}

/** Milliseconds from `fromNs`, less what the rig itself was away. */
const since = (rig: LinkRig, fromNs: number, atNs: number): number =>
  (atNs - fromNs - rig.awayNs) / 1e6;

test.each(deaths)(
  "$name: known, held and stopped; fresh decisions once the peer is back",
  async (death) => {
    const lost: number[] = [];
    const fresh: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const world = await startedWorld();
      const { rig } = world;
      await running(rig);
      rig.forget();
      const diedNs = rig.nowNs;
      await death.kill(world);
      const lostNs = await rig.until(() => rig.policy.phase !== "ready", PATIENCE_MS);
      lost.push(since(rig, diedNs, lostNs));
      await rig.until(() => rig.mode === Mode.SafeStop, PATIENCE_MS);
      expect(rig.mode).toBe(Mode.SafeStop);
      const movedBefore = rig.motionCount;

      const accepted = rig.acceptedCount;
      await death.revive(world);
      await rig.until(() => true, PATIENCE_MS); // a tick: coming back is no time away
      rig.awayNs = 0;
      const backNs = rig.nowNs;
      const freshNs = await rig.until(() => rig.acceptedCount > accepted, PATIENCE_MS);
      fresh.push(since(rig, backNs, freshNs));

      await rig.run(200);
      await startedByPerson(rig, movedBefore);
      expect(rig.motionCount).toBeGreaterThan(movedBefore);
      expect(staleMotion(rig.records, WINDOW_NS)).toBe("");
      await endWorld(world);
    }
    const [lostMs, freshMs] = [lost, fresh].map((values) => Math.max(...values));
    noteFigure({
      part: "link deaths",
      case: death.name,
      measured: `lost ${lostMs!.toFixed(0)} ms, fresh after ${freshMs!.toFixed(0)} ms, 0 stale`,
      limit: `${DETECT_MS_MAX} ms, ${BACK_MS_MAX} ms, 0 stale actions`,
      tries: `${RUNS} tries, the slowest`,
    });
    expect(lostMs).toBeLessThanOrEqual(DETECT_MS_MAX);
    expect(freshMs).toBeLessThanOrEqual(BACK_MS_MAX);
  },
  RUNS * RUN_MS_MAX,
);

/**
 * Reset, then start, as a person does: once more where a machine that was away has stopped the rig
 * in between. Nothing moves before a start.
 */
async function startedByPerson(rig: LinkRig, movedBefore: number): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX && rig.motionCount === movedBefore; tries += 1) {
    rig.press(OperatorCue.Reset);
    await rig.run(100);
    expect(rig.motionCount).toBe(movedBefore);
    rig.press(OperatorCue.Start);
    const isStopped = (): boolean => rig.mode === Mode.SafeStop || rig.mode === Mode.FaultLatched;
    await rig.until(() => rig.motionCount > movedBefore || isStopped(), PATIENCE_MS);
  }
}

/** Until the robot follows its host. */
async function running(rig: LinkRig): Promise<void> {
  await rig.until(() => rig.mode === Mode.Running && rig.motionCount > 40, PATIENCE_MS);
  expect(rig.mode).toBe(Mode.Running);
}

test("a reset line is made anew at once, and the robot may not even notice", async () => {
  const world = await startedWorld();
  const { rig } = world;
  await running(rig);
  rig.proxy.reset();
  expect(await rig.until(() => rig.policy.phase !== "ready", PATIENCE_MS)).not.toBeNaN();
  expect(await rig.until(() => rig.policy.phase === "ready", PATIENCE_MS)).not.toBeNaN();
  expect(staleMotion(rig.records, WINDOW_NS)).toBe("");
  await endWorld(world);
});

test("a half-closed line is lost and made anew", async () => {
  const world = await startedWorld();
  const { rig } = world;
  await running(rig);
  rig.proxy.halfClose();
  expect(await rig.until(() => rig.policy.phase !== "ready", PATIENCE_MS)).not.toBeNaN();
  expect(await rig.until(() => rig.policy.phase === "ready", PATIENCE_MS)).not.toBeNaN();
  await endWorld(world);
});

/** What a host says wrongly, and what the robot's side tells of it. */
const lies = [
  ["epoch", "refused: wrong_epoch"],
  ["session", "no answer in time"],
  ["order", "no answer in time"],
  ["schema", "refused: wrong_schema"],
  ["long", "refused: wrong_horizon"],
  ["wide", "refused: wrong_width"],
  ["nan", "refused: not_finite"],
  ["huge", "RESOURCE_EXHAUSTED"],
  ["garbage", "INTERNAL"],
] as const;

test.each(lies)("a host whose answers are wrong (%s) moves nothing", async (lie, told) => {
  const world = await startedWorld(["--policy", "sine", "--lie", lie]);
  const { rig } = world;
  const isTold = (): boolean => rig.policy.statusText.includes(told);
  expect(await rig.until(isTold, PATIENCE_MS)).not.toBeNaN();
  await rig.run(1_000);
  expect(rig.motionCount).toBe(0);
  expect(rig.acceptedCount).toBe(0);
  await endWorld(world);
});

test("a host that answers twice moves the robot once each", async () => {
  const world = await startedWorld(["--policy", "sine", "--lie", "twice"]);
  const { rig } = world;
  expect(await rig.until(() => rig.motionCount > 40, PATIENCE_MS)).not.toBeNaN();
  expect(rig.mode).toBe(Mode.Running);
  await endWorld(world);
});

test("answers later than their window move nothing", async () => {
  const world = await startedWorld(["--policy", "sine", "--latency", "500ms"]);
  const { rig } = world;
  const isLate = (): boolean => rig.policy.statusText.includes("no answer in time");
  expect(await rig.until(isLate, PATIENCE_MS)).not.toBeNaN();
  await rig.run(1_500);
  expect(rig.motionCount).toBe(0);
  await endWorld(world);
});

test("a host that came back with another policy is refused, the robot stays stopped", async () => {
  const world = await startedWorld();
  const { rig, host } = world;
  await running(rig);
  await host.kill();
  await rig.until(() => rig.mode === Mode.SafeStop, PATIENCE_MS);
  world.host = await HostProcess.start(["--policy", "trajectory"], host.port);
  const refused = () =>
    rig.policy.statusText.includes("policy.name: expected sine, found trajectory");
  expect(await rig.until(refused, PATIENCE_MS)).not.toBeNaN();
  expect(rig.policy.phase).not.toBe("ready");
  await endWorld(world);
});

/** What a peer of HTTP/2 may do instead of serving. */
const peers: readonly [string, (server: Server) => void][] = [
  ["accepts and says nothing", () => undefined],
  [
    "goes away at once",
    (server) =>
      server.on("connection", (socket) => {
        const settings = Buffer.from("000000040000000000", "hex");
        const goAway = Buffer.from("0000080700000000000000000000000000", "hex");
        socket.write(Buffer.concat([settings, goAway]));
        socket.on("error", () => undefined);
      }),
  ],
];

test.each(peers)(
  "a peer that %s is no host, and is told as one",
  async (_name, behave) => {
    const server = createServer((socket) => socket.on("error", () => undefined));
    behave(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const { port } = server.address() as { port: number };
    const refused = await LinkRig.open(port).catch((error: unknown) => String(error));
    expect(refused).toContain("Cannot use the policy host");
    server.close();
  },
  40_000,
);
