// Lifecycle of a device, as data: a total matrix of states and cues, and a machine that looks it
// up. No effect happens in a transition; a device does its work first and gives the cue after.
//
// A fault is left only by a reset, and a closed device is never opened again: a new one is built.
// What a device must refuse is a HalError, which names the device, the joint and the two facts.

import { LifecycleState } from "./robot.ts";

export const LifecycleCue = { Activate: 0, Deactivate: 1, Fail: 2, Reset: 3, Close: 4 } as const;
export type LifecycleCue = (typeof LifecycleCue)[keyof typeof LifecycleCue];

export const lifecycleStateNames = ["inactive", "active", "fault", "closed"] as const;
export const lifecycleCueNames = ["activate", "deactivate", "fail", "reset", "close"] as const;

type StateName = (typeof lifecycleStateNames)[number];
type Row = readonly [StateName, StateName, StateName, StateName, StateName]; // a cell per cue

// Reset leaves an active device active: only a simulated one may be reset then, a real one refuses.
// biome-ignore format: the columns are the point
export const lifecycleTransitions: Readonly<Record<StateName, Row>> = {
  //         Activate    Deactivate  Fail      Reset       Close
  inactive: ["active",   "inactive", "fault",  "inactive", "closed"],
  active:   ["active",   "inactive", "fault",  "active",   "closed"],
  fault:    ["fault",    "fault",    "fault",  "inactive", "closed"],
  closed:   ["closed",   "closed",   "closed", "closed",   "closed"],
};

const nextState: readonly LifecycleState[] = lifecycleStateNames.flatMap((from) =>
  lifecycleTransitions[from].map((to) => lifecycleStateNames.indexOf(to) as LifecycleState),
);

/** The state after `cue`. May be called in the tick. */
export function lifecycleStep(state: LifecycleState, cue: LifecycleCue): LifecycleState {
  return nextState[state * lifecycleCueNames.length + cue]!;
}

/** True when `cue` would leave the device where it may not be asked from: closed, or in fault. */
export function refusesActivation(state: LifecycleState): boolean {
  return lifecycleStep(state, LifecycleCue.Activate) !== LifecycleState.Active;
}

export type HalErrorCode =
  | "lifecycle"
  | "joint_missing"
  | "object_missing"
  | "physics_fault"
  | "no_physics";

/** A device refuses. `joint` is there when one joint is to blame. */
export class HalError extends Error {
  override readonly name = "HalError";
  readonly code: HalErrorCode;
  readonly device: string;
  readonly joint: string | undefined;
  readonly expected: string;
  readonly found: string;

  constructor(facts: {
    readonly code: HalErrorCode;
    readonly device: string;
    /** What was attempted: `activate`, `read source "wrist"`. */
    readonly action: string;
    readonly joint?: string;
    readonly expected: string;
    readonly found: string;
  }) {
    const place = facts.joint === undefined ? "" : `, joint "${facts.joint}"`;
    const outcome = `expected ${facts.expected}, found ${facts.found}`;
    super(`Cannot ${facts.action} on "${facts.device}"${place}: ${outcome}`);
    this.code = facts.code;
    this.device = facts.device;
    this.joint = facts.joint;
    this.expected = facts.expected;
    this.found = facts.found;
  }
}

/** The error of a lifecycle act that this state refuses. */
export function lifecycleError(
  device: string,
  action: string,
  expected: string,
  state: LifecycleState,
): HalError {
  const found = `the lifecycle state ${lifecycleStateNames[state]}`;
  return new HalError({ code: "lifecycle", device, action, expected, found });
}
