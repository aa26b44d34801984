// A lockstep run in the hands of a person: it hears them while a policy loads and while a slow one
// decides. What a run computes is tested in firmware-tests/run-lockstep.test.ts.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { TickSlot } from "../contracts/tick-record.ts";
import { freshUser } from "./fixture.ts";
import { isParked } from "./parked.ts";
import { runOptions } from "./run-command.ts";
import type { RunHandle } from "./run-handle.ts";
import { runLockstep } from "./run-lockstep.ts";

const silent = { note: () => undefined, changed: () => undefined };
const folder = freshUser().environment["XDG_RUNTIME_DIR"]!;

async function policyFile(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await Bun.write(path, text);
  return path;
}

test.each([
  { how: "waits for ever", text: "setInterval(() => 0, 1e6); await new Promise(() => undefined);" },
  { how: "loops for ever", text: "for (let count = 0; ; count = (count + 1) % 9);" },
])("a policy whose module $how is not waited for once the end is asked", async ({ text }) => {
  const policy = await policyFile("never.ts", text);
  const options = runOptions("document-one", { policy, time: "lockstep" });
  const onHandle = () => expect.unreachable();
  const hooks = { ...silent, onHandle, endAsked: Promise.resolve() };
  expect(await runLockstep(options, hooks)).toBeUndefined();
});

test.each([
  { text: 'throw new Error("not today");', why: "not today" },
  { text: "process.exit(4);", why: "it ended while loading" },
])("a policy whose module does $text is refused as in streaming", async ({ text, why }) => {
  const policy = await policyFile("broken.ts", text);
  const options = runOptions("document-one", { policy, time: "lockstep" });
  const onHandle = () => expect.unreachable();
  const endAsked = new Promise<void>(() => undefined);
  const run = runLockstep(options, { ...silent, onHandle, endAsked });
  expect(run).rejects.toThrow("Cannot start the policy thread: ");
  expect(run).rejects.toThrow(why);
  await run.catch(() => undefined);
});

test("a policy that takes its time at every decision leaves others theirs", async () => {
  const hold = join(import.meta.dir, "../policy/registry.ts");
  const text = `import { createPolicy as create } from "${hold}";
    export async function createPolicy(context) {
      const policy = await create("hold", context);
      const act = policy.act.bind(policy);
      policy.act = (...given) => {
        const end = performance.now() + 5;
        while (performance.now() < end);
        return act(...given);
      };
      return policy;
    }`;
  const policy = await policyFile("slow.ts", text);
  const options = runOptions("document-one", { policy, time: "lockstep", duration: 60 });
  const onHandle = (handle: RunHandle) => {
    setTimeout(() => handle.quit(), 50); // heard only between batches
  };
  const hooks = { ...silent, onHandle, endAsked: new Promise<void>(() => undefined) };
  const report = await runLockstep(options, hooks);
  expect(report!.stats.tickCount).toBeGreaterThan(0);
  expect(report!.stats.tickCount).toBeLessThan(400);
});

test("what a policy threw is in the hint, as long as it decides nothing", async () => {
  const text = `export const createPolicy = (context) => ({
      name: "mine",
      schema: context.writer(context.jointPositions).schema,
      selectsMode: false,
      reset() {},
      act() { throw new Error("no model here"); },
    });`;
  const policy = await policyFile("throws.ts", text);
  const options = runOptions("so101", { policy, task: "none", time: "lockstep", duration: 1 });
  let handle: RunHandle | undefined;
  const onHandle = (given: RunHandle) => {
    handle = given;
  };
  await runLockstep(options, { ...silent, onHandle, endAsked: new Promise<void>(() => undefined) });
  expect(handle!.status().hint).toStartWith(
    "Waits for the policy's first decision: the policy threw: no model here (",
  );
});

test("a robot that would fall is parked after a quit, which is no part of the trace", async () => {
  const parts = { policy: "hold", task: "none", time: "lockstep" } as const;
  const endAsked = new Promise<void>(() => undefined);
  const onHandle = (handle: RunHandle) => void setImmediate(() => handle.quit());
  const options = runOptions("so101", { ...parts, duration: 600 });
  const quit = await runLockstep(options, { ...silent, onHandle, endAsked });
  const { release, tickCount } = quit!.stats;
  expect(isParked(options.plan.robot, release)).toBe(true);
  expect(quit!.stats.last[TickSlot.tick]).toBeGreaterThan(tickCount);
  const again = await runLockstep(runOptions("so101", { ...parts, duration: tickCount / 200 }), {
    ...silent,
    onHandle: () => undefined,
    endAsked,
  });
  expect(again!.traceHash).toBe(quit!.traceHash);
  expect(Number.isNaN(again!.stats.release.releasedNs)).toBe(true);
});

test("a second quit ends it at once, in the air", async () => {
  const options = runOptions("so101", { policy: "hold", time: "lockstep", duration: 600 });
  const onHandle = (handle: RunHandle) =>
    void setImmediate(() => {
      handle.quit();
      handle.quit();
    });
  const endAsked = new Promise<void>(() => undefined);
  const report = await runLockstep(options, { ...silent, onHandle, endAsked });
  expect(isParked(options.plan.robot, report!.stats.release)).toBe(false);
});
