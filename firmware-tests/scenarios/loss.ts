// A row of the loss table: what goes wrong in everything that reaches the control core, what
// notices it, and what must follow.

import type { evidenceNames } from "../../runtime/contracts/evidence.ts";
import type { modeNames, OperatorCue } from "../../runtime/contracts/mode.ts";
import type { RobotProfile } from "../../runtime/contracts/profile.ts";
import type { reasonNames } from "../../runtime/contracts/reason.ts";
import type { Fault } from "../../safety/faults.ts";

/** What a policy, or the link before it, may do to its decisions. */
export type PolicyTrouble =
  | "silent"
  | "late"
  | "old_epoch"
  | "out_of_order"
  | "schema"
  | "width"
  | "not_finite"
  | "far"
  | "jump";
/** What the arm itself may do. */
export type DeviceTrouble =
  | "blocked"
  | "runaway"
  | "overloaded"
  | "no_number"
  | "missing"
  | "missing_once"
  | "wrong_once"
  | "sparse"
  | "at_limit"
  | "unplugged";

/** How a row goes wrong. Everything else of the cell stays healthy. */
export type Provocation =
  /** A fault for the product's own injector, without its times: KIND:SOURCE[=VALUE]. */
  | { readonly by: "sensor"; readonly fault: string }
  | { readonly by: "policy"; readonly trouble: PolicyTrouble }
  | { readonly by: "device"; readonly trouble: DeviceTrouble }
  /** A thread's alive counter stands still, and what the thread does with it. */
  | { readonly by: "thread"; readonly thread: "robot" | "policy" | "main" }
  /** The policy's thread ends, and main tells it. */
  | { readonly by: "exit"; readonly thread: "policy" }
  /** A thread reports a fault of itself. */
  | { readonly by: "report"; readonly thread: "policy"; readonly fault: Fault }
  /** The simulated world stands still, with its samples: a simulation, not hardware. */
  | { readonly by: "world" }
  /** The control thread wakes up so late, in so many ticks in a row. */
  | { readonly by: "pacer"; readonly lateMs: number; readonly tickCount: number }
  /** Each tick works for so much of its period, and a little longer. */
  | { readonly by: "work"; readonly ratio: number }
  /** The machine sleeps between two ticks. */
  | { readonly by: "suspend" }
  | { readonly by: "cue"; readonly cue: OperatorCue };

/** What notices it first, by the name that records show. */
export type Detection =
  | { readonly of: "reason"; readonly name: (typeof reasonNames)[number] }
  | { readonly of: "fault"; readonly name: string }
  | { readonly of: "evidence"; readonly name: (typeof evidenceNames)[number] }
  /** The policy side refuses to act on such a state. */
  | { readonly of: "policy"; readonly name: (typeof reasonNames)[number] }
  /** The gate changes the command, as it does in no healthy tick of the cell. */
  | { readonly of: "repair"; readonly name: "velocity" }
  /** Nothing stops for it, and why. */
  | { readonly of: "nothing"; readonly why: string };

/** `restart`: only a new process moves the robot again. */
export type Rearm = "nobody" | "nobody_then_person" | "person" | "restart";

export type Loss = {
  readonly id: string;
  readonly cause: string;
  readonly provoke: Provocation;
  /** The arm that it happens to; absent: the so101 as it is. */
  readonly change?: (robot: RobotProfile) => RobotProfile;
  readonly detect: Detection;
  /** From the cause to its detection, ms: the most of 50 phases. */
  readonly withinMs: number;
  /** From detection to the first command that is no motion, ms; Infinity: the robot goes on. */
  readonly holdAfterMs: number;
  /** Modes after RUNNING, each with the ms since detection, the most of the phases. */
  readonly pathMs: readonly (readonly [(typeof modeNames)[number], number])[];
  /** Over as soon as it has happened, or unseen in a robot that stands: a person may go on. */
  readonly isEvent?: true;
  /** In words, what the robot does first. */
  readonly does: string;
  readonly rearm: Rearm;
  /** Absent: no, it holds with torque. */
  readonly armFalls?: string;
};
