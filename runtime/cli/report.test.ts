// The report as a person reads it, from made-up tick records: every line of it, for a run in real
// time with a stop in it, and for one in lockstep.

import { expect, test } from "bun:test";
import { CommandKind } from "../contracts/command.ts";
import { Evidence } from "../contracts/evidence.ts";
import { duration } from "../contracts/units.ts";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { REASON_COUNT, Reason } from "../contracts/reason.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { RunStats } from "../record/run-stats.ts";
import { Fault } from "../../safety/faults.ts";
import { exampleReport } from "./fixture.ts";
import { formatReport, jsonReport } from "./report.ts";
import type { RunReport } from "./report.ts";
import { runOptions } from "./run-command.ts";
import type { RunValues } from "./run-command.ts";

const { Starting, Running, Degraded, SafeStop } = Mode;
type Facts = Partial<Record<keyof typeof TickSlot, number>>;
const starved: Facts = { reason: Reason.NoAction, faults: 1 << Fault.NoAction };

/** 2.5 ms of its own between what the policy saw at 0.5 ms and its first motion at 5 ms. */
const decided: Facts = {
  kind: CommandKind.Motion,
  activatedNs: 5e6,
  chunkStateStampNs: 0.5e6,
  actStartNs: 1e6,
  actEndNs: 3.5e6,
};
const ticks: readonly Facts[] = [
  { mode: Starting, faults: 1 << Fault.StaleState, reason: Reason.StaleState },
  { mode: Running, ...decided },
  { mode: Degraded, ...starved },
  { mode: Running, lateNs: 13e6, missedTicks: 2, repairs: 2 },
  { mode: Degraded, ...starved },
  { mode: SafeStop, ...starved },
  { mode: SafeStop, cues: 1 << OperatorCue.Shutdown },
];

function reportOf(values: RunValues, parts: Partial<RunReport> = {}): RunReport {
  const options = runOptions("so101-servo", values);
  const size = tickSlotCount(options.plan.robot.joints.length);
  const stats = new RunStats(size, options.plan.robot.supervisor.lateNsMax);
  for (const [tick, facts] of ticks.entries()) {
    const record = new Float64Array(size);
    Object.entries({ sampledNs: Infinity, ...facts, tick, nowNs: tick * 5e6 }).forEach(
      ([name, value]) => {
        record[TickSlot[name as keyof typeof TickSlot]] = value;
      },
    );
    if (tick === 4) stats.note(Evidence.RejectedSchema);
    stats.write(record);
  }
  const policySafeTicks = new Float64Array(REASON_COUNT);
  policySafeTicks[Reason.PolicyThrew] = 2;
  return { ...exampleReport(options, SafeStop), stats, policySafeTicks, ...parts };
}

const task = { name: "pick_place", success: true, successCount: 7, episodeCount: 7 };

test("a run in real time", () => {
  const report = reportOf(
    { policy: "nan" },
    { policy: "wave", task: { ...task, isEpisodeUnderWay: true }, traceHash: "ab12" },
  );
  expect(formatReport(report, "scripts/run run").split("\n")).toEqual([
    "Cadence report: so101-servo, pick_place, policy wave, streaming",
    "  rate           200.00 Hz of 200 asked, 7 ticks",
    "  late           1 of 7 ticks, over 12 ms after their time",
    "  missed         2 of 9 beats, as the tick before was not over",
    expect.stringMatching(/^ {2}wake-up {8}p50 1 µs, p99 \d+ µs, max 13000 µs after its time$/),
    "  tick work      p50 0 µs, p99 0 µs, max 0 µs",
    "  sample age     p50 0 µs, p99 0 µs, max 0 µs when its tick began",
    expect.stringMatching(
      /^ {2}decisions {6}p50 20\d\d µs, p99 20\d\d µs, max 2000 µs from readings to/,
    ),
    "  no decision    2 of 7 ticks, held where it might have moved",
    "  safe ticks     held instead of moving: 1 stale_state, 3 no_action",
    "  not decided    looks of the policy: 2 policy_threw",
    "  limited        commands changed by a limit: 1 velocity",
    "  smoothed       corners of the target rounded, in 0 ticks",
    "  chunks         1 rejected_schema",
    "  supervisor     STARTING",
    "               → RUNNING (2 times DEGRADED by no_action)",
    "               → SAFE_STOP by no_action at 0.03 s: 1 chunk rejected_schema",
    "  last command   none",
    "  parked         no, holds with torque",
    "  task           pick_place: success, 7 of 7 episodes, 1 under way",
    "  trace          ab12",
    "Again (repeats to the bit with --time lockstep): scripts/run run",
  ]);
});

