// ReachPolicy: brings the tool to the task's goal and keeps it there. The pose is solved once, when
// the policy is built; a goal out of reach is refused then. At rest it looks where the tool really
// is and raises its target by the droop, so that a soft servo gets there too.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import { InverseResult, InverseSolver, POSITION_ONLY } from "../kinematics/inverse.ts";
import { POSE_SLOTS } from "../kinematics/pose.ts";
import { ArmMotion } from "./arm-motion.ts";
import type { PolicyContext } from "./context.ts";
import { PolicyError } from "./policy-error.ts";

// Nearer than this share of the goal's radius nothing is gained by another correction.
const GOOD_SHARE = 0.25;

export class ReachPolicy implements Policy {
  readonly name = "reach";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #motion: ArmMotion;
  readonly #solver: InverseSolver;
  readonly #goalRad: Float64Array;
  readonly #goalPose = new Float64Array(POSE_SLOTS);
  readonly #toolPose = new Float64Array(POSE_SLOTS);
  readonly #goodM: number;
  #allocator = new SequenceAllocator(0);
  #begun = false;

  /** Throws PolicyError when the task has no goal to reach, or the arm cannot. */
  constructor(context: PolicyContext) {
    const { robot, task } = context;
    if (task.kind !== "reach") throw unfit("a reach task", task.name);
    this.#motion = new ArmMotion(context);
    this.schema = this.#motion.schema;
    this.#solver = new InverseSolver(robot);
    this.#goodM = task.goalRadiusM * GOOD_SHARE;
    this.#goalRad = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    this.#goalPose.set(task.goalM);
    this.#goalPose[POSE_SLOTS - 1] = 1;
    const result = this.#solver.solveInto(this.#goalRad, this.#goalPose, POSITION_ONLY);
    if (result !== InverseResult.Ok) {
      throw unfit(`a goal within reach of ${robot.name}`, `${task.goalM.join(", ")} m`);
    }
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#motion.reset();
    this.#begun = false;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    const motion = this.#motion;
    if (!this.#begun || motion.hasDeparted(state)) {
      motion.begin(state, nowNs);
      motion.moveTo(this.#goalRad, nowNs);
      this.#begun = true;
    } else if (motion.isSettled(state, nowNs) && !this.#isThere(state)) {
      motion.noteDroop(state);
      motion.moveTo(this.#goalRad, nowNs);
    }
    return motion.write(state, this.#allocator, nowNs);
  }

  #isThere(state: StateView): boolean {
    this.#solver.chain.forwardInto(this.#toolPose, state.positionRad);
    let squaredM = 0;
    for (let axis = 0; axis < 3; axis += 1) {
      const offM = this.#toolPose[axis]! - this.#goalPose[axis]!;
      squaredM += offM * offM;
    }
    return squaredM <= this.#goodM * this.#goodM;
  }
}

function unfit(expected: string, found: string): PolicyError {
  return new PolicyError("unfit_task", 'Cannot run policy "reach"', {
    place: "task",
    expected,
    found,
  });
}
