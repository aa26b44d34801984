// The loss table of everything that reaches the control core, as data: what goes wrong, how it is
// provoked, and what must follow. `losses.test.ts` runs each row at 50 phases and holds it to
// every figure here; `loss-table.ts` draws the same rows into `safety/README.md`.
//
// Times are of the profile `so101`: ticks of 5 ms, proprioception valid for 15 ms, decisions of
// 320 ms every 50 ms, persistences of 200 and 500 ms.

import type { evidenceNames } from "../../runtime/contracts/evidence.ts";
import { OperatorCue } from "../../runtime/contracts/mode.ts";
import type { RobotProfile } from "../../runtime/contracts/profile.ts";
import { Fault } from "../../safety/faults.ts";
import type { Loss, PolicyTrouble } from "./loss.ts";

type Path = Loss["pathMs"];

const HOLDS = "brakes and holds";
const RUNS_OUT = "follows what was decided, then holds";
const GOES_ON = "goes on within its limits";
/** A stale state: SAFE_STOP after its persistence, latched 500 ms later. */
const BLIND: Path = [
  ["DEGRADED", 0],
  ["SAFE_STOP", 200],
  ["FAULT_LATCHED", 700],
];
const NO_DECISION: Path = [
  ["DEGRADED", 0],
  ["SAFE_STOP", 500],
];
/** The last good decision came 50 ms before the first bad one. */
const RUN_OUT: Path = [
  ["DEGRADED", 270],
  ["SAFE_STOP", 770],
];
const STAYS: Path = [
  ["SAFE_STOP", 0],
  ["FAULT_LATCHED", 500],
];

type Short = Omit<Loss, "id" | "cause" | "provoke" | "change">;

const stale: Short = {
  detect: { of: "reason", name: "stale_state" },
  withinMs: 19.9,
  holdAfterMs: 0,
  pathMs: BLIND,
  does: HOLDS,
  rearm: "nobody_then_person",
};
const silent: Short = {
  detect: { of: "reason", name: "no_action" },
  withinMs: 4.9,
  holdAfterMs: 0,
  pathMs: NO_DECISION,
  does: HOLDS,
  rearm: "nobody_then_person",
};
const unnoticed: Short = {
  detect: { of: "nothing", why: "it is less than lead and droop allow for" },
  withinMs: 0,
  holdAfterMs: Infinity,
  pathMs: [],
  does: GOES_ON,
  rearm: "nobody",
};
const refused: Short = {
  detect: { of: "evidence", name: "rejected_not_finite" },
  withinMs: 4.9,
  holdAfterMs: 270,
  pathMs: RUN_OUT,
  does: RUNS_OUT,
  rearm: "nobody_then_person",
};
const unseen: Short = { ...refused, detect: { of: "policy", name: "stale_state" }, withinMs: 169 };
const robotFault: Short = {
  detect: { of: "fault", name: "overspeed" },
  withinMs: 49.9,
  holdAfterMs: 0,
  pathMs: STAYS,
  does: HOLDS,
  rearm: "person",
};

const policy = (id: string, cause: string, trouble: PolicyTrouble, row: Short): Loss => ({
  id: `policy-${id}`,
  cause: `policy ${cause}`,
  provoke: { by: "policy", trouble },
  ...row,
});
const sensor = (id: string, cause: string, fault: string, row: Short): Loss => ({
  id,
  cause,
  provoke: { by: "sensor", fault },
  ...row,
});
const evidence = (name: (typeof evidenceNames)[number]): Short => ({
  ...refused,
  detect: { of: "evidence", name },
});

const policyLosses: readonly Loss[] = [
  policy("silent", "silent", "silent", silent),
  policy("late", "late: each decision comes after its window", "late", silent),
  policy("old-epoch", "wrong epoch", "old_epoch", evidence("rejected_stale_epoch")),
  policy("out-of-order", "out of order", "out_of_order", evidence("rejected_out_of_order")),
  policy("schema", "wrong schema", "schema", evidence("rejected_schema")),
  policy("width", "wrong width", "width", evidence("rejected_width")),
  policy("not-finite", "value not finite", "not_finite", evidence("rejected_not_finite")),
  policy("far", "chunk begins far from the robot", "far", {
    ...silent,
    detect: { of: "reason", name: "start_mismatch" },
    // Each refused chunk is a tick of start_mismatch, which takes as long from no_action.
    pathMs: [
      ["DEGRADED", 0],
      ["SAFE_STOP", 590],
    ],
  }),
  policy("jump", "target jumps by 0.25 rad", "jump", {
    ...silent,
    detect: { of: "repair", name: "velocity" },
    holdAfterMs: Infinity,
    pathMs: [],
    does: "walks there within its limits",
    rearm: "nobody",
  }),
];

