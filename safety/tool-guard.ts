// ToolGuard: keeps the tool below a speed and inside a box. It knows the tool by its forward
// kinematics, and changes a step only as a whole, towards a brake: the path keeps its direction.
//
// Speed is judged by what is left once the present acceleration has eased off, and the box by where
// a stop would end: both are known before it is too late. It works in two stages: within the limits
// of motion a little before the limit, and within those of a stop at the limit itself.

import { assert } from "../runtime/contracts/assert.ts";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { ToolPoint } from "../runtime/kinematics/tool-point.ts";
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
/** The search between the wanted step and the brake ends after so many tries. */
const TRIES_MAX = 8;
/** And earlier, at a step that leaves unused no more than this share of what lies between them. */
const UNUSED_SHARE = 1 / 128;

/** What is kept: by motion a little early, by a stop at the limit itself. */
type Stage = {
  readonly changeRadMax: Float64Array;
  readonly jerkRad: Float64Array;
  readonly speedShare: number;
  readonly wallM: number;
};

export class ToolGuard {
  readonly #limits: JointLimits;
  readonly #motion: Stage;
  readonly #stop: Stage;
  readonly #profile = new StopProfile();
  /** Joints that move the tool. */
  readonly #path: Int32Array;
  readonly #soon: ToolPoint;
  readonly #end: ToolPoint;
  readonly #hasBox: boolean;
  readonly #minM = new Float64Array(3);
  readonly #maxM = new Float64Array(3);
  readonly #ownStrideMMax: number;
  readonly #reducedStrideMMax: number;
  #strideMMax: number;
  /** Where the command has the joints, and the tool. */
  readonly #fromRad: Float64Array;
  readonly #fromM = new Float64Array(3);
  readonly #atRad: Float64Array;
  readonly #atM = new Float64Array(3);
  readonly #wanted: Float64Array;
  readonly #brake: Float64Array;

