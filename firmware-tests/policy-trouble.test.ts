// A policy that decides nothing from its first act on, in this program and on a host: the run's
// terminal and `status` say why, instead of waiting for its first decision without a word.

import { afterAll, afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { HostProcess, killHosts } from "./link-rig.ts";
import { ProgramRun, runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

/** The path of a policy whose every act does this. */
async function policyOf(name: string, act: string): Promise<string> {
  const path = join(scratch.made("policies"), `${name}.ts`);
  await Bun.write(
    path,
    `export const createPolicy = (context) => ({
      name: "mine",
      schema: context.writer(context.jointPositions).schema,
      selectsMode: false,
      reset() {},
      act() { ${act} },
    });`,
  );
  return path;
}

const WAITS = "Waits for the policy's first decision: ";

/** What a run says once it knows why, and `status` then. */
async function saidOf(policy: string, why: RegExp): Promise<[string, string]> {
  const args = ["run", "so101", "--task", "none", "--port", "28460", "--policy", policy];
  const run = new ProgramRun(args, { scratch });
  await run.until(new RegExp(`STARTING {2}${WAITS}${why.source}`));
  const status = await runToEnd(["status"], { scratch });
  run.signal("SIGINT");
  const { stderr, stdout } = await run.end;
  return [stdout + stderr, status.stdout.trim().split("\n").at(-1) ?? ""];
}

test("a policy that throws in its first act is quoted", async () => {
  const policy = await policyOf("throws", 'throw new Error("no model here")');
  const [said, status] = await saidOf(policy, /the policy threw: no model here \(.*\)/);
  expect(said.match(/^policy ".*" threw: no model here/gm)).toHaveLength(1);
  expect(status).toStartWith(`${WAITS}the policy threw: no model here (`);
});

test("one that loops in its first act is told as a thread that does not answer", async () => {
  const why = "the policy thread does not answer (policy_lost)";
  const [, status] = await saidOf(
    await policyOf("loops", "for (;;) {}"),
    new RegExp(RegExp.escape(why)),
  );
  expect(status).toBe(WAITS + why);
});

test("one that throws on a host is quoted where the robot is", async () => {
  const policy = await policyOf("throws", 'throw new Error("no model here")');
  const host = await HostProcess.start(["--robot", "so101", "--policy", policy]);
  const why = "the host's policy decides nothing: act threw: no model here (";
  const url = `grpc://127.0.0.1:${host.port}`;
  const [said, status] = await saidOf(url, new RegExp(RegExp.escape(why)));
  const notes = said.split("\n").filter((line) => line.startsWith("policy grpc"));
  expect(notes.map((note) => note.slice(`policy ${url}: `.length))).toEqual([
    "connected",
    expect.stringContaining(why),
  ]);
  expect(status).toStartWith(WAITS + why);
}, 60_000);
