// A policy host whose policy does not load, or not for this robot: what its own terminal says and
// what the robot's does, with real processes. A robot that waits is left by one signal.

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixturePolicies } from "./fixture-policies.ts";
import { ProgramRun, Scratch } from "./process.ts";

setDefaultTimeout(90_000);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const at = (name: string): string => join(scratch.folder, name);
const LOOP = "for (let count = 0; ; count = (count + 1) % 1_000);";
writeFileSync(at("never-made.ts"), `export function createPolicy() { ${LOOP} }`);
writeFileSync(
  at("never-warm.ts"),
  `export function createPolicy({ jointPositions }) {
    const reset = () => { ${LOOP} };
    const parts = { schema: jointPositions, selectsMode: false, act: () => null };
    return { name: "never-warm", reset, ...parts };
  }`,
);

type Host = { readonly host: ProgramRun; readonly url: string };

async function served(...args: readonly string[]): Promise<Host> {
  const host = new ProgramRun(["host", "--listen", "127.0.0.1:0", ...args], { scratch });
  const [, address] = await host.until(/on (127\.0\.0\.1:\d+)/);
  return { host, url: `grpc://${address}` };
}

const robot = (url: string, ...args: readonly string[]): ProgramRun =>
  new ProgramRun(["run", "--task", "none", "--duration", "1", "--policy", url, ...args], {
    scratch,
  });

async function ended(host: ProgramRun): Promise<void> {
  host.signal("SIGTERM");
  expect(await host.end).toMatchObject({ code: 0, signal: null });
}

test.each([
  ["never-made.ts", "streaming", "loading: its policy", "its module and createPolicy"],
  ["never-warm.ts", "streaming", "warming: warming up", "its first reset and act"],
  ["never-warm.ts", "lockstep", "warming: warming up", "its first reset and act"],
])("%s, %s: both sides say what is waited for, and a signal ends the wait", async (...row) => {
  const [file, time, phase, what] = row;
  const { host, url } = await served("--policy", at(file));
  const run = robot(url, "--time", time);
  const waits = `waiting for the policy host ${url.slice(7)}: ${phase} `;
  await run.until(new RegExp(`${waits}\\(\\d+ s so far, Ctrl-C or q ends the run\\)`));
  await host.until(new RegExp(`policy ${at(file)} for so101 still loads after \\d+ s: ${what};`));
  run.signal("SIGINT");
  const end = await run.end;
  expect([end.code, end.signal]).toEqual([1, null]);
  expect(end.stderr).toContain("ended before the run began");
  await host.until(/so101 left/);
  await ended(host);
});

test.each([
  [
    "SIGINT",
    ["--robot", "so101", "--task", "none"],
    at("never-made.ts"),
    /still loads after \d+ s/,
  ],
  ["SIGTERM", [], fixturePolicies.loadsForever, /waiting for the policy thread to load/],
] as const)("%s ends a host that still looks at its policy, with %j", async (...row) => {
  const [signal, named, file, waits] = row;
  const args = ["host", "--listen", "127.0.0.1:0", ...named, "--policy", file];
  const host = new ProgramRun(args, { scratch });
  await host.until(waits);
  host.signal(signal);
  const { code, signal: killedBy, stdout, stderr } = await host.end;
  expect([code, killedBy, stdout]).toEqual([1, null, ""]);
  expect(stderr).toEndWith("\nholdfast: ended before the host listened\n");
});

test("a robot of other joints is told on both terminals", async () => {
  const { host, url } = await served("--policy", "sine", "--robot", "ur5e");
  const end = await robot(url).end;
  expect(end.code).toBe(2);
  expect(end.stderr).toContain("joint_names: expected shoulder_pan, shoulder_lift, elbow, ");
  await host.until(/so101 was refused: joint_names: expected shoulder_pan, shoulder_lift, elbow, /);
  await ended(host);
});

test("a policy of other joints, which only a robot shows, is told on both terminals", async () => {
  const { host, url } = await served("--policy", fixturePolicies.otherJoints);
  const end = await robot(url).end;
  expect(end.code).toBe(2);
  expect(end.stderr).toContain("policy.action_schema.columns: expected shoulder_pan, ");
  await host.until(/so101 (?:was )?refused:? policy\.action_schema\.columns: /);
  await ended(host);
});

test("a policy is warmed up on zeros of all that its robot can send", async () => {
  const task = at("see.yaml");
  const expert = readFileSync(join(import.meta.dir, "../profiles/tasks/pick_place.yaml"), "utf8");
  const all = expert.replace(/^requires: .*/m, "requires: [cube_pose, scene]");
  expect(all).not.toBe(expert);
  writeFileSync(task, all);
  const says = `export function createPolicy({ pictures, jointPositions }) {
    const act = (state) => {
      const field = state.field("cube_pose");
      const pixels = pictures.transformed(state.field("scene"));
      const isZero = [...field.values, ...pixels].every((value) => value === 0);
      throw new Error([isZero, field.values.length, pixels.length].join(" "));
    };
    return { name: "says", schema: jointPositions, selectsMode: false, reset() {}, act };
  }`;
  writeFileSync(at("says.ts"), says);
  const named = ["--robot", "so101", "--task", task, "--policy", at("says.ts")];
  const { host } = await served(...named);
  await host.until(
    /policy threw: warm-up \(fields and pictures are zero\): act threw: true 7 150528/,
  );
  await ended(host);
});
