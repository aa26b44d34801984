// The policy of a lockstep run has a thread of its own. It must decide there what it would decide
// in the run's own thread, to the bit; and whatever it does to its thread, the run goes on to its
// end, hears people meanwhile and says what happened.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import { reasonNames } from "../runtime/contracts/reason.ts";
import { duration } from "../runtime/contracts/units.ts";
import { fixturePolicies } from "./fixture-policies.ts";
import { HostProcess, killHosts } from "./link-rig.ts";
import { lockstepRun } from "./lockstep-run.ts";
import { oneThreadRun } from "./one-thread-run.ts";
import { ProgramRun, reportOf, Scratch } from "./process.ts";

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
afterEach(killHosts);

/** Long enough for an honest act on a busy machine. */
const IMPATIENT = { silenceNsMax: duration(1e9) };
/** Every tick is a batch of its own: nothing is asked ahead. */
const NO_BATCHES = { batchNs: duration(-1) };

describe("the same decisions as in one thread", () => {
  const { promises, throws } = fixturePolicies;
  const late = "--policy-latency normal:100ms,30ms";
  const lateBlind = "--policy-latency exp:600ms --fault freeze:joints@1s+100ms";
  const lateLossy = "--policy-latency normal:50ms,50ms --fault drop:joints%10";
  const lateStopped = "--policy-latency 120ms --fault freeze:joints@1500ms+600ms";
  // biome-ignore format: one run per line
  test.each([
    { args: "so101 --policy pick_place --fault noise:joints=0.002", seed: 5, seconds: 3 },
    { args: "so101 --policy pick_place --policy-latency uniform:20ms..120ms", seed: 5, seconds: 3 },
    { args: "ur5e --policy trajectory --policy-latency exp:100ms", seed: 5, seconds: 3 },
    { args: "document-one --policy jumpy", seed: 5, seconds: 3 },
    // Lost samples end an epoch, and void what was decided in it.
    { args: `so101 --policy sine ${lateBlind}`, seed: 5, seconds: 3 },
    { args: `so101 --policy liar ${lateLossy}`, seed: 5, seconds: 3 },
    { args: `so101 --policy ${throws} ${lateStopped}`, seed: 5, seconds: 3 },
    // Several decisions become ready in one tick, each another motion.
    { args: `so101 --policy ${promises} ${late}`, seed: 9, seconds: 1.5 },
    { args: `so101 --policy ${promises} --fault freeze:joints@1s+600ms`, seed: 5, seconds: 3 },
    // An epoch ends in the very tick of an act whose promise breaks.
    { args: `so101 --policy ${promises} --fault drop:joints%35`, seed: 8, seconds: 3 },
    { args: `so101 --policy ${promises} --fault drop:joints%40`, seed: 6, seconds: 3 },
    // The act of the last tick breaks its promise.
    { args: `so101 --policy ${promises}`, seed: 5, seconds: 0.615 },
  ])("$args, seed $seed", async ({ args, seed, seconds }) => {
    const words = `${args} --seed ${seed} --duration ${seconds}`.split(" ");
    const runs = [
      await lockstepRun(words),
      await lockstepRun(words, undefined, NO_BATCHES),
    ];
    const { plan } = runs[0]!;
    const alone = await oneThreadRun(plan, Math.round(seconds * plan.robot.controlHz));
    const refusals = reasonNames.map((name, reason) => [name, alone.policySafeTicks[reason]!]);
    const expected = {
      trace_hash: alone.traceHash,
      safe_entries_policy: Object.fromEntries(refusals.filter(([, count]) => count !== 0)),
      warnings: alone.lastError === "" ? [] : [`the policy threw: ${alone.lastError}`],
    };
    expect(runs).toMatchObject([expected, expected]);
  });
});

// A dip for the tick that hears of it; 300 ms later the last decision is over; 500 ms later it has
// been missing for too long.
const LOST = ["RUNNING", "DEGRADED", "RUNNING", "DEGRADED", "SAFE_STOP"];

