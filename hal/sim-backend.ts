// SimBackend: a robot and the objects of its task in a physics world, behind the same halves as a
// real robot. Physics runs only in `advanceTo`, up to the time it is told, in whole steps.
//
// It judges the expiry of commands in every step, by session time, as a real driver would. Samples
// are stamped with physics time; images are another worker's business. A physics fault stops the
// world and its samples, and is named. Observing, sending and advancing allocate nothing here.

import type { CommandView } from "../runtime/contracts/command.ts";
import type { RobotProfile, SourceProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { duration, instant, nmVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import type { Duration, Instant, NmVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";
import { CommandFollower } from "./command-follower.ts";
import {
  HalError,
  LifecycleCue,
  lifecycleError,
  lifecycleStep,
  refusesActivation,
} from "./lifecycle.ts";
import { locatorWriters } from "./locator-writer.ts";
import type { LocatorWriter } from "./locator-writer.ts";
import type { Mujoco } from "./mujoco/engine.ts";
import { MujocoWorld, POSE_SLOTS, WorldFault } from "./mujoco/world.ts";
import { placeObjectsInto } from "./object-placement.ts";
import { proprioWriters } from "./proprio-writer.ts";
import type { ProprioWriter } from "./proprio-writer.ts";
import { LifecycleState } from "./robot.ts";
import type { RobotActuator, RobotLifecycle, RobotSensor } from "./robot.ts";
import type { TaskWorld } from "./task-env.ts";
import type { TaskTruth } from "./task-judge.ts";

export type SimBackendOptions = {
  readonly engine: Mujoco;
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  /** The whole source table of the run, whose order the snapshot has. */
  readonly sources: readonly SourceProfile[];
};

/** A world further behind than this skips the time instead: a suspended machine owes no physics. */
const CATCH_UP_NS_MAX = 1_000_000_000;

const faultTexts: Readonly<Record<WorldFault, string>> = {
  [WorldFault.None]: "no fault",
  [WorldFault.NotFinite]: "a position or velocity that is not finite",
  [WorldFault.Unbounded]: "a velocity beyond any machine",
  [WorldFault.OutOfRoom]: "more contacts than the physics has room for",
};

export class SimBackend implements TaskWorld, RobotSensor, RobotActuator, RobotLifecycle {
  /** For renderers and viewers; only this class steps or changes it. */
  readonly world: MujocoWorld;
  /** Time the world has left out because it was too far behind, all in all. */
  skippedNs: Duration = duration(0);
  readonly #robot: RobotProfile;
  readonly #task: TaskProfile;
  readonly #follower: CommandFollower;
  readonly #homeRad: RadVec;
  readonly #positionRad: RadVec;
  readonly #velocityRadPerS: RadPerSVec;
  readonly #effortNm: NmVec;
  readonly #objectPoses: Float64Array;
  readonly #writers: readonly ProprioWriter[];
  readonly #locators: readonly LocatorWriter[];
  /** In steps: how often each source gives a sample, and when its next one is due. */
  readonly #periodSteps: Float64Array;
  readonly #dueSteps: Float64Array;
  readonly #stepNs: Duration;
  #state: LifecycleState = LifecycleState.Inactive;
  #fault: HalError | undefined;
  #hasPower = true;
  #isReleased = false; // torque off since a power cut, until it is activated again
  #hasOrigin = false;
  #originNs = instant(0);
  #stepCount = 0;

  /** Throws HalError or MujocoModelError when robot, task and model don't fit. */
  constructor({ engine, robot, task, sources }: SimBackendOptions) {
    const { sim, joints, name } = robot;
    if (sim === undefined) throw noPhysics(name);
    const jointNames = joints.map((joint) => joint.name);
    this.#robot = robot;
    this.#task = task;
    this.#follower = new CommandFollower(joints);
    this.#homeRad = radVec(Float64Array.from(joints, (joint) => joint.homeRad));
    this.#positionRad = radVec(new Float64Array(joints.length));
    this.#velocityRadPerS = radPerSVec(new Float64Array(joints.length));
    this.#effortNm = nmVec(new Float64Array(joints.length));
    this.#objectPoses = new Float64Array(task.objects.length * POSE_SLOTS);
    this.#writers = proprioWriters(name, sources, jointNames);
    this.#locators = locatorWriters(name, sources, task);
    this.#stepNs = sim.physicsStepNs;
    this.#periodSteps = Float64Array.from(sources, (source) =>
      Math.max(1, Math.round(source.periodNs / sim.physicsStepNs)),
    );
    this.#dueSteps = new Float64Array(sources.length);
    this.world = new MujocoWorld(engine, {
      ...sim,
      jointNames,
      effortNmMax: joints.map((joint) => joint.effortNmMax),
      objects: task.objects,
    });
    this.reset(0);
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
  /** Why the world stands still. */
  get fault(): HalError | undefined {
    return this.#fault;
  }
  get expiredCommands(): number {
    return this.#follower.expiredCommands;
  }
  get refusedCommands(): number {
    return this.#follower.refusedCommands;
  }
  /** Physics time since the last reset. */
  get worldNs(): Duration {
    return duration(this.#stepCount * this.#stepNs);
  }

  /**
   * Runs physics up to session time `nowNs`, in whole steps. The first call after a reset only says
   * when the world's time begins. A paced driver passes the time its cycle was due, so that every
   * cycle has the same number of steps.
   */
  advanceTo(nowNs: Instant): void {
    if (this.#state === LifecycleState.Closed) return;
    if (!this.#hasOrigin) {
      this.#hasOrigin = true;
      this.#originNs = nowNs;
      return;
    }
    const behindNs = nowNs - this.#originNs - this.worldNs;
    if (behindNs > CATCH_UP_NS_MAX) {
      const skippedNs = behindNs - (behindNs % this.#stepNs);
      this.#originNs = instant(this.#originNs + skippedNs);
      this.skippedNs = duration(this.skippedNs + skippedNs);
      return;
    }
    const stepCount = Math.floor(behindNs / this.#stepNs);
    for (let step = 0; step < stepCount && this.#fault === undefined; step += 1) this.#step();
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    if (!this.#hasOrigin || this.#fault !== undefined) return;
    if (this.#state === LifecycleState.Closed) return;
    this.#readJoints();
    const stampNs = instant(this.#originNs + this.worldNs);
    for (let index = 0; index < this.#writers.length; index += 1) {
      const writer = this.#writers[index]!;
      const { sourceIndex } = writer;
      if (!this.#takesDue(sourceIndex)) continue;
      const sample = snapshot.samples[sourceIndex]!;
      const position = this.#positionRad;
      writer.write(sample, stampNs, nowNs, position, this.#velocityRadPerS, this.#effortNm);
      snapshot.arrived[sourceIndex] = 1;
    }
    for (let index = 0; index < this.#locators.length; index += 1) {
      const locator = this.#locators[index]!;
      const { sourceIndex } = locator;
      if (!this.#takesDue(sourceIndex)) continue;
      locator.write(snapshot.samples[sourceIndex]!, stampNs, nowNs, this.world);
      snapshot.arrived[sourceIndex] = 1;
    }
  }

  send(command: CommandView): void {
    if (this.#state === LifecycleState.Active) this.#follower.take(command);
  }

  activate(_nowNs: Instant): void {
    const device = this.#robot.name;
    if (this.#fault !== undefined) throw this.#fault;
    if (refusesActivation(this.#state)) {
      throw lifecycleError(device, "activate", "an inactive device", this.#state);
    }
    if (!this.#hasPower) {
      const expected = "power at the actuators";
      const found = "a power cut";
      throw new HalError({ code: "lifecycle", device, action: "activate", expected, found });
    }
    if (this.#state === LifecycleState.Active) return;
    this.#isReleased = false;
    this.#holdPresent();
    this.#state = lifecycleStep(this.#state, LifecycleCue.Activate);
  }

  /** Simulated servos hold where they are, whatever lets go when power is cut. */
  deactivate(_nowNs: Instant): void {
    if (this.#state === LifecycleState.Active) this.#holdPresent();
    this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
  }

  /** Joints at home, objects where `seed` puts them. Session time and sequence ids go on. */
  reset(seed: number): void {
    if (this.#state === LifecycleState.Closed) return;
    placeObjectsInto(this.#objectPoses, this.#task, seed);
    this.world.reset(this.#homeRad, this.#objectPoses);
    this.#follower.hold(this.#homeRad);
    this.#fault = undefined;
    this.#isReleased = !this.#hasPower;
    this.#hasOrigin = false;
    this.#stepCount = 0;
    this.#dueSteps.fill(0);
    this.#state = lifecycleStep(this.#state, LifecycleCue.Reset);
  }

  /** A new episode for a robot that stays where it is: only the objects are put elsewhere. */
  placeObjects(seed: number): void {
    if (this.#state === LifecycleState.Closed) return;
    placeObjectsInto(this.#objectPoses, this.#task, seed);
    for (let object = 0; object < this.#task.objects.length; object += 1) {
      this.world.placeObject(object, this.#objectPoses, object * POSE_SLOTS);
    }
  }

  close(): void {
    this.#state = lifecycleStep(this.#state, LifecycleCue.Close);
    this.world.delete();
  }

  /**
   * The actuators' supply, as an e-stop switches it. A cut ends activity: the joints go limp, or
   * their brakes hold them, as the profile says, until the robot is activated again.
   */
  setPowered(hasPower: boolean): void {
    if (hasPower === this.#hasPower || this.#state === LifecycleState.Closed) return;
    this.#hasPower = hasPower;
    if (hasPower) return;
    this.#holdPresent();
    this.#isReleased = true;
    this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
  }

  /** What is true now, for task judges and viewers. Nothing that a robot may read. */
  truthInto(truth: TaskTruth): void {
    if (this.#state === LifecycleState.Closed) return;
    this.#readJoints();
    truth.positionRad.set(this.#positionRad);
    this.world.toolPoseInto(truth.toolPose);
    for (let object = 0; object < this.#task.objects.length; object += 1) {
      this.world.readObjectInto(truth.objectPoses, object * POSE_SLOTS, object);
    }
  }

  #step(): void {
    const fromNs = instant(this.#originNs + this.worldNs);
    this.#follower.advance(fromNs, instant(fromNs + this.#stepNs));
    this.world.setCommandRad(this.#follower.targetRad);
    // What has let go obeys nothing until it is activated: where it is now, nobody knows.
    if (this.#follower.isLimp) this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
    this.#applyPower();
    const fault = this.world.step(1);
    this.#stepCount += 1;
    if (fault !== WorldFault.None) this.#fail(fault);
  }

  #fail(fault: WorldFault): void {
    this.#fault = new HalError({
      code: "physics_fault",
      device: this.#robot.name,
      action: `simulate at ${this.worldNs} ns of world time`,
      expected: "a state that physics allows",
      found: faultTexts[fault],
    });
    this.#state = lifecycleStep(this.#state, LifecycleCue.Fail);
  }

  #takesDue(sourceIndex: number): boolean {
    if (this.#stepCount < this.#dueSteps[sourceIndex]!) return false;
    const period = this.#periodSteps[sourceIndex]!;
    this.#dueSteps[sourceIndex] = this.#stepCount - (this.#stepCount % period) + period;
    return true;
  }

  #holdPresent(): void {
    this.#readJoints();
    this.#follower.hold(this.#positionRad);
  }

  #applyPower(): void {
    const isLimp = this.#isReleased && this.#robot.powerCut === "falls";
    const powered = !isLimp && !this.#follower.isLimp;
    if (powered !== this.world.powered) this.world.setPowered(powered);
  }

  #readJoints(): void {
    this.world.readJointsInto(this.#positionRad, this.#velocityRadPerS, this.#effortNm);
  }
}

function noPhysics(device: string): HalError {
  return new HalError({
    code: "no_physics",
    device,
    action: "simulate physics",
    expected: "a profile with a sim part",
    found: "none",
  });
}
