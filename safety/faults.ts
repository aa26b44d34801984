// The fault table: every condition that can degrade or stop the robot, as data. A row says how bad
// it is, how much motion it leaves, how long it must last and what ends it.
//
// A reason says what is missing; what to do about it stands here and nowhere else. The code of a
// fault is its row's index and its bit in every fault mask. Append only: records hold these bits.

import { assert } from "../runtime/contracts/assert.ts";
import { REASON_COUNT, Reason } from "../runtime/contracts/reason.ts";

export const Fault = {
  /** First, so that a person's stop names the stop when several faults are equally bad. */
  OperatorStop: 0,
  StaleState: 1,
  StampInFuture: 2,
  LowQuality: 3,
  NoAction: 4,
  SchemaMismatch: 5,
  WidthMismatch: 6,
  NotFinite: 7,
  StartMismatch: 8,
  FollowingError: 9,
  ControlLate: 10,
  ControlMissed: 11,
  DriverLost: 12,
  PolicyLost: 13,
  PolicySlow: 14,
  MainSlow: 15,
  Suspended: 16,
  GateInfeasible: 17,
  Overspeed: 18,
  Overload: 19,
  /** The independent e-stop is open, or can't be trusted, after it was closed once. */
  EstopOpen: 20,
  /** It was not closed yet: a proof test runs, or a person's reset is waited for. */
  EstopNotArmed: 21,
  /** The control thread stood still so long that it lost the world. */
  ControlAway: 22,
  /** The simulated world runs late, and with it its samples. Never on hardware. */
  WorldLate: 23,
  /** It will open by itself, or isn't heard: there may still be power to brake with. */
  EstopStop: 24,
  /** The tick's own work takes more of its period than it may, and not just once. */
  OverBudget: 25,
} as const;
export type Fault = (typeof Fault)[keyof typeof Fault];

/** Where a held fault ends: nowhere, SAFE_STOP, SAFE_STOP and then a latch, or a latch at once. */
export type Severity = "warning" | "degraded" | "stop" | "latch";
/** What a tick may still do while the fault is active. The worst active row decides. */
export type MotionLeft = "full" | "reduced" | "none";
/** How long a fault may last before it is held; the named times come from the profile. */
export type Persist = "at_once" | "no_action" | "stale" | "never";
/** What ends it: its condition, an accepted reset, or a new process. */
export type ClearRule = "whenClear" | "onOperator" | "onPowerCycle";
/**
 * A fault of the policy says nothing while nothing may move: a start voids its decisions. Nor does
 * one of a simulated world: it holds up what moves, and no person.
 */
export type Subject = "policy" | "world" | "robot" | "host";
export type FaultRow = {
  readonly fault: Fault;
  readonly name: string;
  readonly severity: Severity;
  readonly motion: MotionLeft;
  readonly persist: Persist;
  readonly clear: ClearRule;
  readonly subject: Subject;
};

type Cells = readonly [string, Severity, MotionLeft, Persist, ClearRule, Subject];

