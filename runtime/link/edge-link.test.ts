// The edge's end of the link in virtual time, against the host's end: handshake, one request under
// way, death of every kind within 750 ms, fresh answers within 2 s of the peer's return, and a
// network that loses, delays, reorders and repeats.

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { instant } from "../contracts/units.ts";
import type { EdgeLink } from "./edge-link.ts";
import { facts, VirtualLink } from "./fixture.ts";
import { ChunkSchema, HostMessageSchema, ObservationSchema } from "./generated/policy_pb.js";

const observation = (epoch = 1) =>
  create(ObservationSchema, { epoch: BigInt(epoch), positionRad: [0, 0], commandRad: [0, 0] });

/** Asks whenever it may, as a policy at 20 Hz does; the window of an answer is 320 ms. */
function asker(world: VirtualLink, epoch = 1): () => void {
  let dueNs = 0;
  return () => {
    if (world.nowNs < dueNs) return;
    dueNs = world.nowNs + 50e6;
    world.link.request(observation(epoch), world.nowNs, instant(world.nowNs + 320e6));
  };
}

const chunks = (world: VirtualLink) => world.answers.filter((answer) => "chunk" in answer);
const isReady = (link: EdgeLink): boolean => link.phase === "ready";

function readyWorld(seed = 1): VirtualLink {
  const world = new VirtualLink(seed);
  world.run(100e6);
  expect(world.link.phase).toBe("ready");
  return world;
}

/** First millisecond from `fromNs` on in which `holds`. */
function when(world: VirtualLink, untilNs: number, holds: () => boolean, each = () => {}): number {
  let foundNs = Number.NaN;
  world.run(untilNs, () => {
    each();
    if (Number.isNaN(foundNs) && holds()) foundNs = world.nowNs;
  });
  return foundNs;
}

test("greets, gets ready, asks and is answered", () => {
  const world = readyWorld();
  world.run(1_000e6, asker(world));
  expect(chunks(world).length).toBeGreaterThanOrEqual(17);
  expect(world.answers.length - chunks(world).length).toBe(0);
  expect(world.link.session).toBe(1);
});

test("one request is under way at most", () => {
  const world = readyWorld();
  const { link } = world;
  const later = instant(world.nowNs + 320e6);
  expect(link.request(observation(), world.nowNs, later)).toBe(1);
  expect(link.request(observation(), world.nowNs, later)).toBeUndefined();
  expect(link.isBusy).toBe(true);
});

test("a new epoch asks once the host is free, with the state of that moment", () => {
  const world = readyWorld();
  const later = instant(world.nowNs + 900e6);
  const beganNs = world.nowNs;
  world.inferenceNs = 200e6;
  expect(world.link.request(observation(1), world.nowNs, later)).toBe(1);
  let id: number | undefined;
  let askedNs = 0;
  world.run(world.nowNs + 600e6, () => {
    if (id !== undefined) return;
    id = world.link.request(observation(2), world.nowNs, later);
    askedNs = world.nowNs - beganNs;
  });
  expect(id).toBe(2);
  expect(askedNs).toBeGreaterThanOrEqual(200e6);
  expect(askedNs).toBeLessThanOrEqual(210e6);
  const epochs = chunks(world).map((answer) => ("chunk" in answer ? answer.chunk.epoch : -1n));
  expect(epochs).toEqual([1n, 2n]);
});

test("a host that never answers the epoch before is asked once that answer is late", () => {
  const world = readyWorld();
  const late = instant(world.nowNs + 320e6);
  world.inferenceNs = 5e9;
  expect(world.link.request(observation(1), world.nowNs, late)).toBe(1);
  world.run(late - 1e6);
  expect(world.link.request(observation(2), world.nowNs, late)).toBeUndefined();
  world.run(late + 1e6);
  expect(world.link.request(observation(2), world.nowNs, instant(late + 320e6))).toBe(2);
});

test("a request whose time is over frees the slot, and its late answer is refused", () => {
  const world = readyWorld();
  world.inferenceNs = 500e6;
  world.link.request(observation(), world.nowNs, instant(world.nowNs + 320e6));
  world.run(world.nowNs + 330e6);
  expect(world.answers).toEqual([{ observationId: 1, failure: "no answer in time" }]);
  expect(world.link.isBusy).toBe(false);
  world.run(world.nowNs + 400e6);
  expect(chunks(world)).toEqual([]);
  expect(world.session?.counts.receipts.get("late_or_repeated")).toBe(1);
  expect(world.link.times.delayNs).toBe(0 as never); // no estimate of what came too late
});

describe("a peer that dies", () => {
  const deaths: readonly [string, (world: VirtualLink) => void, (world: VirtualLink) => void][] = [
    [
      "frozen",
      (world) => {
        world.isFrozen = true;
      },
      (world) => {
        world.isFrozen = false;
      },
    ],
    [
      "cut, and nobody listens",
      (world) => {
        world.isDown = true;
        world.cut("UNAVAILABLE: Connection dropped");
      },
      (world) => {
        world.isDown = false;
      },
    ],
    [
      "swallowed by the network",
      (world) => {
        world.weather = { ...world.weather, lossRatio: 1 };
      },
      (world) => {
        world.weather = { ...world.weather, lossRatio: 0 };
      },
    ],
  ];

  test.each(deaths)(
    "%s: known within 750 ms, a fresh answer within 2 s of its return",
    (...row) => {
      const [, kill, revive] = row;
      for (let phaseMs = 0; phaseMs < 160; phaseMs += 7) {
        const world = readyWorld(phaseMs);
        const ask = asker(world);
        world.run(1_000e6 + phaseMs * 1e6, ask);
        const diedNs = world.nowNs;
        kill(world);
        const lostNs = when(world, diedNs + 3_000e6, () => !isReady(world.link), ask);
        expect(lostNs - diedNs).toBeLessThanOrEqual(750e6);
        const had = chunks(world).length;
        revive(world);
        const backNs = world.nowNs;
        const freshNs = when(world, backNs + 3_000e6, () => chunks(world).length > had, ask);
        expect(freshNs - backNs).toBeLessThanOrEqual(2_000e6);
        expect(world.link.session).toBeGreaterThan(1);
      }
    },
  );
});

