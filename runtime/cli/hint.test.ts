// What a person is told in each situation, whole sentences: the cause of a stop while it lasts and
// after it is over, what goes on from there, and each surface's own words for that.

import { expect, test } from "bun:test";
import { CommandKind } from "../contracts/command.ts";
import { Evidence } from "../contracts/evidence.ts";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import type { ModeChange } from "../record/mode-story.ts";
import { Fault } from "../../safety/faults.ts";
import { changeText, commandWords, hintOf, keyWords, worded } from "./hint.ts";
import type { HintFacts } from "./hint.ts";

const { Starting, Running, Degraded, SafeStop, Recover, FaultLatched } = Mode;
const bit = (fault: Fault): number => 1 << fault;
const refusal = { code: Evidence.RejectedNotFinite, chunkCount: 12 };

const change = (parts: Partial<ModeChange>): ModeChange => ({
  fromMode: Degraded,
  toMode: SafeStop,
  nowNs: 4.02e9,
  reason: Reason.Ok,
  faultBits: 0,
  cueBits: 0,
  refusal: undefined,
  ...parts,
});

const facts: HintFacts = {
  mode: SafeStop,
  reason: Reason.Ok,
  kind: CommandKind.Hold,
  faultBits: 0,
  policy: "sine",
  policyTrouble: "",
  stop: undefined,
  stopS: 3.02,
  refusal: undefined,
  lostThread: "",
  estopArmsFromHere: false,
  waitsForStart: false,
};

const stale = change({ faultBits: bit(Fault.StaleState) });
const latched = { ...stale, fromMode: SafeStop, toMode: FaultLatched };
const starved = change({ faultBits: bit(Fault.NoAction), refusal });
const THREW = "the policy threw: no model (mine.ts:3:9)";
const GO_ON = ": r resets, then s starts";

