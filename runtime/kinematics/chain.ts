// Forward kinematics and the geometric Jacobian of the tool, for the joints between base and tool.
// Built once from a profile; afterwards every call writes into the caller's memory and allocates
// nothing. Joint vectors are always those of the whole robot, in profile order: a joint that is not
// on the way to the tool (a gripper's jaw) moves nothing and has a Jacobian column of zeros.

import { assert } from "../contracts/assert.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { cos, sin } from "../contracts/trig.ts";
import { composeInto, POSE_SLOTS } from "./pose.ts";

/** What a chain needs of a robot. */
export type ChainProfile = Pick<RobotProfile, "joints" | "toolParent" | "toolM" | "toolWxyz">;

export const JACOBIAN_ROWS = 6;

export class Chain {
  /** Joints of the whole robot: the length of every joint vector given to this chain. */
  readonly jointCount: number;
  /** Profile indices of the joints that move the tool, base first. */
  readonly path: Int32Array;
  /** The tool is never farther than this from the first joint's origin. */
  readonly reachM: number;
  /** Origin of the first joint in the base frame; that joint does not move it. */
  readonly rootM: Float64Array;
  #origins: Float64Array[] = [];
  #axes: Float64Array;
  #tool: Float64Array;
  /** Of the last call, per joint of the path, in the base frame: origin (3), unit axis (3). */
  #hinges: Float64Array;
  #frame = new Float64Array(POSE_SLOTS);
  #turn = new Float64Array(POSE_SLOTS);

  constructor(robot: ChainProfile) {
    this.jointCount = robot.joints.length;
    const path = pathTo(robot, robot.toolParent);
    this.path = Int32Array.from(path);
    this.#axes = new Float64Array(path.length * 3);
    this.#hinges = new Float64Array(path.length * 6);
    let reachM = lengthOf(robot.toolM);
    for (const [link, index] of path.entries()) {
      const joint = robot.joints[index]!;
      this.#origins.push(poseOf(joint.originM, joint.originWxyz));
      this.#axes.set(joint.axis, link * 3);
      if (link > 0) reachM += lengthOf(joint.originM);
    }
    this.#tool = poseOf(robot.toolM, robot.toolWxyz);
    this.reachM = reachM;
    this.rootM = Float64Array.from(robot.joints[path[0]!]!.originM);
  }

  /** Pose of the tool in the base frame, into seven slots [x, y, z, qx, qy, qz, qw]. */
  forwardInto(pose: Float64Array, positionRad: Float64Array): void {
    this.#walk(positionRad);
    composeInto(pose, this.#frame, this.#tool);
  }

  /**
   * Rows: tool velocity x, y, z in m/s, then angular velocity x, y, z in rad/s, in the base frame.
   * Columns: one per joint of the robot. Row-major, 6 * jointCount slots.
   */
  jacobianInto(out: Float64Array, positionRad: Float64Array): void {
    this.#walk(positionRad);
    composeInto(this.#frame, this.#frame, this.#tool);
    out.fill(0);
    const count = this.jointCount;
    for (let link = 0; link < this.path.length; link += 1) {
      const column = this.path[link]!;
      const at = link * 6;
      const x = this.#frame[0]! - this.#hinges[at]!;
      const y = this.#frame[1]! - this.#hinges[at + 1]!;
      const z = this.#frame[2]! - this.#hinges[at + 2]!;
      const ax = this.#hinges[at + 3]!;
      const ay = this.#hinges[at + 4]!;
      const az = this.#hinges[at + 5]!;
      out[column] = ay * z - az * y;
      out[count + column] = az * x - ax * z;
      out[2 * count + column] = ax * y - ay * x;
      out[3 * count + column] = ax;
      out[4 * count + column] = ay;
      out[5 * count + column] = az;
    }
  }

  /** Leaves the last joint's frame in `#frame`, and every hinge in `#hinges`. */
  #walk(positionRad: Float64Array): void {
    const frame = this.#frame;
    const turn = this.#turn;
    frame.fill(0);
    frame[6] = 1;
    turn.fill(0);
    for (let link = 0; link < this.path.length; link += 1) {
      composeInto(frame, frame, this.#origins[link]!);
      const ax = this.#axes[link * 3]!;
      const ay = this.#axes[link * 3 + 1]!;
      const az = this.#axes[link * 3 + 2]!;
      this.#noteHinge(link * 6, ax, ay, az);
      const half = positionRad[this.path[link]!]! / 2;
      const sine = sin(half);
      turn[3] = ax * sine;
      turn[4] = ay * sine;
      turn[5] = az * sine;
      turn[6] = cos(half);
      composeInto(frame, frame, turn);
    }
  }

  #noteHinge(at: number, ax: number, ay: number, az: number): void {
    const hinges = this.#hinges;
    const x = this.#frame[3]!;
    const y = this.#frame[4]!;
    const z = this.#frame[5]!;
    const w = this.#frame[6]!;
    const tx = 2 * (y * az - z * ay);
    const ty = 2 * (z * ax - x * az);
    const tz = 2 * (x * ay - y * ax);
    hinges[at] = this.#frame[0]!;
    hinges[at + 1] = this.#frame[1]!;
    hinges[at + 2] = this.#frame[2]!;
    hinges[at + 3] = ax + w * tx + (y * tz - z * ty);
    hinges[at + 4] = ay + w * ty + (z * tx - x * tz);
    hinges[at + 5] = az + w * tz + (x * ty - y * tx);
  }
}

/** Profile indices of the joints from the base to this one. Set-up only. */
export function pathTo(robot: ChainProfile, tip: string): number[] {
  const path: number[] = [];
  let name: string | undefined = tip;
  while (name !== undefined) {
    const wanted: string = name;
    const index = robot.joints.findIndex((joint) => joint.name === wanted);
    assert(index >= 0, "the tool's parent and every joint's parent is a joint");
    assert(!path.includes(index), "no joint is its own ancestor");
    path.unshift(index);
    name = robot.joints[index]!.parent;
  }
  return path;
}

function lengthOf([x, y, z]: readonly [number, number, number]): number {
  return Math.sqrt(x * x + y * y + z * z);
}

function poseOf(positionM: readonly number[], wxyz: readonly number[]): Float64Array {
  return Float64Array.of(
    positionM[0]!,
    positionM[1]!,
    positionM[2]!,
    wxyz[1]!,
    wxyz[2]!,
    wxyz[3]!,
    wxyz[0]!,
  );
}
