// KinematicRobot: a robot without physics. Joints are where their commands say, at once or with a
// first-order lag, and every observation brings a new sample of a fixed age.
//
// It has no objects and no camera: localization and image sources stay absent. For `bench core`,
// for robots without a model and for tests. Allocates nothing in observe and send.

import { assert } from "../runtime/contracts/assert.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import type { RobotProfile, SourceProfile } from "../runtime/contracts/profile.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { NS_PER_S, instant, nmVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import type { Duration, Instant, NmVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";
import { CommandFollower } from "./command-follower.ts";
import { LifecycleCue, lifecycleError, lifecycleStep, refusesActivation } from "./lifecycle.ts";
import { proprioWriters } from "./proprio-writer.ts";
import type { ProprioWriter } from "./proprio-writer.ts";
import { LifecycleState } from "./robot.ts";
import type { RobotActuator, RobotInterface, RobotLifecycle, RobotSensor } from "./robot.ts";

export type KinematicOptions = {
  /** How long before its observation a sample was taken, up to a control period. */
  readonly ageNs: Duration;
  /** Time constant with which a joint closes on its set-point; zero follows exactly. */
  readonly lagNs: Duration;
};

export class KinematicRobot implements RobotInterface, RobotSensor, RobotActuator, RobotLifecycle {
  /** Truth, in profile order. Written by `observeInto` and `reset`. */
  readonly positionRad: RadVec;
  readonly velocityRadPerS: RadPerSVec;
  readonly follower: CommandFollower;
  /** True: the device answers nothing, as with a pulled cable. Commands are still followed. */
  isSilent = false;
  readonly #name: string;
  readonly #ageNs: Duration;
  readonly #lagNs: Duration;
  readonly #homeRad: RadVec;
  readonly #effortNm: NmVec;
  readonly #writers: readonly ProprioWriter[];
  #state: LifecycleState = LifecycleState.Inactive;
  #observedNs = instant(-Infinity);

  /** `sources` is the whole source table of the run, whose order the snapshot has. */
  constructor(
    robot: RobotProfile,
    sources: readonly SourceProfile[],
    { ageNs, lagNs }: KinematicOptions,
  ) {
    assert(ageNs >= 0 && ageNs <= robot.periodNs, "a sample is no older than a control period");
    const jointNames = robot.joints.map((joint) => joint.name);
    this.#name = robot.name;
    this.#ageNs = ageNs;
    this.#lagNs = lagNs;
    this.#homeRad = radVec(Float64Array.from(robot.joints, (joint) => joint.homeRad));
    this.positionRad = radVec(this.#homeRad.slice());
    this.velocityRadPerS = radPerSVec(new Float64Array(robot.joints.length));
    this.#effortNm = nmVec(new Float64Array(robot.joints.length));
    this.follower = new CommandFollower(robot.joints);
    this.follower.hold(this.positionRad);
    this.#writers = proprioWriters(robot.name, sources, jointNames);
  }

  get sensor(): RobotSensor {
    return this;
  }
  get actuator(): RobotActuator {
    return this;
  }
  get lifecycle(): RobotLifecycle {
    return this;
  }
  get state(): LifecycleState {
    return this.#state;
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    if (this.#state === LifecycleState.Closed || !(nowNs > this.#observedNs)) return;
    if (Number.isFinite(this.#observedNs)) this.#move(nowNs);
    this.#observedNs = nowNs;
    if (this.isSilent) return;
    const stampNs = instant(nowNs - this.#ageNs);
    for (let index = 0; index < this.#writers.length; index += 1) {
      const writer = this.#writers[index]!;
      const sample = snapshot.samples[writer.sourceIndex]!;
      const { positionRad, velocityRadPerS } = this;
      writer.write(sample, stampNs, nowNs, positionRad, velocityRadPerS, this.#effortNm);
      snapshot.arrived[writer.sourceIndex] = 1;
    }
  }

  send(command: CommandView): void {
    if (this.#state === LifecycleState.Active) this.follower.take(command);
  }

  activate(_nowNs: Instant): void {
    if (refusesActivation(this.#state)) {
      throw lifecycleError(this.#name, "activate", "an inactive device", this.#state);
    }
    if (this.#state === LifecycleState.Active) return;
    this.follower.hold(this.positionRad);
    this.#state = lifecycleStep(this.#state, LifecycleCue.Activate);
  }

  deactivate(_nowNs: Instant): void {
    if (this.#state === LifecycleState.Active) this.follower.hold(this.positionRad);
    this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
  }

  reset(_seed: number): void {
    this.positionRad.set(this.#homeRad);
    this.velocityRadPerS.fill(0);
    this.follower.hold(this.positionRad);
  }

  close(): void {
    this.#state = lifecycleStep(this.#state, LifecycleCue.Close);
  }

  /** What was commanded at the last observation is where the joints are at this sample's stamp. */
  #move(nowNs: Instant): void {
    const stepNs = nowNs - this.#observedNs;
    this.follower.advance(this.#observedNs, nowNs);
    if (this.follower.isLimp) this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
    const share = stepNs / (this.#lagNs + stepNs);
    for (let joint = 0; joint < this.positionRad.length; joint += 1) {
      const beforeRad = this.positionRad[joint]!;
      const targetRad = this.follower.targetRad[joint]!;
      const afterRad = this.#lagNs === 0 ? targetRad : beforeRad + (targetRad - beforeRad) * share;
      this.positionRad[joint] = afterRad;
      this.velocityRadPerS[joint] = ((afterRad - beforeRad) / stepNs) * NS_PER_S;
    }
  }
}
