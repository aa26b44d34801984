// ToolGuard: keeps the tool below a speed and inside a box. It knows the tool by its forward
// kinematics, and changes a step only as a whole, towards a brake: the path keeps its direction.
//
// Speed is judged by what is left once the present acceleration has eased off, and the box by where
// a stop would end: both are known before it is too late. It works in two stages: within the limits
// of motion a little before the limit, and within those of a stop at the limit itself.

import { assert } from "../runtime/contracts/assert.ts";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { Chain } from "../runtime/kinematics/chain.ts";
import { POSE_SLOTS } from "../runtime/kinematics/pose.ts";
import type { JointLimits } from "./limits.ts";
import { StopProfile, brakeChange, easeInto, taperRest } from "./stop-profile.ts";

/** ISO 10218's reduced speed, for ticks in which a fault leaves only `reduced` motion. */
export const REDUCED_TOOL_M_PER_S = 0.25;
/** Motion slows down for this share of a limit; the rest is for levers that grow meanwhile. */
const SOFT_SHARE = 0.92;
/** Motion keeps this far from the walls of the box. */
const SOFT_WALL_M = 0.003;
/** Rounding of a pose: a micrometre is nothing to a tool. */
const ROUNDING_M = 1e-6;
/** Halvings between the wanted step and the brake. */
const HALVINGS = 8;

export class ToolGuard {
  readonly #limits: JointLimits;
  readonly #chain: Chain;
  readonly #stop = new StopProfile();
  readonly #hasBox: boolean;
  readonly #minM = new Float64Array(3);
  readonly #maxM = new Float64Array(3);
  readonly #ownStrideMMax: number;
  readonly #reducedStrideMMax: number;
  #strideMMax: number;
  readonly #pose = new Float64Array(POSE_SLOTS);
  readonly #from = new Float64Array(POSE_SLOTS);
  readonly #at: Float64Array;
  readonly #wanted: Float64Array;
  readonly #brake: Float64Array;

