// TaskJudge: reward, done and success of one episode, from the world's truth and the time it is
// told. It never looks at what the robot believes, and a robot never sees it.
//
// Success is latched: once a goal has been met for the task's dwell, later mishaps don't undo it.
// Allocates nothing after construction; may be called in a driver's cycle.

import { assert } from "../runtime/contracts/assert.ts";
import type { RobotProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import { NS_PER_S, instant, radVec } from "../runtime/contracts/units.ts";
import type { Duration, Instant, RadVec } from "../runtime/contracts/units.ts";

/** Slots of one pose: position m, then orientation x y z w. */
const POSE_SLOTS = 7;
// Slower than a millimetre in a tenth of a second: no eye sees it move.
const REST_M_PER_S_MAX = 0.01;
// Lies on a face: on an edge a cube's centre is higher by 0.41 of its half extent, 6 mm for ours.
const TABLE_GAP_M_MAX = 0.005;
// Clear of the jaws: no finger of ours reaches further than this beyond the tool point.
const RELEASE_M_MIN = 0.05;
/** The distance at which the shaped reward has fallen to its lowest. */
const REWARD_RANGE_M = 0.5;

/** What is true in the world, in the caller's memory. Poses are in the base frame. */
export class TaskTruth {
  readonly positionRad: RadVec;
  readonly toolPose = new Float64Array(POSE_SLOTS);
  /** One after the other, in the order of the task's objects. */
  readonly objectPoses: Float64Array;

  constructor(jointCount: number, objectCount: number) {
    this.positionRad = radVec(new Float64Array(jointCount));
    this.objectPoses = new Float64Array(objectCount * POSE_SLOTS);
  }
}

export class TaskJudge {
  /** -1 … 1: nearer is better, 1 once the goal is met. 0 throughout for a task without a goal. */
  rewardRatio = 0;
  done = false;
  success = false;
  readonly #task: TaskProfile;
  readonly #gripperIndex: number;
  readonly #gripperRadOpen: number;
  readonly #releaseM: number;
  /** Where the first object was at the last step. */
  readonly #beforeM = new Float64Array(3);
  #hasBefore = false;
  #beforeNs = instant(0);
  #beganNs = instant(0);
  #isMet = false;
  #metNs = instant(0);

  constructor(task: TaskProfile, robot: RobotProfile) {
    const object = task.objects[0];
    assert(task.kind !== "pick_place" || object !== undefined, "pick_place has an object");
    this.#task = task;
    this.#gripperIndex = robot.joints.findIndex((joint) => joint.name === robot.gripper);
    const gripper = robot.joints[this.#gripperIndex];
    this.#gripperRadOpen =
      gripper === undefined ? Infinity : (gripper.positionRadMin + gripper.positionRadMax) / 2;
    this.#releaseM = RELEASE_M_MIN + Math.max(...(object?.halfExtentsM ?? [0]));
  }

  /** An episode begins. */
  begin(nowNs: Instant): void {
    this.rewardRatio = 0;
    this.done = false;
    this.success = false;
    this.#beganNs = nowNs;
    this.#hasBefore = false;
    this.#isMet = false;
  }

  /** So long the robot might not move: that is not held against the episode. */
  wait(lengthNs: Duration): void {
    this.#beganNs = instant(this.#beganNs + lengthNs);
  }

  /** Judges this moment. Steps are in order of time. */
  step(truth: TaskTruth, nowNs: Instant): void {
    const task = this.#task;
    if (task.kind === "none") return;
    const met = task.kind === "reach" ? this.#reached(truth) : this.#placed(truth, nowNs);
    if (met && !this.#isMet) this.#metNs = nowNs;
    this.#isMet = met;
    if (met && !this.done && nowNs - this.#metNs >= task.dwellNs) this.success = true;
    if (this.success || nowNs - this.#beganNs >= task.timeLimitNs) this.done = true;
    this.rewardRatio = met ? 1 : this.#shaped(truth);
    if (Number.isFinite(this.rewardRatio)) return;
    this.rewardRatio = -1; // the world itself is broken: nothing more can be judged in it
    this.done = true;
  }

  #reached(truth: TaskTruth): boolean {
    return distanceM(truth.toolPose, this.#task.goalM) <= this.#task.goalRadiusM;
  }

  /** On the goal, at rest on the table, let go of. */
  #placed(truth: TaskTruth, nowNs: Instant): boolean {
    const { goalM, goalRadiusM } = this.#task;
    const { objectPoses, toolPose } = truth;
    const isStill = this.#speedMPerS(objectPoses, nowNs) <= REST_M_PER_S_MAX;
    const heightM = objectPoses[2]! - this.#task.objects[0]!.halfExtentsM[2];
    const aside = distanceM(objectPoses, toolPose) >= this.#releaseM;
    const open = truth.positionRad[this.#gripperIndex]! >= this.#gripperRadOpen;
    const offsetM = levelDistanceM(objectPoses, goalM);
    return offsetM <= goalRadiusM && isStill && heightM <= TABLE_GAP_M_MAX && (aside || open);
  }

  /** By difference to the step before; infinite at the first. */
  #speedMPerS(objectPoses: Float64Array, nowNs: Instant): number {
    const lengthS = (nowNs - this.#beforeNs) / NS_PER_S;
    const movedM = distanceM(objectPoses, this.#beforeM);
    const isFirst = !this.#hasBefore;
    this.#hasBefore = true;
    this.#beforeNs = nowNs;
    for (let axis = 0; axis < 3; axis += 1) this.#beforeM[axis] = objectPoses[axis]!;
    return isFirst ? Infinity : movedM / lengthS;
  }

  #shaped(truth: TaskTruth): number {
    const { kind, goalM } = this.#task;
    if (kind === "reach") return -shareOfRange(distanceM(truth.toolPose, goalM));
    const toObject = shareOfRange(distanceM(truth.toolPose, truth.objectPoses));
    const toGoal = shareOfRange(levelDistanceM(truth.objectPoses, goalM));
    return -(toObject + toGoal) / 2;
  }
}

type Point = Float64Array | readonly number[];

function distanceM(from: Point, to: Point): number {
  const x = to[0]! - from[0]!;
  const y = to[1]! - from[1]!;
  const z = to[2]! - from[2]!;
  return Math.sqrt(x * x + y * y + z * z);
}

/** As seen from above. */
function levelDistanceM(from: Point, to: Point): number {
  const x = to[0]! - from[0]!;
  const y = to[1]! - from[1]!;
  return Math.sqrt(x * x + y * y);
}

function shareOfRange(lengthM: number): number {
  return Math.min(1, lengthM / REWARD_RANGE_M);
}
