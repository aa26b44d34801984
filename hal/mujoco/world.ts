// MujocoWorld: one robot, a table and the objects of a task, in physics. It steps when told to,
// reads no clock, draws no random numbers: equal inputs give equal bits on every machine.
//
// A state that is not finite, or too fast to be true, is a fault that stays until `reset` or
// `restore`; the library's own silent reset is switched off. Everything read here is truth; what a
// robot would sense of it (noise, delay, a rate) is the business of the driver above.

import type { DoubleBuffer, MjData } from "@mujoco/mujoco";
import { assert } from "../../runtime/contracts/assert.ts";
import type { TaskObject } from "../../runtime/contracts/profile.ts";
import type {
  CommandVec,
  Duration,
  NmVec,
  RadPerSVec,
  RadVec,
} from "../../runtime/contracts/units.ts";
import { duration } from "../../runtime/contracts/units.ts";
import { compileModel } from "./compile-model.ts";
import type { CompiledModel, WorldOptions } from "./compile-model.ts";
import type { Mujoco } from "./engine.ts";

/** What can be wrong with a world. `None` is 0. */
export const WorldFault = {
  None: 0,
  /** A position or velocity is NaN or infinite. */
  NotFinite: 1,
  /** A velocity beyond any machine: the integration has blown up. */
  Unbounded: 2,
  /** The library had no room for all contacts or constraints, and dropped some or gave up. */
  OutOfRoom: 3,
} as const;
export type WorldFault = (typeof WorldFault)[keyof typeof WorldFault];

/** Everything that decides the world's future. Plain data: it may be kept, sent and compared. */
export type WorldSnapshot = {
  readonly state: Float64Array;
  readonly stepCount: number;
  readonly powered: boolean;
};

/** Slots of one object pose: position m, then orientation x y z w. */
export const POSE_SLOTS = 7;
// rad/s or m/s. No joint here reaches 20; a state at 1,000 is one step from overflow.
const VELOCITY_MAX = 1_000;
// Asking the library for its warnings takes 13 µs, as long as a step: it is asked this often.
const WATCH_STEPS = 64;

export class MujocoWorld {
  readonly engine: Mujoco;
  readonly compiled: CompiledModel;
  /** The library's data block; for renderers. */
  readonly data: MjData;
  readonly objects: readonly TaskObject[];
  readonly modelPath: string;
  readonly jointCount: number;
  readonly physicsStepNs: Duration;
  #qpos: Float64Array = new Float64Array(0);
  #qvel: Float64Array = new Float64Array(0);
  #ctrl: Float64Array = new Float64Array(0);
  #effort: Float64Array = new Float64Array(0);
  #bodyPosition: Float64Array = new Float64Array(0);
  #bodyOrientation: Float64Array = new Float64Array(0);
  readonly #stateBuffer: DoubleBuffer;
  readonly #stateKind: number;
  readonly #warningKinds: readonly number[];
  #unwatchedSteps = 0;
  #stepCount = 0;
  #powered = true;
  #fault: WorldFault = WorldFault.None;
  #deleted = false;