test("a run in lockstep, the end of which names the command that repeats it", () => {
  const report = reportOf({ time: "lockstep" }, { realtimeFactor: 41.26 });
  const lines = formatReport(report, "scripts/run run").split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "Cadence report: so101-servo, pick_place, policy pick_place, lockstep",
    "  rate           200.00 Hz of 200 asked, 7 ticks",
    "  speed          41.3 times real time",
    "  no decision    2 of 7 ticks, held where it might have moved",
  ]);
  expect(lines.at(-1)).toBe("Again, to the bit: scripts/run run");
  const lost = formatReport({ ...report, failure: "the policy thread ended" }, "scripts/run run");
  expect(lost.split("\n").at(-1)).toBe("Again: scripts/run run");
  const steered = formatReport({ ...report, isSteered: true }, "scripts/run run");
  expect(steered.split("\n").at(-1)).toBe("Again, without what you did by hand: scripts/run run");
});

// biome-ignore format: one policy per line
test.each([
  ["sine", ", to the bit", " (repeats to the bit with --time lockstep)"],
  ["./m.onnx", ", to the bit", " (repeats to the bit with --time lockstep)"],
  ["./mine.ts", ", to the bit if the policy decides alike", ""],
  ["grpc://127.0.0.1", ", to the bit if the host decides alike", ""],
])("of a run with the policy %s it says no more than is true", (policy, lockstep, streaming) => {
  const found = (["lockstep", "streaming"] as const).map((time) =>
    formatReport(reportOf({ policy, time }), "holdfast run").split("\n").at(-1),
  );
  expect(found).toEqual([`Again${lockstep}: holdfast run`, `Again${streaming}: holdfast run`]);
});

test.each<[RunValues]>([
  [{ estop: "emulated" }],
  [{ spinTail: duration(1_000) }],
  [{ policy: "hold", task: "none", estop: "/dev/null" }],
])("of a run that lockstep would refuse it does not advise lockstep: %j", (values) => {
  const last = formatReport(reportOf(values), "holdfast run").split("\n").at(-1);
  expect(last).toBe("Again: holdfast run");
  expect(() => runOptions("so101-servo", { ...values, time: "lockstep" })).toThrow("lockstep");
});

test("a run that never moved tells of no decision", () => {
  const report = reportOf({});
  const stats = new RunStats(report.stats.last.length, 12e6);
  expect(jsonReport({ ...report, stats })["decision_us"]).toBeNull();
  expect(formatReport({ ...report, stats }, "holdfast run")).not.toContain("decisions  ");
  expect(jsonReport(report)["decision_us"]).toMatchObject({ max: 2_000 });
});

test("the JSON has completed episodes, the deployment's own name and the whole path", () => {
  const report = reportOf({}, { task: { ...task, isEpisodeUnderWay: true } });
  expect(jsonReport(report)).toMatchObject({
    profile: "so101-servo",
    task: { name: "pick_place", success: true, episodes: 7, successes: 7 },
    supervisor_path: ["STARTING", "RUNNING", "DEGRADED", "RUNNING", "DEGRADED", "SAFE_STOP"],
    fault_ticks: { stale_state: 1, no_action: 3 },
    evidence: { rejected_schema: 1 },
  });
});
