// What the status of a run says of an e-stop follows from whether its reset can be pressed here,
// whatever the e-stop says of itself in words.

import { expect, test } from "bun:test";
import { Mode } from "../contracts/mode.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { RunStats } from "../record/run-stats.ts";
import { Fault } from "../../safety/faults.ts";
import { exampleReport } from "./fixture.ts";
import { runOptions } from "./run-command.ts";
import type { RunOptions } from "./run-options.ts";
import { statusOf } from "./run-status.ts";

/** A run that waits for its e-stop. */
function waiting(options: RunOptions) {
  const { task, policy, hostTimes, warnings } = exampleReport(options, Mode.Starting);
  const record = new Float64Array(tickSlotCount(options.plan.robot.joints.length));
  record[TickSlot.mode] = Mode.Starting;
  record[TickSlot.faults] = 1 << Fault.EstopNotArmed;
  const stats = new RunStats(record.length, options.plan.robot.supervisor.lateNsMax);
  stats.write(record);
  const silent = { policyTrouble: "", lostThread: "", cutTime: "" };
  return { stats, task, policy, hostTimes, warnings, ...silent };
}

test("that it begins once it is armed is said of a run that was typed, not of a service", () => {
  const hints = [{}, { waitForStart: true }].map((values) => {
    const options = runOptions("so101", values);
    const estop = { estop: "emulated: PROOF", estopArmsFromHere: true };
    return statusOf(options, { ...waiting(options), ...estop }).hint;
  });
  const waits = "Waits for the e-stop's proof test and reset";
  expect(hints).toEqual([`${waits}, then runs`, waits]);
});

test.each([true, false])("one that is not armed: that it arms from here is %p", (isHere) => {
  const options = runOptions("so101", {});
  const known = waiting(options);
  for (const estop of ["emulated: WAIT_RESET", "board: WAIT_RESET"]) {
    const facts = { ...known, estop, estopArmsFromHere: isHere };
    expect(statusOf(options, facts).acts).toEqual(isHere ? ["arm"] : []);
  }
});
