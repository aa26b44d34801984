// Whole runs in lockstep, as `holdfast run --time lockstep` makes them: the same seed gives the
// same trace in two processes, the report has what it promises, and no fault, misbehaving policy or
// bad policy file does more than its reason says.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { robotNames } from "../runtime/profile/builtin.ts";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import { fixturePolicies } from "./fixture-policies.ts";
import { lockstepRun } from "./lockstep-run.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";
import type { RunJson } from "./process.ts";

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const run = (args: string) => lockstepRun(args.split(" "));

const command = (seed: number): string[] =>
  `run --time lockstep --duration 3 --seed ${seed} --json`.split(" ");

describe("two processes", () => {
  test("the same seed gives the same trace, another seed another", async () => {
    const ends = [];
    for (const seed of [3, 3, 4]) ends.push(await runToEnd(command(seed), { scratch }));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
    const [first, second, other] = ends.map((end) => reportOf(end));
    expect(first!.trace_hash).toMatch(/^[0-9a-f]{64}$/);
    const timeless = ({ realtime_factor: _, ...rest }: RunJson) => rest;
    expect(timeless(second!)).toEqual(timeless(first!));
    expect(other!.trace_hash).not.toBe(first!.trace_hash);
    // The run in this process is a third one.
    expect((await run("--duration 3 --seed 3")).trace_hash).toBe(first!.trace_hash);
  }, 60_000);

  test("the report is the only line on stdout and has every key, with its type", async () => {
    const { stdout } = await runToEnd(command(1), { scratch });
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const report = reportOf({ stdout, stderr: "" });
    expect(report.realtime_factor).toBeGreaterThan(0);
    const zero = { p50: 0, p99: 0, max: 0 };
    expect(report).toMatchObject({
      rate_asked_hz: 200,
      rate_achieved_hz: 200,
      ticks: 600,
      late_ticks: 0,
      missed_ticks: 0,
      wake_us: zero,
      work_us: zero,
      coverage_gap_ticks: 0,
      safe_entries: {},
      safe_episodes: {},
      supervisor_path: ["RUNNING"],
      task: { name: "pick_place", success: false, episodes: 0, successes: 0 },
      lost_records: 0,
      warnings: [],
      failure: null,
    });
    // The sample of each tick is half a period old, as on the phase grid of a live run.
    expect(report.sample_age_us).toEqual({ p50: 2_500, p99: 2_500, max: 2_500 });
    // A policy is shown readings when their tick is over, and the next tick moves by it: goal P9.
    expect(report.decision_us).toEqual({ p50: 7_500, p99: 7_500, max: 7_500 });
    expect(report.trace_hash).toMatch(/^[0-9a-f]{64}$/);
  }, 60_000);
});

test("what a policy takes for itself is not in the way from readings to motion", async () => {
  const wait = "--policy-latency uniform:50ms..250ms";
  const { decision_us: decision } = await run(`--policy sine --task none --duration 6 ${wait}`);
  expect(decision!.p50).toBeGreaterThanOrEqual(7_500);
  expect(decision!.max).toBeLessThanOrEqual(12_500); // its end lies anywhere in a period
});

test("episodes are counted when they are over, not when they begin", async () => {
  const { task } = await run("--duration 20");
  // The expert takes four to seven seconds, and two more pass before the next cube.
  expect([task.success, task.episodes]).toEqual([true, task.successes]);
  expect([1, 2, 3]).toContain(task.episodes);
});

/** Quits between two batches, once ticks have gone by. */
function quitUnderWay(handle: RunHandle): void {
  if (handle.status().tick > 0) handle.quit();
  else setImmediate(() => quitUnderWay(handle));
}

test("a quit in the middle is repeated by its number of ticks", async () => {
  const args = ["--policy", "sine", "--seed", "8"];
  const quit = await lockstepRun(args, quitUnderWay);
  const again = await lockstepRun([...args, "--duration", `${quit.ticks / 200}`]);
  expect([again.ticks, again.trace_hash]).toEqual([quit.ticks, quit.trace_hash]);
});

test("a run has exactly its duration times its rate in ticks", async () => {
  expect((await run("--duration 0.5")).ticks).toBe(100);
  expect((await run("ur5e --duration 1.5 --policy hold --task none")).ticks).toBe(300);
  expect((await run("document-one --duration 2 --policy document-sine")).ticks).toBe(100);
});

