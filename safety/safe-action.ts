// SafeAction: what the robot does while it may not do what a policy wants. Each action begins by
// braking the command to rest; then it stays, lets go, sits, lands or goes home, as the profile
// says for the present mode.
//
// An action that needs to see has a fallback for when it is blind: return_home holds, sit lets go,
// land goes on down for as long as the way takes. What has let go stays so until a start. A person
// may have the robot parked instead, in any stopped mode.

import { assert } from "../runtime/contracts/assert.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile, RobotProfile, SafeActionKind } from "../runtime/contracts/profile.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { commandVec } from "../runtime/contracts/units.ts";
import type { CommandVec } from "../runtime/contracts/units.ts";
import type { JointLimits } from "./limits.ts";
import type { MotionLimiter } from "./motion-limiter.ts";
import { Parking } from "./parking.ts";

/** A robot this near to the ground has landed: its rotors would only drag it about. */
const LANDED_RAD = 0.02;
/** A blind landing goes on for so much longer than its way should take. */
const BLIND_LANDING_FACTOR = 1.25;

const kinds: Readonly<Record<SafeActionKind, CommandKind>> = {
  hold: CommandKind.Hold,
  brake: CommandKind.Brake,
  zero_torque: CommandKind.ZeroTorque,
  sit: CommandKind.Sit,
  land: CommandKind.Land,
  return_home: CommandKind.ReturnHome,
};

export class SafeAction {
  readonly parking: Parking;
  readonly #limits: JointLimits;
  /** The action of each mode, by its code. */
  readonly #kinds: Uint8Array;
  readonly #homeRad: CommandVec;
  readonly #restRad: CommandVec;
  readonly #from: Float64Array;
  readonly #target: CommandVec;
  readonly #sitTicks: number;
  /** The joint that comes down, and how far in a tick; -1 for a robot that cannot land. */
  readonly #landJoint: number;
  readonly #landStrideRad: number;
  readonly #groundRad: number;
  #kind: number = CommandKind.Hold;
  #rested = false;
  #released = false;
  #parks = false;
  /** Ticks of the action since the robot came to rest. */
  #ticks = 0;
  /** Ticks that a landing still takes, when nobody can see the ground. */
  #landTicks = 0;

  /** Set-up only. */
  constructor(profile: RobotProfile, limits: JointLimits) {
    const { joints, land, safeActions, sitNs } = profile;
    const { degraded, latch, stop } = safeActions;
    this.#limits = limits;
    this.parking = new Parking(profile, limits);
    this.#kinds = new Uint8Array(Object.keys(Mode).length).fill(CommandKind.Hold);
    this.#kinds[Mode.Running] = kinds[degraded];
    this.#kinds[Mode.Degraded] = kinds[degraded];
    this.#kinds[Mode.SafeStop] = kinds[stop];
    this.#kinds[Mode.FaultLatched] = kinds[latch];
    // A wheel has no pose: it stands.
    const poseOf = (radOf: (joint: JointProfile) => number): CommandVec =>
      commandVec(
        Float64Array.from(joints, (joint) => (joint.command === "velocity" ? 0 : radOf(joint))),
      );
    this.#homeRad = poseOf((joint) => joint.homeRad);
    this.#restRad = poseOf((joint) => joint.restRad);
    this.#from = new Float64Array(joints.length);
    this.#target = commandVec(new Float64Array(joints.length));
    const isAsked = (kind: SafeActionKind) => stop === kind || latch === kind;
    assert(degraded === "hold" || degraded === "brake", "a robot that may move on only waits");
    assert(!isAsked("sit") || sitNs !== undefined, "a robot that sits says how long it takes");
    assert(!isAsked("land") || land !== undefined, "a robot that lands says how");
    this.#sitTicks = (sitNs ?? profile.periodNs) / profile.periodNs;
    this.#landJoint = joints.findIndex((joint) => joint.name === land?.joint);
    assert(land === undefined || this.#landJoint >= 0, "the joint that comes down is one");
    this.#landStrideRad = (land?.velocityRadPerS ?? 0) * limits.periodS;
    this.#groundRad = land?.groundRad ?? 0;
  }

  /** The command has come to rest and the action needs no more of it. */
  get stays(): boolean {
    return this.#rested && (this.#released || this.#kind <= CommandKind.ZeroTorque);
  }

  /** It has let go: where the robot is, only gravity and hands decide. */
  get released(): boolean {
    return this.#released;
  }

  /** It is on its way to the rest pose. */
  get parks(): boolean {
    return this.#parks;
  }

  /** The robot moves by a decision, or a person has started it: the next action begins anew. */
  forget(): void {
    this.parking.end();
    this.#released = false;
    this.#begin();
  }

  #begin(): void {
    this.#rested = false;
    this.#ticks = 0;
  }

