// ToolDelta: joint positions for tool poses given as deltas against the tool's pose at the state.
//
// A delta is a translation in m and a rotation vector in rad, taken apart: in the base frame the
// tool is moved along the base's axes and turned about its own origin; in the tool frame both are
// along the tool's axes. Each row is solved from the row before, so the arm stays on its branch. A
// full arm meets a pose exactly; one of fewer than six joints must come within 0.1 mm and 0.1 rad,
// because most turns lie a little beside what it can do.

import { Evidence } from "../contracts/evidence.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { FULL_POSE, InverseResult, InverseSolver } from "../kinematics/inverse.ts";
import type { InverseOptions } from "../kinematics/inverse.ts";
import { composeInto, POSE_SLOTS } from "../kinematics/pose.ts";
import { setTurn } from "./turn.ts";

// Tracking: the row before is near, so no other starts. 100 iterations of 3 us are 5 ms a chunk.
const TRACK: InverseOptions = { ...FULL_POSE, iterationCountMax: 100, restartCountMax: 0 };
// The light weight on turns, 0.01 m/rad, keeps a turn that cannot be met from moving the position.
const TRACK_FEW_JOINTS: InverseOptions = {
  ...TRACK,
  weightRatios: [1, 1, 1, 0.01, 0.01, 0.01],
  toleranceM: 1e-4,
  toleranceRad: 0.01 * 0.1,
};
const POSE_DIRECTIONS = 6;

export class ToolDelta {
  /** The whole robot's joints for the last solved row. */
  readonly positionRad: Float64Array;
  readonly #solver: InverseSolver;
  readonly #options: InverseOptions;
  readonly #inTool: boolean;
  readonly #from = new Float64Array(POSE_SLOTS);
  readonly #delta = new Float64Array(POSE_SLOTS);
  readonly #target = new Float64Array(POSE_SLOTS);

  constructor(frame: "joint" | "base" | "tool", robot: RobotProfile) {
    this.#inTool = frame === "tool";
    this.#solver = new InverseSolver(robot);
    this.#options = this.#solver.chain.path.length < POSE_DIRECTIONS ? TRACK_FEW_JOINTS : TRACK;
    this.positionRad = new Float64Array(robot.joints.length);
  }

  /** Deltas that follow are against the tool's pose here. */
  begin(positionRad: Float64Array): void {
    this.positionRad.set(positionRad);
    this.#solver.chain.forwardInto(this.#from, positionRad);
  }

  /** Solves the row at `at` into `positionRad`; answers why not, or Accepted. */
  solveRow(values: Float64Array, at: number): Evidence {
    this.#setTarget(values, at);
    const result = this.#solver.solveInto(this.positionRad, this.#target, this.#options);
    if (result === InverseResult.Ok) return Evidence.Accepted;
    return result === InverseResult.Singular
      ? Evidence.RejectedSingular
      : Evidence.RejectedUnreachable;
  }

  #setTarget(values: Float64Array, at: number): void {
    const delta = this.#delta;
    delta[0] = values[at]!;
    delta[1] = values[at + 1]!;
    delta[2] = values[at + 2]!;
    setTurn(delta, values[at + 3]!, values[at + 4]!, values[at + 5]!);
    const from = this.#from;
    const target = this.#target;
    if (this.#inTool) {
      composeInto(target, from, delta);
      return;
    }
    composeInto(target, delta, from);
    for (let axis = 0; axis < 3; axis += 1) target[axis] = from[axis]! + delta[axis]!;
  }
}
