// A gate with one tick after another, for the tests of this folder: a few words per tick, and what
// the last command said. Every approval is spent as the sink would spend it.

import { ActionSample } from "../runtime/contracts/action-sample.ts";
import { assert } from "../runtime/contracts/assert.ts";
import { CommandSlot } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import { instant } from "../runtime/contracts/units.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import type { ApprovedCommand } from "./gate.ts";
import { SafetyGate } from "./gate.ts";

export const FINGERPRINT = 4_711;

/** A gate with one tick after another; every approval is spent as the sink would. */
export class GateBench {
  readonly profile: RobotProfile;
  readonly gate: SafetyGate;
  readonly action: ActionSample;
  readonly state: StateView;
  tick = 0;
  kind = -1;
  repairs = -1;

  constructor(joints: readonly JointProfile[], changes: Partial<RobotProfile> = {}) {
    // In RUNNING from the first tick, one sample says where the robot is: most tests begin there.
    const base = testProfile(joints);
    const supervisor = { ...base.supervisor, startsIn: "Running" as const };
    this.profile = { ...base, supervisor, ...changes };
    this.gate = new SafetyGate(this.profile, FINGERPRINT);
    this.action = new ActionSample(joints.length);
    this.action.schemaFingerprint = FINGERPRINT;
    this.action.width = joints.length;
    this.state = testState(
      this.profile,
      joints.map(() => 0),
    );
  }

  get nowNs() {
    return instant(this.tick * this.profile.periodNs);
  }

  measure(...positionRad: number[]): this {
    this.state.positionRad.set(positionRad);
    this.state.record[StateSlot.stampNs] = this.nowNs;
    return this;
  }

  ask(...values: number[]): this {
    this.action.values.set(values);
    this.action.tookOver = false;
    return this;
  }

  takeOver(...values: number[]): this {
    this.ask(...values).action.tookOver = true;
    return this;
  }

  judge(): Reason {
    return this.gate.judge(this.action, this.state);
  }

  /** One tick of motion; the command's values. */
  move(...values: number[]): number[] {
    this.ask(...values);
    assert(this.judge() === Reason.Ok, "the bench moves only what is judged Ok");
    return this.spend(
      this.gate.approveMotion(this.action, this.state, this.tick, this.nowNs, Mode.Running),
    );
  }

  /** One tick of the safe action. */
  hold(reason: Reason = Reason.NoAction): number[] {
    return this.spend(
      this.gate.approveSafe(this.state, reason, this.tick, this.nowNs, Mode.Degraded),
    );
  }

  spend(command: ApprovedCommand): number[] {
    this.gate.spend(command, this.tick);
    this.kind = command.kind;
    this.repairs = command.record[CommandSlot.repairs]!;
    this.tick += 1;
    return [...command.values];
  }
}

export const gateBench = (changes: Partial<JointProfile> = {}) =>
  new GateBench([testJoint(changes)]);
/** Limits so wide that one tick reaches any target. */
export const freeLimits = {
  velocityRadPerSMax: 1e3,
  motion: { accelerationRadPerS2: 1e9, jerkRadPerS3: 1e9 },
  stop: { accelerationRadPerS2: 1e9, jerkRadPerS3: 1e9 },
} as const;