describe("a policy that takes its thread with it", () => {
  const silent = "the policy thread ended: it has not answered for 1 s";
  test.each([
    { name: "loops", text: silent },
    { name: "exits", text: "the policy thread ended: it ended with code 3" },
    { name: "throwsLater", text: "the policy thread ended: thrown from a timer" },
    { name: "throwsNull", text: "the policy thread ended: null" },
  ] as const)("$name: the run goes on to its end, and says so", async ({ name, text }) => {
    const args = ["--duration", "3", "--policy", fixturePolicies[name]];
    const report = await lockstepRun(args, undefined, IMPATIENT);
    expect([report.ticks, report.exitCode, report.failure]).toEqual([600, 1, text]);
    expect(report.supervisor_path).toEqual(LOST);
    // The last of 20 decisions is of 905 ms and covers 320 ms.
    expect(report.safe_entries).toEqual({ no_action: (3_000 - 1_225) / 5 });
  });

  test("where it is lost is the same in every run", async () => {
    const args = ["--duration", "3", "--policy"];
    const traces = [];
    for (const name of ["loops", "exits", "exits"] as const) {
      const report = await lockstepRun([...args, fixturePolicies[name]], undefined, IMPATIENT);
      traces.push(report.trace_hash);
    }
    expect(new Set(traces).size).toBe(1);
  });

  test("a reset that never ends is lost as an act is", async () => {
    // The second epoch begins with the start, the third with the stop that blindness leads to.
    const args = "--duration 3 --fault freeze:joints@1s+500ms --policy".split(" ");
    const report = await lockstepRun([...args, fixturePolicies.resetLoops], undefined, IMPATIENT);
    expect([report.ticks, report.exitCode, report.failure]).toEqual([600, 1, silent]);
    expect(report.supervisor_path).toEqual(["RUNNING", "DEGRADED", "SAFE_STOP"]);
  });

  test("one that is slow but turns its event loop is not lost", async () => {
    const args = ["--policy", fixturePolicies.neverAnswers];
    const handles: RunHandle[] = [];
    const run = lockstepRun(args, (handle) => handles.push(handle), IMPATIENT);
    while (handles[0]?.status().tick !== 191) await Bun.sleep(10);
    await Bun.sleep(2_000); // twice what a silent one is given
    handles[0].quit();
    const { ticks, failure, exitCode } = await run;
    expect([ticks, failure, exitCode]).toEqual([192, null, 0]);
  });
});

describe("a promise that is not kept", () => {
  const why = "the policy thread ended: it has not kept the promise of an answer for 1 s";
  const impatient = { promiseNsMax: duration(1e9), remotePromiseNsMax: duration(1e9) };

  test("ends the policy, not the run, which says so and has failed", async () => {
    const args = ["--duration", "3", "--policy", fixturePolicies.neverAnswers];
    const report = await lockstepRun(args, undefined, impatient);
    expect([report.ticks, report.exitCode, report.failure]).toEqual([600, 1, why]);
    expect(report.supervisor_path).toEqual(LOST);
    expect(report.told).toContain(why);
  });

  test("the same where a host is alive and its policy is not", async () => {
    // Only the warm-up is answered.
    const path = join(scratch.folder, "warm.ts");
    const text = `export function createPolicy(context) {
      const { schema } = context.writer(context.jointPositions);
      let actCount = 0;
      const act = () => (actCount++ === 0 ? null : new Promise(() => undefined));
      return { name: "warm", schema, selectsMode: false, reset: () => undefined, act };
    }`;
    await Bun.write(path, text);
    const host = await HostProcess.start(["--policy", path]);
    const args = ["--duration", "3", "--policy", `grpc://127.0.0.1:${host.port}`];
    const report = await lockstepRun(args, undefined, impatient);
    expect([report.ticks, report.exitCode, report.failure]).toEqual([600, 1, why]);
    await host.kill();
  });
});

test("a host whose every chunk is refused is told of", async () => {
  const host = await HostProcess.start(["--policy", "sine", "--lie", "nan"]);
  const at = `grpc://127.0.0.1:${host.port}`;
  const report = await lockstepRun(["--task", "none", "--duration", "3", "--policy", at]);
  expect(report.supervisor_path).toEqual(["STARTING"]);
  expect(report.told).toContain(`policy ${at}: the host's chunk was refused: not_finite`);
  await host.kill();
});

describe("a person is heard", () => {
  const args = ["run", "--time", "lockstep", "--json", "--policy"];

  test("while an act never ends: status and cues", async () => {
    const handles: RunHandle[] = [];
    const run = lockstepRun(["--policy", fixturePolicies.loops], (handle) => handles.push(handle), {
      silenceNsMax: duration(1e12),
    });
    while (handles[0]?.status().tick !== 190) await Bun.sleep(10);
    expect(handles[0].stop()).toMatchObject({ accepted: true });
    handles[0].quit();
    const { ticks, failure, exitCode } = await run;
    expect([ticks, failure, exitCode]).toEqual([191, null, 0]);
  });

  test("while an act never ends: a signal", async () => {
    const run = new ProgramRun([...args, fixturePolicies.loops], { scratch });
    await run.until(/the policy has not answered/);
    run.signal("SIGINT");
    const end = await run.end;
    expect([end.code, end.signal, reportOf(end).ticks]).toEqual([0, null, 191]);
  }, 60_000);

  test("while a module never ends", async () => {
    const run = new ProgramRun([...args, fixturePolicies.loadsForever], { scratch });
    await run.until(/loading physics/);
    run.signal("SIGINT");
    const end = await run.end;
    expect([end.code, end.signal, end.stdout]).toEqual([1, null, ""]);
    expect(end.stderr).toContain("ended before the run began");
  }, 60_000);
});
