// How long a stop may take to ramp up: the profile loader refuses, with its place, what the gate
// would not take, so both ask here.

import type { JointProfile } from "./profile.ts";

/** A stop that ramps up for longer is no stop. */
export const RAMP_TICKS_MAX = 1_000;

/** The lowest jerk of wanted motion with which a stop from full speed ramps up in time. */
export const jerkRadPerS3Min = (
  { velocityRadPerSMax }: Pick<JointProfile, "velocityRadPerSMax">,
  periodS: number,
): number => (2 * velocityRadPerSMax) / (RAMP_TICKS_MAX * periodS) ** 2;
