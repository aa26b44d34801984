// The cadence report: how a run went, from its tick records. `holdfast run` prints it as text, or
// with --json as one line of fixed keys.

import { commandKindNames, repairNames } from "../contracts/command.ts";
import { evidenceNames } from "../contracts/evidence.ts";
import { Mode, modeNames } from "../contracts/mode.ts";
import { REASON_COUNT, reasonNames } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { RunStats } from "../record/run-stats.ts";
import type { RunOptions } from "./run-options.ts";

export type TaskOutcome = {
  readonly name: string;
  readonly success: boolean;
  readonly episodeCount: number;
  readonly successCount: number;
};

export type RunReport = {
  readonly options: RunOptions;
  readonly stats: RunStats;
  /** Policy side, per reason. */
  readonly policySafeTicks: Float64Array;
  readonly policySafeEpisodes: Float64Array;
  /** Entries per evidence code. */
  readonly evidenceCounts: Float64Array;
  readonly task: TaskOutcome;
  /** SHA-256 over every tick; undefined when a record was lost on its way. */
  readonly traceHash: string | undefined;
  /** Session seconds per wall second. */
  readonly realtimeFactor: number;
  readonly warnings: readonly string[];
  /** Why the run could not go on as asked; undefined when it could. */
  readonly failure: string | undefined;
  /** The command that goes on from here. */
  readonly next: string;
};

type Micros = { readonly p50: number; readonly p99: number; readonly max: number };

/** The keys of `--json`, in their order. */
export function jsonReport(report: RunReport): Record<string, unknown> {
  const { stats, options } = report;
  return {
    profile: options.plan.robot.name,
    policy: options.plan.policy,
    time: options.time,
    seed: options.plan.seed,
    rate_asked_hz: options.plan.robot.controlHz,
    rate_achieved_hz: rounded(stats.rateHz, 1e-3),
    ticks: stats.tickCount + stats.lostCount,
    late_ticks: stats.lateCount,
    missed_ticks: stats.missedCount,
    wake_us: micros(stats.wake),
    work_us: micros(stats.work),
    sample_age_us: micros(stats.sampleAge),
    coverage_gap_ticks: stats.coverageGapCount,
    safe_entries: byReason(stats.safeTicks, report.policySafeTicks),
    safe_episodes: byReason(stats.safeEpisodes, report.policySafeEpisodes),
    safe_entries_control: byReason(stats.safeTicks),
    safe_entries_policy: byReason(report.policySafeTicks),
    repairs: named(repairNames, stats.repairTicks),
    evidence: named(evidenceNames, report.evidenceCounts),
    supervisor_path: stats.path.map((mode) => modeNames[mode]),
    task: {
      name: report.task.name,
      success: report.task.success,
      episodes: report.task.episodeCount,
      successes: report.task.successCount,
    },
    realtime_factor: rounded(report.realtimeFactor, 1e-2),
    trace_hash: report.traceHash ?? null,
    lost_records: stats.lostCount,
    warnings: report.warnings,
    failure: report.failure ?? null,
  };
}

/** 0 when the run ended as asked, 1 when it ended in a latched fault or lost a thread. */
export function exitCode(report: RunReport): 0 | 1 {
  if (report.failure !== undefined) return 1;
  return report.stats.last[TickSlot.mode] === Mode.FaultLatched ? 1 : 0;
}

/** The report for a person, several lines. */
export function formatReport(report: RunReport): string {
  const { stats, options, task } = report;
  const { robot } = options.plan;
  const wake = micros(stats.wake);
  const work = micros(stats.work);
  const age = micros(stats.sampleAge);
  const ticks = stats.tickCount + stats.lostCount;
  const lines = [
    `Cadence report: ${robot.name}, ${task.name}, policy ${options.plan.policy}, ${options.time}`,
    `  rate           ${stats.rateHz.toFixed(2)} Hz of ${robot.controlHz} asked, ${ticks} ticks`,
    `  late, missed   ${stats.lateCount} late (over ${robot.supervisor.lateNsMax / 1e6} ms), ` +
      `${stats.missedCount} beats missed`,
  ];
  if (options.time === "streaming") {
    lines.push(
      `  wake-up        p50 ${wake.p50} µs, p99 ${wake.p99} µs, max ${wake.max} µs`,
      `  tick work      p50 ${work.p50} µs, p99 ${work.p99} µs, max ${work.max} µs`,
      `  sample age     p50 ${age.p50} µs, p99 ${age.p99} µs, max ${age.max} µs`,
    );
  } else {
    lines.push(`  speed          ${report.realtimeFactor.toFixed(1)} times real time`);
  }
  lines.push(
    `  coverage gaps  ${stats.coverageGapCount} ticks without a decision while motion was allowed`,
    `  safe ticks     ${list(byReason(stats.safeTicks, report.policySafeTicks))}`,
    `  repairs        ${list(named(repairNames, stats.repairTicks))}`,
    `  chunks         ${list(named(evidenceNames, report.evidenceCounts))}`,
    `  supervisor     ${stats.path.map((mode) => modeNames[mode]).join(" → ")}`,
    `  last command   ${commandKindNames[stats.last[TickSlot.kind] ?? 0]}`,
    `  task           ${task.name}: ${outcome(task)}`,
  );
  if (report.traceHash !== undefined) lines.push(`  trace          ${report.traceHash}`);
  if (stats.lostCount > 0) lines.push(`  lost records   ${stats.lostCount} (main was too slow)`);
  for (const warning of report.warnings) lines.push(`  warning        ${warning}`);
  if (report.failure !== undefined) lines.push(`  failure        ${report.failure}`);
  lines.push(report.next);
  return lines.join("\n");
}

function outcome(task: TaskOutcome): string {
  if (task.name === "none") return "nothing to judge";
  const rounds = `${task.successCount} of ${task.episodeCount} episodes`;
  return task.success ? `success, ${rounds}` : `not achieved, ${rounds}`;
}

function micros(histogram: RunStats["wake"]): Micros {
  const us = (ns: number): number => Math.round(ns / 1_000);
  return {
    p50: us(histogram.quantileNs(0.5)),
    p99: us(histogram.quantileNs(0.99)),
    max: us(histogram.maxNs),
  };
}

function byReason(...sides: readonly Float64Array[]): Record<string, number> {
  const sum = new Float64Array(REASON_COUNT);
  for (const side of sides) for (const [code, count] of side.entries()) sum[code]! += count;
  return named(reasonNames, sum);
}

/** Only what happened: entries of zero are left out. */
function named(names: readonly string[], counts: Float64Array): Record<string, number> {
  const result: Record<string, number> = {};
  for (const [code, name] of names.entries()) {
    const count = counts[code] ?? 0;
    if (count > 0) result[name] = count;
  }
  return result;
}

function list(counts: Record<string, number>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

function rounded(value: number, step: number): number {
  return Math.round(value / step) / Math.round(1 / step);
}
