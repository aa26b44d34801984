// What a run tells of its policy host, with real processes: what it is made of as it connects, and
// how long it takes, while the run goes on and at its end, in both time models.

import { afterAll, afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { HostProcess, killHosts } from "./link-rig.ts";
import { ProgramRun, runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const THINKS_MS = 20;
const TIMES = /inference p50 (\S+) ms, p99 \S+ ms; queue p50 \S+ ms, p99 \S+ ms; round trip \S+ ms/;

async function thinker(): Promise<HostProcess> {
  const path = join(scratch.made("policies"), "thinks.ts");
  await Bun.write(
    path,
    `export function createPolicy(context) {
      const writer = context.writer(context.jointPositions);
      let allocator;
      return {
        name: "thinks",
        schema: writer.schema,
        selectsMode: false,
        reset(_epoch, given) { allocator = given; },
        async act(state) {
          await Bun.sleep(${THINKS_MS});
          const values = writer.begin(state, allocator);
          for (let row = 0; row < writer.horizon; row += 1) {
            values.set(state.command, row * writer.width);
          }
          return writer.chunk;
        },
      };
    }`,
  );
  return HostProcess.start(["--policy", path]);
}

/** A host's clock may be coarse, its quantile is not below what was slept but by that. */
const SLEPT_MS_MIN = THINKS_MS - 1;

test("a streaming run tells what its host is and takes, as it goes on and at its end", async () => {
  const { port } = await thinker();
  const url = `grpc://127.0.0.1:${port}`;
  const args = ["run", "so101", "--task", "none", "--port", "28470", "--policy", url];
  const run = new ProgramRun(args, { scratch });
  await run.until(new RegExp(`host 127.0.0.1:${port}: bun [\\d.]+, holdfast \\S+; policy thinks`));
  let told: RegExpExecArray | null = null;
  while (told === null) {
    told = TIMES.exec((await runToEnd(["status"], { scratch })).stdout);
  }
  expect(Number(told[1])).toBeGreaterThanOrEqual(SLEPT_MS_MIN);
  run.signal("SIGINT");
  const { stdout, stderr } = await run.end;
  expect(stdout).toMatch(new RegExp(`^  policy host    ${TIMES.source}$`, "m"));
  expect((stdout + stderr).match(/^host 127.*; policy thinks$/gm)).toHaveLength(1);
}, 60_000);

test("a lockstep run tells the same, in JSON too", async () => {
  const { port } = await thinker();
  const url = `grpc://127.0.0.1:${port}`;
  const asked = ["run", "so101", "--json", "--time", "lockstep", "--task", "none"];
  const { stdout, stderr } = await runToEnd([...asked, "--duration", "1", "--policy", url], {
    scratch,
  });
  expect(stderr).toMatch(/^host 127.*: bun [\d.]+, holdfast \S+; policy thinks$/m);
  const { policy_host: host } = JSON.parse(stdout.trim().split("\n").at(-1)!) as {
    policy_host: { answers: number; inference_us: { p50: number } };
  };
  expect(host.answers).toBeGreaterThan(10);
  expect(host.inference_us.p50).toBeGreaterThanOrEqual(SLEPT_MS_MIN * 1_000);
}, 60_000);