const jointLosses: readonly Loss[] = [
  sensor("joints-frozen", "joint sensor frozen", "freeze:joints", stale),
  sensor("joints-late", "joint sensor 80 ms late", "delay:joints=80ms", stale),
  sensor("joints-gone", "joint sensor gone", "drop:joints", stale),
  sensor("joints-future", "joint sensor stamped 40 ms ahead", "future:joints=40ms", {
    ...stale,
    detect: { of: "reason", name: "stamp_in_future" },
    withinMs: 4.9,
  }),
  sensor("joints-noisy", "joint sensor noisy, 0.3°", "noise:joints=0.005", unnoticed),
  sensor("joints-wild", "joint sensor noisy beyond any motion, 3 rad", "noise:joints=3", {
    ...robotFault,
    detect: { of: "fault", name: "overload" },
    withinMs: 24.9,
    pathMs: [["SAFE_STOP", 0]],
  }),
  {
    id: "joints-no-number",
    cause: "joint sensor reads no number",
    provoke: { by: "device", trouble: "no_number" },
    ...stale,
    withinMs: 14.9,
  },
  {
    id: "one-joint-missing",
    cause: "one joint's reading missing while the others go on: a silent servo",
    provoke: { by: "device", trouble: "missing" },
    ...stale,
    withinMs: 14.9,
  },
  {
    id: "one-joint-missing-once",
    cause: "one joint's reading missing once: a bus frame that failed its check",
    provoke: { by: "device", trouble: "missing_once" },
    ...unnoticed,
    detect: { of: "nothing", why: "the sample before it is fresh still" },
  },
  {
    id: "joints-wrong-once",
    cause: "one value of a joint sample wrong once, and no check caught it",
    provoke: { by: "device", trouble: "wrong_once" },
    ...unnoticed,
    detect: { of: "nothing", why: "one sample is no fault, and the command keeps its limits" },
  },
  {
    id: "joints-sparse",
    cause: "two of three joint samples lost: a noisy bus",
    provoke: { by: "device", trouble: "sparse" },
    ...stale,
    detect: { of: "reason", name: "low_quality" },
    // Of eight samples, less than half.
    withinMs: 59.9,
  },
  {
    id: "device-unplugged",
    cause: "robot's adapter unplugged: no reading comes, no command arrives",
    provoke: { by: "device", trouble: "unplugged" },
    ...stale,
    does: "brakes and holds by commands that nobody hears; the last one expires in the device",
    armFalls: "only if the device lets go without commands",
  },
];

const sceneLosses: readonly Loss[] = ["scene", "cube_pose"].flatMap((id) => {
  const name = id === "scene" ? "camera" : "object locator";
  return [
    sensor(`${id}-frozen`, `${name} frozen`, `freeze:${id}`, unseen),
    sensor(`${id}-late`, `${name} 200 ms late`, `delay:${id}=200ms`, unseen),
    sensor(`${id}-gone`, `${name} gone`, `drop:${id}`, unseen),
    sensor(`${id}-future`, `${name} stamped 40 ms ahead`, `future:${id}=40ms`, {
      ...unseen,
      detect: { of: "policy", name: "stamp_in_future" },
      withinMs: 54,
    }),
  ];
});

const locatorNoise: Loss = sensor(
  "cube_pose-noisy",
  "object locator noisy, 10 mm",
  "noise:cube_pose=0.01",
  {
    ...unnoticed,
    detect: { of: "nothing", why: "a policy follows it, within the limits" },
  },
);

const robotLosses: readonly Loss[] = [
  {
    id: "joint-blocked",
    isEvent: true,
    cause: "joint blocked, its servo without torque or its reading stuck, in motion",
    provoke: { by: "device", trouble: "blocked" },
    ...robotFault,
    detect: { of: "fault", name: "following_error" },
    withinMs: 289.9,
    pathMs: [["SAFE_STOP", 0]],
    armFalls: "only a joint whose servo has no torque",
  },
  {
    id: "joint-runaway",
    cause: "joint faster than 1.25 of its limit",
    provoke: { by: "device", trouble: "runaway" },
    ...robotFault,
  },
  {
    id: "joint-overloaded",
    cause: "joint pushes harder than its limit",
    provoke: { by: "device", trouble: "overloaded" },
    ...robotFault,
    detect: { of: "fault", name: "overload" },
    withinMs: 14.9,
  },
];

const threadLosses: readonly Loss[] = [
  {
    id: "policy-thread-gone",
    cause: "policy thread ends",
    provoke: { by: "exit", thread: "policy" },
    ...refused,
    detect: { of: "fault", name: "policy_lost" },
    // Told once: what it decided before is as good as it was.
    pathMs: [["DEGRADED", 0], ["RUNNING", 5], ...RUN_OUT],
    rearm: "restart",
  },
  {
    id: "policy-thread-hung",
    cause: "policy thread hangs",
    provoke: { by: "thread", thread: "policy" },
    ...silent,
    detect: { of: "fault", name: "policy_lost" },
    withinMs: 1594,
    pathMs: [["SAFE_STOP", 0]],
    does: "holds already, by `no_action`",
    rearm: "person",
  },
  {
    id: "policy-slow",
    cause: "policy's host answers slower than it promised",
    provoke: { by: "report", thread: "policy", fault: Fault.PolicySlow },
    ...unnoticed,
    detect: { of: "fault", name: "policy_slow" },
    withinMs: 4.9,
    pathMs: [["DEGRADED", 0]],
    does: "goes on at reduced speed",
  },
  {
    id: "main-slow",
    cause: "main thread hangs",
    provoke: { by: "thread", thread: "main" },
    ...unnoticed,
    detect: { of: "fault", name: "main_slow" },
    withinMs: 1094,
    does: "goes on; records and the report of `--json` tell it",
  },
];

