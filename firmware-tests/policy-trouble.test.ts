// A policy that decides nothing from its first act on, in this program and on a host: the run's
// terminal and `status` say why, instead of waiting for its first decision without a word.

import { afterAll, afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { HostProcess, killHosts } from "./link-rig.ts";
import { fixturePolicies } from "./fixture-policies.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

/** The path of a policy whose every act does this, with further parts of its own. */
async function policyOf(name: string, act: string, parts = "reset() {},"): Promise<string> {
  const path = join(scratch.made("policies"), `${name}.ts`);
  await Bun.write(
    path,
    `export function createPolicy(context) {
      const writer = context.writer(context.jointPositions);
      let allocator;
      const decide = (state) => {
        const values = writer.begin(state, allocator);
        const { horizon, width } = writer;
        for (let row = 0; row < horizon; row += 1) values.set(state.command, row * width);
        return writer.chunk;
      };
      return {
        name: "mine",
        schema: writer.schema,
        selectsMode: false,
        ${parts}
        act(state) { ${act} },
      };
    }`,
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

const KEEPS = "reset(_epoch, given) { allocator = given; },";
const LOCKSTEP = ["run", "so101", "--time", "lockstep", "--task", "none", "--duration", "1"];

test("one whose words about itself cannot be read decides on, here, and each is told", async () => {
  const broken = `get statusText() { throw new Error("no display"); },
    get trouble() { return 7; },
    get isSlow() { throw new Error("no clock"); },
    receipt: () => Promise.reject(new Error("no log")),`;
  const policy = await policyOf("broken", "return decide(state);", `${KEEPS} ${broken}`);
  for (const time of ["lockstep", "streaming"]) {
    const args = ["run", "--json", "--time", time, "--task", "none", "--port", "28460"];
    const ended = await runToEnd([...args, "--duration", "2", "--policy", policy], { scratch });
    const report = reportOf(ended);
    expect([ended.code, report.failure]).toEqual([0, null]);
    expect(report.evidence["accepted"]).toBeGreaterThan(10);
    const told = ended.stdout + ended.stderr + report.warnings.join("\n");
    expect(told).toMatch(
      /threw: (statusText: no display|trouble: expected|isSlow|receipt: no log)/,
    );
  }
});

test.each<[string, string, string, string]>([
  [
    "a reset that throws",
    "return decide(state);",
    'reset() { throw new Error("no model"); },',
    "reset threw: no model (",
  ],
  [
    "a reset that promises and fails",
    "return decide(state);",
    'async reset() { throw new Error("no model"); },',
    "reset threw: no model (",
  ],
  [
    "rows of no number",
    "const chunk = decide(state); chunk.record[4] = NaN; return chunk;",
    KEEPS,
    "dtNs NaN",
  ],
  [
    "half a row",
    "const chunk = decide(state); chunk.record[5] = 1.5; return chunk;",
    KEEPS,
    "horizon 1.5",
  ],
  ["something else", "return { rows: [] };", KEEPS, "act answered neither a chunk, nor null"],
])("on a host, %s is told where the robot is, and the host serves on", async (...row) => {
  const [name, act, parts, words] = row;
  const policy = await policyOf(name.replaceAll(" ", "-"), act, parts);
  const host = await HostProcess.start(["--policy", policy]);
  const url = `grpc://127.0.0.1:${host.port}`;
  for (let robot = 0; robot < 2; robot += 1) {
    const ended = await runToEnd([...LOCKSTEP, "--policy", url], { scratch });
    const told = ended.stdout + ended.stderr;
    expect(told).toContain(`policy ${url}: the host's policy decides nothing: `);
    expect(told).toContain(words);
  }
  expect(host.child.exitCode).toBeNull();
});

test("on a host, one that posts nonsense to its thread's port changes nothing", async () => {
  const host = await HostProcess.start(["--policy", fixturePolicies.posts]);
  const url = `grpc://127.0.0.1:${host.port}`;
  const ended = await runToEnd([...LOCKSTEP, "--json", "--policy", url], { scratch });
  expect(reportOf(ended).evidence["accepted"]).toBeGreaterThan(15);
  expect(host.child.exitCode).toBeNull();
});

test("on a host, one that throws what is no error ends its own thread and no more", async () => {
  const policy = await policyOf("null", "setTimeout(() => { throw null; }, 0); return null;");
  const host = await HostProcess.start(["--policy", policy]);
  const url = `grpc://127.0.0.1:${host.port}`;
  for (let robot = 0; robot < 2; robot += 1) {
    const { stdout, stderr } = await runToEnd([...LOCKSTEP, "--policy", url], { scratch });
    expect(stdout + stderr).toContain("policy: expected a policy that runs, found null");
  }
  expect(host.child.exitCode).toBeNull();
});
