// Where a decision begins that names no time of its own, from outside: the very same rows of one
// policy file, decided in the run's own thread and on a host, and of a model. What is late by a
// known time skips what has passed where it answers a state, and skips nothing where it is a
// script's; a profile that says one of the two is obeyed for all.

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runOptions } from "../runtime/cli/run-command.ts";
import { runLockstep } from "../runtime/cli/run-lockstep.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { commandPolicy, writeCommandModel } from "./command-model.ts";
import type { CommandModel } from "./command-model.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { ProgramRun, Scratch } from "./process.ts";
import { writeAnchored } from "./so101-files.ts";
import { TakeoverRows } from "./takeover-rows.ts";

setDefaultTimeout(90_000);
afterEach(killHosts);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const so101 = loadRobot("so101");
const { horizon } = so101.policy;
const at = (name: string): string => join(scratch.folder, name);

/** Stays where it is, and says nothing of time. */
const still: CommandModel = {
  name: "still",
  offsetsRad: Array.from({ length: horizon }, () => so101.joints.map(() => 0)),
  dtMs: 20,
};

beforeAll(async () => {
  await writeCommandModel(scratch.folder, still);
  await Bun.write(at("still.ts"), commandPolicy(still, false));
});

/** Each decision is 100 ms late in tick time. */
async function lateRows(policy: string, profile = "so101"): Promise<number[]> {
  const late = { task: "none", time: "lockstep", policyLatency: "100ms", duration: 1 } as const;
  const seen = new TakeoverRows();
  await runLockstep(runOptions(profile, { ...late, policy }), {
    onHandle: () => undefined,
    endAsked: new Promise(() => undefined),
    note: () => undefined,
    ticked: (record) => seen.see(record),
    changed: () => undefined,
  });
  expect(seen.rows.length).toBeGreaterThan(10);
  return [...new Set(seen.rows)];
}

async function onHost(policy: string, profile?: string): Promise<number[]> {
  const host = await HostProcess.start(["--policy", policy]);
  return lateRows(`grpc://127.0.0.1:${host.port}`, profile);
}

// From the state to its decision pass 5 ms of a tick, 2.5 ms of its sample's age, and 100 ms: the
// sixth row of 20 ms.
const SKIPS = [5];
const BEGINS = [0];

test("in lockstep: the same rows from a script, a model and a host, 100 ms late", async () => {
  const found = {
    script: await lateRows(at("still.ts")),
    model: await lateRows(at("still.onnx")),
    host: await onHost(at("still.ts")),
  };
  expect(found).toEqual({ script: BEGINS, model: SKIPS, host: SKIPS });
});

test("a profile that says it is obeyed for all", async () => {
  const observation = writeAnchored(scratch.folder, "observation");
  const arrival = writeAnchored(scratch.folder, "arrival");
  expect(await lateRows(at("still.ts"), observation)).toEqual(SKIPS);
  expect(await lateRows(at("still.onnx"), arrival)).toEqual(BEGINS);
  expect(await onHost(at("still.ts"), arrival)).toEqual(BEGINS);
});

/** What the program printed; throws with all that it wrote when it did not end well. */
async function streamedRows(policy: string): Promise<number[]> {
  const program = join(import.meta.dir, "takeover-rows.ts");
  const end = await new ProgramRun([policy], {
    scratch,
    program: [process.execPath, program],
  }).end;
  if (end.code !== 0 || end.signal !== null) {
    throw new Error(`Cannot run ${policy}: ended with ${end.signal ?? end.code}: ${end.stderr}`);
  }
  return JSON.parse(end.stdout) as number[];
}

test("in real time, a run that fails is no rows", () => {
  expect(streamedRows(at("none.ts"))).rejects.toThrow(/ended with 1: .*none\.ts/s);
});

test("in real time: a host's rows skip what has passed, a script's do not", async () => {
  expect(await streamedRows(at("still.ts"))).toEqual([0, 0, 0, 0, 0]);
  const host = await HostProcess.start(["--policy", at("still.ts"), "--latency", "150ms"]);
  // However late the machine is, 150 ms have passed by then.
  const rows = await streamedRows(`grpc://127.0.0.1:${host.port}`);
  expect(rows.length).toBe(5);
  expect(Math.min(...rows)).toBeGreaterThanOrEqual(150 / 20 - 0.5);
});
