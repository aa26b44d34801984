// Inverse kinematics by damped least squares, within the joint limits. The damping grows with the
// error, so the solver neither leaps near a singular pose nor crawls far from the target; a joint
// at its limit that would be pushed on is left out of the step.
//
// It starts from the joint positions it is given, so a tracked pose stays on its branch. Only with
// `restartCountMax` above zero does it try other starts, always the same ones: no random numbers.
// What it cannot reach it names, and leaves the caller's positions as they were. Once built it
// allocates nothing.

import { assert } from "../contracts/assert.ts";
import { Chain, JACOBIAN_ROWS } from "./chain.ts";
import type { ChainProfile } from "./chain.ts";
import { POSE_SLOTS, poseErrorInto, toLocalInPlace } from "./pose.ts";

export const InverseResult = {
  Ok: 0,
  /** Beyond the reach, held off by joint limits, or not found within the iterations. */
  Unreachable: 1,
  /** Within reach, but the arm stands where no small motion comes nearer: start elsewhere. */
  Singular: 2,
} as const;
export type InverseResult = (typeof InverseResult)[keyof typeof InverseResult];

export type InverseOptions = {
  /**
   * Weights of the error: x, y, z in the base frame, then turns about the tool's own x, y, z.
   * Zero leaves that direction free; the tolerances judge the weighted error.
   */
  readonly weightRatios: readonly [number, number, number, number, number, number];
  readonly iterationCountMax: number;
  readonly restartCountMax: number;
  readonly toleranceM: number;
  readonly toleranceRad: number;
};

/** Position and orientation, other starts allowed. */
export const FULL_POSE: InverseOptions = {
  weightRatios: [1, 1, 1, 1, 1, 1],
  iterationCountMax: 2_000,
  restartCountMax: 40,
  toleranceM: 1e-5,
  toleranceRad: 1e-4,
};

/** Position only, other starts allowed. */
export const POSITION_ONLY: InverseOptions = { ...FULL_POSE, weightRatios: [1, 1, 1, 0, 0, 0] };

// The damping left at zero error, in squared error units: below it convergence is quadratic, and a
// singular pose still cannot throw the step.
const DAMPING_FLOOR = 1e-7;
// Longer steps leave the range in which the Jacobian says anything.
const STEP_RAD_MAX = 0.6;
// Iterations without 1 % less error before an attempt counts as stuck.
const STALL_COUNT_MAX = 12;
// Bases of the van der Corput sequences that spread the starts, one per joint of the path.
// A robot has 16 at most, and all of them may carry the tool.
const SPREAD_BASES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

export class InverseSolver {
  readonly chain: Chain;
  #min: Float64Array;
  #max: Float64Array;
  #work: Float64Array;
  #step: Float64Array;
  #jacobian: Float64Array;
  #pose = new Float64Array(POSE_SLOTS);
  #error = new Float64Array(JACOBIAN_ROWS);
  #normal = new Float64Array(JACOBIAN_ROWS * JACOBIAN_ROWS);
  #dual = new Float64Array(JACOBIAN_ROWS);
  #iterationsLeft = 0;
  #limited = false;

  constructor(robot: ChainProfile) {
    const count = robot.joints.length;
    this.chain = new Chain(robot);
    assert(this.chain.path.length <= SPREAD_BASES.length, "a spread base per joint of the path");
    this.#min = Float64Array.from(robot.joints, (joint) => joint.positionRadMin);
    this.#max = Float64Array.from(robot.joints, (joint) => joint.positionRadMax);
    this.#work = new Float64Array(count);
    this.#step = new Float64Array(count);
    this.#jacobian = new Float64Array(JACOBIAN_ROWS * count);
  }

