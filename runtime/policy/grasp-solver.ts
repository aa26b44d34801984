// GraspSolver: joint positions for a gripper that comes from above, and straight ways up from it.
//
// The tool's x axis points out of the jaws and its z axis in their opening direction. Straight down
// is tried first; where the arm does not reach that far, the jaws lean outward in the arm's plane,
// as little as needed. Answers false where no lean reaches, and leaves the output as it was.

import type { RobotProfile } from "../contracts/profile.ts";
import { atan2, cos, sin } from "../contracts/trig.ts";
import { InverseResult, InverseSolver, POSITION_ONLY } from "../kinematics/inverse.ts";
import type { InverseOptions } from "../kinematics/inverse.ts";
import { composeInto, POSE_SLOTS } from "../kinematics/pose.ts";
import { PIECES_MAX } from "./minimum-jerk.ts";
import { setTurn } from "./turn.ts";

const HALF_TURN_RAD = Math.PI;
const LEAN_STEP_RAD = 0.1;
const LEAN_STEP_COUNT = 7;
// Turns weigh 0.3 m/rad. 0.5 mm and 2 degrees are far below what a hand-sized gripper needs.
const TURN_WEIGHT = 0.3;
const TURN_TOLERANCE_RAD = TURN_WEIGHT * 0.035;

const WHOLE: InverseOptions = {
  weightRatios: [1, 1, 1, TURN_WEIGHT, TURN_WEIGHT, TURN_WEIGHT],
  iterationCountMax: 300,
  restartCountMax: 0,
  toleranceM: 5e-4,
  toleranceRad: TURN_TOLERANCE_RAD,
};
/** The turn about the jaws' own axis is free. */
const ANY_YAW: InverseOptions = {
  ...WHOLE,
  weightRatios: [1, 1, 1, 0, TURN_WEIGHT, TURN_WEIGHT],
};
const LINE: InverseOptions = { ...POSITION_ONLY, iterationCountMax: 100, restartCountMax: 0 };

export class GraspSolver {
  readonly #solver: InverseSolver;
  readonly #target = new Float64Array(POSE_SLOTS);
  readonly #turn = new Float64Array(POSE_SLOTS);
  readonly #pose = new Float64Array(POSE_SLOTS);

  constructor(robot: RobotProfile) {
    this.#solver = new InverseSolver(robot);
  }

  /** Pose of the tool in the base frame. Dies at the next call. */
  borrowToolPose(positionRad: Float64Array): Float64Array {
    this.#solver.chain.forwardInto(this.#pose, positionRad);
    return this.#pose;
  }

  /** Tool at the point, the jaws opening along `yawRad` about the vertical; solved from `rad`. */
  reachInto(rad: Float64Array, pointM: Float64Array, yawRad: number | undefined): boolean {
    const [rootX = 0, rootY = 0] = this.#solver.chain.rootM;
    const azimuthRad = atan2(pointM[1]! - rootY, pointM[0]! - rootX);
    const options = yawRad === undefined ? ANY_YAW : WHOLE;
    for (let step = 0; step < LEAN_STEP_COUNT; step += 1) {
      this.#aim(pointM, yawRad ?? azimuthRad, azimuthRad, step * LEAN_STEP_RAD);
      const result = this.#solver.solveInto(rad, this.#target, options);
      if (result === InverseResult.Ok) return true;
    }
    return false;
  }

  /**
   * Points on the way straight up from `fromRad`, one row of all joints each, `pieceCount` of them.
   * Answers how many were reachable. The jaws may lean on the way.
   */
  lineUpInto(
    rows: readonly Float64Array[],
    fromRad: Float64Array,
    heightM: number,
    pieceCount: number,
  ): number {
    const target = this.#target;
    this.#solver.chain.forwardInto(target, fromRad);
    const fromZ = target[2]!;
    let before = fromRad;
    const count = Math.min(pieceCount, PIECES_MAX, rows.length);
    for (let piece = 0; piece < count; piece += 1) {
      const row = rows[piece]!;
      row.set(before);
      target[2] = fromZ + (heightM * (piece + 1)) / count;
      if (this.#solver.solveInto(row, target, LINE) !== InverseResult.Ok) return piece;
      before = row;
    }
    return count;
  }

  #aim(pointM: Float64Array, yawRad: number, azimuthRad: number, leanRad: number): void {
    const target = this.#target;
    const turn = this.#turn;
    turn.fill(0);
    // x down and z along +x, then yaw about the vertical, then the lean about the level axis.
    setTurn(target, 0, HALF_TURN_RAD / 2, 0);
    target.fill(0, 0, 3);
    setTurn(turn, 0, 0, yawRad);
    composeInto(target, turn, target);
    const leanX = leanRad * sin(azimuthRad);
    setTurn(turn, leanX, -leanRad * cos(azimuthRad), 0);
    turn.set(pointM);
    composeInto(target, turn, target);
  }
}