  /** Set-up only. */
  constructor(profile: RobotProfile, limits: JointLimits) {
    const { toolSpeedMPerSMax, workspace } = profile.gate;
    this.#limits = limits;
    this.#chain = new Chain(profile);
    this.#hasBox = workspace !== undefined;
    if (workspace !== undefined) {
      this.#minM.set(workspace.minM);
      this.#maxM.set(workspace.maxM);
      for (let axis = 0; axis < 3; axis += 1) {
        assert(this.#minM[axis]! < this.#maxM[axis]!, "the walls of the workspace are in order");
      }
    }
    const ownMPerS = toolSpeedMPerSMax ?? Number.POSITIVE_INFINITY;
    assert(ownMPerS > 0, "the tool may move");
    this.#ownStrideMMax = ownMPerS * limits.periodS;
    this.#reducedStrideMMax = Math.min(ownMPerS, REDUCED_TOOL_M_PER_S) * limits.periodS;
    this.#strideMMax = this.#ownStrideMMax;
    this.#at = new Float64Array(limits.jointCount);
    this.#wanted = new Float64Array(limits.jointCount);
    this.#brake = new Float64Array(limits.jointCount);
  }

  /** There is something to keep. */
  get isOn(): boolean {
    return this.#hasBox || this.#strideMMax !== Number.POSITIVE_INFINITY;
  }

  /** From now on the tool stays below the reduced speed, or only below the profile's own. */
  slowDown(isReduced: boolean): void {
    this.#strideMMax = isReduced ? this.#reducedStrideMMax : this.#ownStrideMMax;
  }

  /** The bits of what these changes, one per joint, would break; motion keeps a little distance. */
  brokenBy(next: Float64Array, command: Float64Array, strideRad: Float64Array): number {
    let broken = 0;
    const { motionJerkRad } = this.#limits;
    if (!this.#isSlow(next, command, strideRad, motionJerkRad, SOFT_SHARE)) {
      broken |= RepairBit.Velocity;
    }
    const { motionChangeRadMax } = this.#limits;
    if (
      !this.#endsInside(next, command, strideRad, motionChangeRadMax, motionJerkRad, SOFT_WALL_M)
    ) {
      broken |= RepairBit.Workspace;
    }
    return broken;
  }

  /**
   * Takes back as much of these changes as it must, in the direction they have: as the limits of
   * motion allow, and where that is not enough those of a stop. Returns the bits.
   */
  soften(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRad: Float64Array,
  ): number {
    if (!this.isOn) return 0;
    const { motionChangeRadMax, motionJerkRad, stopChangeRadMax, stopJerkRad } = this.#limits;
    const broken = this.brokenBy(next, command, strideRad);
    if (broken === 0) return 0;
    easeInto(this.#brake, strideRad, changeRad, motionChangeRadMax, motionJerkRad);
    this.#takeBack(
      next,
      command,
      strideRad,
      motionChangeRadMax,
      motionJerkRad,
      SOFT_SHARE,
      SOFT_WALL_M,
    );
    if (this.#keeps(next, command, strideRad, stopChangeRadMax, stopJerkRad, 1, 0)) return broken;
    easeInto(this.#brake, strideRad, changeRad, stopChangeRadMax, stopJerkRad);
    this.#takeBack(next, command, strideRad, stopChangeRadMax, stopJerkRad, 1, 0);
    return broken;
  }

  /** Brakes what has become too fast since: each joint as hard as it may. Returns the bits. */
  limit(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRad: Float64Array,
  ): number {
    if (!this.isOn) return 0;
    const { stopChangeRadMax, stopJerkRad } = this.#limits;
    const isSlow = this.#isSlow(next, command, strideRad, stopJerkRad, 1);
    if (isSlow && this.#endsInside(next, command, strideRad, stopChangeRadMax, stopJerkRad, 0)) {
      return 0;
    }
    for (let joint = 0; joint < next.length; joint += 1) {
      const stride = strideRad[joint]!;
      const change = changeRad[joint]!;
      const most = stopChangeRadMax[joint]!;
      this.#brake[joint] = brakeChange(stride, change, most, stopJerkRad[joint]!);
    }
    this.#takeBack(next, command, strideRad, stopChangeRadMax, stopJerkRad, 1, 0);
    return isSlow ? RepairBit.Workspace : RepairBit.Velocity;
  }

  /** Halves between the wanted changes and the brake, which stands when nothing else is allowed. */
  #takeBack(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRadMax: Float64Array,
    jerkRad: Float64Array,
    speedShare: number,
    wallM: number,
  ): void {
    this.#wanted.set(next);
    let good = 0;
    let bad = 1;
    for (let count = 0; count <= HALVINGS; count += 1) {
      const share = count === HALVINGS ? good : (good + bad) / 2;
      for (let joint = 0; joint < next.length; joint += 1) {
        const brake = this.#brake[joint]!;
        next[joint] = brake + share * (this.#wanted[joint]! - brake);
      }
      if (count === HALVINGS) return;
      if (this.#keeps(next, command, strideRad, changeRadMax, jerkRad, speedShare, wallM))
        good = share;
      else bad = share;
    }
  }

  #keeps(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRadMax: Float64Array,
    jerkRad: Float64Array,
    speedShare: number,
    wallM: number,
  ): boolean {
    if (!this.#isSlow(next, command, strideRad, jerkRad, speedShare)) return false;
    return this.#endsInside(next, command, strideRad, changeRadMax, jerkRad, wallM);
  }

  /** The tool stays below the speed, also when the joints have eased their acceleration off. */
  #isSlow(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    jerkRad: Float64Array,
    share: number,
  ): boolean {
    if (this.#strideMMax === Number.POSITIVE_INFINITY) return true;
    const { isVelocity } = this.#limits;
    for (let joint = 0; joint < next.length; joint += 1) {
      this.#at[joint] = isVelocity[joint] === 1 ? 0 : command[joint]!;
    }
    this.#chain.forwardInto(this.#from, this.#at);
    for (let joint = 0; joint < next.length; joint += 1) {
      const change = next[joint]!;
      const stride = strideRad[joint]! + change;
      const gain = stride * change > 0 ? taperRest(Math.abs(change), jerkRad[joint]!) : 0;
      this.#at[joint] = this.#at[joint]! + stride + (stride < 0 ? -gain : gain);
    }
    this.#chain.forwardInto(this.#pose, this.#at);
    return this.#distanceM() <= share * this.#strideMMax + ROUNDING_M * this.#limits.periodS;
  }

  #distanceM(): number {
    const x = this.#pose[0]! - this.#from[0]!;
    const y = this.#pose[1]! - this.#from[1]!;
    const z = this.#pose[2]! - this.#from[2]!;
    return Math.sqrt(x * x + y * y + z * z);
  }

  /** A stop ends inside the box; a tool that is outside comes no further out. */
  #endsInside(
    next: Float64Array,
    command: Float64Array,
    strideRad: Float64Array,
    changeRadMax: Float64Array,
    jerkRad: Float64Array,
    wallM: number,
  ): boolean {
    if (!this.#hasBox) return true;
    this.#chain.forwardInto(this.#from, command);
    for (let joint = 0; joint < next.length; joint += 1) {
      const stride = strideRad[joint]! + next[joint]!;
      const way = this.#stop.trace(stride, next[joint]!, changeRadMax[joint]!, jerkRad[joint]!);
      this.#at[joint] = command[joint]! + stride + way;
    }
    this.#chain.forwardInto(this.#pose, this.#at);
    for (let axis = 0; axis < 3; axis += 1) {
      const now = this.#from[axis]!;
      const end = this.#pose[axis]!;
      if (end > Math.max(now, this.#maxM[axis]! - wallM) + ROUNDING_M) return false;
      if (end < Math.min(now, this.#minM[axis]! + wallM) - ROUNDING_M) return false;
    }
    return true;
  }
}
