// RunOptions: what `holdfast run` was asked for, parsed and checked. Whoever holds one holds a plan
// whose profiles, policy and faults exist.

import type { RunPlan } from "../workers/plan.ts";

/** The independent e-stop of a run. */
export type EstopChoice =
  | { readonly kind: "none" }
  | {
      readonly kind: "emulated";
      /** Nobody is there to press the reset: the run does it once, after the proof test. */
      readonly autoReset: boolean;
    }
  | {
      readonly kind: "board";
      readonly path: string;
      /** Undefined where the line carries no tags. */
      readonly key?: Uint8Array | undefined;
    };

export type RunOptions = {
  /** The deployment's own name, or the robot's. */
  readonly profile: string;
  readonly plan: RunPlan;
  readonly time: "streaming" | "lockstep";
  /** Ends the run by itself after this much session time; undefined runs until told to stop. */
  readonly durationS: number | undefined;
  /** A service: nobody has typed the run, so a person starts the robot. */
  readonly waitsForStart: boolean;
  readonly estop: EstopChoice;
};
