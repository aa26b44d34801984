// Profile types: what a robot, a task and a deployment are, after validation. The YAML on disk is
// checked and converted by `runtime/profile/`; whoever holds one of these objects holds numbers
// that are finite, in order and in the units their names say.

import type { OpenpiMapping } from "./openpi.ts";
import type { Duration } from "./units.ts";

/** What a joint takes as its command. */
export type CommandSpace = "position" | "velocity";
/** What lets go when power is cut: nothing moves, or gravity moves the arm. */
export type PowerCut = "safe" | "falls";
/** What a chunk's first row may do when it lies far from the last command. */
export type StartMismatchRule = "refuse" | "ramp";
/** Between two rows of a chunk: straight line, or the earlier row until the later one's time. */
export type RowInterpolation = "linear" | "hold";
/** Where row 0 lies in time: at the stamp of the state it answers, or at its arrival. */
export type Anchoring = "observation" | "arrival";
/** How a picture crosses the policy link; the words are those of its messages. */
export type PictureEncoding = "rgb8" | "jpeg";
export type SafeActionKind = "hold" | "brake" | "zero_torque" | "sit" | "land" | "return_home";

/** Motion limits of one joint, used with the stated sign. */
export type RateLimits = {
  readonly accelerationRadPerS2: number;
  readonly jerkRadPerS3: number;
};

export type JointProfile = {
  readonly name: string;
  readonly command: CommandSpace;
  /** Pose of the joint's body frame in its parent's, at joint position zero. */
  readonly originM: readonly [number, number, number];
  /** Unit quaternion, w x y z. */
  readonly originWxyz: readonly [number, number, number, number];
  /** Unit axis in the joint's own frame. */
  readonly axis: readonly [number, number, number];
  /** Name of the parent joint; absent means the base. */
  readonly parent?: string;
  readonly positionRadMin: number;
  readonly positionRadMax: number;
  readonly velocityRadPerSMax: number;
  /** Limits of wanted motion. */
  readonly motion: RateLimits;
  /** Limits of a stop; never below those of motion. */
  readonly stop: RateLimits;
  readonly effortNmMax: number;
  /** Servo lag plus sample age: how far ahead in time the command may run. */
  readonly leadNs: Duration;
  /** How far gravity may pull the measured position from the command at rest. */
  readonly droopRad: number;
  readonly followingErrorRadMax: number;
  readonly startMismatchRadMax: number;
  readonly homeRad: number;
  readonly restRad: number;
};

export type SourceKind = "proprio" | "localization" | "image";

/** One source of samples. `proprio` names which joints it reads; the others fill one field. */
export type SourceProfile = {
  readonly id: string;
  readonly kind: SourceKind;
  readonly periodNs: Duration;
  readonly validityNs: Duration;
  /** Joints read by a proprio source, in payload order. Empty for the others. */
  readonly joints: readonly string[];
  /** True when the device sends velocities; otherwise the estimator derives them. */
  readonly measuresVelocity: boolean;
  readonly measuresEffort: boolean;
  /** Payload size of a localization source: position m (3), then orientation x y z w (4). */
  readonly frame: string;
};

export type ActuatorPreset = {
  readonly name: string;
  /** Position gain, Nm/rad, one per joint. */
  readonly stiffnessNmPerRad: readonly number[];
  /** Velocity gain, Nm s/rad, one per joint. */
  readonly dampingNmSPerRad: readonly number[];
};

export type CameraProfile = {
  readonly id: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly periodNs: Duration;
};

export type SimProfile = {
  /** Text of the MJCF model, already read. */
  readonly modelXml: string;
  readonly modelPath: string;
  readonly physicsStepNs: Duration;
  readonly actuators: ActuatorPreset;
  readonly camera: CameraProfile | undefined;
  readonly payloadKg: number;
  readonly payloadKgMax: number;
};

export type LandProfile = {
  /** The velocity joint whose position is the height. */
  readonly joint: string;
  readonly velocityRadPerS: number;
  /** Its position when the robot stands on the ground. */
  readonly groundRad: number;
};

/** Corners of a box in the base frame. */
export type WorkspaceBox = {
  readonly minM: readonly [number, number, number];
  readonly maxM: readonly [number, number, number];
};

