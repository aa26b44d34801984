// The cadence report: how a run went, from its tick records. `holdfast run` prints it as text, or
// with --json as one line of fixed keys.

import { commandKindNames, repairNames } from "../contracts/command.ts";
import { evidenceNames } from "../contracts/evidence.ts";
import { Mode, modeNames } from "../contracts/mode.ts";
import { REASON_COUNT, reasonNames } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { ModePhase } from "../record/mode-story.ts";
import type { RunStats } from "../record/run-stats.ts";
import { faultNames } from "../../safety/faults.ts";
import { againLabel } from "./again.ts";
import { causeWords } from "./hint.ts";
import { hostTimesJson, hostTimesText } from "./host-times.ts";
import { printable } from "./output.ts";
import { isParked, parkedText } from "./parked.ts";
import type { RunOptions } from "./run-options.ts";

/** Phases of the supervisor's path that a person is shown; the JSON has more. */
const PHASE_COUNT_MAX = 8;
/** A longer path has a line for each phase. */
const PATH_COLUMN_COUNT_MAX = 80;

const SMOOTHED = repairNames.indexOf("smoothed");

export type TaskOutcome = {
  readonly name: string;
  readonly success: boolean;
  /** Episodes that are over. */
  readonly episodeCount: number;
  readonly isEpisodeUnderWay: boolean;
  readonly successCount: number;
};

export type RunReport = {
  readonly options: RunOptions;
  readonly stats: RunStats;
  /** By its own name once that was known. */
  readonly policy: string;
  /** What a policy host says of its time. */
  readonly hostTimes: Float64Array;
  /** Policy side, per reason. */
  readonly policySafeTicks: Float64Array;
  readonly policySafeEpisodes: Float64Array;
  readonly task: TaskOutcome;
  /** SHA-256 over every tick; undefined when a record was lost on its way. */
  readonly traceHash: string | undefined;
  /** Session seconds per wall second. */
  readonly realtimeFactor: number;
  readonly warnings: readonly string[];
  /** Why the run could not go on as asked; undefined when it could. */
  readonly failure: string | undefined;
  /** A person stopped, reset or started it. */
  readonly isSteered: boolean;
};

type Micros = { readonly p50: number; readonly p99: number; readonly max: number };

