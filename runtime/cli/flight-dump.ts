// Writes the flight recorder to disk when a run latches or its control thread dies: one JSON line
// that says what ran, then one per tick, oldest first. A full disk costs the dump, never the run.

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandKindNames } from "../contracts/command.ts";
import { modeNames } from "../contracts/mode.ts";
import { reasonNames } from "../contracts/reason.ts";
import {
  ACTION_SCHEMA_VERSION,
  COMMAND_SCHEMA_VERSION,
  STATE_SCHEMA_VERSION,
  TICK_SCHEMA_VERSION,
} from "../contracts/schema-versions.ts";
import { TickSlot, TickView } from "../contracts/tick-record.ts";
import type { FlightRecorder } from "../core/flight-recorder.ts";
import { stateFolder } from "../workers/state-folder.ts";
import type { Environment } from "./output.ts";
import type { RunOptions } from "./run-options.ts";

/** Where dumps lie. */
export const flightFolder = (env: Environment): string =>
  join(stateFolder(env), "holdfast", "flight");

/** Writes the recorder's ticks and returns the path. Throws what the file system throws. */
export function dumpFlight(
  folder: string,
  options: RunOptions,
  why: string,
  recorder: FlightRecorder,
): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { plan } = options;
  const records = recorder.dump();
  const jointCount = plan.robot.joints.length;
  const lastTick = records[records.length - 1]?.[TickSlot.tick] ?? 0;
  const path = join(folder, `flight-${process.pid}-${lastTick}.jsonl`);
  const head = {
    why,
    profile: options.profile,
    task: plan.task.name,
    policy: plan.policy,
    seed: plan.seed,
    faults: plan.faults,
    bun_version: Bun.version,
    schema_versions: {
      state: STATE_SCHEMA_VERSION,
      action: ACTION_SCHEMA_VERSION,
      command: COMMAND_SCHEMA_VERSION,
      tick: TICK_SCHEMA_VERSION,
    },
    joints: plan.robot.joints.map((joint) => joint.name),
  };
  const lines = [head, ...records.map((record) => tickLine(record, jointCount))];
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  // Under its name a dump is whole: it is written under another one first.
  const unfinished = `${path}.new`;
  try {
    writeFileSync(unfinished, `${text}\n`, { mode: 0o600 });
    renameSync(unfinished, path);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
  return path;
}

function tickLine(record: Float64Array, jointCount: number): Record<string, unknown> {
  const view = new TickView(record, jointCount);
  const named = (names: readonly string[], slot: number): string => names[record[slot]!] ?? "?";
  return {
    tick: record[TickSlot.tick],
    now_ns: record[TickSlot.nowNs],
    reason: named(reasonNames, TickSlot.reason),
    mode: named(modeNames, TickSlot.mode),
    kind: named(commandKindNames, TickSlot.kind),
    epoch: record[TickSlot.epoch],
    seq: record[TickSlot.seq],
    row: record[TickSlot.row],
    repairs: record[TickSlot.repairs],
    faults: record[TickSlot.faults],
    late_ns: record[TickSlot.lateNs],
    missed_ticks: record[TickSlot.missedTicks],
    previous_work_ns: record[TickSlot.previousWorkNs],
    sampled_ns: record[TickSlot.sampledNs],
    arrived_ns: record[TickSlot.arrivedNs],
    asked: [...view.asked],
    command: [...view.command],
    measured_rad: [...view.measured],
  };
}
