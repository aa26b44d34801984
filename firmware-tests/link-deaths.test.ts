// How a policy link dies, and comes back: real host processes, real gRPC, a real line that is cut,
// reset, swallowed or filled with nonsense, and the real core at 200 Hz. For each: the loss is
// known, the robot holds and stops, nothing moves until a person starts it again, a fresh decision
// is there soon after the peer is back, and no stale one is ever executed.
//
// Lengths of wall time are printed, and judged less what the machine itself was away; the exact
// bounds are proved in virtual time by `runtime/link/edge-link.test.ts`. The tries of a case go on
// beside each other: they mostly wait.

import { afterEach, beforeAll, expect, test } from "bun:test";
import { isLong, noteFigure } from "./figures.ts";
import {
  beside,
  fresh,
  goesOn,
  known,
  running,
  startedByPerson,
  stopped,
  timed,
  told,
} from "./link-course.ts";
import {
  drained,
  frozen,
  GO_AWAY,
  goingsAway,
  lasting,
  lies,
  passing,
  SILENCE,
  StandIn,
  twice,
  World,
} from "./link-deaths.ts";
import type { Death } from "./link-deaths.ts";
import { HostProcess, killHosts, LinkRig, staleMotion, WINDOW_NS } from "./link-rig.ts";
import { runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);

const TRIES = isLong ? 20 : 3;
/** At once, so that hosts which load do not take each other's time. */
const BESIDE_COUNT = isLong ? 4 : 3;
/** For a test to hang: a try is over within ten seconds. */
const TRY_MS_MAX = 40_000;
const KNOWN_MS_MAX = 750;
const FRESH_MS_MAX = 2_000;
/** The policy decides 20 times a second, the robot ticks 200 times. */
const TICKS_A_DECISION = 10;
/** Of a host, for what robots told it. */
const ASKS_MAX = 500;

type Times = { readonly knownMs: number; readonly freshMs: number };
type Course = (world: World, death: Death) => Promise<Times>;

let lastTurn = Promise.resolve();

/** One try after the other: hosts that load beside each other take each other's time. */
async function inTurn<T>(rig: LinkRig, run: () => Promise<T>): Promise<T> {
  const before = lastTurn;
  const mine = Promise.withResolvers<void>();
  lastTurn = mine.promise;
  try {
    await beside(rig, () => before);
    return await run();
  } finally {
    mine.resolve();
  }
}

/** The peer comes back to a robot that has stopped: a decision, and motion once a person starts. */
async function back(world: World, death: Death): Promise<number> {
  const { rig } = world;
  const motionCount = rig.motionCount;
  const comes = async (): Promise<number> => {
    await beside(rig, () => death.end(world));
    return fresh(rig);
  };
  const freshMs = death.isShared ? await comes() : await inTurn(rig, comes);
  await rig.run(200);
  expect(rig.motionCount).toBe(motionCount);
  await startedByPerson(rig);
  expect(staleMotion(rig.records, WINDOW_NS)).toBe("");
  return freshMs;
}

async function diesForLong(world: World, death: Death): Promise<Times> {
  await running(world.rig);
  const knownMs = await known(world.rig, death.says, death.begin(world));
  await stopped(world.rig);
  return { knownMs, freshMs: await back(world, death) };
}

/**
 * From the start and in the middle of a run: none of its answers is taken. How soon it is told is
 * judged at the start: a stop voids the question under way, and the next waits for its time to end.
 */
async function isLiedTo(world: World, death: Death): Promise<Times> {
  const { rig } = world;
  const knownMs = await told(rig, death.says);
  expect([rig.motionCount, rig.acceptedCount]).toEqual([0, 0]);
  await beside(rig, () => death.end(world));
  const atFirst = { knownMs, freshMs: await fresh(rig) };
  await running(rig);
  await beside(rig, () => death.begin(world));
  await timed(rig, () => rig.policy.phase !== "ready");
  const { acceptedCount } = rig;
  expect(await told(rig, death.says)).not.toBeNaN();
  await stopped(rig);
  expect(rig.acceptedCount).toBe(acceptedCount);
  return slowest([atFirst, { knownMs, freshMs: await back(world, death) }]);
}