  /** Set-up only. */
  constructor(profile: RobotProfile, limits: JointLimits) {
    const { toolSpeedMPerSMax, workspace } = profile.gate;
    const { jointCount, motionChangeRadMax, motionJerkRad, stopChangeRadMax, stopJerkRad } = limits;
    this.#limits = limits;
    this.#motion = {
      changeRadMax: motionChangeRadMax,
      jerkRad: motionJerkRad,
      speedShare: SOFT_SHARE,
      wallM: SOFT_WALL_M,
    };
    this.#stop = { changeRadMax: stopChangeRadMax, jerkRad: stopJerkRad, speedShare: 1, wallM: 0 };
    this.#soon = new ToolPoint(profile);
    this.#end = new ToolPoint(profile);
    this.#path = this.#soon.path;
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
    this.#fromRad = new Float64Array(jointCount);
    this.#atRad = new Float64Array(jointCount);
    this.#wanted = new Float64Array(jointCount);
    this.#brake = new Float64Array(jointCount);
  }

  /** There is something to keep. */
  get isOn(): boolean {
    return this.#hasBox || this.#strideMMax !== Number.POSITIVE_INFINITY;
  }

  /** From now on the tool stays below the reduced speed, or only below the profile's own. */
  slowDown(isReduced: boolean): void {
    this.#strideMMax = isReduced ? this.#reducedStrideMMax : this.#ownStrideMMax;
  }

  /** The tick's step begins at this command: for every question until the next call. */
  begin(command: Float64Array): void {
    if (!this.isOn) return;
    const { isVelocity } = this.#limits;
    for (let joint = 0; joint < command.length; joint += 1) {
      this.#fromRad[joint] = isVelocity[joint] === 1 ? 0 : command[joint]!;
    }
    this.#soon.placeInto(this.#fromM, this.#fromRad);
  }

  /** The bits of what these changes, one per joint, would break; motion keeps a little distance. */
  brokenBy(next: Float64Array, strideRad: Float64Array): number {
    let broken = 0;
    if (this.#tooFastM(next, strideRad, this.#motion) > 0) broken |= RepairBit.Velocity;
    if (this.#outsideM(next, strideRad, this.#motion) > 0) broken |= RepairBit.Workspace;
    return broken;
  }

  /**
   * Takes back as much of these changes as it must, in the direction they have: as the limits of
   * motion allow, and where that is not enough those of a stop. Returns the bits.
   */
  soften(next: Float64Array, strideRad: Float64Array, changeRad: Float64Array): number {
    if (!this.isOn) return 0;
    const broken = this.brokenBy(next, strideRad);
    if (broken === 0) return 0;
    this.#ease(next, strideRad, changeRad, this.#motion);
    this.#ease(next, strideRad, changeRad, this.#stop);
    return broken;
  }

  #ease(next: Float64Array, strideRad: Float64Array, changeRad: Float64Array, stage: Stage): void {
    const overM = this.#overM(next, strideRad, stage);
    if (overM <= 0) return;
    easeInto(this.#brake, strideRad, changeRad, stage.changeRadMax, stage.jerkRad);
    this.#takeBack(next, strideRad, stage, overM);
  }

  /** Brakes what has become too fast since: each joint as hard as it may. Returns the bits. */
  limit(next: Float64Array, strideRad: Float64Array, changeRad: Float64Array): number {
    if (!this.isOn) return 0;
    const { changeRadMax, jerkRad } = this.#stop;
    const tooFastM = this.#tooFastM(next, strideRad, this.#stop);
    const overM = Math.max(tooFastM, this.#outsideM(next, strideRad, this.#stop));
    if (overM <= 0) return 0;
    for (let joint = 0; joint < next.length; joint += 1) {
      const stride = strideRad[joint]!;
      const change = changeRad[joint]!;
      this.#brake[joint] = brakeChange(stride, change, changeRadMax[joint]!, jerkRad[joint]!);
    }
    this.#takeBack(next, strideRad, this.#stop, overM);
    return tooFastM > 0 ? RepairBit.Velocity : RepairBit.Workspace;
  }

  /**
   * From the wanted changes, by which the tool is `overM` over, towards the brake: the first that
   * keeps the limits and wastes little of them.
   */
  #takeBack(next: Float64Array, strideRad: Float64Array, stage: Stage, overM: number): void {
    this.#wanted.set(next);
    const brakeM = this.#tryShare(next, strideRad, stage, 0);
    const unusedM = (overM - brakeM) * UNUSED_SHARE;
    // No step lies beyond the brake: it stands when it is still over, and when it wastes nothing.
    if (brakeM >= -unusedM) return;
    // Regula falsi towards the middle of what is close enough, from which all is measured: so no
    // try leaves the interval. An end that stays weighs half.
    const middleM = -unusedM / 2;
    let low = 0;
    let lowM = brakeM - middleM;
    let high = 1;
    let highM = overM - middleM;
    let share = 0;
    let kept = 0;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      share = low - ((high - low) * lowM) / (highM - lowM);
      const triedM = this.#tryShare(next, strideRad, stage, share);
      if (triedM <= 0 && triedM >= -unusedM) return;
      if (triedM > 0) {
        high = share;
        highM = triedM - middleM;
        if (kept === 1) lowM /= 2;
        kept = 1;
      } else {
        low = share;
        lowM = triedM - middleM;
        if (kept === -1) highM /= 2;
        kept = -1;
      }
    }
    if (share !== low) this.#blend(next, low);
  }

  #tryShare(next: Float64Array, strideRad: Float64Array, stage: Stage, share: number): number {
    this.#blend(next, share);
    return this.#overM(next, strideRad, stage);
  }

  /** 0 is the brake, 1 what was wanted. */
  #blend(next: Float64Array, share: number): void {
    for (let joint = 0; joint < next.length; joint += 1) {
      const brake = this.#brake[joint]!;
      next[joint] = brake + share * (this.#wanted[joint]! - brake);
    }
  }

  /** By how much these changes break a limit; not above zero when they break none. */
  #overM(next: Float64Array, strideRad: Float64Array, stage: Stage): number {
    const tooFastM = this.#tooFastM(next, strideRad, stage);
    return Math.max(tooFastM, this.#outsideM(next, strideRad, stage));
  }

  /** How far too far the tool goes in a tick, also when its joints have eased their change off. */
  #tooFastM(next: Float64Array, strideRad: Float64Array, stage: Stage): number {
    if (this.#strideMMax === Number.POSITIVE_INFINITY) return Number.NEGATIVE_INFINITY;
    const path = this.#path;
    for (let link = 0; link < path.length; link += 1) {
      const joint = path[link]!;
      const change = next[joint]!;
      const stride = strideRad[joint]! + change;
      const rest = stride * change > 0 ? taperRest(Math.abs(change), stage.jerkRad[joint]!) : 0;
      this.#atRad[joint] = this.#fromRad[joint]! + stride + (stride < 0 ? -rest : rest);
    }
    this.#soon.placeInto(this.#atM, this.#atRad);
    const x = this.#atM[0]! - this.#fromM[0]!;
    const y = this.#atM[1]! - this.#fromM[1]!;
    const z = this.#atM[2]! - this.#fromM[2]!;
    const goneM = Math.sqrt(x * x + y * y + z * z);
    return goneM - stage.speedShare * this.#strideMMax - ROUNDING_M * this.#limits.periodS;
  }

  /** How far outside the box a stop ends; a tool that is outside comes no further out. */
  #outsideM(next: Float64Array, strideRad: Float64Array, stage: Stage): number {
    if (!this.#hasBox) return Number.NEGATIVE_INFINITY;
    const { changeRadMax, jerkRad } = stage;
    const path = this.#path;
    for (let link = 0; link < path.length; link += 1) {
      const joint = path[link]!;
      const change = next[joint]!;
      const stride = strideRad[joint]! + change;
      const way = this.#profile.trace(stride, change, changeRadMax[joint]!, jerkRad[joint]!);
      this.#atRad[joint] = this.#fromRad[joint]! + stride + way;
    }
    this.#end.placeInto(this.#atM, this.#atRad);
    let outsideM = Number.NEGATIVE_INFINITY;
    for (let axis = 0; axis < 3; axis += 1) {
      const now = this.#fromM[axis]!;
      const end = this.#atM[axis]!;
      const above = end - Math.max(now, this.#maxM[axis]! - stage.wallM);
      const below = Math.min(now, this.#minM[axis]! + stage.wallM) - end;
      outsideM = Math.max(outsideM, above - ROUNDING_M, below - ROUNDING_M);
    }
    return outsideM;
  }
}