test.each<[string, Partial<HintFacts>, string]>([
  ["ready", { mode: Starting }, "Ready: s starts"],
  ["waiting", { mode: Starting, reason: Reason.StaleState }, "Waits for the robot's first samples"],
  ["running", { mode: Running }, "Follows sine: space stops, q quits"],
  [
    "holding",
    { mode: Degraded, reason: Reason.NoAction, faultBits: bit(Fault.NoAction), refusal },
    "Holds: no_action: 12 chunks rejected_not_finite; goes on by itself after that",
  ],
  [
    "a policy that throws before its first decision",
    { mode: Starting, reason: Reason.NoAction, policyTrouble: THREW },
    `Waits for the policy's first decision: ${THREW}`,
  ],
  [
    "samples that are missing, and a policy that throws",
    { mode: Starting, reason: Reason.StaleState, policyTrouble: THREW },
    "Waits for the robot's first samples",
  ],
  [
    "a policy that loops in its first act",
    { mode: Starting, reason: Reason.NoAction, faultBits: bit(Fault.PolicyLost) },
    "Waits for the policy's first decision: the policy thread does not answer (policy_lost)",
  ],
  [
    "holding, for a policy that throws",
    {
      mode: Degraded,
      reason: Reason.NoAction,
      faultBits: bit(Fault.NoAction),
      policyTrouble: THREW,
    },
    `Holds: no_action: ${THREW}; goes on by itself after that`,
  ],
  [
    "stopped, for a policy that throws",
    { stop: { ...starved, refusal: undefined }, policyTrouble: THREW },
    `Stopped by no_action at 3.02 s: ${THREW}${GO_ON}`,
  ],
  [
    "stopped, for a policy that loops",
    { stop: { ...starved, refusal: undefined }, faultBits: bit(Fault.PolicyLost) },
    `Stopped by no_action at 3.02 s: the policy thread does not answer (policy_lost)${GO_ON}`,
  ],
  [
    "what was thrown leaves room for the keys",
    { stop: { ...starved, refusal: undefined }, policyTrouble: "x".repeat(300) },
    `Stopped by no_action at 3.02 s: ${"x".repeat(117)}…${GO_ON}`,
  ],
  [
    "stopped by another fault, and a policy that throws",
    { stop: stale, policyTrouble: THREW },
    `Stopped by stale_state at 3.02 s; cleared${GO_ON}`,
  ],
  [
    "degraded but moving",
    { mode: Degraded, faultBits: bit(Fault.ControlLate) },
    "Moves on: control_late; goes on by itself after that",
  ],
  ["reset", { mode: Recover }, "Reset, at rest: s starts"],
  [
    "before an emulated e-stop is armed",
    { mode: Starting, faultBits: bit(Fault.EstopNotArmed), estopArmsFromHere: true },
    "Waits for the e-stop's proof test and reset, then runs: r arms it",
  ],
  [
    "before a service's e-stop is armed: that alone begins nothing",
    {
      mode: Starting,
      faultBits: bit(Fault.EstopNotArmed),
      estopArmsFromHere: true,
      waitsForStart: true,
    },
    "Waits for the e-stop's proof test and reset: r arms it",
  ],
  [
    "before a board is armed: only its own button does",
    { mode: Starting, faultBits: bit(Fault.EstopNotArmed) },
    "Waits for the e-stop's proof test and reset, then runs",
  ],
  [
    "after an emulated e-stop was pressed: the first key stands where it can be read",
    {
      mode: FaultLatched,
      faultBits: bit(Fault.EstopOpen),
      stop: change({ toMode: FaultLatched, faultBits: bit(Fault.EstopStop) }),
      estopArmsFromHere: true,
    },
    "Latched by estop_stop at 3.02 s; the e-stop is open: r arms it, then r resets, then s starts",
  ],
  [
    "after a board was",
    {
      mode: FaultLatched,
      faultBits: bit(Fault.EstopOpen),
      stop: change({ toMode: FaultLatched, faultBits: bit(Fault.EstopOpen) }),
    },
    `Latched by estop_open at 3.02 s; its own reset button arms the e-stop, then${GO_ON}`,
  ],
  ["parking", { kind: CommandKind.Park, stop: stale }, "Parks, then lets go"],
  [
    "released",
    { kind: CommandKind.ZeroTorque, stop: change({ faultBits: bit(Fault.OperatorStop) }) },
    `Stopped by a person at 3.02 s; has let go${GO_ON}`,
  ],
  [
    "a fault that is there",
    { stop: stale, faultBits: bit(Fault.StaleState) },
    `Stopped by stale_state at 3.02 s; still there. Once that is over${GO_ON}`,
  ],
  ["a fault that is over", { stop: stale }, `Stopped by stale_state at 3.02 s; cleared${GO_ON}`],
  [
    "another fault by now",
    { stop: stale, faultBits: bit(Fault.LowQuality) },
    `Stopped by stale_state at 3.02 s; low_quality still there. Once that is over${GO_ON}`,
  ],
  [
    "a policy that was refused, and is still",
    { stop: starved, faultBits: bit(Fault.NoAction) },
    `Stopped by no_action at 3.02 s: 12 chunks rejected_not_finite${GO_ON}`,
  ],
  [
    "a person's stop",
    { stop: change({ faultBits: bit(Fault.OperatorStop) }), faultBits: bit(Fault.OperatorStop) },
    `Stopped by a person at 3.02 s${GO_ON}`,
  ],
  [
    "the end",
    {
      stop: change({
        faultBits: bit(Fault.OperatorStop),
        cueBits: 1 << OperatorCue.Shutdown,
      }),
    },
    "Ending",
  ],
  [
    "a latch",
    { mode: FaultLatched, stop: latched },
    `Latched by stale_state at 3.02 s; cleared${GO_ON}`,
  ],
  [
    "a latch by too many stops",
    { mode: FaultLatched, stop: { ...starved, toMode: FaultLatched, refusal: undefined } },
    `Latched by no_action at 3.02 s, once too often${GO_ON}`,
  ],
  [
    "a latch that only a new run ends",
    { mode: FaultLatched, stop: { ...latched, faultBits: bit(Fault.DriverLost) } },
    "Latched by driver_lost at 3.02 s; only a new run ends that: q ends the run",
  ],
  [
    "a latch by another fault, and a driver lost since",
    { mode: FaultLatched, stop: latched, faultBits: bit(Fault.DriverLost) },
    "Latched by stale_state at 3.02 s; only a new run ends driver_lost: q ends the run",
  ],
  [
    "a busy machine",
    { mode: Degraded, reason: Reason.StaleState, faultBits: bit(Fault.WorldLate) },
    "Holds: world_late: this machine is too busy for its simulated world; " +
      "goes on by itself after that",
  ],
  [
    "a process that stood still",
    { stop: change({ faultBits: bit(Fault.StaleState) | bit(Fault.ControlAway) }) },
    `Stopped by control_away at 3.02 s: the process or its machine stood still; cleared${GO_ON}`,
  ],
  [
    "a machine that slept",
    { stop: change({ faultBits: bit(Fault.Suspended) }) },
    `Stopped by suspended at 3.02 s: the machine slept; cleared${GO_ON}`,
  ],
  [
    "a thread that ended before the first decision",
    { mode: Starting, reason: Reason.NoAction, lostThread: "the policy thread ended: code 3" },
    "Holds: the policy thread ended: code 3: q ends the run",
  ],
  [
    "a thread that ended",
    { stop: starved, lostThread: "the policy thread ended: code 3" },
    "Stopped by no_action at 3.02 s: 12 chunks rejected_not_finite: " +
      "the policy thread ended: code 3: q ends the run",
  ],
])("%s", (_, parts, text) => {
  expect(worded(hintOf({ ...facts, ...parts }), keyWords)).toBe(text);
});

