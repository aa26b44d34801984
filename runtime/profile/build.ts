// Turns a checked tree into the profile types: milliseconds into nanoseconds, almost-unit vectors
// into unit vectors, snake_case into our names. It judges nothing; call it when the tree has thrown
// nothing.

import { assert } from "../contracts/assert.ts";
import type {
  ActuatorPreset,
  CameraProfile,
  JointProfile,
  LandProfile,
  RateLimits,
  RobotProfile,
  SimProfile,
  SourceProfile,
  TaskObject,
  TaskProfile,
} from "../contracts/profile.ts";
import { duration, milliseconds, NS_PER_S } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { lengthOf } from "./common-rules.ts";
import type { Tree } from "./tree.ts";

const SAFE_ACTIONS = ["hold", "brake", "zero_torque", "sit", "land", "return_home"] as const;

type Triple = readonly [number, number, number];
type Quadruple = readonly [number, number, number, number];

/** A deployment file before its robot is loaded. */
export type DeploymentChoice = {
  readonly name: string;
  readonly description: string;
  readonly robot: string;
  readonly actuators: string | undefined;
  readonly payloadKg: number | undefined;
  readonly task: string | undefined;
  readonly policy: string | undefined;
};

/** The model's text and path stand in for what is on the disk. */
export function buildRobot(tree: Tree, modelXml: string, modelPath: string): RobotProfile {
  const controlHz = tree.number("/control_hz");
  return {
    name: tree.text("/name"),
    description: tree.text("/description"),
    path: tree.file,
    defaultTask: tree.text("/default_task"),
    controlHz,
    periodNs: duration(NS_PER_S / controlHz),
    powerCut: choice(tree, "/power_cut", ["safe", "falls"]),
    safeActions: {
      degraded: choice(tree, "/safe_actions/degraded", ["hold", "brake"]),
      stop: choice(tree, "/safe_actions/stop", SAFE_ACTIONS),
      latch: choice(tree, "/safe_actions/latch", SAFE_ACTIONS),
    },
    ...(tree.has("/sit_ms") ? { sitNs: ns(tree, "/sit_ms") } : {}),
    ...(tree.has("/park_ms") ? { parkNs: ns(tree, "/park_ms") } : {}),
    ...(tree.has("/land") ? { land: buildLand(tree) } : {}),
    joints: tree.each("/joints").map((pointer) => buildJoint(tree, pointer)),
    toolParent: tree.text("/tool/parent"),
    toolM: triple(tree.numbers("/tool/position_m")),
    toolWxyz: quadruple(unit(tree.numbers("/tool/orientation_wxyz"))),
    ...(tree.has("/gripper") ? { gripper: tree.text("/gripper") } : {}),
    sources: tree.each("/sources").map((pointer) => buildSource(tree, pointer)),
    gate: {
      startMismatch: choice(tree, "/gate/start_mismatch", ["refuse", "ramp"]),
      followingErrorTicks: tree.number("/gate/following_error_ticks"),
      ...buildToolLimits(tree),
    },
    state: {
      validityNs: ns(tree, "/state/validity_ms"),
      windowNs: ns(tree, "/state/window_ms"),
      qualityRatioMin: tree.number("/state/quality_ratio_min"),
    },
    policy: buildPolicy(tree),
    supervisor: buildSupervisor(tree),
    sim: tree.has("/sim") ? buildSim(tree, modelXml, modelPath) : undefined,
  };
}

function buildLand(tree: Tree): LandProfile {
  return {
    joint: tree.text("/land/joint"),
    velocityRadPerS: tree.number("/land/velocity_rad_per_s"),
    groundRad: tree.number("/land/ground_rad"),
  };
}

function buildToolLimits(tree: Tree): Partial<RobotProfile["gate"]> {
  const at = "/gate/workspace";
  const speed = "/gate/tool_speed_m_per_s_max";
  return {
    ...(tree.has(at)
      ? {
          workspace: {
            minM: triple(tree.numbers(`${at}/min_m`)),
            maxM: triple(tree.numbers(`${at}/max_m`)),
          },
        }
      : {}),
    ...(tree.has(speed) ? { toolSpeedMPerSMax: tree.number(speed) } : {}),
  };
}

