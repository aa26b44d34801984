// What the independent e-stop means to the supervisor: not armed yet is waited for, open latches,
// and only a closed one lets a person go on.

import { expect, test } from "bun:test";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { SupervisorRig } from "./supervisor-rig.ts";

test("an e-stop not yet armed is waited for without a limit, and a start is remembered", () => {
  const rig = new SupervisorRig({ startTimeoutNs: milliseconds(1_000) }).cue(OperatorCue.Start);
  for (let tick = 0; tick < 1_000; tick += 1) rig.raise(Fault.EstopNotArmed).step();
  expect(rig.path).toBe("STARTING");
  expect(rig.supervisor.powerless).toBe(true);
  rig.step();
  expect(rig.mode).toBe("RUNNING");
  expect(rig.supervisor.powerless).toBe(false);
  // What is missing beside it still has its time.
  const blind = new SupervisorRig({ startTimeoutNs: milliseconds(1_000) });
  for (let tick = 0; tick < 250; tick += 1) {
    blind.raise(Fault.EstopNotArmed).step(Reason.StaleState);
  }
  expect(blind.mode).toBe("SAFE_STOP");
});

test("an open e-stop latches from every mode; reset counts only once it is closed again", () => {
  const rig = new SupervisorRig().running().raise(Fault.EstopOpen).step();
  expect(rig.path).toBe("STARTING RUNNING FAULT_LATCHED");
  expect(rig.supervisor.latchedBy).toBe(Fault.EstopOpen);
  expect(rig.supervisor.epochRaised).toBe(true);
  rig.raise(Fault.EstopOpen).cue(OperatorCue.Reset).step();
  expect(rig.mode).toBe("FAULT_LATCHED");
  rig.step().cue(OperatorCue.Reset).step();
  expect(rig.mode).toBe("RECOVER");
  rig.cue(OperatorCue.Start).step();
  expect(rig.mode).toBe("RUNNING");
  expect(new SupervisorRig().raise(Fault.EstopOpen).step().path).toBe("STARTING FAULT_LATCHED");
});