export type RobotProfile = {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  /** The task of a run that names none. */
  readonly defaultTask: string;
  readonly controlHz: number;
  readonly periodNs: Duration;
  readonly powerCut: PowerCut;
  /** What the robot does while it may not do what a policy wants, by how bad things are. */
  readonly safeActions: {
    /** For a gap of a moment: the robot only waits. */
    readonly degraded: "hold" | "brake";
    readonly stop: SafeActionKind;
    readonly latch: SafeActionKind;
  };
  /** How long it takes to sit down; present where an action is `sit`. */
  readonly sitNs?: Duration;
  /** How long parking may take; present where power falls away and nothing lands. */
  readonly parkNs?: Duration;
  /** How it comes down; present where an action is `land`. */
  readonly land?: LandProfile;
  readonly joints: readonly JointProfile[];
  /** Tool frame in the frame of `toolParent`. */
  readonly toolParent: string;
  readonly toolM: readonly [number, number, number];
  readonly toolWxyz: readonly [number, number, number, number];
  /** The joint that opens and closes the gripper; absent for a bare flange. */
  readonly gripper?: string;
  readonly sources: readonly SourceProfile[];
  readonly gate: {
    readonly startMismatch: StartMismatchRule;
    /** How many ticks in a row a following error must last to be a fault. */
    readonly followingErrorTicks: number;
    /** Box in the base frame that the tool stays in. Absent: wherever the joints may go. */
    readonly workspace?: WorkspaceBox;
    /** Absent: as fast as the joints may be. Reduced motion has a limit of its own. */
    readonly toolSpeedMPerSMax?: number;
  };
  readonly state: {
    /** Validity of proprioception. */
    readonly validityNs: Duration;
    /** Samples older than this take no part in an estimate. */
    readonly windowNs: Duration;
    readonly qualityRatioMin: number;
  };
  readonly policy: {
    readonly hz: number;
    readonly horizon: number;
    readonly dtNs: Duration;
    /** For chunks that name no time. Absent: what the kind of policy has it. */
    readonly anchoring?: Anchoring;
    readonly interpolation: RowInterpolation;
    /** Cross-fade at a seam between chunks. Zero: none. */
    readonly blendNs: Duration;
    /** To a policy on a gRPC host; one in this program sees the pixels. Absent: rgb8. */
    readonly pictureEncoding?: PictureEncoding;
    /** Rows are means over overlapping chunks, one so much older weighing 1/e. Absent: none. */
    readonly ensembleNs?: Duration;
  };
  readonly supervisor: {
    readonly startsIn: "Starting" | "Running";
    readonly startTimeoutNs: Duration;
    readonly noActionPersistNs: Duration;
    readonly staleStatePersistNs: Duration;
    readonly relapseCount: number;
    readonly relapseWindowNs: Duration;
    readonly lateNsMax: Duration;
    /** More than this many missed beats in `missWindowTicks` is a fault. */
    readonly missCountMax: number;
    readonly missWindowTicks: number;
    readonly coastTicks: number;
  };
  /** Absent for a robot without a physics model; such a robot runs kinematically. */
  readonly sim: SimProfile | undefined;
};

/** One thing on the table of a task. */
export type TaskObject = {
  readonly name: string;
  readonly halfExtentsM: readonly [number, number, number];
  readonly massKg: number;
  readonly rgba: readonly [number, number, number, number];
  /** Where a reset may put it: a ring sector around the base, rad and m. */
  readonly placement: {
    readonly radiusMMin: number;
    readonly radiusMMax: number;
    readonly azimuthRadMin: number;
    readonly azimuthRadMax: number;
  };
};

export type TaskProfile = {
  readonly name: string;
  readonly kind: "none" | "reach" | "pick_place";
  readonly description: string;
  readonly path: string;
  /** Text that a language-conditioned policy gets. */
  readonly instruction: string;
  readonly objects: readonly TaskObject[];
  /** Centre of the goal in the base frame. */
  readonly goalM: readonly [number, number, number];
  readonly goalRadiusM: number;
  /** How long success must last before the task is done. */
  readonly dwellNs: Duration;
  readonly timeLimitNs: Duration;
  /** Sources that the task's scene adds to the robot's own. */
  readonly sources: readonly SourceProfile[];
  /** Source ids a policy of this task needs, beside proprio. */
  readonly requires: readonly string[];
  readonly qualityRatioMin: number;
  readonly defaultPolicy: string;
};

/** A robot as it is set up at one place, its choices already applied to `robot`. */
export type DeploymentProfile = {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly robot: RobotProfile;
  readonly task: string;
  /** Absent: the task's default. */
  readonly policy?: string;
  /** Absent: no openpi server can be used. */
  readonly openpi?: OpenpiMapping;
};
