// Tests of the state record: its layout, half-open freshness, the quality floor, and observation
// fields that come and go.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { AssertionError } from "./assert.ts";
import type { SourceProfile } from "./profile.ts";
import { Reason } from "./reason.ts";
import { STATE_SCHEMA_VERSION } from "./schema-versions.ts";
import { FieldSlot, Hypothesis, StateLayout, StateSlot, StateView } from "./state.ts";
import { instant, milliseconds } from "./units.ts";

const proprio: SourceProfile = {
  id: "arm",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["a", "b"],
  measuresVelocity: true,
  measuresEffort: true,
  frame: "joint",
};
const cube: SourceProfile = { ...proprio, id: "cube", kind: "localization", frame: "base" };
const camera: SourceProfile = { ...proprio, id: "front", kind: "image", frame: "front" };
const robot = testProfile([testJoint({ name: "a" }), testJoint({ name: "b" })]);
const layout = new StateLayout(robot, [proprio, cube, camera], "pick it up");
const newState = () => new StateView(new Float64Array(layout.slotCount), layout);

test("a layout names joints, and one field for each source that is not proprioception", () => {
  expect(layout.jointNames).toEqual(["a", "b"]);
  expect(layout.fields).toEqual([
    {
      name: "cube",
      dtype: "float64",
      shape: [7],
      unit: "m, quaternion xyzw",
      frame: "base",
      sourceIndex: 1,
      offset: 32,
      valueCount: 7,
    },
    {
      name: "front",
      dtype: "uint8",
      shape: [4],
      unit: "arena slot",
      frame: "front",
      sourceIndex: 2,
      offset: 44,
      valueCount: 4,
    },
  ]);
  expect(layout.slotCount).toBe(53);
});

test("a new state was never sampled, says its schema version and knows its task", () => {
  const state = newState();
  expect([state.stampNs, state.record[StateSlot.schemaVersion]] as number[]).toEqual([
    -Infinity,
    STATE_SCHEMA_VERSION,
  ]);
  expect([state.task, state.hypothesis]).toEqual(["pick it up", Hypothesis.Single]);
  expect(state.freshness(instant(0))).toBe(Reason.StaleState);
});

test("positions, velocities, efforts, commands are windows into the record, in this order", () => {
  const state = newState();
  state.positionRad.set([1, 2]);
  state.velocityRadPerS.set([3, 4]);
  state.effortNm.set([5, 6]);
  state.command.set([7, 8]);
  expect([...state.record.slice(24, 32)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const copy = newState();
  copy.copyFrom(state);
  state.positionRad.fill(0);
  expect([...copy.positionRad]).toEqual([1, 2]);
});

test("a state is fresh until exactly its validity, and up to 1 ms from the future", () => {
  const state = newState();
  state.record[StateSlot.stampNs] = 1e9;
  state.record[StateSlot.validityNs] = 50e6;
  const at = (nowNs: number) => state.freshness(instant(nowNs));
  expect([at(1e9), at(1.05e9 - 1), at(1.05e9), at(9e9)]).toEqual([
    Reason.Ok,
    Reason.Ok,
    Reason.StaleState,
    Reason.StaleState,
  ]);
  expect([at(1e9 - 1e6), at(1e9 - 1e6 - 1)]).toEqual([Reason.Ok, Reason.StampInFuture]);
});

test("a stamp that is no number is never fresh", () => {
  const state = newState();
  state.record[StateSlot.validityNs] = 50e6;
  state.record[StateSlot.stampNs] = Number.NaN;
  expect(state.freshness(instant(0))).toBe(Reason.StaleState);
  state.record[StateSlot.stampNs] = Infinity;
  expect(state.freshness(instant(0))).toBe(Reason.StampInFuture);
});

test("the control side asks proprioception and alignment for the floor, vision for nothing", () => {
  const state = newState();
  const judge = (proprioRatio: number, temporalRatio: number) => {
    state.record[StateSlot.qualityProprioRatio] = proprioRatio;
    state.record[StateSlot.qualityTemporalRatio] = temporalRatio;
    return state.qualityReason(0.5);
  };
  expect(judge(0.5, 0.5)).toBe(Reason.Ok);
  expect(judge(0.49, 1)).toBe(Reason.LowQuality);
  expect(judge(1, 0.49)).toBe(Reason.LowQuality);
  expect(judge(Number.NaN, 1)).toBe(Reason.LowQuality);
});

test("a field is absent until it is set, has a validity of its own, and can leave again", () => {
  const state = newState();
  const field = state.field("cube")!;
  expect(field.present).toBe(false);
  expect(field.freshness(instant(0))).toBe(Reason.SourceMissing);
  field.values.fill(2);
  field.set(instant(1e9), milliseconds(120), 0.75, 42);
  expect([field.present, field.stampNs as number, field.qualityRatio, field.seq]).toEqual([
    true,
    1e9,
    0.75,
    42,
  ]);
  expect(field.freshness(instant(1.12e9 - 1))).toBe(Reason.Ok);
  expect(field.freshness(instant(1.12e9))).toBe(Reason.StaleState);
  expect(field.freshness(instant(0))).toBe(Reason.StampInFuture);
  expect(state.record[32 + FieldSlot.validityNs]).toBe(120e6);
  field.clear();
  expect([...state.record.slice(32, 44)]).toEqual(new Array(12).fill(0));
});

test("joints and fields are found by name; what is not there is undefined or -1", () => {
  const state = newState();
  expect(state.field("front")?.spec.sourceIndex).toBe(2);
  expect(state.field("depth")).toBeUndefined();
  expect([state.jointIndex("b"), state.jointIndex("c")]).toEqual([1, -1]);
});

test("who made a state and when it counts is read from its slots", () => {
  const state = newState();
  state.record[StateSlot.epoch] = 3;
  state.record[StateSlot.tick] = 17;
  state.record[StateSlot.validityNs] = 5;
  state.record[StateSlot.hypothesis] = Hypothesis.Multi;
  expect([state.epoch, state.tick, state.validityNs as number, state.hypothesis]).toEqual([
    3,
    17,
    5,
    Hypothesis.Multi,
  ]);
});

test("a record of another size is refused", () => {
  expect(() => new StateView(new Float64Array(52), layout)).toThrow(AssertionError);
});