test("a host that accepts and never welcomes is given up within a second, again and again", () => {
  const world = new VirtualLink(3);
  world.isFrozen = true;
  world.run(10_000e6);
  expect(world.link.phase).not.toBe("ready");
  expect(world.link.session).toBeGreaterThanOrEqual(5);
  expect(world.link.text).toContain("no welcome within 1000 ms");
});

test("the pause between dials grows to a second, and no further", () => {
  const world = new VirtualLink(4);
  world.isDown = true;
  world.cut("gone");
  const dialsNs: number[] = [];
  let session = 0;
  world.run(20_000e6, () => {
    if (world.link.session !== session) dialsNs.push(world.nowNs);
    session = world.link.session;
  });
  const pauses = dialsNs.slice(1).map((ns, index) => ns - dialsNs[index]!);
  expect(Math.min(...pauses)).toBeLessThan(70e6);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1_005e6);
  expect(pauses.at(-1)).toBeGreaterThan(700e6);
});

test("a welcome of another horizon, after a restart, is refused and says so", () => {
  const world = readyWorld();
  world.facts = facts({ horizon: 8 });
  world.cut("UNAVAILABLE");
  world.run(world.nowNs + 3_000e6, asker(world));
  expect(world.link.phase).not.toBe("ready");
  expect(world.link.refusal).toMatchObject({ field: "policy.horizon", expected: "4", found: "8" });
  world.facts = facts();
  world.run(world.nowNs + 1_500e6);
  expect(world.link.phase).toBe("ready");
  expect(world.link.refusal).toBeUndefined();
});

test("what a host is made of is told as it welcomes, fit for a terminal and short", () => {
  const world = new VirtualLink(1);
  expect(world.link.hostText).toBe("");
  world.facts = facts({ name: "sine\u001b[2J" });
  const many = Array.from({ length: 40 }, (_, at) => [`part-${at}\n`, "9".repeat(90)]);
  world.versions = { python: "3.13\u0007", bun: "1.4.5", ...Object.fromEntries(many) };
  world.run(100e6);
  expect(world.link.hostText).toBe("of no version; policy sine?[2J");
  world.cut("UNAVAILABLE");
  world.run(1_000e6);
  expect(world.link.hostText).toStartWith("bun 1.4.5, part-0? 999");
  expect(world.link.hostText.length).toBe(300);
  world.versions = { python: "3.13\u0007", bun: "1.4.5" };
  world.cut("UNAVAILABLE");
  world.run(2_000e6);
  expect(world.link.hostText).toBe("bun 1.4.5, python 3.13?; policy sine?[2J");
});

test("a chunk of an older session answers nothing", () => {
  const world = readyWorld();
  world.inferenceNs = 1e9; // its own answer stays away
  world.link.request(observation(), world.nowNs, instant(world.nowNs + 320e6));
  const old = create(ChunkSchema, { linkSession: 0n, observationId: 1n });
  world.link.received(
    create(HostMessageSchema, { message: { case: "chunk", value: old } }),
    world.nowNs,
  );
  expect(world.link.isBusy).toBe(true);
});

test("an answer to a question that was never asked is nothing", () => {
  const world = readyWorld();
  const value = create(ChunkSchema, { linkSession: 1n, observationId: 99n });
  world.link.received(
    create(HostMessageSchema, { message: { case: "chunk", value } }),
    world.nowNs,
  );
  world.run(world.nowNs + 10e6);
  expect(world.answers).toEqual([]);
  expect(world.session?.counts.receipts.get("never_asked")).toBe(1);
});

test("a new epoch tells the host before it asks", () => {
  const world = readyWorld();
  world.run(world.nowNs + 300e6, asker(world, 1));
  const had = chunks(world).length;
  world.run(world.nowNs + 300e6, asker(world, 2));
  const epochs = chunks(world)
    .slice(had + 1)
    .map((answer) => ("chunk" in answer ? Number(answer.chunk.epoch) : -1));
  expect(new Set(epochs)).toEqual(new Set([2]));
});

test("the host's offset and the round trip come from the quickest pings", () => {
  const world = readyWorld();
  world.weather = { ...world.weather, jitterNs: 20e6 };
  world.run(3_000e6);
  const { roundTripNs, offsetNs } = world.link.times;
  expect(roundTripNs).toBeLessThan(25e6);
  expect(Math.abs(offsetNs ?? Infinity)).toBeLessThan(12e6); // both clocks are the test's own
});

test("in a storm every answer is of a question, once, in time", () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const world = new VirtualLink(seed);
    world.weather = { delayNs: 5e6, jitterNs: 200e6, lossRatio: 0.1, twiceRatio: 0.1 };
    const askedNs = new Map<number, number>();
    const seen = new Set<number>();
    let read = 0;
    world.run(20_000e6, () => {
      const id = world.link.request(observation(), world.nowNs, instant(world.nowNs + 320e6));
      if (id !== undefined) askedNs.set(id, world.nowNs);
      for (; read < world.answers.length; read += 1) {
        const { observationId } = world.answers[read]!;
        expect(seen.has(observationId)).toBe(false);
        seen.add(observationId);
        expect(world.nowNs - askedNs.get(observationId)!).toBeLessThanOrEqual(321e6);
      }
    });
    expect(chunks(world).length).toBeGreaterThan(5);
  }
});