  /** One tick. Returns the kind of the command that the limiter then holds. */
  step(limiter: MotionLimiter, state: StateView, mode: Mode, sees: boolean): CommandKind {
    this.#parks = false;
    if (this.#released) {
      limiter.brake();
      return CommandKind.ZeroTorque;
    }
    const { parking } = this;
    if (mode !== Mode.SafeStop && mode !== Mode.FaultLatched) parking.end();
    const kind = parking.isOn ? CommandKind.Park : this.#kinds[mode]!;
    if (kind !== this.#kind) this.#begin();
    this.#kind = kind;
    parking.count();
    if (!this.#rested) {
      limiter.brake();
      this.#rested = limiter.atRest;
      this.#from.set(limiter.command);
      this.#landTicks = this.#wayDownTicks(state);
      return kind === CommandKind.Hold ? CommandKind.Hold : CommandKind.Brake;
    }
    this.#ticks += 1;
    if (kind === CommandKind.Park) return this.#park(limiter, state, sees);
    if (kind === CommandKind.Sit) return this.#sit(limiter, state, sees);
    if (kind === CommandKind.Land) return this.#land(limiter, state, sees);
    if (kind === CommandKind.ReturnHome) return this.#goHome(limiter, state, sees);
    // At rest too: what a velocity joint was told before is on its way for some ticks only.
    limiter.brake();
    if (kind === CommandKind.ZeroTorque) this.#released = true;
    return kind as CommandKind;
  }

  #park(limiter: MotionLimiter, state: StateView, sees: boolean): CommandKind {
    const kind = this.parking.step(limiter, state, sees);
    if (kind === CommandKind.ZeroTorque) return this.#letGo(limiter);
    this.#parks = kind === CommandKind.Park;
    return kind;
  }

  /** To the rest pose, evenly over the profile's time; then it lets go. */
  #sit(limiter: MotionLimiter, state: StateView, sees: boolean): CommandKind {
    if (!sees) return this.#letGo(limiter);
    const share = Math.min(1, this.#ticks / this.#sitTicks);
    let arrived = share === 1 && limiter.atRest;
    for (let joint = 0; joint < this.#from.length; joint += 1) {
      const rest = this.#restRad[joint]!;
      const from = this.#from[joint]!;
      this.#target[joint] = share === 1 ? rest : from + share * (rest - from);
      if (limiter.command[joint] !== rest) arrived = false;
    }
    if (arrived) return this.#letGo(limiter);
    limiter.follow(this.#target, state.positionRad, state.velocityRadPerS);
    return CommandKind.Sit;
  }

  /** Straight down at the profile's speed until it stands; blind, until the way should be over. */
  #land(limiter: MotionLimiter, state: StateView, sees: boolean): CommandKind {
    if (sees) this.#landTicks = this.#wayDownTicks(state);
    else this.#landTicks -= 1;
    const heightRad = state.positionRad[this.#landJoint]! - this.#groundRad;
    const isDown = sees ? heightRad <= LANDED_RAD : this.#landTicks <= 0;
    if (isDown) return this.#letGo(limiter);
    this.#target.set(this.#from);
    this.#target[this.#landJoint] = -this.#landStrideRad / this.#limits.periodS;
    limiter.follow(this.#target, state.positionRad, state.velocityRadPerS);
    return CommandKind.Land;
  }

  #wayDownTicks(state: StateView): number {
    if (this.#landJoint < 0) return 0;
    const heightRad = Math.max(0, state.positionRad[this.#landJoint]! - this.#groundRad);
    return (BLIND_LANDING_FACTOR * heightRad) / this.#landStrideRad;
  }

  #goHome(limiter: MotionLimiter, state: StateView, sees: boolean): CommandKind {
    if (!sees) {
      limiter.brake();
      return CommandKind.Hold;
    }
    limiter.follow(this.#homeRad, state.positionRad, state.velocityRadPerS);
    return CommandKind.ReturnHome;
  }

  /** Brakes what still moves, then lets go for good. */
  #letGo(limiter: MotionLimiter): CommandKind {
    limiter.brake();
    if (!limiter.atRest) return CommandKind.Brake;
    this.#released = true;
    return CommandKind.ZeroTorque;
  }
}
