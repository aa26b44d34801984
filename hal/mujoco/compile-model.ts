// Compiles an MJCF text into a model that serves a robot profile: the profile's joints each with
// one actuator, gains and effort limits from the profile, a payload at the tool, the task's objects
// as free boxes. Refuses, by name, a model that lacks a joint, an actuator or the tool.
//
// Objects are added through the library's own model editor, not by pasting text, so a name can
// never become markup. Automatic reset after a bad state is switched off: a world says so instead.

import type { MjModel, MjSpec } from "@mujoco/mujoco";
import type { ActuatorPreset, TaskObject } from "../../runtime/contracts/profile.ts";
import type { Duration } from "../../runtime/contracts/units.ts";
import { NS_PER_S } from "../../runtime/contracts/units.ts";
import type { Mujoco } from "./engine.ts";
import { MujocoModelError } from "./model-error.ts";

/** What a world is built from. Lists have one entry per joint, in the order of `jointNames`. */
export type WorldOptions = {
  readonly modelXml: string;
  /** Only for messages. */
  readonly modelPath: string;
  readonly jointNames: readonly string[];
  readonly actuators: ActuatorPreset;
  readonly effortNmMax: readonly number[];
  readonly physicsStepNs: Duration;
  /** Mass rigidly fixed at the tool frame; zero for none. */
  readonly payloadKg: number;
  readonly objects: readonly TaskObject[];
};

/** A compiled model and where its joints, actuators and objects lie in the library's arrays. */
export type CompiledModel = {
  readonly model: MjModel;
  readonly qposIndex: Int32Array;
  readonly dofIndex: Int32Array;
  readonly actuatorIndex: Int32Array;
  readonly toolBodyIndex: number;
  /** Start of each object's seven pose values in qpos, and of its six velocities in qvel. */
  readonly objectQposIndex: Int32Array;
  readonly objectDofIndex: Int32Array;
};

// Objects: contact bit 2, touching table (1), other objects (2) and arm (4), as the models say.
const OBJECT_CONTACT_TYPE = 2;
const OBJECT_CONTACT_AFFINITY = 7;
const OBJECT_FRICTION = [0.6, 0.005, 0.0001] as const;
const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const PAYLOAD_KG_MAX = 100;
const OBJECT_HALF_EXTENT_M_MAX = 1;
// A solid ball of 20 mm radius: a payload needs some inertia, and this one is small.
const PAYLOAD_INERTIA_M2 = 0.4 * 0.02 * 0.02;

/** Compiles the model and binds it to the profile. The caller deletes `model`. */
export function compileModel(engine: Mujoco, options: WorldOptions): CompiledModel {
  checkParameters(options);
  const spec = parse(engine, options);
  let model: MjModel;
  try {
    addPayload(engine, spec, options);
    for (const object of options.objects) addObject(engine, spec, object, options.modelPath);
    model = engine.mj_compile(spec);
  } catch (error) {
    throw modelInvalid(error, options.modelPath);
  } finally {
    spec.delete();
  }
  try {
    return bind(engine, model, options);
  } catch (error) {
    model.delete();
    throw error;
  }
}

function parse(engine: Mujoco, options: WorldOptions): MjSpec {
  try {
    return engine.parseXMLString(options.modelXml);
  } catch (error) {
    throw modelInvalid(error, options.modelPath);
  }
}