/** Twice, since it comes back as it was: for two hosts that is there and back. */
async function diesAndIsBack(world: World, death: Death): Promise<Times> {
  const { rig } = world;
  await running(rig);
  const times: Times[] = [];
  for (const act of [death.begin, death.end]) {
    await inTurn(rig, async () => {
      const knownMs = await known(rig, death.says, act(world));
      times.push({ knownMs, freshMs: await fresh(rig) });
    });
  }
  await goesOn(rig);
  return slowest(times);
}

const slowest = (times: readonly Times[]): Times => ({
  knownMs: Math.max(...times.map(({ knownMs }) => knownMs)),
  freshMs: Math.max(...times.map(({ freshMs }) => freshMs)),
});

const startHosts = (death: Death): Promise<HostProcess[]> =>
  Promise.all(
    death.hosts.map((args, index) =>
      index === 0 && death.countsOnFirst === true
        ? HostProcess.startCounting(args)
        : HostProcess.start(args),
    ),
  );

/** Every try in a world of its own, some beside each other; all have ended when one has failed. */
async function tried(death: Death, course: Course): Promise<Times> {
  const shared = death.isShared ? await startHosts(death) : undefined;
  const one = async (): Promise<Times> => {
    const world = await World.open(shared ?? (await startHosts(death)), death);
    try {
      return await course(world, death);
    } finally {
      world.close();
    }
  };
  const results: Times[] = [];
  while (results.length < TRIES) {
    const count = Math.min(BESIDE_COUNT, TRIES - results.length);
    const settled = await Promise.allSettled(Array.from({ length: count }, one));
    if (shared === undefined) await killHosts();
    for (const result of settled) {
      if (result.status === "rejected") throw result.reason;
      results.push(result.value);
    }
  }
  return slowest(results);
}

async function judged(death: Death, course: Course): Promise<void> {
  const { knownMs, freshMs } = await tried(death, course);
  noteFigure({
    part: "link deaths",
    case: death.name,
    measured: `known ${knownMs.toFixed(0)} ms, fresh after ${freshMs.toFixed(0)} ms, 0 stale`,
    limit: `${KNOWN_MS_MAX} ms, ${FRESH_MS_MAX} ms, 0 stale actions`,
    tries: `${TRIES} tries, the slowest`,
  });
  expect(knownMs).toBeLessThanOrEqual(KNOWN_MS_MAX);
  expect(freshMs).toBeLessThanOrEqual(FRESH_MS_MAX);
}

const TEST_MS_MAX = TRIES * TRY_MS_MAX;

test.each(lasting)(
  "$name: known, held and stopped; fresh decisions once the peer is back",
  (death) => judged(death, diesForLong),
  TEST_MS_MAX,
);

test.each([...passing, ...goingsAway])(
  "$name: known, and made anew at once",
  (death) => judged(death, diesAndIsBack),
  TEST_MS_MAX,
);

/** Said twice of one stream, which goes on as it was. */
async function servesOn(world: World, death: Death): Promise<Times> {
  const { rig } = world;
  await running(rig);
  for (const act of [death.begin, death.end]) {
    await act(world);
    const accepted = rig.acceptedCount;
    await rig.until(() => rig.acceptedCount > accepted + 10, 8_000);
    expect(rig.acceptedCount).toBeGreaterThan(accepted + 10);
  }
  expect([rig.policy.statusText, world.line!.connectionCount]).toEqual(["connected", 1]);
  return { knownMs: 0, freshMs: 0 };
}

test(
  "a host that says GOAWAY and serves on: its stream goes on as it was",
  () => tried(drained, servesOn),
  TEST_MS_MAX,
);

test.each(lies)(
  "a host $name: told, held and stopped; none is taken",
  (death) => judged(death, isLiedTo),
  TEST_MS_MAX,
);

