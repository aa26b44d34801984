// What `holdfast gate dry-run` tells: a table with bars for a person, or one object of fixed keys.
// It only words what a tally has counted.

import { repairNames } from "../contracts/command.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { reasonNames } from "../contracts/reason.ts";
import { EARNEST_RAD } from "../record/gate-tally.ts";
import type { GateTally } from "../record/gate-tally.ts";
import { faultNames } from "../../safety/faults.ts";
import { printable } from "./output.ts";

const BAR_WIDTH = 24;
const S_PER_HOUR = 3_600;
/** Nothing seen in a time: with 95 % confidence it happens less than three times in as long. */
const RULE_OF_THREE = 3;

/** Runs that achieved their task: on them every refusal and fault is a false alarm. */
export type GoodRuns = { readonly runCount: number; readonly tally: GateTally };

export type GateReport = {
  /** One line: what was judged. */
  readonly title: string;
  readonly robot: RobotProfile;
  readonly tally: GateTally;
  readonly runCount: number;
  /** Chunks that the action buffer refused before the gate saw them. */
  readonly refusedChunkCount: number;
  /** Undefined where nothing says what a good run is. */
  readonly good: GoodRuns | undefined;
};

export function gateJson(report: GateReport): Record<string, unknown> {
  const { good, robot, tally } = report;
  return {
    judged: report.title,
    runs: report.runCount,
    ticks: tally.tickCount,
    decided_ticks: tally.decidedCount,
    changed_ticks: tally.changedCount,
    changed_in_earnest_ticks: tally.earnestCount,
    earnest_rad: EARNEST_RAD,
    repairs: named(repairNames, tally.repairTicks),
    refusals: named(reasonNames, tally.refusals),
    refused_chunks: report.refusedChunkCount,
    faults: named(faultNames, tally.faults),
    stops: tally.stopCount,
    joints: robot.joints.map((joint, index) => ({
      name: joint.name,
      ...figuresOf(tally, index, joint.velocityRadPerSMax),
    })),
    good_runs: good === undefined ? null : { runs: good.runCount, ...alarmsOf(good.tally, robot) },
  };
}

function figuresOf(tally: GateTally, joint: number, velocityRadPerSMax: number) {
  const p99 = tally.correctionRad(joint, 0.99);
  const max = tally.correctionRad(joint, 1);
  return {
    correction_rad_p50: tally.correctionRad(joint, 0.5),
    correction_rad_p99: p99,
    correction_rad_max: max,
    lag_s_p99: p99 / velocityRadPerSMax,
    lag_s_max: max / velocityRadPerSMax,
  };
}

/** Rates over the time in which the robot was under judgement. */
function alarmsOf(tally: GateTally, robot: RobotProfile) {
  const hours = tally.tickCount / robot.controlHz / S_PER_HOUR;
  const perHour = (count: number): number => (hours === 0 ? 0 : count / hours);
  return {
    hours,
    none_seen_means_per_hour_below: hours === 0 ? null : RULE_OF_THREE / hours,
    refusals_per_hour: perHour(tally.refusalCount),
    faults_per_hour: perHour(tally.gateFaultCount),
    stops_per_hour: perHour(tally.stopCount),
    changed_in_earnest_ratio:
      tally.decidedCount === 0 ? 0 : tally.earnestCount / tally.decidedCount,
  };
}

export function formatGateReport(report: GateReport): string {
  const { robot, tally } = report;
  const of = (count: number) => `${count} (${percent(count, tally.decidedCount)})`;
  const milli = EARNEST_RAD * 1e3;
  return [
    `Gate dry run: ${printable(report.title)}`,
    `  decided      ${tally.decidedCount} of ${tally.tickCount} ticks followed a decision`,
    `  changed      ${of(tally.changedCount)} at all, ` +
      `${of(tally.earnestCount)} by over ${milli} mrad`,
    ...barLines(named(repairNames, tally.repairTicks), tally.decidedCount),
    `  refused      ${list(named(reasonNames, tally.refusals))}; chunks before the gate: ` +
      `${report.refusedChunkCount}`,
    `  faults       ${list(named(faultNames, tally.faults))}; stops: ${tally.stopCount}`,
    `  correction   ${"joint".padEnd(20)}${columns(["p50", "p99", "max"])} mrad` +
      `${columns(["p99", "max"])} ms behind at top speed`,
    ...robot.joints.map((joint, index) => {
      const { name, velocityRadPerSMax } = joint;
      const figures = figuresOf(tally, index, velocityRadPerSMax);
      const mrad = [
        figures.correction_rad_p50,
        figures.correction_rad_p99,
        figures.correction_rad_max,
      ];
      const ms = [figures.lag_s_p99, figures.lag_s_max];
      return `               ${name.padEnd(20)}${columns(mrad.map(thousandths))}     ${columns(
        ms.map(thousandths),
      )}`;
    }),
    goodLine(report),
  ].join("\n");
}

function goodLine({ good, robot, runCount }: GateReport): string {
  if (good === undefined) return "  good runs    not known: no task judges them";
  if (good.runCount === 0) return `  good runs    0 of ${runCount}: no figure of false alarms`;
  const alarms = alarmsOf(good.tally, robot);
  return [
    `  good runs    ${good.runCount} of ${runCount}, ${alarms.hours.toFixed(3)} h; ` +
      "false alarms on them:",
    `               ${alarms.refusals_per_hour.toFixed(1)} refusals/h, ` +
      `${alarms.faults_per_hour.toFixed(1)} faults of the gate/h, ` +
      `${alarms.stops_per_hour.toFixed(1)} stops/h, ` +
      `${percent(good.tally.earnestCount, good.tally.decidedCount)} of ticks changed in earnest`,
    `               none in so short a time means below ` +
      `${(RULE_OF_THREE / alarms.hours).toFixed(0)}/h (95 %)`,
  ].join("\n");
}

function barLines(counts: Record<string, number>, whole: number): string[] {
  return Object.entries(counts).map(([name, count]) => {
    const bar = "█".repeat(Math.max(1, Math.round((BAR_WIDTH * count) / Math.max(1, whole))));
    return `    ${name.padEnd(13)}${bar} ${count}`;
  });
}

function named(names: readonly string[], counts: Float64Array): Record<string, number> {
  const pairs = names.map((name, code): [string, number] => [name, counts[code] ?? 0]);
  return Object.fromEntries(pairs.filter(([, count]) => count > 0));
}

function list(counts: Record<string, number>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

const columns = (cells: readonly string[]): string =>
  cells.map((cell) => cell.padStart(9)).join("");
const thousandths = (value: number): string => (value * 1e3).toFixed(2);
const percent = (count: number, whole: number): string =>
  `${((100 * count) / Math.max(1, whole)).toFixed(2)} %`;