/** The first joint takes a velocity, as a wheel does. */
const firstTurns = (robot: RobotProfile): RobotProfile => ({
  ...robot,
  joints: robot.joints.map((joint, at) => (at === 0 ? { ...joint, command: "velocity" } : joint)),
});

const worldLosses: readonly Loss[] = [
  {
    id: "limits-contradict",
    isEvent: true,
    cause: "velocity joint is found at its limit while it turns towards it: no stop ends inside",
    provoke: { by: "device", trouble: "at_limit" },
    change: firstTurns,
    ...robotFault,
    detect: { of: "fault", name: "gate_infeasible" },
    withinMs: 9.9,
    pathMs: [["SAFE_STOP", 0]],
    does: "brakes in the tick before and holds",
  },
  {
    id: "world-late",
    cause: "simulated world late: a busy machine, no real-time rights",
    provoke: { by: "world" },
    ...stale,
    detect: { of: "fault", name: "world_late" },
    pathMs: [["DEGRADED", 0]],
    does: HOLDS,
    rearm: "nobody",
  },
];

const hostLosses: readonly Loss[] = [
  {
    id: "control-late",
    cause: "control thread late by more than 12 ms, once",
    provoke: { by: "pacer", lateMs: 12, tickCount: 1 },
    detect: { of: "fault", name: "control_late" },
    withinMs: 0,
    holdAfterMs: Infinity,
    pathMs: [
      ["DEGRADED", 0],
      ["RUNNING", 0.1],
    ],
    does: "goes on: the late tick judges its state by its own time",
    rearm: "nobody",
  },
  {
    id: "control-missed",
    cause: "control thread misses more than 10 of 200 beats",
    provoke: { by: "pacer", lateMs: 30, tickCount: 40 },
    detect: { of: "fault", name: "control_missed" },
    withinMs: 80.1,
    holdAfterMs: 0,
    pathMs: [
      ["SAFE_STOP", 0],
      ["FAULT_LATCHED", 524.9],
    ],
    does: HOLDS,
    rearm: "person",
  },
  {
    id: "over-budget",
    cause: "ticks work for more than half of their period, more than 10 of 200",
    provoke: { by: "work", ratio: 0.5 },
    detect: { of: "fault", name: "over_budget" },
    withinMs: 59.9,
    holdAfterMs: Infinity,
    pathMs: [["DEGRADED", 0]],
    does: "goes on at no more than 250 mm/s of its tool, until 200 ticks in a row keep to it",
    rearm: "nobody",
  },
  {
    id: "driver-lost",
    cause: "driver thread hung or gone",
    provoke: { by: "thread", thread: "robot" },
    detect: { of: "fault", name: "driver_lost" },
    withinMs: 294,
    holdAfterMs: 0,
    pathMs: [["FAULT_LATCHED", 0]],
    does: "brakes and holds as far as the driver still hears; commands expire in it",
    armFalls: "only if the device lets go without its driver",
    rearm: "restart",
  },
  {
    id: "control-away",
    cause: "process or control thread stood still for over 1 s, then goes on",
    provoke: { by: "pacer", lateMs: 1_200, tickCount: 1 },
    detect: { of: "fault", name: "control_away" },
    withinMs: 0,
    holdAfterMs: 0,
    pathMs: [["SAFE_STOP", 0]],
    does: HOLDS,
    rearm: "person",
  },
  {
    id: "suspended",
    isEvent: true,
    cause: "machine suspended",
    provoke: { by: "suspend" },
    detect: { of: "fault", name: "suspended" },
    withinMs: 4.9,
    holdAfterMs: 0,
    pathMs: [["SAFE_STOP", 0]],
    does: HOLDS,
    rearm: "person",
  },
  {
    id: "person-stops",
    isEvent: true,
    cause: "person stops",
    provoke: { by: "cue", cue: OperatorCue.Stop },
    detect: { of: "reason", name: "stop" },
    withinMs: 4.9,
    holdAfterMs: 0,
    pathMs: [["SAFE_STOP", 0]],
    does: HOLDS,
    rearm: "person",
  },
];

/** From the cue to the first brake on the way to the rest pose: the most of 50 phases. */
export const PARK_WITHIN_MS = 4.9;

export const losses: readonly Loss[] = [
  ...policyLosses,
  ...jointLosses,
  ...sceneLosses,
  locatorNoise,
  ...robotLosses,
  ...threadLosses,
  ...worldLosses,
  ...hostLosses,
];