function buildJoint(tree: Tree, at: string): JointProfile {
  return {
    name: tree.text(`${at}/name`),
    command: choice(tree, `${at}/command`, ["position", "velocity"]),
    originM: triple(tree.numbers(`${at}/origin_m`)),
    originWxyz: quadruple(unit(tree.numbers(`${at}/origin_wxyz`))),
    axis: triple(unit(tree.numbers(`${at}/axis`))),
    ...(tree.has(`${at}/parent`) ? { parent: tree.text(`${at}/parent`) } : {}),
    positionRadMin: tree.number(`${at}/position_rad_min`),
    positionRadMax: tree.number(`${at}/position_rad_max`),
    velocityRadPerSMax: tree.number(`${at}/velocity_rad_per_s_max`),
    motion: rates(tree, `${at}/motion`),
    stop: rates(tree, `${at}/stop`),
    effortNmMax: tree.number(`${at}/effort_nm_max`),
    leadNs: ns(tree, `${at}/lead_ms`),
    droopRad: tree.number(`${at}/droop_rad`),
    followingErrorRadMax: tree.number(`${at}/following_error_rad_max`),
    startMismatchRadMax: tree.number(`${at}/start_mismatch_rad_max`),
    homeRad: tree.number(`${at}/home_rad`),
    restRad: tree.number(`${at}/rest_rad`),
  };
}

function rates(tree: Tree, at: string): RateLimits {
  return {
    accelerationRadPerS2: tree.number(`${at}/acceleration_rad_per_s2`),
    jerkRadPerS3: tree.number(`${at}/jerk_rad_per_s3`),
  };
}

function buildSource(tree: Tree, at: string): SourceProfile {
  return {
    id: tree.text(`${at}/id`),
    kind: choice(tree, `${at}/kind`, ["proprio", "localization", "image"]),
    periodNs: ns(tree, `${at}/period_ms`),
    validityNs: ns(tree, `${at}/validity_ms`),
    joints: tree.texts(`${at}/joints`),
    measuresVelocity: tree.flag(`${at}/measures_velocity`),
    measuresEffort: tree.flag(`${at}/measures_effort`),
    frame: tree.text(`${at}/frame`),
  };
}

function buildPolicy(tree: Tree): RobotProfile["policy"] {
  const anchoring = "/policy/anchoring";
  const encoding = "/policy/picture_encoding";
  return {
    hz: tree.number("/policy/hz"),
    horizon: tree.number("/policy/horizon"),
    dtNs: ns(tree, "/policy/dt_ms"),
    ...(tree.has(anchoring)
      ? { anchoring: choice(tree, anchoring, ["observation", "arrival"]) }
      : {}),
    interpolation: choice(tree, "/policy/interpolation", ["linear", "hold"]),
    blendNs: ns(tree, "/policy/blend_ms"),
    ...(tree.has(encoding) ? { pictureEncoding: choice(tree, encoding, ["rgb8", "jpeg"]) } : {}),
    ...(tree.has("/policy/ensemble_ms") ? { ensembleNs: ns(tree, "/policy/ensemble_ms") } : {}),
  };
}

function buildSupervisor(tree: Tree): RobotProfile["supervisor"] {
  const startsIn = choice(tree, "/supervisor/starts_in", ["starting", "running"]);
  return {
    startsIn: startsIn === "running" ? "Running" : "Starting",
    startTimeoutNs: ns(tree, "/supervisor/start_timeout_ms"),
    noActionPersistNs: ns(tree, "/supervisor/no_action_persist_ms"),
    staleStatePersistNs: ns(tree, "/supervisor/stale_state_persist_ms"),
    relapseCount: tree.number("/supervisor/relapse_count"),
    relapseWindowNs: ns(tree, "/supervisor/relapse_window_ms"),
    lateNsMax: ns(tree, "/supervisor/late_ms_max"),
    missCountMax: tree.number("/supervisor/miss_count_max"),
    missWindowTicks: tree.number("/supervisor/miss_window_ticks"),
    coastTicks: tree.number("/supervisor/coast_ticks"),
  };
}