/** Nobody is told when it begins: only how soon the robot is back is timed. */
async function isPlayedDead(world: World, death: Death): Promise<void> {
  const { rig } = world;
  await running(rig);
  expect(await told(rig, death.says)).not.toBeNaN();
  expect(await fresh(rig)).not.toBeNaN();
  await goesOn(rig);
}

test(
  "a host that plays dead: known, held, and followed again",
  async () => {
    const world = await World.open(await startHosts(frozen), frozen);
    try {
      await isPlayedDead(world, frozen);
    } finally {
      world.close();
    }
  },
  TEST_MS_MAX,
);

test("however `holdfast host --help` says that it can misbehave, a row does", async () => {
  using scratch = new Scratch();
  const { stdout } = await runToEnd(["host", "--help"], { scratch });
  const [, kinds = ""] = /--lie <KIND> +answer wrongly: ([a-z,\s]+)\n/.exec(stdout) ?? [];
  const [, flags = ""] = /(--latency <D>[\s\S]*?)--lie/.exec(stdout) ?? [];
  const asked = [...kinds.split(/,\s+/), ...(flags.match(/--[a-z]+(?= <)/g) ?? [])];
  expect(asked.length).toBeGreaterThan(10);
  const tried = new Set([...lies, twice, frozen].flatMap(({ hosts }) => hosts.flat()));
  expect(asked.filter((each) => !tried.has(each.trim()))).toEqual([]);
});

/** What its robot told a host, by what became of a chunk. */
async function receiptCount(host: HostProcess, word: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${host.metricsPort}/metrics`)).text();
  const line = `holdfast_host_receipts_total{robot="so101",word="${word}"} `;
  const found = text.split("\n").find((each) => each.startsWith(line));
  return Number(found?.slice(line.length) ?? 0);
}

/** It harms nothing, and is known where the host hears that a repeat was refused. */
async function isToldTwice(world: World, death: Death): Promise<Times> {
  const { rig, host } = world;
  let isHeard = false;
  const hearing = timed(rig, () => isHeard);
  for (let asks = 0; asks < ASKS_MAX && !isHeard; asks += 1) {
    isHeard = (await receiptCount(host, "late_or_repeated")) > 0;
    await Bun.sleep(10);
  }
  const knownMs = await hearing;
  await running(rig);
  const accepted = rig.acceptedCount;
  await rig.run(1_000);
  const decisionCount = rig.records.length / TICKS_A_DECISION;
  expect(rig.acceptedCount - accepted).toBeLessThanOrEqual(decisionCount + 1);
  const freshMs = await inTurn(rig, async () => {
    await beside(rig, () => death.begin(world));
    await timed(rig, () => rig.policy.phase !== "ready");
    return fresh(rig);
  });
  await goesOn(rig);
  return { knownMs, freshMs };
}

test("a host answers twice: each is taken once", () => judged(twice, isToldTwice), TEST_MS_MAX);

/** What is said of peers that were never hosts: ten seconds of waiting, beside the rest. */
let refusals: readonly Promise<string>[] = [];

beforeAll(() => {
  refusals = [SILENCE, GO_AWAY].map(async (greeting) => {
    const standIn = await StandIn.open(0, greeting);
    const refusal = await LinkRig.open(standIn.port).catch((error: unknown) => String(error));
    standIn.close();
    return String(refusal);
  });
});

test("a peer that says nothing, or goes away, is no host, and is told as one", async () => {
  for (const refusal of await Promise.all(refusals)) {
    const [, proxyPort] = /Cannot use the policy host 127\.0\.0\.1:(\d+)/.exec(refusal) ?? [];
    expect(Number(proxyPort)).toBeGreaterThan(0);
    // A rig that was never made leaves no proxy listening.
    expect(connectionTo(Number(proxyPort))).rejects.toThrow("Failed to connect");
  }
}, 40_000);

function connectionTo(port: number): Promise<unknown> {
  return Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
}
