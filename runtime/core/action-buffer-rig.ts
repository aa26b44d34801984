// What the ActionBuffer's tests share: a chunk from a few words, and a buffer that answers in the
// words of the evidence and the reasons. For tests only.

import { testJoint, testProfile } from "../../safety/fixture.ts";
import { ActionSample } from "../contracts/action-sample.ts";
import { ChunkSlot, ChunkView, HORIZON_MAX } from "../contracts/action.ts";
import { EvidenceSlot, evidenceNames } from "../contracts/evidence.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { commandVec, instant, milliseconds } from "../contracts/units.ts";
import { ActionBuffer } from "./action-buffer.ts";
import { EvidenceLog } from "./evidence-log.ts";

export const FINGERPRINT = 77;
export const MS = 1e6;

export type Rows = (row: number, joint: number) => number;
export type Shape = {
  readonly seq?: number;
  readonly epoch?: number;
  readonly fromMs?: number;
  readonly untilMs?: number;
  readonly horizon?: number;
  readonly width?: number;
  readonly dtMs?: number;
  readonly rows?: Rows;
  /** Slots to overwrite after everything else. */
  readonly slots?: Partial<Record<keyof typeof ChunkSlot, number>>;
};

const byRow: Rows = (row) => row;

/** Four rows of 20 ms from time zero, each with its own number, unless said otherwise. */
export function chunkOf(shape: Shape = {}): ChunkView {
  const { seq = 1, epoch = 1, fromMs = 0, horizon = 4, width = 1, dtMs = 20, rows = byRow } = shape;
  const chunk = new ChunkView();
  chunk.begin(epoch, seq, horizon, width, milliseconds(dtMs));
  chunk.record[ChunkSlot.schemaFingerprint] = FINGERPRINT;
  const untilMs = shape.untilMs ?? fromMs + horizon * dtMs;
  chunk.setWindow(instant(fromMs * MS), instant(untilMs * MS));
  for (let index = 0; index < Math.min(horizon, HORIZON_MAX) * width; index += 1) {
    chunk.values[index] = rows(Math.floor(index / width), index % width);
  }
  for (const [slot, value] of Object.entries(shape.slots ?? {})) {
    chunk.record[ChunkSlot[slot as keyof typeof ChunkSlot]] = value;
  }
  return chunk;
}

export function bufferOf(policy: Partial<RobotProfile["policy"]> = {}, joints = [testJoint()]) {
  const base = testProfile(joints);
  const profile = {
    ...base,
    policy: { ...base.policy, interpolation: "hold" as const, ...policy },
  };
  const command = commandVec(new Float64Array(joints.length));
  const evidence = new EvidenceLog();
  const buffer = new ActionBuffer(profile, FINGERPRINT, command, evidence);
  buffer.syncEpoch(1, instant(0));
  const sample = new ActionSample(joints.length);
  return {
    buffer,
    command,
    sample,
    put: (shape: Shape, nowMs: number) =>
      evidenceNames[buffer.put(chunkOf(shape), instant(nowMs * MS))],
    /** The first joint's value at this time, or why there is none. */
    at: (nowMs: number): number | string => {
      const reason = buffer.sampleInto(sample, instant(nowMs * MS));
      return reason === Reason.Ok ? sample.values[0]! : reasonNames[reason];
    },
    /** Evidence so far, as "code seq". */
    events: () =>
      evidence.dump().map((e) => `${evidenceNames[e[EvidenceSlot.code]!]} ${e[EvidenceSlot.seq]}`),
    times: () => evidence.dump().map((entry) => entry[EvidenceSlot.nowNs]! / MS),
  };
}