function buildSim(tree: Tree, modelXml: string, modelPath: string): SimProfile {
  return {
    modelXml,
    modelPath,
    physicsStepNs: ns(tree, "/sim/physics_step_ms"),
    actuators: buildPreset(tree, tree.text("/sim/default_actuators")),
    camera: tree.has("/sim/camera") ? buildCamera(tree) : undefined,
    payloadKg: tree.number("/sim/payload_kg"),
    payloadKgMax: tree.number("/sim/payload_kg_max"),
  };
}

/** The actuator preset of that name. It must be in the tree. */
export function buildPreset(tree: Tree, name: string): ActuatorPreset {
  const at = tree.each("/sim/actuators").find((entry) => tree.text(`${entry}/name`) === name);
  assert(at !== undefined, "the preset was checked to exist");
  return {
    name,
    stiffnessNmPerRad: tree.numbers(`${at}/stiffness_nm_per_rad`),
    dampingNmSPerRad: tree.numbers(`${at}/damping_nm_s_per_rad`),
  };
}

function buildCamera(tree: Tree): CameraProfile {
  return {
    id: tree.text("/sim/camera/id"),
    widthPx: tree.number("/sim/camera/width_px"),
    heightPx: tree.number("/sim/camera/height_px"),
    periodNs: ns(tree, "/sim/camera/period_ms"),
  };
}

export function buildTask(tree: Tree): TaskProfile {
  return {
    name: tree.text("/name"),
    kind: choice(tree, "/task_kind", ["none", "reach", "pick_place"]),
    description: tree.text("/description"),
    path: tree.file,
    instruction: tree.text("/instruction"),
    objects: tree.each("/objects").map((pointer) => buildObject(tree, pointer)),
    goalM: triple(tree.numbers("/goal_m")),
    goalRadiusM: tree.number("/goal_radius_m"),
    dwellNs: ns(tree, "/dwell_ms"),
    timeLimitNs: ns(tree, "/time_limit_ms"),
    sources: tree.each("/sources").map((pointer) => buildSource(tree, pointer)),
    requires: tree.texts("/requires"),
    qualityRatioMin: tree.number("/quality_ratio_min"),
    defaultPolicy: tree.text("/default_policy"),
  };
}

function buildObject(tree: Tree, at: string): TaskObject {
  return {
    name: tree.text(`${at}/name`),
    halfExtentsM: triple(tree.numbers(`${at}/half_extents_m`)),
    massKg: tree.number(`${at}/mass_kg`),
    rgba: quadruple(tree.numbers(`${at}/rgba`)),
    placement: {
      radiusMMin: tree.number(`${at}/placement/radius_m_min`),
      radiusMMax: tree.number(`${at}/placement/radius_m_max`),
      azimuthRadMin: tree.number(`${at}/placement/azimuth_rad_min`),
      azimuthRadMax: tree.number(`${at}/placement/azimuth_rad_max`),
    },
  };
}

export function buildDeployment(tree: Tree): DeploymentChoice {
  const optional = (key: string) => (tree.has(key) ? tree.text(key) : undefined);
  return {
    name: tree.text("/name"),
    description: tree.text("/description"),
    robot: tree.text("/robot"),
    actuators: optional("/actuators"),
    payloadKg: tree.has("/payload_kg") ? tree.number("/payload_kg") : undefined,
    task: optional("/task"),
    policy: optional("/policy"),
  };
}

const ns = (tree: Tree, pointer: string): Duration => milliseconds(tree.number(pointer));

function choice<const T extends string>(tree: Tree, pointer: string, known: readonly T[]): T {
  const value = known.find((word) => word === tree.text(pointer));
  assert(value !== undefined, "the schema allows the known words only");
  return value;
}

function unit(parts: readonly number[]): readonly number[] {
  const length = lengthOf(parts);
  return length === 1 ? parts : parts.map((part) => part / length);
}

function triple(parts: readonly number[]): Triple {
  assert(parts.length === 3, "the schema allows three entries only");
  return [parts[0]!, parts[1]!, parts[2]!];
}

function quadruple(parts: readonly number[]): Quadruple {
  assert(parts.length === 4, "the schema allows four entries only");
  return [parts[0]!, parts[1]!, parts[2]!, parts[3]!];
}
