// Pictures end to end: a task that requires the camera, and a policy that decides on nothing else,
// in its own thread and on a host behind the link. What it must see is drawn by the camera thread,
// crosses by a slot of the arena, and is transformed where it is used.

import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { fixturePolicies } from "./fixture-policies.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { writeSeeTask } from "./picture-rig.ts";
import { reportOf, runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);

setDefaultTimeout(90_000);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const task = await writeSeeTask(scratch.folder);

/** Runs for four seconds with this policy; nothing is asserted about how many decisions came. */
async function look(policy: string) {
  const args = ["run", "so101", "--json", "--port", "28390", "--task", task, "--policy", policy];
  const ended = await runToEnd([...args, "--duration", "4"], { scratch });
  return reportOf(ended);
}

test("a policy in its own thread decides on what the camera sees", async () => {
  const report = await look(fixturePolicies.sees);
  expect(report.supervisor_path).toContain("RUNNING");
  expect(report.evidence["accepted"]).toBeGreaterThan(5);
  expect(report.warnings.join()).not.toContain("threw");
});

test("a policy on a host decides on what the robot's camera sees", async () => {
  const host = await HostProcess.start(["--policy", fixturePolicies.sees, "--task", task]);
  const report = await look(`grpc://127.0.0.1:${host.port}`);
  await host.kill();
  expect(report.supervisor_path).toContain("RUNNING");
  expect(report.evidence["accepted"]).toBeGreaterThan(5);
});

test("in lockstep nobody draws, and such a task is refused", async () => {
  const ended = await runToEnd(["run", "--time", "lockstep", "--task", task], { scratch });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain('expected streaming, as task see requires pictures, found "lock');
});
