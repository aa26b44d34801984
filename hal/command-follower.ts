// CommandFollower: what a simulated device does with commands. It keeps one set-point per joint,
// takes the newest command, and lets go of it at its expiry by its own judgement.
//
// An expired command freezes the set-point of position joints and stops velocity joints; one that
// was already over when it came is never followed. A command of kind None, or with a value that is
// not finite, changes nothing. Allocates nothing after construction.

import { CommandKind } from "../runtime/contracts/command.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { NS_PER_S, radVec } from "../runtime/contracts/units.ts";
import type { Instant, RadVec } from "../runtime/contracts/units.ts";

export class CommandFollower {
  /** Where each joint should be now. */
  readonly targetRad: RadVec;
  /** Commands that came too late or were let go of at their expiry, each counted once. */
  expiredCommands = 0;
  /** Commands refused for a value that is not finite. */
  refusedCommands = 0;
  readonly #isVelocity: Uint8Array;
  readonly #pending: Float64Array;
  readonly #values: Float64Array;
  #hasPending = false;
  #pendingExpiresNs = 0;
  #pendingKind: number = CommandKind.None;
  #isLive = false;
  #expiresNs = 0;
  #kind: number = CommandKind.None;

  constructor(joints: readonly JointProfile[]) {
    this.targetRad = radVec(new Float64Array(joints.length));
    this.#isVelocity = Uint8Array.from(joints, (joint) => (joint.command === "velocity" ? 1 : 0));
    this.#pending = new Float64Array(joints.length);
    this.#values = new Float64Array(joints.length);
  }

  /** True while the last command followed asks for no torque. */
  get isLimp(): boolean {
    return this.#kind === CommandKind.ZeroTorque;
  }

  /** Goal := present. Every earlier command is forgotten. */
  hold(positionRad: RadVec): void {
    this.targetRad.set(positionRad);
    this.#hasPending = false;
    this.#isLive = false;
    this.#kind = CommandKind.None;
  }

  /** Takes the newest command; it counts from the next `advance`. */
  take(command: CommandView): void {
    const { kind, values } = command;
    if (kind === CommandKind.None) return;
    for (let joint = 0; joint < values.length; joint += 1) {
      if (!Number.isFinite(values[joint])) {
        this.refusedCommands += 1;
        return;
      }
    }
    this.#pending.set(values);
    this.#pendingExpiresNs = command.expiresNs;
    this.#pendingKind = kind;
    this.#hasPending = true;
  }

  /** Moves the set-points through [fromNs, untilNs), as far as a command is valid there. */
  advance(fromNs: Instant, untilNs: Instant): void {
    if (this.#hasPending) this.#admit(fromNs);
    if (!this.#isLive) return;
    const endNs = untilNs < this.#expiresNs ? untilNs : this.#expiresNs;
    const lengthS = (endNs - fromNs) / NS_PER_S;
    for (let joint = 0; joint < this.targetRad.length; joint += 1) {
      if (this.#isVelocity[joint] === 1) this.targetRad[joint]! += this.#values[joint]! * lengthS;
    }
    if (untilNs < this.#expiresNs) return;
    this.#isLive = false;
    this.expiredCommands += 1;
  }

  #admit(fromNs: Instant): void {
    this.#hasPending = false;
    if (fromNs >= this.#pendingExpiresNs) {
      this.expiredCommands += 1;
      return;
    }
    this.#values.set(this.#pending);
    this.#expiresNs = this.#pendingExpiresNs;
    this.#kind = this.#pendingKind;
    this.#isLive = true;
    for (let joint = 0; joint < this.targetRad.length; joint += 1) {
      if (this.#isVelocity[joint] === 0) this.targetRad[joint] = this.#values[joint]!;
    }
  }
}