describe("faults", () => {
  test("a sensor that freezes for half a second stops the robot", async () => {
    const report = await run("--duration 3 --policy sine --fault freeze:joints@1s+500ms");
    // The last good sample is stamped 992.5 ms and good for 15 ms: 1010 ms is the first blind tick,
    // 1495 ms the last one.
    expect(report.safe_entries_control["stale_state"]).toBe(98);
    expect(report.supervisor_path).toEqual(["RUNNING", "DEGRADED", "SAFE_STOP"]);
    expect([report.ticks, report.exitCode]).toEqual([600, 0]);
  });

  test("one that freezes for a shorter time costs ticks and goes on by itself", async () => {
    const report = await run("--duration 2 --policy sine --fault freeze:joints@1s+100ms");
    expect(report.safe_entries_control["stale_state"]).toBe(18);
    expect(report.supervisor_path).toEqual(["RUNNING", "DEGRADED", "RUNNING"]);
  });

  test("a sensor that never speaks latches after the start timeout, with exit code 1", async () => {
    const report = await run("--duration 12 --fault drop:joints");
    expect(report.supervisor_path).toEqual(["STARTING", "SAFE_STOP", "FAULT_LATCHED"]);
    expect(report.safe_entries_control).toEqual({ stale_state: 2_400 });
    expect(report.exitCode).toBe(1);
  });

  test("what latches leaves its last ticks in a file, what does not leaves none", async () => {
    const args = ["run", "--time", "lockstep", "--json", "--duration", "12", "--policy", "sine"];
    const good = await runToEnd(args, { scratch });
    expect([good.code, scratch.flightDumps()]).toEqual([0, []]);
    const end = await runToEnd([...args, "--fault", "drop:joints"], { scratch });
    const [path = "", ...others] = scratch.flightDumps();
    expect([end.code, others]).toEqual([1, []]);
    expect(end.stderr).toContain(`the last ticks are in ${path}\n`);
    const [head = "", ...ticks] = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(JSON.parse(head)).toMatchObject({ why: "latched", policy: "sine" });
    expect(ticks).toHaveLength(400);
    expect(JSON.parse(ticks.at(-1) ?? "")).toMatchObject({ mode: "FAULT_LATCHED" });
    expect(JSON.parse(ticks.at(-2) ?? "")).toMatchObject({ mode: "SAFE_STOP" });
  }, 60_000);

  test.each([
    { fault: "delay:joints=40ms@500ms+500ms", reason: "stale_state" },
    { fault: "future:joints=20ms@500ms+500ms", reason: "stamp_in_future" },
    { fault: "corrupt:joints@500ms+500ms", reason: undefined },
    { fault: "noise:joints=0.002@500ms", reason: undefined },
  ])("$fault never ends a run, and is seen where it must be", async ({ fault, reason }) => {
    // The expert's plan depends on what is measured, so that every fault shows in the trace.
    const report = await run(`--duration 4 --fault ${fault}`);
    expect([report.ticks, report.exitCode, report.failure]).toEqual([800, 0, null]);
    const seen = Object.keys(report.safe_entries_control);
    if (reason === undefined) expect(seen).toEqual([]);
    else expect(seen).toContain(reason);
    const clean = await run("--duration 4");
    expect(report.trace_hash).not.toBe(clean.trace_hash);
  });
});

describe("decisions that come late", () => {
  test("150 ms of latency cost that long before and after the start, not later", async () => {
    const report = await run("--duration 4 --policy sine --policy-latency 150ms");
    // 30 ticks until the first decision, and 30 more: the start voids what was decided before.
    expect(report.safe_entries).toEqual({ no_action: 60 });
    expect(report.supervisor_path).toEqual(["STARTING", "RUNNING", "DEGRADED", "RUNNING"]);
    expect(report.coverage_gap_ticks).toBe(30);
  });

  test("latency with chance in it is the seed's own", async () => {
    const args = "--duration 3 --policy sine --policy-latency uniform:20ms..300ms";
    const [first, again, other] = [
      await run(`${args} --seed 5`),
      await run(`${args} --seed 5`),
      await run(`${args} --seed 6`),
    ];
    expect(again.trace_hash).toBe(first.trace_hash);
    expect(other.trace_hash).not.toBe(first.trace_hash);
  });
});

const STOPPED = ["RUNNING", "DEGRADED", "SAFE_STOP"];

