// TaskEnv: the only place where reward, done and success exist. It wraps a robot whose world it
// can read; a robot itself knows nothing of tasks.

import type { CommandView } from "./command.ts";
import type { StateView } from "./state.ts";
import type { Instant } from "./units.ts";

export type Transition = {
  readonly state: StateView;
  /** -1 … 1 per step; unitless. */
  readonly rewardRatio: number;
  readonly done: boolean;
  readonly success: boolean;
  readonly nowNs: Instant;
};

export interface TaskEnv {
  /** Puts the world at a random start drawn from `seed` and returns what is seen there. */
  reset(seed: number): StateView;
  /** Applies one command for one control period. */
  step(command: CommandView): Transition;
}
