// TrajectoryPolicy: minimum-jerk motion from waypoint to waypoint, for ever, at rest at each. With
// no waypoints given it visits three poses derived from the profile: home, and home leaned to
// either side. The first leg leads from wherever the robot stands.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { JointProfile, RobotProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyContext } from "./context.ts";
import { MinimumJerkPath } from "./minimum-jerk.ts";
import { PlanWriter } from "./plan-writer.ts";
import { PolicyError } from "./policy-error.ts";

// Far enough to be seen, near enough that an arm in its home pose meets neither table nor itself.
const LEAN_RAD = 0.3;

export class TrajectoryPolicy implements Policy {
  readonly name = "trajectory";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: PlanWriter;
  readonly #path: MinimumJerkPath;
  readonly #waypointsRad: readonly Float64Array[];
  readonly #startRad: Float64Array;
  #allocator = new SequenceAllocator(0);
  #next = -1;

  /** Waypoints hold one position per joint, rad. Throws PolicyError when one leaves the limits. */
  constructor(context: PolicyContext, waypointsRad = defaultWaypoints(context.robot)) {
    const { joints } = context.robot;
    this.#writer = new PlanWriter(context);
    this.schema = this.#writer.schema;
    this.#path = new MinimumJerkPath(context.robot);
    this.#startRad = new Float64Array(joints.length);
    for (const waypoint of waypointsRad) checkWaypoint(waypoint, joints);
    this.#waypointsRad = waypointsRad;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#writer.reset();
    this.#next = -1;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    const isLost = this.#next >= 0 && this.#writer.hasDeparted(state, this.#path);
    if (this.#next < 0 || isLost) {
      this.#writer.startInto(this.#startRad, state);
      this.#begin(Math.max(this.#next, 0), nowNs);
    } else if (nowNs >= this.#path.endNs) {
      this.#startRad.set(this.#path.endRad);
      this.#begin((this.#next + 1) % this.#waypointsRad.length, nowNs);
    }
    return this.#writer.write(state, this.#path, this.#allocator, nowNs);
  }

  #begin(waypoint: number, nowNs: Instant): void {
    this.#next = waypoint;
    this.#path.beginAt(this.#startRad, nowNs);
    this.#path.addPoint(this.#waypointsRad[waypoint]!);
  }
}

/** Home, leaned one way, home, leaned the other: neighbours in opposite directions. */
export function defaultWaypoints(robot: RobotProfile): Float64Array[] {
  const lean = (side: number) =>
    Float64Array.from(robot.joints, (joint, index) => {
      const wayRad = (index % 2 === 0 ? side : -side) * LEAN_RAD;
      return within(joint, joint.homeRad + wayRad);
    });
  return [lean(0), lean(1), lean(0), lean(-1)];
}

function within(joint: JointProfile, rad: number): number {
  return Math.min(Math.max(rad, joint.positionRadMin), joint.positionRadMax);
}

function checkWaypoint(waypoint: Float64Array, joints: readonly JointProfile[]): void {
  for (const [index, joint] of joints.entries()) {
    const rad = waypoint[index] ?? Number.NaN;
    if (rad >= joint.positionRadMin && rad <= joint.positionRadMax) continue;
    throw new PolicyError("unfit_robot", "Cannot follow the waypoints", {
      place: joint.name,
      expected: `${joint.name} in ${joint.positionRadMin} … ${joint.positionRadMax} rad`,
      found: `${rad}`,
    });
  }
}
