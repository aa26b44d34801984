// ArmMotion: the plan of a scripted arm with a gripper. It moves from rest to rest, knows when a
// motion has ended, and raises its targets by the droop it measured at rest, so that a soft servo
// ends where the solver meant it to. A closing jaw is asked for no more than a squeeze beyond where
// it is, so that holding something is neither a fault nor a race against it.

import type { ChunkView } from "../contracts/action.ts";
import type { SequenceAllocator } from "../contracts/policy.ts";
import type { JointProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyContext } from "./context.ts";
import { MinimumJerkPath } from "./minimum-jerk.ts";
import { leadReachRad, PlanWriter } from "./plan-writer.ts";
import type { Plan } from "./plan-writer.ts";

// A joint that still creeps this fast has not settled: 2 mm/s at an arm's length of 0.2 m.
const REST_RAD_PER_S_MAX = 0.01;
// Longer waits gain nothing: friction holds what has not come by then.
const SETTLE_NS_MAX = milliseconds(400);
// Shares of what the gate and the following-error fault leave.
const SQUEEZE_LEAD_SHARE = 0.6;
const SQUEEZE_FAULT_SHARE = 0.5;

export class ArmMotion implements Plan {
  readonly #writer: PlanWriter;
  readonly #path: MinimumJerkPath;
  readonly #joints: readonly JointProfile[];
  readonly #gripper: number;
  readonly #droopRad: Float64Array;
  readonly #row: Float64Array;
  readonly #squeezeRad: number;
  /** Where the jaw stays while the arm moves. */
  #gripperRad = 0;
  #gripperRadMin = Number.NEGATIVE_INFINITY;
  #isClosing = false;

  constructor(context: PolicyContext) {
    const { robot } = context;
    this.#writer = new PlanWriter(context);
    this.#path = new MinimumJerkPath(robot);
    this.#joints = robot.joints;
    this.#gripper = robot.joints.findIndex((joint) => joint.name === robot.gripper);
    this.#droopRad = new Float64Array(robot.joints.length);
    this.#row = new Float64Array(robot.joints.length);
    const jaw = robot.joints[this.#gripper];
    this.#squeezeRad =
      jaw === undefined
        ? 0
        : Math.min(
            SQUEEZE_LEAD_SHARE * leadReachRad(jaw),
            SQUEEZE_FAULT_SHARE * jaw.followingErrorRadMax,
          );
  }

  get schema(): PlanWriter["schema"] {
    return this.#writer.schema;
  }
  /** Where the motion under way ends: a live row of all joints. */
  get endRad(): Float64Array {
    return this.#path.endRad;
  }

  /** A new epoch: nothing is known of the arm until `begin`. */
  reset(): void {
    this.#writer.reset();
    this.#droopRad.fill(0);
    this.#release();
  }

  /** Plans on from where the robot stands, at rest. */
  begin(state: StateView, nowNs: Instant): void {
    this.#writer.startInto(this.#row, state);
    this.#release();
    this.#gripperRad = this.#row[this.#gripper] ?? 0;
    this.#path.beginAt(this.#row, nowNs);
  }

  hasDeparted(state: StateView): boolean {
    return this.#writer.hasDeparted(state, this, this.#isClosing ? this.#gripper : -1);
  }

  /** One straight motion of all joints; the jaw goes to `gripperRad`, or stays as it is. */
  moveTo(positionRad: Float64Array, nowNs: Instant, gripperRad?: number): void {
    this.#startLeg(nowNs);
    this.#gripperRad = gripperRad ?? this.#gripperRad;
    this.#addPoint(positionRad);
  }

  /** Through rows of all joints, at rest only at both ends. `count` may be zero: stay. */
  moveAlong(rows: readonly Float64Array[], count: number, nowNs: Instant): void {
    this.#startLeg(nowNs);
    for (let index = 0; index < count; index += 1) this.#addPoint(rows[index]!);
  }

  /** The same rows from the last to the first, then `endRad`. */
  moveBack(
    rows: readonly Float64Array[],
    count: number,
    endRad: Float64Array,
    nowNs: Instant,
  ): void {
    this.#startLeg(nowNs);
    for (let index = count - 2; index >= 0; index -= 1) this.#addPoint(rows[index]!);
    this.#addPoint(endRad);
  }

  /** Only the jaw moves. Closing stops a squeeze beyond whatever stops the jaw. */
  moveGripper(positionRad: number, nowNs: Instant): void {
    this.#startLeg(nowNs);
    this.#row.set(this.#path.endRad);
    this.#isClosing = positionRad < this.#row[this.#gripper]!;
    this.#row[this.#gripper] = positionRad;
    this.#path.addPoint(this.#row);
  }

  /** Once per act, before `write`: a closing jaw is led by where it is. */
  follow(state: StateView): void {
    if (this.#isClosing) {
      this.#gripperRadMin = state.positionRad[this.#gripper]! - this.#squeezeRad;
    }
  }

  /** The motion is over and the arm at rest, or as much at rest as it will be. */
  isSettled(state: StateView, nowNs: Instant): boolean {
    const sinceNs = nowNs - this.#path.endNs;
    if (sinceNs < 0) return false;
    if (sinceNs >= SETTLE_NS_MAX) return true;
    for (let joint = 0; joint < this.#joints.length; joint += 1) {
      if (joint === this.#gripper) continue;
      if (!(Math.abs(state.velocityRadPerS[joint]!) <= REST_RAD_PER_S_MAX)) return false;
    }
    return true;
  }

  /** At rest: what lies between plan and measurement is gravity's, up to the profile's droop. */
  noteDroop(state: StateView): void {
    for (const [index, joint] of this.#joints.entries()) {
      if (index === this.#gripper) continue;
      const rad = this.#path.endRad[index]! - state.positionRad[index]!;
      this.#droopRad[index] = Math.min(Math.max(rad, -joint.droopRad), joint.droopRad);
    }
  }

  write(state: StateView, allocator: SequenceAllocator, nowNs: Instant): ChunkView {
    return this.#writer.write(state, this, allocator, nowNs);
  }

  sampleInto(out: Float64Array, atNs: number): void {
    this.#path.sampleInto(out, atNs);
    const gripper = this.#gripper;
    if (gripper >= 0) out[gripper] = Math.max(out[gripper]!, this.#gripperRadMin);
  }

  /** The next leg begins where the last one ended, the jaw where its squeeze left it. */
  #startLeg(nowNs: Instant): void {
    this.sampleInto(this.#row, nowNs);
    this.#release();
    this.#gripperRad = this.#row[this.#gripper] ?? 0;
    this.#path.beginAt(this.#row, nowNs);
  }

  #release(): void {
    this.#isClosing = false;
    this.#gripperRadMin = Number.NEGATIVE_INFINITY;
  }

  /** The solver's joints, raised by the droop; the jaw where it stays. */
  #addPoint(positionRad: Float64Array): void {
    for (const [index, joint] of this.#joints.entries()) {
      const rad = positionRad[index]! + this.#droopRad[index]!;
      this.#row[index] = Math.min(Math.max(rad, joint.positionRadMin), joint.positionRadMax);
    }
    if (this.#gripper >= 0) this.#row[this.#gripper] = this.#gripperRad;
    this.#path.addPoint(this.#row);
  }
}
