// The status of a run, told from its statistics and newest tick record, with one line that says
// what a person should know and which key or command goes on.

import { Mode, modeNames } from "../contracts/mode.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { RunStats } from "../record/run-stats.ts";
import { Fault, faultNames } from "../../safety/faults.ts";
import type { TaskOutcome } from "./report.ts";
import type { RunStatus } from "./run-handle.ts";
import type { RunOptions } from "./run-options.ts";

export function statusOf(
  options: RunOptions,
  stats: RunStats,
  task: TaskOutcome,
  warnings: readonly string[],
): RunStatus {
  const { robot, policy } = options.plan;
  const { last } = stats;
  const jointCount = robot.joints.length;
  const mode = last[TickSlot.mode] ?? Mode.Starting;
  const reason = last[TickSlot.reason] ?? Reason.Ok;
  const faults = namesOf(last[TickSlot.faults] ?? 0);
  const us = (ns: number): number => Math.round(ns / 1_000);
  const column = (index: number): number[] => {
    const from = TickSlot.joints + index * jointCount;
    return [...last.subarray(from, from + jointCount)];
  };
  return {
    profile: robot.name,
    task: task.name,
    policy,
    timeModel: options.time,
    mode: modeNames[mode] ?? "STARTING",
    reason: reasonNames[reason] ?? "ok",
    tick: last[TickSlot.tick] ?? 0,
    epoch: last[TickSlot.epoch] ?? 0,
    sessionS: (stats.lastNs - stats.firstNs) / 1e9,
    rateAskedHz: robot.controlHz,
    rateHz: stats.rateHz,
    lateTicks: stats.lateCount,
    missedTicks: stats.missedCount,
    wakeUsP50: us(stats.wake.quantileNs(0.5)),
    wakeUsP99: us(stats.wake.quantileNs(0.99)),
    workUsP99: us(stats.work.quantileNs(0.99)),
    sampleAgeMsP50: stats.sampleAge.quantileNs(0.5) / 1e6,
    faults,
    jointNames: robot.joints.map((joint) => joint.name),
    measuredRad: column(2),
    commandRad: column(1),
    hint:
      stats.tickCount === 0 ? "Starting: waiting for the first tick" : hintOf(mode, reason, faults),
    warnings,
    taskSuccess: task.success,
    episodeCount: task.episodeCount,
    successCount: task.successCount,
  };
}

/** What a person should know and do now. */
export function hintOf(mode: number, reason: number, faults: readonly string[]): string {
  // A person's own stop is no cause to wait for: the reset ends it.
  const causes = faults.filter((fault) => fault !== faultNames[Fault.OperatorStop]);
  const why = faults.length > 0 ? faults.join(", ") : (reasonNames[reason] ?? "ok");
  switch (mode) {
    case Mode.Starting:
      return reason === Reason.Ok
        ? "Ready: press s or type holdfast start"
        : `Starting: waiting for ${missing[reason] ?? why}`;
    case Mode.Running:
      return "Space stops, q ends the run";
    case Mode.Degraded:
      return `Holding: ${why}. Goes on by itself when that clears`;
    case Mode.SafeStop:
      return causes.length > 0
        ? `Stopped: ${causes.join(", ")}. Once that is over, press r to reset`
        : "Stopped: press r to reset, then s to start";
    case Mode.Recover:
      return "Reset: press s to start, or space to stop";
    default:
      return `Latched by ${why}: find the cause, then press r to reset`;
  }
}

/** What STARTING waits for, by the reason that is still missing. */
const missing: Readonly<Record<number, string>> = {
  [Reason.StaleState]: "the robot's first samples",
  [Reason.StampInFuture]: "samples with a stamp that is not in the future",
  [Reason.LowQuality]: "enough samples",
  [Reason.NoAction]: "the policy's first decision",
};

function namesOf(bits: number): string[] {
  return faultNames.filter((_, fault) => ((bits >>> fault) & 1) === 1);
}
