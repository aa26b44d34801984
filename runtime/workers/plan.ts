// The plan of a streaming run, and the layout of the memory its threads share. Main makes one plan;
// every Worker gets the same one in its workerData and finds its parts by name.

import { FrameSlot, SHAPE_COUNT_MAX, SHAPE_SLOTS } from "../../hal/mujoco/scene.ts";
import type { Scene } from "../../hal/mujoco/scene.ts";
import type { SessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
import { CHUNK_SLOT_COUNT } from "../contracts/action.ts";
import { commandSlotCount } from "../contracts/command.ts";
import {
  ESTOP_ASK_SLOT_COUNT,
  ESTOP_BEAT_SLOT_COUNT,
  ESTOP_STATUS_SLOT_COUNT,
} from "../contracts/estop-line.ts";
import { EVIDENCE_SLOT_COUNT } from "../contracts/evidence.ts";
import { HOST_TIMES_SLOT_COUNT } from "../contracts/host-times.ts";
import type { OpenpiMapping } from "../contracts/openpi.ts";
import type { RobotProfile, SourceProfile, TaskProfile } from "../contracts/profile.ts";
import { REASON_COUNT } from "../contracts/reason.ts";
import { sampleSlotCount } from "../contracts/sample.ts";
import { StateLayout } from "../contracts/state.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import { instant, milliseconds, NS_PER_MS } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { CONTROL_WORD_COUNT } from "../shm/control-words.ts";
import { ESTOP_WISH_WORD_COUNT } from "../shm/estop-wish.ts";
import type { ArenaHandle, ArenaPart } from "../shm/arena.ts";

/** The e-stop of a run, once it is there to be opened. */
export type EstopPlan = {
  /** Its serial line. */
  readonly path: string;
  /** For an emulated board: the pipe by which its outputs switch the simulated drives. */
  readonly enablePath: string | undefined;
  /** The shortest SS1-t that lets this robot come to rest. */
  readonly stopNsMin: Duration;
  /** Without a status for so long its line is dead. */
  readonly silenceNsMax: Duration;
  /** Proof tests that may fail in a row. */
  readonly proofTryCountMax: number;
  /** Of a keyed line; only its thread uses it, and no record or report holds it. */
  readonly key: Uint8Array | undefined;
};

/** What a run is asked to do. Plain data: it crosses to every Worker. */
export type RunPlan = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  /** A name from the policy registry, or a path to a module. */
  readonly policy: string;
  readonly seed: number;
  /** How the robot looks to an openpi server; absent where the policy is another. */
  readonly openpi?: OpenpiMapping;
  /** Texts of `--fault`, already checked. */
  readonly faults: readonly string[];
  /** Text of `--policy-latency`, already checked. */
  readonly policyLatency: string | undefined;
  readonly spinTailNs: Duration;
  /** A real robot moves: what a simulation only counts is a fault or a refusal. */
  readonly isHardware: boolean;
  /** Undefined for a run without an e-stop. */
  readonly estop: EstopPlan | undefined;
};

/** What decides which fields a state has. */
export type RobotAndTask = Pick<RunPlan, "robot" | "task">;

export type WorkerPlan = {
  readonly run: RunPlan;
  readonly arena: ArenaHandle;
  readonly origin: SessionOrigin;
  /** What the camera sees that does not move; known once the robot thread has its world. */
  readonly scene: Scene | undefined;
};

/** A picture older than this no longer shows where things are. */
const PICTURE_VALIDITY_NS = milliseconds(120);

/**
 * Sources of a robot with a task: the robot's own, what the task brings, and the simulated camera
 * when the task requires its pictures.
 */
export function sourcesOf(run: RobotAndTask): readonly SourceProfile[] {
  const sources = [...run.robot.sources, ...run.task.sources];
  const camera = run.robot.sim?.camera;
  if (camera === undefined || !run.task.requires.includes(camera.id)) return sources;
  const picture: SourceProfile = {
    id: camera.id,
    kind: "image",
    periodNs: camera.periodNs,
    validityNs: PICTURE_VALIDITY_NS,
    joints: [],
    measuresVelocity: false,
    measuresEffort: false,
    frame: camera.id,
  };
  return [...sources, picture];
}

export function layoutOf(run: RobotAndTask): StateLayout {
  return new StateLayout(run.robot, sourcesOf(run), run.task.instruction);
}