  /** Throws `MujocoModelError` when the model cannot serve the options. */
  constructor(engine: Mujoco, options: WorldOptions) {
    this.engine = engine;
    this.compiled = compileModel(engine, options);
    this.objects = options.objects;
    this.modelPath = options.modelPath;
    this.jointCount = options.jointNames.length;
    this.physicsStepNs = options.physicsStepNs;
    const { model } = this.compiled;
    this.data = new engine.MjData(model);
    this.#stateKind = engine.mjtState.mjSTATE_INTEGRATION.value;
    const slotCount = engine.mj_stateSize(model, this.#stateKind);
    this.#stateBuffer = new engine.DoubleBuffer(slotCount);
    const { mjWARN_CONTACTFULL, mjWARN_CNSTRFULL } = engine.mjtWarning;
    this.#warningKinds = [mjWARN_CONTACTFULL.value, mjWARN_CNSTRFULL.value];
    this.#fetchViews();
    this.#settle();
  }

  /** World time since the last reset. */
  get timeNs(): Duration {
    return duration(this.#stepCount * this.physicsStepNs);
  }
  get powered(): boolean {
    return this.#powered;
  }
  get fault(): WorldFault {
    return this.#fault;
  }

  /** Puts the robot at rest at `positionRad`, commanded to stay there, and every object at rest at
   * its pose (seven slots each, in order). Clears a fault. World time starts again at 0. */
  reset(positionRad: RadVec, objectPoses: Float64Array): void {
    assert(positionRad.length === this.jointCount, "one reset position per joint");
    assert(objectPoses.length === this.objects.length * POSE_SLOTS, "one reset pose per object");
    const { qposIndex, actuatorIndex, model } = this.compiled;
    this.engine.mj_resetData(model, this.data);
    this.#refreshViews();
    for (let joint = 0; joint < this.jointCount; joint += 1) {
      this.#qpos[qposIndex[joint]!] = positionRad[joint]!;
      this.#ctrl[actuatorIndex[joint]!] = positionRad[joint]!;
    }
    for (let object = 0; object < this.objects.length; object += 1) {
      this.#putObject(object, objectPoses, object * POSE_SLOTS);
    }
    this.#stepCount = 0;
    this.#settle();
  }

  /** Takes one target per joint. Refuses, and keeps the former command, if one is not finite. */
  setCommandRad(command: CommandVec | RadVec): boolean {
    this.#refreshViews();
    for (let joint = 0; joint < this.jointCount; joint += 1) {
      if (!Number.isFinite(command[joint])) return false;
    }
    const { actuatorIndex } = this.compiled;
    for (let joint = 0; joint < this.jointCount; joint += 1) {
      this.#ctrl[actuatorIndex[joint]!] = command[joint]!;
    }
    return true;
  }

  /** Cuts or restores actuator torque, as an enable line does. Friction and gravity remain. */
  setPowered(powered: boolean): void {
    const { opt } = this.compiled.model;
    const bit = this.engine.mjtDisableBit.mjDSBL_ACTUATION.value;
    opt.disableflags = powered ? opt.disableflags & ~bit : opt.disableflags | bit;
    this.#powered = powered;
  }

  /** Advances `count` physics steps. A world with a fault stands still and says so again. */
  step(count: number): WorldFault {
    if (this.#fault !== WorldFault.None) return this.#fault;
    const { model } = this.compiled;
    try {
      for (let index = 0; index < count; index += 1) this.engine.mj_step(model, this.data);
    } catch {
      // The library stops with an error when its scratch memory runs out, and with no other.
      this.#fault = WorldFault.OutOfRoom;
      return this.#fault;
    }
    this.#stepCount += count;
    this.#unwatchedSteps += count;
    this.#refreshViews();
    this.#fault = this.#judge();
    if (this.#unwatchedSteps >= WATCH_STEPS && this.#hasDropped()) {
      this.#fault = WorldFault.OutOfRoom;
    }
    return this.#fault;
  }

  /** Positions and velocities now; effort as the servos exerted it in the last step. */
  readJointsInto(positionRad: RadVec, velocityRadPerS: RadPerSVec, effortNm: NmVec): void {
    this.#refreshViews();
    const { qposIndex, dofIndex } = this.compiled;
    for (let joint = 0; joint < this.jointCount; joint += 1) {
      positionRad[joint] = this.#qpos[qposIndex[joint]!]!;
      velocityRadPerS[joint] = this.#qvel[dofIndex[joint]!]!;
      effortNm[joint] = this.#effort[dofIndex[joint]!]!;
    }
  }

  /** Writes the pose of an object at `slot` of `out`: x y z, then qx qy qz qw. */
  readObjectInto(out: Float64Array, slot: number, object: number): void {
    this.#refreshViews();
    const from = this.compiled.objectQposIndex[object]!;
    out[slot] = this.#qpos[from]!;
    out[slot + 1] = this.#qpos[from + 1]!;
    out[slot + 2] = this.#qpos[from + 2]!;
    out[slot + 3] = this.#qpos[from + 4]!;
    out[slot + 4] = this.#qpos[from + 5]!;
    out[slot + 5] = this.#qpos[from + 6]!;
    out[slot + 6] = this.#qpos[from + 3]!;
  }

  /** Moves an object to the pose at `slot` of `pose` and stops it there. */
  placeObject(object: number, pose: Float64Array, slot: number): void {
    this.#refreshViews();
    this.#putObject(object, pose, slot);
    this.#settle();
  }

  /** The tool frame in the base frame: x y z, then qx qy qz qw. */
  toolPoseInto(out: Float64Array): void {
    this.refreshPoses();
    const body = this.compiled.toolBodyIndex;
    out[0] = this.#bodyPosition[3 * body]!;
    out[1] = this.#bodyPosition[3 * body + 1]!;
    out[2] = this.#bodyPosition[3 * body + 2]!;
    out[3] = this.#bodyOrientation[4 * body + 1]!;
    out[4] = this.#bodyOrientation[4 * body + 2]!;
    out[5] = this.#bodyOrientation[4 * body + 3]!;
    out[6] = this.#bodyOrientation[4 * body]!;
  }

  /** Brings the library's Cartesian poses up to the joint positions: after a step they are one
   * step old. Never changes what happens next. */
  refreshPoses(): void {
    this.engine.mj_kinematics(this.compiled.model, this.data);
    this.engine.mj_camlight(this.compiled.model, this.data);
    this.#refreshViews();
  }

  snapshot(): WorldSnapshot {
    const { model } = this.compiled;
    this.engine.mj_getState(model, this.data, this.#stateBuffer, this.#stateKind);
    const view: Float64Array = this.#stateBuffer.GetView();
    return { state: view.slice(), stepCount: this.#stepCount, powered: this.#powered };
  }

  /** Goes on from a snapshot of a world built from equal options, bit for bit. */
  restore(snapshot: WorldSnapshot): void {
    const view: Float64Array = this.#stateBuffer.GetView();
    assert(snapshot.state.length === view.length, "the snapshot is of this kind of world");
    view.set(snapshot.state);
    const { model } = this.compiled;
    this.engine.mj_resetData(model, this.data);
    this.engine.mj_setState(model, this.data, view as unknown as number[], this.#stateKind);
    this.setPowered(snapshot.powered);
    this.#stepCount = snapshot.stepCount;
    this.#settle();
  }

  /** Frees the library's memory. The world is of no use afterwards; a second call does nothing. */
  delete(): void {
    if (this.#deleted) return;
    this.#deleted = true;
    this.#stateBuffer.delete();
    this.data.delete();
    this.compiled.model.delete();
  }

  #putObject(object: number, pose: Float64Array, slot: number): void {
    const to = this.compiled.objectQposIndex[object]!;
    const dof = this.compiled.objectDofIndex[object]!;
    this.#qpos[to] = pose[slot]!;
    this.#qpos[to + 1] = pose[slot + 1]!;
    this.#qpos[to + 2] = pose[slot + 2]!;
    this.#qpos[to + 3] = pose[slot + 6]!;
    this.#qpos[to + 4] = pose[slot + 3]!;
    this.#qpos[to + 5] = pose[slot + 4]!;
    this.#qpos[to + 6] = pose[slot + 5]!;
    this.#qvel.fill(0, dof, dof + 6);
  }

  /** After the state was written from outside: poses, forces and the fault follow it. */
  #settle(): void {
    try {
      this.engine.mj_forward(this.compiled.model, this.data);
    } catch {
      this.#fault = WorldFault.OutOfRoom; // as in `step`
      return;
    }
    this.#refreshViews();
    this.#fault = this.#hasDropped() ? WorldFault.OutOfRoom : this.#judge();
  }

  #judge(): WorldFault {
    for (let index = 0; index < this.#qpos.length; index += 1) {
      if (!Number.isFinite(this.#qpos[index])) return WorldFault.NotFinite;
    }
    for (let index = 0; index < this.#qvel.length; index += 1) {
      if (!Number.isFinite(this.#qvel[index])) return WorldFault.NotFinite;
      if (Math.abs(this.#qvel[index]!) > VELOCITY_MAX) return WorldFault.Unbounded;
    }
    return WorldFault.None;
  }

  /** True when the library has dropped contacts or constraints since the last reset. */
  #hasDropped(): boolean {
    this.#unwatchedSteps = 0;
    const { warning } = this.data;
    for (const kind of this.#warningKinds) {
      const statistic = warning.get(kind)!; // a copy, which is ours to delete
      const { number } = statistic;
      statistic.delete();
      if (number > 0) return true;
    }
    return false;
  }

  // Views of wasm memory have length 0 once that memory has grown.
  #refreshViews(): void {
    if (this.#qpos.length === 0) this.#fetchViews();
  }

  #fetchViews(): void {
    this.#qpos = this.data.qpos;
    this.#qvel = this.data.qvel;
    this.#ctrl = this.data.ctrl;
    this.#effort = this.data.qfrc_actuator;
    this.#bodyPosition = this.data.xpos;
    this.#bodyOrientation = this.data.xquat;
  }
}