// biome-ignore format: the columns are the point
const table: Readonly<Record<keyof typeof Fault, Cells>> = {
  //               name               severity    motion     persist      clear           subject
  OperatorStop:   ["operator_stop",   "stop",     "none",    "at_once",   "onOperator",   "robot"],
  StaleState:     ["stale_state",     "stop",     "none",    "stale",     "whenClear",    "robot"],
  StampInFuture:  ["stamp_in_future", "stop",     "none",    "stale",     "whenClear",    "robot"],
  LowQuality:     ["low_quality",     "stop",     "none",    "stale",     "whenClear",    "robot"],
  NoAction:       ["no_action",       "degraded", "none",    "no_action", "whenClear",    "policy"],
  SchemaMismatch: ["schema_mismatch", "degraded", "none",    "no_action", "whenClear",    "policy"],
  WidthMismatch:  ["width_mismatch",  "degraded", "none",    "no_action", "whenClear",    "policy"],
  NotFinite:      ["not_finite",      "degraded", "none",    "no_action", "whenClear",    "policy"],
  StartMismatch:  ["start_mismatch",  "degraded", "none",    "no_action", "whenClear",    "policy"],
  // The gate has already counted its ticks.
  FollowingError: ["following_error", "stop",     "none",    "at_once",   "whenClear",    "robot"],
  // A late tick judges its own state by its own time, so it may move; lateness that stays may not.
  ControlLate:    ["control_late",    "degraded", "full",    "stale",     "whenClear",    "host"],
  ControlMissed:  ["control_missed",  "stop",     "none",    "at_once",   "whenClear",    "host"],
  DriverLost:     ["driver_lost",     "latch",    "none",    "at_once",   "onPowerCycle", "robot"],
  // What it decided before stays good until its window is over.
  PolicyLost:     ["policy_lost",     "degraded", "full",    "no_action", "whenClear",    "policy"],
  PolicySlow:     ["policy_slow",     "degraded", "reduced", "never",     "whenClear",    "policy"],
  MainSlow:       ["main_slow",       "warning",  "full",    "never",     "whenClear",    "host"],
  Suspended:      ["suspended",       "stop",     "none",    "at_once",   "whenClear",    "robot"],
  // The gate brakes in the tick in which it finds that its limits contradict each other.
  GateInfeasible: ["gate_infeasible", "stop",     "none",    "at_once",   "whenClear",    "robot"],
  // The gate has already counted its samples.
  Overspeed:      ["overspeed",       "stop",     "none",    "at_once",   "whenClear",    "robot"],
  Overload:       ["overload",        "stop",     "none",    "at_once",   "whenClear",    "robot"],
  EstopOpen:      ["estop_open",      "latch",    "none",    "at_once",   "whenClear",    "robot"],
  EstopNotArmed:  ["estop_not_armed", "stop",     "none",    "never",     "whenClear",    "robot"],
  ControlAway:    ["control_away",    "stop",     "none",    "at_once",   "whenClear",    "host"],
  // Simulated time waits for a busy machine: the robot holds, and goes on by itself.
  WorldLate:      ["world_late",      "degraded", "none",    "never",     "whenClear",    "world"],
  EstopStop:      ["estop_stop",      "latch",    "none",    "at_once",   "whenClear",    "robot"],
  OverBudget:     ["over_budget",     "degraded", "reduced", "never",     "whenClear",    "host"],
};

export const faultRows: readonly FaultRow[] = Object.entries(table).map(([key, cells], index) => {
  const [name, severity, motion, persist, clear, subject] = cells;
  const fault = Fault[key as keyof typeof Fault];
  assert(fault === index, "the rows stand in the order of the codes");
  return { fault, name, severity, motion, persist, clear, subject };
});

export const FAULT_COUNT = faultRows.length;

/** Names used in reports, by code. */
export const faultNames: readonly string[] = faultRows.map((row) => row.name);

/** One bit per fault for which `holds`. Set-up only. */
export function faultMask(holds: (row: FaultRow) => boolean): number {
  let mask = 0;
  for (const row of faultRows) if (holds(row)) mask |= 1 << row.fault;
  return mask;
}

/** The actuators have no power: nothing is held up. */
export const powerlessMask: number = (1 << Fault.EstopOpen) | (1 << Fault.EstopNotArmed);

/** Latched, these say that the robot doesn't obey: where a cut is safe, the e-stop is asked. */
export const disobedienceMask: number = faultMask(({ fault }) =>
  [
    Fault.FollowingError,
    Fault.DriverLost,
    Fault.GateInfeasible,
    Fault.Overspeed,
    Fault.Overload,
  ].some((one) => one === fault),
);

/** The fault behind a reason, or -1: Ok is none, and a stop is known by the cue, not by reason. */
export const faultOfReason: Int8Array = new Int8Array(REASON_COUNT).fill(-1);
faultOfReason[Reason.StaleState] = Fault.StaleState;
faultOfReason[Reason.StampInFuture] = Fault.StampInFuture;
faultOfReason[Reason.LowQuality] = Fault.LowQuality;
faultOfReason[Reason.NoAction] = Fault.NoAction;
faultOfReason[Reason.SchemaMismatch] = Fault.SchemaMismatch;
faultOfReason[Reason.WidthMismatch] = Fault.WidthMismatch;
faultOfReason[Reason.NotFinite] = Fault.NotFinite;
faultOfReason[Reason.StartMismatch] = Fault.StartMismatch;

/**
 * Whether a fault counts while nothing may move, so that no reset is taken before it is over. What
 * only takes speed takes it from the motion that a person starts again.
 */
export const countsAtRest = (row: FaultRow): boolean =>
  row.subject !== "policy" &&
  row.subject !== "world" &&
  row.severity !== "warning" &&
  row.motion !== "reduced";