  /**
   * Moves `positionRad`, the whole robot's joints, so that the tool meets `targetPose` in the base
   * frame [x, y, z, qx, qy, qz, qw]. Only joints on the way to the tool change, and only on Ok.
   */
  solveInto(
    positionRad: Float64Array,
    targetPose: Float64Array,
    options: InverseOptions,
  ): InverseResult {
    this.#iterationsLeft = options.iterationCountMax;
    this.#limited = false;
    this.#work.set(positionRad);
    if (this.#isBeyondReach(targetPose, options)) return InverseResult.Unreachable;
    for (let attempt = 0; attempt <= options.restartCountMax; attempt += 1) {
      if (attempt > 0) this.#startElsewhere(attempt);
      if (this.#descend(targetPose, options)) {
        positionRad.set(this.#work);
        return InverseResult.Ok;
      }
      if (this.#iterationsLeft === 0) return InverseResult.Unreachable;
    }
    if (options.restartCountMax > 0 || this.#limited) return InverseResult.Unreachable;
    return InverseResult.Singular;
  }

  /** Descends from `#work` until the tolerances are met (true) or nothing comes nearer (false). */
  #descend(target: Float64Array, options: InverseOptions): boolean {
    let bestError = Number.POSITIVE_INFINITY;
    let stalledCount = 0;
    this.#clampToLimits();
    while (this.#iterationsLeft > 0) {
      this.#iterationsLeft -= 1;
      const squaredError = this.#measure(target, options);
      if (this.#isWithin(options)) return true;
      if (squaredError < bestError * 0.99) {
        bestError = squaredError;
        stalledCount = 0;
      } else {
        stalledCount += 1;
        if (stalledCount > STALL_COUNT_MAX || Number.isNaN(squaredError)) return false;
      }
      this.#weighJacobian(options);
      this.#freezeAtLimits();
      if (!this.#solveStep(0.5 * squaredError + DAMPING_FLOOR)) return false;
      this.#applyStep();
    }
    return false;
  }

  /** Weighted error of `#work` into `#error`; returns its square sum. */
  #measure(target: Float64Array, options: InverseOptions): number {
    this.chain.forwardInto(this.#pose, this.#work);
    poseErrorInto(this.#error, this.#pose, target);
    toLocalInPlace(this.#error, 3, 1, this.#pose);
    let sum = 0;
    for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
      const weighted = this.#error[row]! * options.weightRatios[row]!;
      this.#error[row] = weighted;
      sum += weighted * weighted;
    }
    return sum;
  }

  #isWithin(options: InverseOptions): boolean {
    const e = this.#error;
    const squaredM = e[0]! * e[0]! + e[1]! * e[1]! + e[2]! * e[2]!;
    const squaredRad = e[3]! * e[3]! + e[4]! * e[4]! + e[5]! * e[5]!;
    return (
      squaredM <= options.toleranceM * options.toleranceM &&
      squaredRad <= options.toleranceRad * options.toleranceRad
    );
  }

  #weighJacobian(options: InverseOptions): void {
    const count = this.chain.jointCount;
    const jacobian = this.#jacobian;
    this.chain.jacobianInto(jacobian, this.#work);
    for (let column = 0; column < count; column += 1) {
      toLocalInPlace(jacobian, 3 * count + column, count, this.#pose);
      for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
        jacobian[row * count + column] =
          jacobian[row * count + column]! * options.weightRatios[row]!;
      }
    }
  }

  /** Clears the columns of joints that stand at a limit and would be pushed beyond it. */
  #freezeAtLimits(): void {
    const count = this.chain.jointCount;
    this.#limited = false;
    for (let joint = 0; joint < count; joint += 1) {
      let slope = 0;
      for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
        slope += this.#jacobian[row * count + joint]! * this.#error[row]!;
      }
      const atMin = this.#work[joint]! <= this.#min[joint]! && slope < 0;
      const atMax = this.#work[joint]! >= this.#max[joint]! && slope > 0;
      if (!atMin && !atMax) continue;
      this.#limited = true;
      for (let row = 0; row < JACOBIAN_ROWS; row += 1) this.#jacobian[row * count + joint] = 0;
    }
  }

  /** step = Jt (J Jt + damping I)^-1 error, by Cholesky. False when the numbers are not finite. */
  #solveStep(damping: number): boolean {
    const count = this.chain.jointCount;
    const jacobian = this.#jacobian;
    const normal = this.#normal;
    for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
      for (let column = 0; column <= row; column += 1) {
        let sum = row === column ? damping : 0;
        for (let joint = 0; joint < count; joint += 1) {
          sum += jacobian[row * count + joint]! * jacobian[column * count + joint]!;
        }
        normal[row * JACOBIAN_ROWS + column] = sum;
      }
    }
    if (!factorInPlace(normal)) return false;
    this.#dual.set(this.#error);
    solveFactored(normal, this.#dual);
    for (let joint = 0; joint < count; joint += 1) {
      let sum = 0;
      for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
        sum += jacobian[row * count + joint]! * this.#dual[row]!;
      }
      this.#step[joint] = sum;
    }
    return true;
  }

  #applyStep(): void {
    const count = this.chain.jointCount;
    let largestRad = STEP_RAD_MAX;
    for (let joint = 0; joint < count; joint += 1) {
      const sizeRad = Math.abs(this.#step[joint]!);
      if (sizeRad > largestRad) largestRad = sizeRad;
    }
    const scale = STEP_RAD_MAX / largestRad;
    for (let joint = 0; joint < count; joint += 1) {
      this.#work[joint] = this.#work[joint]! + this.#step[joint]! * scale;
    }
    this.#clampToLimits();
  }

  /** Only joints on the path are held to their limits; the others are not this solver's. */
  #clampToLimits(): void {
    for (let link = 0; link < this.chain.path.length; link += 1) {
      const joint = this.chain.path[link]!;
      if (this.#work[joint]! < this.#min[joint]!) this.#work[joint] = this.#min[joint]!;
      else if (this.#work[joint]! > this.#max[joint]!) this.#work[joint] = this.#max[joint]!;
    }
  }

  #startElsewhere(attempt: number): void {
    for (let link = 0; link < this.chain.path.length; link += 1) {
      const joint = this.chain.path[link]!;
      const spread = vanDerCorput(attempt, SPREAD_BASES[link]!);
      this.#work[joint] = this.#min[joint]! + spread * (this.#max[joint]! - this.#min[joint]!);
    }
  }

  #isBeyondReach(target: Float64Array, options: InverseOptions): boolean {
    const weights = options.weightRatios;
    if (weights[0] === 0 || weights[1] === 0 || weights[2] === 0) return false;
    const root = this.chain.rootM;
    const x = target[0]! - root[0]!;
    const y = target[1]! - root[1]!;
    const z = target[2]! - root[2]!;
    const reachM = this.chain.reachM + options.toleranceM;
    return x * x + y * y + z * z > reachM * reachM;
  }
}

