// What the status of a run says of an e-stop follows from what the run was asked for, whatever the
// e-stop says of itself in words.

import { expect, test } from "bun:test";
import { Mode } from "../contracts/mode.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { RunStats } from "../record/run-stats.ts";
import { Fault } from "../../safety/faults.ts";
import { exampleReport } from "./fixture.ts";
import type { ActName } from "./hint.ts";
import { runOptions } from "./run-command.ts";
import type { EstopChoice } from "./run-options.ts";
import { statusOf } from "./run-status.ts";

const choices: readonly (readonly [EstopChoice, ActName[]])[] = [
  [{ kind: "emulated", autoReset: false }, ["arm"]],
  [{ kind: "board", path: "/dev/x" }, []],
];

test.each(choices)("%j that is not armed is armed by %j", (estop, acts) => {
  const options = { ...runOptions("so101", {}), estop };
  const { task, policy, hostTimes, warnings } = exampleReport(options, Mode.Starting);
  const record = new Float64Array(tickSlotCount(options.plan.robot.joints.length));
  record[TickSlot.mode] = Mode.Starting;
  record[TickSlot.faults] = 1 << Fault.EstopNotArmed;
  const stats = new RunStats(record.length, options.plan.robot.supervisor.lateNsMax);
  stats.write(record);
  const known = { stats, task, policy, hostTimes, warnings };
  const facts = { ...known, policyTrouble: "", lostThread: "" };
  for (const text of ["emulated: WAIT_RESET", "board: WAIT_RESET"]) {
    expect(statusOf(options, { ...facts, estop: text }).acts).toEqual(acts);
  }
});