/** The keys of `--json`, in their order. */
export function jsonReport(report: RunReport): Record<string, unknown> {
  const { stats, options } = report;
  return {
    profile: options.profile,
    policy: report.policy,
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
    decision_us: stats.decision.count === 0 ? null : micros(stats.decision),
    policy_host: hostTimesJson(report.hostTimes),
    coverage_gap_ticks: stats.coverageGapCount,
    safe_entries: byReason(stats.safeTicks, report.policySafeTicks),
    safe_episodes: byReason(stats.safeEpisodes, report.policySafeEpisodes),
    safe_entries_control: byReason(stats.safeTicks),
    safe_entries_policy: byReason(report.policySafeTicks),
    fault_ticks: named(faultNames, stats.faultTicks),
    repairs: named(repairNames, stats.repairTicks),
    evidence: named(evidenceNames, stats.chunks.counts),
    supervisor_path: stats.path.map((mode) => modeNames[mode]),
    parked: isParked(options.plan.robot, stats.release) ?? null,
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

/** The report for a person, several lines; `again` is the command that repeats the run. */
export function formatReport(report: RunReport, again: string): string {
  const { stats, options, task } = report;
  const ticks = stats.tickCount + stats.lostCount;
  const rateAskedHz = options.plan.robot.controlHz;
  const lines = [
    `Cadence report: ${printable(options.profile)}, ${printable(task.name)}, ` +
      `policy ${printable(report.policy)}, ${options.time}`,
    `  rate           ${stats.rateHz.toFixed(2)} Hz of ${rateAskedHz} asked, ${ticks} ticks`,
    ...(options.time === "streaming" ? timingLines(report) : []),
    ...(options.time === "lockstep"
      ? [`  speed          ${report.realtimeFactor.toFixed(1)} times real time`]
      : []),
    ...hostLines(report),
    `  no decision    ${stats.coverageGapCount} of ${ticks} ticks, held where it might have moved`,
    `  safe ticks     held instead of moving: ${list(byReason(stats.safeTicks))}`,
    `  not decided    looks of the policy: ${list(byReason(report.policySafeTicks))}`,
    `  limited        commands changed by a limit: ${list(limited(stats.repairTicks))}`,
    `  smoothed       corners of the target rounded, in ${stats.repairTicks[SMOOTHED] ?? 0} ticks`,
    `  chunks         ${list(named(evidenceNames, stats.chunks.counts))}`,
    `  supervisor     ${pathText(stats)}`,
    `  last command   ${commandKindNames[stats.last[TickSlot.kind] ?? 0]}`,
    ...parkedLines(report),
    `  task           ` +
      (task.name === "none" ? "none" : `${printable(task.name)}: ${outcome(task)}`),
  ];
  if (report.traceHash !== undefined) lines.push(`  trace          ${report.traceHash}`);
  if (stats.lostCount > 0) lines.push(`  lost records   ${stats.lostCount} (main was too slow)`);
  for (const warning of report.warnings) lines.push(`  warning        ${printable(warning)}`);
  if (report.failure !== undefined) lines.push(`  failure        ${printable(report.failure)}`);
  lines.push(`${againLabel(report)}: ${again}`);
  return lines.join("\n");
}

function hostLines({ hostTimes }: RunReport): string[] {
  const text = hostTimesText(hostTimes);
  return text === "" ? [] : [`  policy host    ${text}`];
}

function parkedLines({ stats, options }: RunReport): string[] {
  const { robot } = options.plan;
  if (robot.parkNs === undefined) return [];
  return [`  parked         ${parkedText(robot, stats.release, stats.firstNs)}`];
}

function timingLines({ stats, options }: RunReport): string[] {
  const ticks = stats.tickCount + stats.lostCount;
  const beats = ticks + stats.missedCount;
  const lateMs = options.plan.robot.supervisor.lateNsMax / 1e6;
  const spread = (histogram: RunStats["wake"]) => {
    const { p50, p99, max } = micros(histogram);
    return `p50 ${p50} µs, p99 ${p99} µs, max ${max} µs`;
  };
  const decisions = `${spread(stats.decision)} from readings to motion, less the policy's time`;
  return [
    `  late           ${stats.lateCount} of ${ticks} ticks, over ${lateMs} ms after their time`,
    `  missed         ${stats.missedCount} of ${beats} beats, as the tick before was not over`,
    `  wake-up        ${spread(stats.wake)} after its time`,
    `  tick work      ${spread(stats.work)}`,
    `  sample age     ${spread(stats.sampleAge)} when its tick began`,
    ...(stats.decision.count === 0 ? [] : [`  decisions      ${decisions}`]),
  ];
}

/** Where the supervisor went: RUNNING with its dips is one phase, a stop has its cause. */
function pathText({ story, firstNs }: RunStats): string {
  const shown = story.phases.slice(-PHASE_COUNT_MAX);
  const phases = shown.map((phase) => phaseText(phase, firstNs));
  if (shown.length < story.phases.length) phases.unshift("…");
  const line = phases.join(" → ");
  return line.length <= PATH_COLUMN_COUNT_MAX ? line : phases.join(`\n${" ".repeat(15)}→ `);
}

function phaseText({ change, dips }: ModePhase, firstNs: number): string {
  const { toMode, nowNs } = change;
  if (toMode === Mode.SafeStop || toMode === Mode.FaultLatched) {
    const { name, detail } = causeWords(change);
    return `${modeNames[toMode]} by ${name} at ${((nowNs - firstNs) / 1e9).toFixed(2)} s${detail}`;
  }
  if (dips.size === 0) return modeNames[toMode] ?? "";
  const counts = [...dips].map(
    ([fault, count]) =>
      `${count} ${count === 1 ? "time" : "times"} DEGRADED by ${faultNames[fault]}`,
  );
  return `RUNNING (${counts.join(", ")})`;
}

/** Episodes that are over, and whether another has begun. */
export function episodesText(
  task: Pick<TaskOutcome, "episodeCount" | "successCount" | "isEpisodeUnderWay">,
): string {
  const over = `${task.successCount} of ${task.episodeCount} episodes`;
  return task.isEpisodeUnderWay ? `${over}, 1 under way` : over;
}

function outcome(task: TaskOutcome): string {
  const { successCount, episodeCount } = task;
  const some = successCount === episodeCount ? "success" : "partly achieved";
  return `${successCount === 0 ? "not achieved" : some}, ${episodesText(task)}`;
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

/** A rounded corner is no limit at work: it has a line of its own. */
function limited(ticks: Float64Array): Record<string, number> {
  const { smoothed: _, ...counts } = named(repairNames, ticks);
  return counts;
}

function list(counts: Record<string, number>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

function rounded(value: number, step: number): number {
  return Math.round(value / step) / Math.round(1 / step);
}
