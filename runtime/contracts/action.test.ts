// Tests of action schemas, their fingerprint and the chunk record, each against its definition
// written down a second time.

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { ActionSample } from "./action-sample.ts";
import {
  ANCHOR_BY_PROFILE,
  CHUNK_SLOT_COUNT,
  ChunkSlot,
  ChunkView,
  HORIZON_MAX,
  WIDTH_MAX,
  jointSchema,
  schemaFingerprint,
  toolDeltaSchema,
} from "./action.ts";
import { AssertionError } from "./assert.ts";
import { ACTION_SCHEMA_VERSION } from "./schema-versions.ts";
import { instant, milliseconds } from "./units.ts";

test("a joint schema names its joints in order and has the unit of its space", () => {
  expect(jointSchema("joint_vel", ["a", "b"])).toEqual({
    space: "joint_vel",
    representation: "joint_rad_per_s",
    translationUnit: undefined,
    rotationUnit: undefined,
    frame: "joint",
    columns: ["a", "b"],
  });
  for (const space of ["joint_pos", "joint_delta"] as const) {
    expect(jointSchema(space, ["a"]).representation).toBe("joint_rad");
  }
});

test("a tool schema has six columns of a pose, then its extra joints, and both units", () => {
  expect(toolDeltaSchema("tool", ["gripper"])).toEqual({
    space: "ee_pose_delta",
    representation: "ee_se3_log",
    translationUnit: "m",
    rotationUnit: "rotvec_rad",
    frame: "tool",
    columns: ["tx", "ty", "tz", "rx", "ry", "rz", "gripper"],
  });
});

test("a fingerprint is the first 48 bits of SHA-256 over version and schema", () => {
  const schema = toolDeltaSchema("base", ["g"]);
  const columns = '["tx","ty","tz","rx","ry","rz","g"]';
  const body = `"ee_pose_delta","ee_se3_log","m","rotvec_rad","base",${columns}`;
  const hex = createHash("sha256").update(`[${ACTION_SCHEMA_VERSION},${body}]`).digest("hex");
  expect(schemaFingerprint(schema)).toBe(Number.parseInt(hex.slice(0, 12), 16));
});

test("every fact of a schema changes its fingerprint, the order of the columns too", () => {
  const schema = jointSchema("joint_pos", ["a", "b"]);
  const others = [
    jointSchema("joint_pos", ["b", "a"]),
    jointSchema("joint_pos", ["a"]),
    jointSchema("joint_delta", ["a", "b"]),
    { ...schema, representation: "joint_deg" },
    { ...schema, translationUnit: "m" as const },
    { ...schema, rotationUnit: "rotvec_rad" as const },
    { ...schema, frame: "base" as const },
  ];
  const fingerprints = [schema, ...others].map(schemaFingerprint);
  expect(new Set(fingerprints).size).toBe(8);
  expect(fingerprints.every(Number.isSafeInteger)).toBe(true);
});

test("begin heads a chunk, leaves its window to the profile and its values alone", () => {
  const chunk = new ChunkView(new Float64Array(CHUNK_SLOT_COUNT).fill(7));
  chunk.begin(3, 9, 4, 2, milliseconds(50));
  const head = new Float64Array(ChunkSlot.values);
  head[ChunkSlot.schemaVersion] = ACTION_SCHEMA_VERSION;
  head[ChunkSlot.epoch] = 3;
  head[ChunkSlot.seq] = 9;
  head[ChunkSlot.dtNs] = 50_000_000;
  head[ChunkSlot.horizon] = 4;
  head[ChunkSlot.width] = 2;
  head[ChunkSlot.validFromNs] = ANCHOR_BY_PROFILE;
  head[ChunkSlot.validUntilNs] = ANCHOR_BY_PROFILE;
  expect(chunk.record.slice(0, ChunkSlot.values)).toEqual(head);
  expect(chunk.values).toEqual(new Float64Array(HORIZON_MAX * WIDTH_MAX).fill(7));
});

test("a chunk reads every slot under its own name, and its values are the record's", () => {
  const chunk = new ChunkView(Float64Array.from({ length: CHUNK_SLOT_COUNT }, (_, slot) => slot));
  expect({
    schemaFingerprint: chunk.schemaFingerprint,
    epoch: chunk.epoch,
    seq: chunk.seq,
    dtNs: chunk.dtNs as number,
    horizon: chunk.horizon,
    width: chunk.width,
    generatedNs: chunk.generatedNs as number,
    validFromNs: chunk.validFromNs as number,
    validUntilNs: chunk.validUntilNs as number,
    stateStampNs: chunk.stateStampNs as number,
  }).toEqual({
    schemaFingerprint: 0,
    epoch: 2,
    seq: 3,
    dtNs: 4,
    horizon: 5,
    width: 6,
    generatedNs: 7,
    validFromNs: 8,
    validUntilNs: 9,
    stateStampNs: 10,
  });
  chunk.values[0] = -1;
  expect(chunk.record[ChunkSlot.values]).toBe(-1);
});

test("a window of its own replaces the anchoring; a copy shares nothing with its source", () => {
  const chunk = new ChunkView();
  chunk.begin(1, 1, 1, 1, milliseconds(20));
  chunk.setWindow(instant(5), instant(25));
  const copy = new ChunkView();
  copy.copyFrom(chunk);
  chunk.setWindow(instant(0), instant(0));
  expect([copy.validFromNs, copy.validUntilNs] as number[]).toEqual([5, 25]);
});

test("a record of another size is refused", () => {
  expect(() => new ChunkView(new Float64Array(CHUNK_SLOT_COUNT - 1))).toThrow(AssertionError);
});

test("a fresh action sample holds one zero per joint and took nothing over", () => {
  const sample = new ActionSample(2);
  expect([...sample.values]).toEqual([0, 0]);
  expect(sample.tookOver).toBe(false);
});
