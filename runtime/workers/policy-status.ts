// How a policy thread's policy goes, as numbers in a cell: written by the thread, read by main, in
// streaming and in lockstep alike.

import { HOST_TIMES_SLOT_COUNT } from "../contracts/host-times.ts";
import { REASON_COUNT } from "../contracts/reason.ts";
import type { PolicyRunner } from "../policy/runner.ts";
import { PolicyStatusSlot } from "./plan.ts";

type Told = Pick<PolicyRunner, "safeTicks" | "safeEpisodes" | "hostTimes">;

/** Writes every slot of the record. */
export function policyStatusInto(record: Float64Array, runner: Told): void {
  const { hostTimes } = runner;
  for (let reason = 0; reason < REASON_COUNT; reason += 1) {
    record[PolicyStatusSlot.safeTicks + reason] = runner.safeTicks[reason]!;
    record[PolicyStatusSlot.safeEpisodes + reason] = runner.safeEpisodes[reason]!;
  }
  for (let slot = 0; slot < HOST_TIMES_SLOT_COUNT; slot += 1) {
    record[PolicyStatusSlot.hostTimes + slot] = hostTimes?.[slot] ?? 0;
  }
}

/** Copies of its parts. */
export function policyStatusOf(record: Float64Array) {
  const { safeTicks, safeEpisodes, hostTimes } = PolicyStatusSlot;
  return {
    safeTicks: record.slice(safeTicks, safeTicks + REASON_COUNT),
    safeEpisodes: record.slice(safeEpisodes, safeEpisodes + REASON_COUNT),
    hostTimes: record.slice(hostTimes, hostTimes + HOST_TIMES_SLOT_COUNT),
  };
}
