// A host that is slower than it promised, with real processes: the robot's speed is reduced, and
// its mode says why, in the run's own words; once the host is quick again, so is the robot.
// Nothing but the policy thread's own report raises `policy_slow`: how long answers take is judged
// there and nowhere else.

import { afterAll, afterEach, expect, test } from "bun:test";
import { fixturePolicies } from "./fixture-policies.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";
import { writeSlowRows } from "./so101-files.ts";

afterEach(killHosts);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
/** Its rows last 800 ms: what is slow here is not late, also on a machine that is away. */
const profile = writeSlowRows(scratch.folder);
const PROMISE = ["--robot", profile, "--promise", "150ms"];

const SLOW = /(RUNNING|STARTING) → DEGRADED: policy_slow/;
const WHY = "answers take longer than the 150 ms that the host promised";

/** A run that follows a host of these, up to what the host's slowness makes of it. */
async function slowed(host: HostProcess): Promise<{ run: ProgramRun; status: string }> {
  const url = `grpc://127.0.0.1:${host.port}`;
  const args = ["run", profile, "--json", "--task", "none", "--port", "28470", "--policy", url];
  const run = new ProgramRun(args, { scratch });
  await run.until(SLOW);
  await run.until(new RegExp(`policy ${url}: ${WHY}: the robot moves at reduced speed`));
  return { run, status: (await runToEnd(["status"], { scratch })).stdout };
}

/** Its modes up to here: a person ends it. */
async function endedPath(run: ProgramRun): Promise<string> {
  run.signal("SIGINT");
  return reportOf(await run.end).supervisor_path.join(" ");
}

test("--latency above --promise: DEGRADED with policy_slow, and so it stays", async () => {
  const host = await HostProcess.start([...PROMISE, "--policy", "sine", "--latency", "300ms"]);
  const { run, status } = await slowed(host);
  expect(status).toMatch(/DEGRADED/);
  expect(status).toContain("policy_slow");
  expect(await endedPath(run)).toEndWith("DEGRADED SAFE_STOP");
}, 60_000);

test("a host that is quick again: RUNNING again, by itself", async () => {
  const host = await HostProcess.start([...PROMISE, "--policy", fixturePolicies.slowAtFirst]);
  const { run } = await slowed(host);
  await run.until(new RegExp(`${SLOW.source}[^]*DEGRADED → RUNNING: cleared`));
  expect(await endedPath(run)).toContain("RUNNING DEGRADED RUNNING");
}, 60_000);