/** The digits of `index` in `base`, mirrored behind the point: fills [0, 1) evenly. */
function vanDerCorput(index: number, base: number): number {
  let left = index;
  let digit = 1 / base;
  let value = 0;
  while (left > 0) {
    const rest = left % base;
    value += rest * digit;
    left = (left - rest) / base;
    digit /= base;
  }
  return value;
}

/** Cholesky of the lower triangle, in place. False when it is not positive definite. */
function factorInPlace(matrix: Float64Array): boolean {
  for (let column = 0; column < JACOBIAN_ROWS; column += 1) {
    for (let row = column; row < JACOBIAN_ROWS; row += 1) {
      let sum = matrix[row * JACOBIAN_ROWS + column]!;
      for (let k = 0; k < column; k += 1) {
        sum -= matrix[row * JACOBIAN_ROWS + k]! * matrix[column * JACOBIAN_ROWS + k]!;
      }
      if (row === column) {
        if (!(sum > 0)) return false;
        matrix[row * JACOBIAN_ROWS + column] = Math.sqrt(sum);
      } else {
        const pivot = matrix[column * JACOBIAN_ROWS + column]!;
        matrix[row * JACOBIAN_ROWS + column] = sum / pivot;
      }
    }
  }
  return true;
}

function solveFactored(matrix: Float64Array, vector: Float64Array): void {
  for (let row = 0; row < JACOBIAN_ROWS; row += 1) {
    let sum = vector[row]!;
    for (let k = 0; k < row; k += 1) sum -= matrix[row * JACOBIAN_ROWS + k]! * vector[k]!;
    vector[row] = sum / matrix[row * JACOBIAN_ROWS + row]!;
  }
  for (let row = JACOBIAN_ROWS - 1; row >= 0; row -= 1) {
    let sum = vector[row]!;
    for (let k = row + 1; k < JACOBIAN_ROWS; k += 1) {
      sum -= matrix[k * JACOBIAN_ROWS + row]! * vector[k]!;
    }
    vector[row] = sum / matrix[row * JACOBIAN_ROWS + row]!;
  }
}