function modelInvalid(error: unknown, modelPath: string): MujocoModelError {
  if (error instanceof MujocoModelError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const found = text
    .replace(/^MuJoCo Error:\s*/, "")
    .replace(/\s+/g, " ")
    .trim();
  return new MujocoModelError("model_invalid", modelPath, "model", "a valid MJCF model", found);
}

function checkParameters(options: WorldOptions): void {
  const { modelPath, jointNames, actuators } = options;
  const check = (element: string, value: number, min: number, max: number): void => {
    if (value >= min && value <= max) return;
    const expected = `a number from ${min} to ${max}`;
    throw new MujocoModelError("parameter", modelPath, element, expected, String(value));
  };
  const jointCount = jointNames.length;
  check("stiffness count", actuators.stiffnessNmPerRad.length, jointCount, jointCount);
  check("damping count", actuators.dampingNmSPerRad.length, jointCount, jointCount);
  check("effort count", options.effortNmMax.length, jointCount, jointCount);
  check("physicsStepNs", options.physicsStepNs, 100_000, 20_000_000);
  check("payloadKg", options.payloadKg, 0, PAYLOAD_KG_MAX);
  for (let joint = 0; joint < jointCount; joint += 1) {
    const name = jointNames[joint]!;
    check(`${name}: stiffnessNmPerRad`, actuators.stiffnessNmPerRad[joint]!, 0, 1e6);
    check(`${name}: dampingNmSPerRad`, actuators.dampingNmSPerRad[joint]!, 0, 1e6);
    check(`${name}: effortNmMax`, options.effortNmMax[joint]!, 1e-6, 1e6);
  }
  const seen = new Set<string>();
  for (const object of options.objects) {
    if (!NAME_PATTERN.test(object.name) || seen.has(object.name)) {
      const expected = "a unique name of letters, digits, _ and -";
      const found = JSON.stringify(object.name);
      throw new MujocoModelError("object_name", modelPath, "object", expected, found);
    }
    seen.add(object.name);
    check(`${object.name}: massKg`, object.massKg, 1e-4, PAYLOAD_KG_MAX);
    for (const extentM of object.halfExtentsM) {
      check(`${object.name}: halfExtentsM`, extentM, 1e-3, OBJECT_HALF_EXTENT_M_MAX);
    }
    for (const channel of object.rgba) check(`${object.name}: rgba`, channel, 0, 1);
  }
}

function addPayload(engine: Mujoco, spec: MjSpec, options: WorldOptions): void {
  const tool = engine.mjs_findBody(spec, "tool");
  if (tool === undefined || tool === null) {
    throw new MujocoModelError(
      "body_missing",
      options.modelPath,
      'body "tool"',
      "the tool frame",
      "no such body",
    );
  }
  if (options.payloadKg === 0) return;
  const payload = engine.mjs_addBody(tool, engine.mjs_getSpecDefault(spec)!)!;
  const inertia: Float64Array = payload.inertia;
  payload.explicitinertial = true;
  payload.mass = options.payloadKg;
  inertia.fill(options.payloadKg * PAYLOAD_INERTIA_M2);
}

function addObject(engine: Mujoco, spec: MjSpec, object: TaskObject, modelPath: string): void {
  if (engine.mjs_findBody(spec, object.name)) {
    const expected = "a name that the model does not use";
    const found = `a body "${object.name}"`;
    throw new MujocoModelError("object_name", modelPath, "object", expected, found);
  }
  const defaults = engine.mjs_getSpecDefault(spec)!;
  const body = engine.mjs_addBody(engine.mjs_findBody(spec, "world")!, defaults)!;
  engine.mjs_setName(body.element, object.name);
  const bodyPosition: Float64Array = body.pos;
  bodyPosition[2] = object.halfExtentsM[2];
  engine.mjs_addFreeJoint(body);
  const geom = engine.mjs_addGeom(body, defaults)!;
  geom.type = engine.mjtGeom.mjGEOM_BOX;
  geom.mass = object.massKg;
  geom.contype = OBJECT_CONTACT_TYPE;
  geom.conaffinity = OBJECT_CONTACT_AFFINITY;
  geom.condim = 3;
  const size: Float64Array = geom.size;
  const rgba: Float32Array = geom.rgba;
  const friction: Float64Array = geom.friction;
  size.set(object.halfExtentsM);
  rgba.set(object.rgba);
  friction.set(OBJECT_FRICTION);
}

function bind(engine: Mujoco, model: MjModel, options: WorldOptions): CompiledModel {
  const { modelPath, jointNames, objects } = options;
  const jointKind: Int32Array = model.jnt_type;
  const jointQpos: Int32Array = model.jnt_qposadr;
  const jointDof: Int32Array = model.jnt_dofadr;
  const find = (kind: number, name: string): number => engine.mj_name2id(model, kind, name);
  const qposIndex = new Int32Array(jointNames.length);
  const dofIndex = new Int32Array(jointNames.length);
  const actuatorIndex = new Int32Array(jointNames.length);
  for (const [slot, name] of jointNames.entries()) {
    const joint = find(engine.mjtObj.mjOBJ_JOINT.value, name);
    if (joint < 0) {
      const element = `joint "${name}"`;
      throw new MujocoModelError(
        "joint_missing",
        modelPath,
        element,
        "a joint of the profile",
        "no such joint",
      );
    }
    if (jointKind[joint] !== engine.mjtJoint.mjJNT_HINGE.value) {
      const element = `joint "${name}"`;
      throw new MujocoModelError("joint_kind", modelPath, element, "a hinge", "another kind");
    }
    qposIndex[slot] = jointQpos[joint]!;
    dofIndex[slot] = jointDof[joint]!;
    actuatorIndex[slot] = bindActuator(engine, model, options, slot, joint);
  }
  model.opt.timestep = options.physicsStepNs / NS_PER_S;
  model.opt.disableflags |= engine.mjtDisableBit.mjDSBL_AUTORESET.value;
  const objectQposIndex = new Int32Array(objects.length);
  const objectDofIndex = new Int32Array(objects.length);
  const bodyJoint: Int32Array = model.body_jntadr;
  for (const [slot, object] of objects.entries()) {
    const joint = bodyJoint[find(engine.mjtObj.mjOBJ_BODY.value, object.name)]!;
    objectQposIndex[slot] = jointQpos[joint]!;
    objectDofIndex[slot] = jointDof[joint]!;
  }
  const toolBodyIndex = find(engine.mjtObj.mjOBJ_BODY.value, "tool");
  return {
    model,
    qposIndex,
    dofIndex,
    actuatorIndex,
    toolBodyIndex,
    objectQposIndex,
    objectDofIndex,
  };
}

/** Finds the one position servo of a joint and gives it the profile's gains and effort limit. */
function bindActuator(
  engine: Mujoco,
  model: MjModel,
  options: WorldOptions,
  slot: number,
  joint: number,
): number {
  const transmissionKind: Int32Array = model.actuator_trntype;
  const transmission: Int32Array = model.actuator_trnid;
  const forceRange: Float64Array = model.actuator_forcerange;
  const owners: number[] = [];
  for (let actuator = 0; actuator < model.nu; actuator += 1) {
    if (transmissionKind[actuator] !== engine.mjtTrn.mjTRN_JOINT.value) continue;
    if (transmission[2 * actuator] === joint) owners.push(actuator);
  }
  const actuator = owners[0];
  // A model without a range leaves it 0 … 0, and its servo unlimited.
  const isLimited = actuator !== undefined && forceRange[2 * actuator]! < 0;
  if (owners.length !== 1 || actuator === undefined || !isLimited) {
    const element = `joint "${options.jointNames[slot]!}"`;
    const expected = "one position actuator with a force range";
    const found = owners.length === 1 ? "one without a force range" : `${owners.length}`;
    throw new MujocoModelError("actuator_missing", options.modelPath, element, expected, found);
  }
  const gain: Float64Array = model.actuator_gainprm;
  const bias: Float64Array = model.actuator_biasprm;
  const gainStride = gain.length / model.nu;
  const biasStride = bias.length / model.nu;
  const stiffness = options.actuators.stiffnessNmPerRad[slot]!;
  gain[actuator * gainStride] = stiffness;
  bias[actuator * biasStride + 1] = -stiffness;
  bias[actuator * biasStride + 2] = -options.actuators.dampingNmSPerRad[slot]!;
  forceRange[2 * actuator] = -options.effortNmMax[slot]!;
  forceRange[2 * actuator + 1] = options.effortNmMax[slot]!;
  return actuator;
}