/** Slots of the cell in which the robot's driver thread tells main how it goes. */
export const RobotStatusSlot = {
  lifecycle: 0,
  missedBeats: 1,
  expiredCommands: 2,
  success: 3,
  done: 4,
  rewardRatio: 5,
  /** Episodes begun, the present one included. */
  episodes: 6,
  successes: 7,
  stepCount: 8,
  /** A `SupplyTrouble`. */
  supplyTrouble: 9,
} as const;
export const ROBOT_STATUS_SLOT_COUNT = 10;

/** Slots of the cell in which the policy thread tells main how it goes. */
export const PolicyStatusSlot = {
  safeTicks: 0,
  safeEpisodes: REASON_COUNT,
  /** A record of `HostTimesSlot`. */
  hostTimes: 2 * REASON_COUNT,
} as const;
export const POLICY_STATUS_SLOT_COUNT = PolicyStatusSlot.hostTimes + HOST_TIMES_SLOT_COUNT;

/** Slots of the cell that names the newest camera picture. */
export const PictureSlot = { slot: 0, arenaSeq: 1, stampNs: 2, widthPx: 3, heightPx: 4 } as const;
export const PICTURE_SLOT_COUNT = 5;

/** Slots of a world record: when it was so, then a frame of the scene. */
export const WorldSlot = { stampNs: 0, frame: 1 } as const;
const WORLD_SLOT_COUNT = WorldSlot.frame + FrameSlot.shapes + SHAPE_SLOTS * SHAPE_COUNT_MAX;

/** Half a period after the tick: the command is there, and its sample is 2.5 ms old at the next. */
const WORLD_PHASE_NS = 2.5 * NS_PER_MS;

/** Up to when the simulated world runs in a beat of its own: beat 0 lies before the first tick. */
export function worldPhaseNs(originNs: Instant, beat: number, periodNs: Duration): Instant {
  return instant(originNs + (beat - 1) * periodNs + WORLD_PHASE_NS);
}

/** Decisions under way at once: at 20 Hz, 400 ms of them. */
const CHUNK_RECORDS = 8;
/** Tick records main may be behind: 5 s at 200 Hz, longer than any pause of a collector. */
const TICK_RECORDS = 1024;
const EVIDENCE_RECORDS = 1024;
/** The policy thread reads them every few ms; what it misses is only not told. */
const RECEIPT_RECORDS = 64;
/** Pictures in the arena: one being drawn, one newest, two still being read. */
const FRAME_COUNT = 4;
const BYTES_PER_PIXEL = 3;

export const sampleCell = (source: Pick<SourceProfile, "id">): string => `sample:${source.id}`;

/** Every cell and ring of a run. `runtime/README.md` names the one writer of each. */
export function arenaParts(run: RunPlan): readonly ArenaPart[] {
  const layout = layoutOf(run);
  const jointCount = layout.jointCount;
  const cell = (name: string, slotCount: number): ArenaPart => ({ kind: "cell", name, slotCount });
  const ring = (name: string, slotCount: number, recordCount: number): ArenaPart => ({
    kind: "ring",
    name,
    slotCount,
    recordCount,
  });
  const camera = run.robot.sim?.camera;
  return [
    { kind: "words", name: "control", wordCount: CONTROL_WORD_COUNT },
    { kind: "words", name: "camera-ask", wordCount: 1 },
    { kind: "words", name: "estop-wish", wordCount: ESTOP_WISH_WORD_COUNT },
    cell("command", commandSlotCount(jointCount)),
    ...layout.sources.map((source) => cell(sampleCell(source), sampleSlotCount(source))),
    cell("estop-ask", ESTOP_ASK_SLOT_COUNT),
    cell("estop-beat", ESTOP_BEAT_SLOT_COUNT),
    cell("estop-status", ESTOP_STATUS_SLOT_COUNT),
    cell("state", layout.slotCount),
    cell("robot-status", ROBOT_STATUS_SLOT_COUNT),
    cell("policy-status", POLICY_STATUS_SLOT_COUNT),
    cell("world", WORLD_SLOT_COUNT),
    cell("picture", PICTURE_SLOT_COUNT),
    ring("chunks", CHUNK_SLOT_COUNT, CHUNK_RECORDS),
    ring("ticks", tickSlotCount(jointCount), TICK_RECORDS),
    ring("evidence", EVIDENCE_SLOT_COUNT, EVIDENCE_RECORDS),
    ring("receipts", EVIDENCE_SLOT_COUNT, RECEIPT_RECORDS),
    {
      kind: "images",
      name: "pictures",
      imageCount: FRAME_COUNT,
      imageSizeBytes:
        Math.max(1, (camera?.widthPx ?? 0) * (camera?.heightPx ?? 0)) * BYTES_PER_PIXEL,
    },
  ];
}
