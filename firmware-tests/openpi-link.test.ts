// A robot whose policy is an openpi server, end to end: the real core, a real WebSocket, openpi's
// own bytes. It moves; when the server dies the robot holds, stops and waits for a person; what
// does not fit moves nothing, and is told once. Time is virtual but for the socket's.

import { expect, test } from "bun:test";
import { encode } from "@msgpack/msgpack";
import { Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import { PolicyError } from "../runtime/policy/policy-error.ts";
import { OpenpiRig } from "./openpi-rig.ts";
import { misdeeds, OpenpiServer, packArray, packMap } from "./openpi-server.ts";
import type { Misdeed, Unpacked } from "./openpi-server.ts";
import vectors from "./vectors/openpi.json" with { type: "json" };

const TICKS_A_SECOND = 200;

async function running(): Promise<{ server: OpenpiServer; rig: OpenpiRig }> {
  const server = new OpenpiServer();
  const rig = await OpenpiRig.open(server.port);
  expect(await rig.until(() => rig.mode === Mode.Running && rig.motionCount > 40, 400)).toBe(true);
  return { server, rig };
}

async function end({ server, rig }: { server: OpenpiServer; rig: OpenpiRig }): Promise<void> {
  rig.close();
  await server.kill();
}

test("the server's bytes are those that numpy and msgpack make", () => {
  const doubles = new Uint8Array(Float64Array.of(1, 2, 3, 4, 5, 6.5).buffer);
  const answer = packMap({
    actions: packArray("<f8", [2, 3], doubles),
    state: packArray("<f4", [2], new Uint8Array(Float32Array.of(1, 2).buffer)),
    policy_timing: encode({ infer_ms: 12.5 }),
    server_timing: encode({ infer_ms: 13.25, prev_total_ms: 14.5 }),
  });
  // The vector has 14.0, which a JavaScript encoder would write as a whole number.
  const hex = answer.toString("hex").replace("cb402d000000000000", "cb402c000000000000");
  expect(hex).toBe(vectors.answer_float64);
});

test("an openpi server moves the robot, to and fro", async () => {
  const world = await running();
  const { server, rig } = world;
  const pans: number[] = [];
  await rig.until(() => {
    pans.push(rig.panRad);
    return false;
  }, 4 * TICKS_A_SECOND);
  expect(Math.max(...pans)).toBeGreaterThan(0.2);
  expect(pans.at(-1)!).toBeLessThan(Math.max(...pans));
  const asked = server.observations.at(-1)!;
  expect(asked["prompt"]).toBe("move to and fro");
  expect((asked["state"] as Unpacked).shape).toEqual([6]);
  expect(rig.told).toEqual(["connected"]);
  expect(server.connectionCount).toBe(1);
  expect(server.offered).toBeNull(); // no compression: no small frame grows
  await end(world);
});

test("a server that is killed: hold, stop, and motion only after a person's start", async () => {
  const world = await running();
  const { server, rig } = world;
  await server.kill();
  expect(await rig.until(() => rig.policy.phase !== "ready", 200)).toBe(true);
  expect(await rig.until(() => rig.mode === Mode.SafeStop, 400)).toBe(true);
  const moved = rig.motionCount;
  const accepted = rig.acceptedCount;
  world.server = new OpenpiServer(server.port);
  expect(await rig.until(() => rig.acceptedCount > accepted, 400)).toBe(true);
  await rig.run(50);
  rig.press(OperatorCue.Reset);
  await rig.run(50);
  expect(rig.motionCount).toBe(moved);
  rig.press(OperatorCue.Start);
  expect(await rig.until(() => rig.motionCount > moved + 20, 400)).toBe(true);
  expect(rig.told.at(-1)).toBe("connected");
  await end(world);
});

test("a server that falls silent is given up after its window, and asked anew", async () => {
  const world = await running();
  const { server, rig } = world;
  server.misdeed = "silent";
  const fromNs = rig.nowNs;
  expect(await rig.until(() => rig.policy.phase !== "ready", 200)).toBe(true);
  expect(rig.nowNs - fromNs).toBeLessThanOrEqual(750e6);
  expect(await rig.until(() => rig.mode === Mode.SafeStop, 400)).toBe(true);
  expect(server.connectionCount).toBeGreaterThan(1);
  server.misdeed = "none";
  const accepted = rig.acceptedCount;
  const backNs = rig.nowNs;
  expect(await rig.until(() => rig.acceptedCount > accepted, 1_000)).toBe(true);
  expect(rig.nowNs - backNs).toBeLessThanOrEqual(2_000e6);
  await end(world);
});

const lies = misdeeds.filter((misdeed) => !["none", "silent", "greets-in-text"].includes(misdeed));
const texts: Readonly<Partial<Record<Misdeed, string>>> = {
  text: "no decision: the server failed: KeyError: 'observation/wrist_image_left'",
  wide: "no decision: expected actions of the shape (50, 6), found (50, 7)",
  short: "no decision: expected actions of the shape (50, 6), found (49, 6)",
  nan: "no decision: expected finite actions, found NaN in row 1, column 2",
  huge: "no decision: expected an answer: at most 262144 bytes, found 10000059",
  garbage: "no decision: expected an answer: one msgpack map, not deep, found other bytes",
  deep: "no decision: expected an answer: one msgpack map, not deep, found other bytes",
  float16: 'no decision: expected actions: a dtype among <f4 <f8 <i4 <i8 |u1, found "<f2"',
  list: "no decision: expected an answer: a msgpack map, found a list of 3",
  empty: "no decision: expected actions: a numpy array, found nothing",
};

test.each(lies.filter((lie) => lie !== "twice"))(
  "a server that turns to %s stops the robot, and is told once",
  async (lie) => {
    const world = await running();
    const { server, rig } = world;
    server.misdeed = lie;
    expect(await rig.until(() => rig.mode === Mode.SafeStop, 600)).toBe(true);
    const moved = rig.motionCount;
    const accepted = rig.acceptedCount;
    rig.press(OperatorCue.Reset);
    await rig.run(50);
    rig.press(OperatorCue.Start);
    await rig.run(2 * TICKS_A_SECOND);
    expect(rig.motionCount).toBe(moved);
    expect(rig.acceptedCount).toBe(accepted);
    expect(rig.told).toEqual(["connected", texts[lie]!]);
    await end(world);
  },
  60_000,
);

test("a server that answers twice moves the robot by the first", async () => {
  const world = await running();
  const { server, rig } = world;
  server.misdeed = "twice";
  const moved = rig.motionCount;
  await rig.run(3 * TICKS_A_SECOND);
  expect(rig.motionCount).toBeGreaterThan(moved);
  expect(rig.told.at(-1)).not.toBe("connected");
  await end(world);
});

test.each(lies.filter((lie) => lie !== "twice"))(
  "a server that begins with %s is refused before anything moves",
  async (lie) => {
    const server = new OpenpiServer(0, "positions", lie);
    let refusal: unknown;
    try {
      await OpenpiRig.open(server.port);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(PolicyError);
    const { message } = refusal as PolicyError;
    const text = texts[lie]!.replace("no decision: ", "");
    const whole = text.startsWith("expected") ? text : `expected an answer, found ${text}`;
    expect(message).toBe(`Cannot use the openpi server 127.0.0.1:${server.port}: ${whole}`);
    await server.kill();
  },
);

test("a server that came back as another one is not followed", async () => {
  const world = await running();
  const { server, rig } = world;
  await server.kill();
  await rig.until(() => rig.mode === Mode.SafeStop, 600);
  world.server = new OpenpiServer(server.port);
  world.server.metadata = { policy: "another" };
  const accepted = rig.acceptedCount;
  await rig.run(2 * TICKS_A_SECOND);
  expect(rig.acceptedCount).toBe(accepted);
  expect(rig.told.at(-1)).toContain("other metadata: end this run");
  await end(world);
});