test("without keys commands of this very program are named", () => {
  const words = commandWords("scripts/run", 42);
  expect([
    worded(hintOf({ ...facts, stop: stale }), words),
    worded(hintOf({ ...facts, mode: Running }), words),
  ]).toEqual([
    "Stopped by stale_state at 3.02 s; cleared: scripts/run reset, then scripts/run start",
    "Follows sine: scripts/run stop",
  ]);
});

const start = { cueBits: 1 << OperatorCue.Start };
test.each<[Partial<ModeChange>, string]>([
  [{ fromMode: -1, toMode: Running }, "RUNNING"],
  [{ fromMode: Starting, toMode: Running }, "STARTING → RUNNING: start"],
  [{ fromMode: Recover, toMode: Running, ...start }, "RECOVER → RUNNING: start"],
  [{ fromMode: Degraded, toMode: Running }, "DEGRADED → RUNNING: cleared"],
  [{ fromMode: SafeStop, toMode: Recover, cueBits: 4 }, "SAFE_STOP → RECOVER: reset"],
  [
    { fromMode: Recover, toMode: SafeStop, faultBits: bit(Fault.StaleState) },
    "RECOVER → SAFE_STOP: stale_state: the robot's readings are too old",
  ],
  [{ ...starved }, "DEGRADED → SAFE_STOP: no_action: 12 chunks rejected_not_finite"],
  [{ fromMode: Running, faultBits: bit(Fault.OperatorStop) }, "RUNNING → SAFE_STOP: a person"],
  [
    { fromMode: Running, faultBits: bit(Fault.ControlAway) },
    "RUNNING → SAFE_STOP: control_away: the process or its machine stood still",
  ],
  [
    { faultBits: bit(Fault.NoAction), refusal },
    "DEGRADED → SAFE_STOP: no_action: 12 chunks rejected_not_finite",
  ],
  [
    { faultBits: bit(Fault.NoAction) },
    "DEGRADED → SAFE_STOP: no_action: no decision of the policy applies any more",
  ],
])("a change %j is one line", (parts, text) => {
  expect(changeText(change(parts), 1e9)).toBe(`3.020 s  ${text}`);
});
