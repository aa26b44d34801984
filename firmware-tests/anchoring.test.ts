// Where a decision begins that names no time of its own, from outside: the very same rows of one
// policy file, decided in the run's own thread and on a host, and of a model. What is late by a
// known time skips what has passed where it answers a state, and skips nothing where it is a
// script's; a profile that says one of the two is obeyed for all.

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runOptions } from "../runtime/cli/run-command.ts";
import { runLockstep } from "../runtime/cli/run-lockstep.ts";
import { onnxModel } from "../runtime/policy/onnx-author.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { Scratch } from "./process.ts";
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
const still = `
export function createPolicy(context) {
  const writer = context.writer(context.jointPositions);
  let allocator;
  return {
    name: "still",
    schema: writer.schema,
    selectsMode: false,
    reset(_epoch, given) { allocator = given; },
    act(state) {
      const values = writer.begin(state, allocator);
      const { horizon, width } = writer;
      for (let row = 0; row < horizon; row += 1) values.set(state.command, row * width);
      return writer.chunk;
    },
  };
}
`;
const yaml = `kind: policy
schema_version: 1
name: still
description: The command, again and again.
joints: [${so101.joints.map(({ name }) => name).join(", ")}]
inputs:
  - name: command
    shape: [1, 6]
    from: [command_rad]
output:
  name: actions
  shape: [1, ${horizon}, 6]
  space: joint_pos
  dt_ms: 20
`;

beforeAll(async () => {
  const offset = { shape: [1, horizon, 6], rows: Array.from({ length: horizon * 6 }, () => 0) };
  const model = onnxModel({
    nodes: [{ op: "Add", inputs: ["command", "offset"], output: "actions" }],
    constants: { offset },
    inputs: [{ name: "command", shape: [1, 6] }],
    outputs: [{ name: "actions", shape: [1, horizon, 6] }],
  });
  await Bun.write(at("still.ts"), still);
  await Bun.write(at("still.onnx"), model);
  await Bun.write(at("still.yaml"), yaml);
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

async function streamedRows(policy: string): Promise<number[]> {
  const program = join(import.meta.dir, "takeover-rows.ts");
  const child = Bun.spawn([process.execPath, program, policy], { stderr: "ignore" });
  return JSON.parse(await new Response(child.stdout).text()) as number[];
}

test("in real time: a host's rows skip what has passed, a script's do not", async () => {
  expect(await streamedRows(at("still.ts"))).toEqual([0, 0, 0, 0, 0]);
  const host = await HostProcess.start(["--policy", at("still.ts"), "--latency", "150ms"]);
  // However late the machine is, 150 ms have passed by then.
  const rows = await streamedRows(`grpc://127.0.0.1:${host.port}`);
  expect(rows.length).toBe(5);
  expect(Math.min(...rows)).toBeGreaterThanOrEqual(150 / 20 - 0.5);
});
