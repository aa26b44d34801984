// ActionSample: the one row that applies now, as the ActionBuffer reads it out for the gate. One
// object, filled anew each tick; whoever reads it later than that reads the next tick's row.

import { commandVec } from "./units.ts";
import type { CommandVec } from "./units.ts";

export class ActionSample {
  /** In the robot's own command space. */
  readonly values: CommandVec;
  schemaFingerprint = 0;
  width = 0;
  epoch = 0;
  seq = 0;
  row = 0;
  stateStampNs = 0;
  /** True in the one tick in which a chunk takes over. */
  tookOver = false;

  constructor(jointCount: number) {
    this.values = commandVec(new Float64Array(jointCount));
  }
}
