// RunOptions: what `holdfast run` was asked for, parsed and checked. Whoever holds one holds a plan
// whose profiles, policy and faults exist.

import type { RunPlan } from "../workers/plan.ts";

export type RunOptions = {
  /** The deployment's own name, or the robot's. */
  readonly profile: string;
  readonly plan: RunPlan;
  readonly time: "streaming" | "lockstep";
  /** Ends the run by itself after this much session time; undefined runs until told to stop. */
  readonly durationS: number | undefined;
};
