// The status of a run, told from its statistics and newest tick record, with the hint that says
// what a person should know. Looks only: nothing here changes a run.

import { Mode, modeNames } from "../contracts/mode.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import type { RunStats } from "../record/run-stats.ts";
import { causeWords, hintOf, namesOf } from "./hint.ts";
import type { Hint } from "./hint.ts";
import { hostTimesText } from "./host-times.ts";
import type { TaskOutcome } from "./report.ts";
import type { RunStatus } from "./run-handle.ts";
import type { RunOptions } from "./run-options.ts";

/** What a status is told from, beside the options. */
export type StatusFacts = {
  readonly stats: RunStats;
  readonly task: TaskOutcome;
  readonly policy: string;
  readonly policyTrouble: string;
  /** What a policy host says of its time. */
  readonly hostTimes: Float64Array;
  readonly lostThread: string;
  readonly warnings: readonly string[];
  /** In words. */
  readonly estop: string;
  readonly estopArmsFromHere: boolean;
  readonly cutTime: string;
};

export function statusOf(options: RunOptions, facts: StatusFacts): RunStatus {
  const { robot } = options.plan;
  const { stats, task } = facts;
  const { last } = stats;
  const { stop } = stats.story;
  const us = (ns: number): number => Math.round(ns / 1_000);
  const hint = hintFrom(options.waitsForStart, facts);
  const cause = stop === undefined ? { name: "", detail: "" } : causeWords(stop);
  return {
    profile: options.profile,
    task: task.name,
    policy: facts.policy,
    policyHost: hostTimesText(facts.hostTimes),
    timeModel: options.time,
    mode: modeNames[last[TickSlot.mode] ?? Mode.Starting] ?? "STARTING",
    reason: reasonNames[last[TickSlot.reason] ?? Reason.Ok] ?? "ok",
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
    faults: namesOf(last[TickSlot.faults] ?? 0),
    jointNames: robot.joints.map((joint) => joint.name),
    measuredRad: column(last, 2, robot.joints.length),
    commandRad: column(last, 1, robot.joints.length),
    cause: cause.name + cause.detail,
    causeS: stopS(stats),
    hint: hint.text,
    acts: hint.acts,
    warnings: facts.warnings,
    estop: facts.estop,
    cutTime: facts.cutTime,
    taskSuccess: task.success,
    episodeCount: task.episodeCount,
    isEpisodeUnderWay: task.isEpisodeUnderWay,
    successCount: task.successCount,
  };
}

/** Joint values of a tick record: 0 asked, 1 commanded, 2 measured. */
function column(record: Float64Array, index: number, jointCount: number): number[] {
  const from = TickSlot.joints + index * jointCount;
  return [...record.subarray(from, from + jointCount)];
}

function hintFrom(waitsForStart: boolean, facts: StatusFacts): Hint {
  const { stats, policy, policyTrouble, lostThread, estopArmsFromHere } = facts;
  if (stats.tickCount === 0) return { text: lostThread || "Waits for the first tick", acts: [] };
  const { last } = stats;
  return hintOf({
    mode: last[TickSlot.mode]!,
    reason: last[TickSlot.reason]!,
    kind: last[TickSlot.kind]!,
    faultBits: last[TickSlot.faults]!,
    policy,
    policyTrouble,
    stop: stats.story.stop,
    stopS: stopS(stats),
    refusal: stats.chunks.refusal,
    lostThread,
    estopArmsFromHere,
    waitsForStart,
  });
}

function stopS({ story, firstNs }: RunStats): number {
  return story.stop === undefined ? Number.NaN : (story.stop.nowNs - firstNs) / 1e9;
}