describe("policies that misbehave", () => {
  test("silent: its last decision runs out, then the robot stops", async () => {
    const report = await run("--duration 5 --policy silent");
    expect(report.supervisor_path).toEqual(STOPPED);
    expect(report.coverage_gap_ticks).toBe(100); // for 500 ms, which is how long it may persist
    expect(Object.keys(report.safe_entries)).toEqual(["no_action"]);
    expect([report.ticks, report.exitCode]).toEqual([1_000, 0]);
  });

  test("nan: every such decision is refused by name, then as if silent", async () => {
    const [nan, silent] = [
      await run("--duration 5 --policy nan"),
      await run("--duration 5 --policy silent"),
    ];
    expect(nan.evidence["rejected_not_finite"]).toBeGreaterThan(20);
    expect(nan.trace_hash).toBe(silent.trace_hash);
  });

  test("liar: each lie is refused by its name, and the honest half is enough", async () => {
    const report = await run("--duration 6 --policy liar");
    // 80 decisions after the good ones, every other one a lie, four kinds in turn.
    expect(report.evidence).toMatchObject({
      rejected_stale_epoch: 10,
      rejected_out_of_order: 10,
      rejected_schema: 10,
      rejected_horizon: 10,
    });
    expect([report.supervisor_path, report.safe_entries]).toEqual([["RUNNING"], {}]);
  });

  test("slow: a gap as long as its decisions are late, and none later", async () => {
    const report = await run("--duration 3 --policy slow");
    expect(report.safe_entries).toEqual({ no_action: 60 }); // before the start, and after it
    expect([report.ticks, report.exitCode]).toEqual([600, 0]);
  });

  test("jumpy: a leap is refused where it would begin", async () => {
    const report = await run("--duration 4 --policy jumpy");
    expect(report.evidence["rejected_start_mismatch"]).toBeGreaterThan(10);
    expect(report.safe_entries["start_mismatch"]).toBe(report.evidence["rejected_start_mismatch"]!);
    expect([report.ticks, report.exitCode]).toEqual([800, 0]);
  });
});

describe("policies that fail", () => {
  test.each(["throws", "rubbish"] as const)(
    "a file that %s: counted by reason, told, and stopped",
    async (name) => {
      const report = await run(`--duration 3 --policy ${fixturePolicies[name]}`);
      // 60 acts in 3 s, 20 of them good.
      const { no_action: noActionTicks, ...others } = report.safe_entries;
      expect(noActionTicks).toBeGreaterThan(100);
      expect(others["policy_threw"]).toBeGreaterThanOrEqual(40);
      expect(Object.keys(others)).toEqual(["policy_threw"]);
      expect(report.supervisor_path).toEqual(STOPPED);
      const text = name === "throws" ? "no idea what to do" : "act answered neither a chunk";
      expect(report.warnings).toEqual([expect.stringContaining(`the policy threw: ${text}`)]);
      expect([report.ticks, report.exitCode]).toEqual([600, 0]);
    },
  );

  test("one that never answers holds up time, and a signal still ends the run", async () => {
    const process = new ProgramRun(
      ["run", "--time", "lockstep", "--json", "--policy", fixturePolicies.neverAnswers],
      { scratch },
    );
    await process.until(/the policy has not answered/);
    process.signal("SIGTERM");
    const end = await process.end;
    expect([end.code, end.signal]).toEqual([0, null]);
    // One act before the start, then one each 50 ms from 5 ms on: the 21st, at 955 ms, hangs.
    expect(reportOf(end).ticks).toBe(192);
  }, 60_000);
});

test.each([
  {
    file: fixturePolicies.noAct,
    text: /Cannot load policy ".*policy-no-act.ts": expected a policy with act\(state, nowNs\)/,
  },
  { file: fixturePolicies.otherJoints, text: /expected one of shoulder_pan, .*found "left_knee"/ },
  { file: "./no-such.ts", text: /Cannot use --policy: expected a file, found nothing at "/ },
])(
  "the policy file $file is refused before anything starts, with exit code 2",
  async ({ file, text }) => {
    const args = ["run", "--time", "lockstep", "--json", "--policy", file];
    const end = await runToEnd(args, { scratch });
    expect([end.code, end.stdout]).toEqual([2, ""]);
    expect(end.stderr).toMatch(text);
    expect(end.stderr).not.toContain("bug");
  },
  60_000,
);

test("a quit from outside ends a run between two ticks", async () => {
  const report = await lockstepRun(["--policy", "hold"], quitUnderWay);
  expect([report.ticks > 0, report.exitCode]).toEqual([true, 0]);
});

test.each(robotNames)("%s runs as it is shipped, and nothing is refused", async (robot) => {
  const report = await run(`${robot} --duration 1`);
  expect(report.exitCode).toBe(0);
  expect(report.supervisor_path).toContain("RUNNING");
  expect(Object.keys(report.evidence).filter((name) => name.startsWith("rejected"))).toEqual([]);
});
