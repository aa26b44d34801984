// A model from an ONNX file moves the simulated arm: behind the link on `holdfast host`, and in the
// run's own policy thread. The oracle is the same formula as a policy file written here, which must
// give the same run to the bit; a mapping or a model that is wrong never moves anything.

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { commandOnnx, commandPolicy, commandYaml, writeCommandModel } from "./command-model.ts";
import type { CommandModel } from "./command-model.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { reportOf, runToEnd, Scratch } from "./process.ts";
import type { RunJson } from "./process.ts";
import { writeAnchored } from "./so101-files.ts";

afterEach(killHosts);

setDefaultTimeout(90_000);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const HORIZON = 8;
const DT_MS = 40;
/** Two joints walk from where they are commanded to be, the rest holds. */
const offsets = Array.from({ length: HORIZON }, (_, row) => [
  row * 0.008,
  0,
  row * -0.006,
  0,
  0,
  0,
]);

const walk: CommandModel = { name: "walk", offsetsRad: offsets, dtMs: DT_MS };
const [firstRow = [], ...rows] = offsets;
const at = (name: string): string => join(scratch.folder, name);
const yaml = commandYaml(walk);

beforeAll(async () => {
  await writeCommandModel(scratch.folder, walk);
  await Bun.write(at("walk.ts"), commandPolicy(walk, true));
  const nan = [[Number.NaN, ...firstRow.slice(1)], ...rows];
  await writeCommandModel(scratch.folder, { ...walk, name: "nan", offsetsRad: nan });
  await Bun.write(at("bad.onnx"), commandOnnx(walk));
  await Bun.write(at("bad.yaml"), yaml.replace("dt_ms", "dt_s"));
  await Bun.write(at("other.onnx"), commandOnnx(walk));
  await Bun.write(at("other.yaml"), yaml.replace("name: command", "name: order"));
});

const lockstep = ["--json", "--time", "lockstep", "--task", "none"];

async function run(policy: string, profile = "so101"): Promise<RunJson> {
  const args = ["run", profile, ...lockstep, "--duration", "2", "--policy", policy];
  return reportOf(await runToEnd(args, { scratch }));
}

/** The run of a robot whose policy is on a host. */
async function hosted(policy: string): Promise<RunJson> {
  const host = await HostProcess.start(["--policy", policy]);
  try {
    return await run(`grpc://127.0.0.1:${host.port}`);
  } finally {
    await host.kill();
  }
}

test("through a host, the arm does what the formula says, to the bit", async () => {
  const report = await hosted(at("walk.onnx"));
  const expected = await hosted(at("walk.ts"));
  expect(report).toMatchObject({ failure: null, ticks: 400 });
  expect(report.supervisor_path.at(-1)).toBe("RUNNING");
  expect(report.evidence["accepted"]).toBeGreaterThan(30);
  expect(report.trace_hash).toBe(expected.trace_hash);
  expect(report.trace_hash).not.toBe((await hosted("hold")).trace_hash);
});

test("in the run's own policy thread too", async () => {
  // A script would begin as it comes, a model at the state it answers.
  const observation = writeAnchored(scratch.folder, "observation");
  const report = await run(at("walk.onnx"));
  const { supervisor_path, trace_hash } = await run(at("walk.ts"), observation);
  expect(report).toMatchObject({ failure: null, warnings: [], supervisor_path, trace_hash });
  expect(report.supervisor_path.at(-1)).toBe("RUNNING");
});

test("a model whose answers are no numbers moves nothing", async () => {
  const here = await run(at("nan.onnx"));
  expect(here.evidence["accepted"]).toBeUndefined();
  expect(here.evidence["rejected_not_finite"]).toBeGreaterThan(30);
  const host = await HostProcess.startCounting(["--policy", at("nan.onnx")]);
  const there = await run(`grpc://127.0.0.1:${host.port}`);
  expect([there.ticks, there.evidence["accepted"]]).toEqual([400, undefined]);
  const counts = await (await fetch(`http://127.0.0.1:${host.metricsPort}/metrics`)).text();
  const [, refused = "0"] =
    /receipts_total{robot="so101",word="not_finite"} (\d+)/.exec(counts) ?? [];
  expect(Number(refused)).toBeGreaterThan(30); // it was asked, and did answer
});

test.each([
  ["run", ["run", "--time", "lockstep", "--task", "none"]],
  ["host", ["host", "--listen", "127.0.0.1:0"]],
])(
  "%s refuses a mapping that is wrong, with its place, before anything starts",
  async (_, args) => {
    const bad = await runToEnd([...args, "--policy", at("bad.onnx")], { scratch });
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain(`${at("bad.yaml")}:14:3: output.dt_s: expected a known key`);
    const missing = await runToEnd([...args, "--policy", at("none.onnx")], { scratch });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("expected a file")]);
  },
);

test("a mapping that does not fit its model is refused by the run and by the host", async () => {
  const words = "inputs[0].name: expected a name of the model: command, found order";
  const local = ["run", ...lockstep, "--policy", at("other.onnx")];
  const ended = await runToEnd(local, { scratch });
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(words)]);
  const host = await HostProcess.start(["--policy", at("other.onnx")]);
  const remote = ["run", ...lockstep, "--policy", `grpc://127.0.0.1:${host.port}`];
  const refused = await runToEnd(remote, { scratch });
  await host.kill();
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(words)]);
});
