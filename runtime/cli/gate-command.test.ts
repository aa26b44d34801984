// holdfast gate dry-run, from the command line: real lockstep runs, a recorded flight judged by
// other limits, and everything that cannot be judged.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { tickSlotCount, TickSlot } from "../contracts/tick-record.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import { builtinFiles } from "../profile/builtin.ts";
import { dumpFlight } from "./flight-dump.ts";
import { fakeContext, freshUser } from "./fixture.ts";
import { runProgram } from "./program.ts";
import { runOptions } from "./run-command.ts";
import { runLockstep } from "./run-lockstep.ts";

const folder = freshUser().environment["XDG_RUNTIME_DIR"]!;

async function gate(args: string) {
  const context = fakeContext({ startRun: runLockstep });
  const code = await runProgram(["gate", "dry-run", ...args.split(" ")], context);
  return { code, out: context.out.text, err: context.err.text };
}

type Json = {
  readonly ticks: number;
  readonly decided_ticks: number;
  readonly changed_in_earnest_ticks: number;
  readonly repairs: Record<string, number>;
  readonly refusals: Record<string, number>;
  readonly joints: readonly { readonly name: string; readonly correction_rad_max: number }[];
  readonly good_runs: unknown;
};
const json = async (args: string): Promise<Json> =>
  JSON.parse((await gate(`${args} --json`)).out) as Json;

/** A policy that asks the first joint for `rad`, and the others for where they are. */
async function policyFile(name: string, rad: string): Promise<string> {
  const path = join(folder, name);
  const registry = join(import.meta.dir, "../policy/registry.ts");
  await Bun.write(
    path,
    `import { createPolicy as create } from "${registry}";
    export async function createPolicy(context) {
      const policy = await create("hold", context);
      const act = policy.act.bind(policy);
      policy.act = (...given) => {
        const chunk = act(...given);
        const width = chunk.values.length / chunk.horizon;
        for (let at = 0; at < chunk.values.length; at += width) chunk.values[at] = ${rad};
        return chunk;
      };
      return policy;
    }`,
  );
  return path;
}

test("a policy that holds is not changed at all", async () => {
  const report = await json("ur5e --task none --policy hold --runs 2 --duration 1");
  expect(report.ticks).toBe(400);
  expect(report.decided_ticks).toBeGreaterThan(380);
  expect([report.changed_in_earnest_ticks, report.repairs, report.refusals]).toEqual([0, {}, {}]);
  expect(report.good_runs).toBeNull();
});

test("a policy that asks for too much is told by joint and by repair", async () => {
  const path = await policyFile("far.ts", "given[0].positionRad[0] + 0.2");
  const report = await json(`ur5e --task none --policy ${path} --runs 1 --duration 2`);
  expect(report.changed_in_earnest_ticks).toBeGreaterThan(100);
  expect(report.repairs["jerk"]).toBeGreaterThan(0);
  const [first, ...others] = report.joints.map((joint) => joint.correction_rad_max);
  expect(first).toBeGreaterThan(0.1);
  expect(Math.max(...others)).toBeLessThan(0.01);
});

test("a good run's alarms are told, as text with a bar for each repair", async () => {
  const { code, out } = await gate("so101 --task reach --runs 1 --duration 10");
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Gate dry run: so101, task reach, policy reach, 1 runs of 10 s from seed 1$/m,
  );
  expect(out).toMatch(/^ {4}smoothed +█+ \d+$/m);
  expect(out).toMatch(/^ {2}good runs {4}1 of 1, 0\.003 h; false alarms on them:$/m);
  expect(out).toMatch(/^ +0\.0 refusals\/h, 0\.0 faults of the gate\/h, 0\.0 stops\/h, /m);
});

/** A run's own ticks, as a dump of its last ones. */
async function flight(): Promise<string> {
  const options = runOptions("so101", { policy: "sine", time: "lockstep", duration: 4 });
  const recorder = new FlightRecorder(400, tickSlotCount(6));
  await runLockstep(options, {
    onHandle: () => undefined,
    note: () => undefined,
    changed: () => undefined,
    ticked: (record) => recorder.write(record),
    endAsked: new Promise<void>(() => undefined),
  });
  expect(recorder.dump().at(-1)![TickSlot.tick]).toBe(799);
  return dumpFlight(folder, options, "test", recorder);
}

test("a flight judged again by its own limits passes; by slower ones it is held back", async () => {
  const path = await flight();
  const own = await json(`so101 --from ${path}`);
  expect([own.ticks, own.decided_ticks, own.changed_in_earnest_ticks]).toEqual([300, 300, 0]);
  const profiles = join(import.meta.dir, "../../profiles");
  const text = await Bun.file(join(profiles, "so101.yaml")).text();
  const slow = text
    .replaceAll("velocity_rad_per_s_max: 3\n", "velocity_rad_per_s_max: 0.02\n")
    .replace("models/", `${profiles}/models/`);
  await Bun.write(join(folder, "slow.yaml"), slow);
  const slower = await json(`${join(folder, "slow.yaml")} --from ${path}`);
  expect(slower.changed_in_earnest_ticks).toBeGreaterThan(100);
  expect(slower.repairs["velocity"]).toBeGreaterThan(100);
});

test.each([
  [
    "--from /nowhere",
    'Cannot use --from: expected a flight that can be read, found "/nowhere": ENOENT',
  ],
  ["--from FILE", "expected a flight of the joints shoulder_pan, "],
  ["--from FILE --runs 2", "Cannot use --runs: expected no --from, found both"],
  ["--runs 0", "Cannot use --runs: expected a whole number from 1 to 1000"],
  ["ur5e --task pick_place", "gripper"],
  ["--policy nobody", "Cannot use --policy: expected one of hold, "],
  [
    "--policy ./nothing.ts",
    'Cannot use --policy: expected a file, found nothing at "./nothing.ts"',
  ],
  ["--task TASK", "task.yaml:9:17: default_policy: expected one of hold, "],
])("%s is refused", async (args, message) => {
  const task = join(folder, "task.yaml");
  const none = builtinFiles.get("profiles/tasks/none.yaml")!;
  await Bun.write(task, none.replace("default_policy: hold", "default_policy: nobody"));
  const typed = args.replace("FILE", import.meta.path).replace("TASK", task);
  const { code, out, err } = await gate(typed);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(message);
});

test("a line that is no tick is named by its number", async () => {
  const path = join(folder, "torn.jsonl");
  const names = ["pan"];
  const lines = [{ joints: names }, { tick: 1 }].map((line) => JSON.stringify(line));
  const [head] = (await Bun.file(await flight()).text()).split("\n");
  await Bun.write(path, [head, ...lines.slice(1)].join("\n"));
  const { err } = await gate(`--from ${path}`);
  expect(err).toBe(
    "holdfast: Cannot use --from: expected a tick on every line, found none on line 2\n",
  );
});
