// RestWatch: when a run that was told to end may end: the command stands still in a mode that does
// not move, and a robot that falls without power has been parked, or has landed, and let go.

import { CommandKind } from "../contracts/command.ts";
import { mayMove, Mode } from "../contracts/mode.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import { NS_PER_MS, NS_PER_S } from "../contracts/units.ts";

/** Ticks at rest before a run ends. */
const REST_TICKS = 10;
/** A robot that is not at rest this long after its time is left to its driver. */
const REST_MS_PATIENCE = 1_500;
/** A blind landing takes a quarter longer than its way should. */
const LANDING_PATIENCE = 1.25;

export class RestWatch {
  /** The longest that an end may take. */
  readonly restMsMax: number;
  /** The robot has to let go before the run may end. */
  readonly letsGo: boolean;
  readonly #last: Float64Array;
  #restTicks = 0;

  constructor(robot: RobotProfile) {
    this.restMsMax = REST_MS_PATIENCE + wayMsMax(robot);
    this.letsGo = wayMsMax(robot) > 0;
    this.#last = new Float64Array(robot.joints.length);
  }

  /** Takes the record of one tick; true from the tick on in which the run may end. */
  isOver(record: Float64Array): boolean {
    const mode = record[TickSlot.mode]!;
    const kind = record[TickSlot.kind];
    let still = !mayMove(mode);
    const from = TickSlot.joints + this.#last.length;
    for (let joint = 0; joint < this.#last.length; joint += 1) {
      const value = record[from + joint]!;
      if (value !== this.#last[joint] && kind !== CommandKind.ZeroTorque) still = false;
      this.#last[joint] = value;
    }
    // What was never known to be anywhere was never held, and what a reset kept is not let go of.
    const isLeft = kind === CommandKind.ZeroTorque || kind === CommandKind.None;
    if (this.letsGo && !isLeft && mode !== Mode.Recover) still = false;
    this.#restTicks = still ? this.#restTicks + 1 : 0;
    return this.#restTicks >= REST_TICKS;
  }
}

/** How long parking or landing may take; 0 for a robot that only stops. */
function wayMsMax({ joints, land, parkNs }: RobotProfile): number {
  if (parkNs !== undefined) return parkNs / NS_PER_MS;
  if (land === undefined) return 0;
  const height = joints.find((joint) => joint.name === land.joint)?.positionRadMax ?? 0;
  const wayS = (height - land.groundRad) / land.velocityRadPerS;
  return (LANDING_PATIENCE * wayS * NS_PER_S) / NS_PER_MS;
}
