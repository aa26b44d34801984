// Tests of the StateEstimator: alignment of several sources to one moment, the stamp that a state
// may claim, joints that were not read, readings that cannot be true, and quality per source.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { AssertionError } from "../contracts/assert.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { Reason } from "../contracts/reason.ts";
import { ClockDomain, SampleSlot, SensorSnapshot } from "../contracts/sample.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { StateEstimator } from "./estimator.ts";

const MS = 1e6;

const bus = (id: string, joints: readonly string[], extra: Partial<SourceProfile> = {}) => ({
  id,
  kind: "proprio" as const,
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints,
  measuresVelocity: false,
  measuresEffort: false,
  frame: "joint",
  ...extra,
});

const cube: SourceProfile = {
  ...bus("cube", []),
  kind: "localization",
  periodNs: milliseconds(20),
  validityNs: milliseconds(50),
  frame: "base",
};

type Reading = {
  readonly source?: number;
  readonly ms: number;
  readonly values: readonly number[];
  readonly mask?: number;
  readonly seq?: number;
  readonly device?: boolean;
  readonly receiveMs?: number;
};

/** A robot of joints a and b with these sources; window 100 ms, validity 15 ms, tick 5 ms. */
function setup(sources: readonly SourceProfile[]) {
  const profile = testProfile([testJoint({ name: "a" }), testJoint({ name: "b" })], { sources });
  const layout = new StateLayout(profile, sources, "");
  const estimator = new StateEstimator(profile, layout);
  const snapshot = new SensorSnapshot(sources);
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  const tick = (nowMs: number, readings: readonly Reading[]) => {
    snapshot.clear();
    for (const reading of readings) {
      const index = reading.source ?? 0;
      const { record, payload } = snapshot.samples[index]!;
      payload.fill(0);
      payload.set(reading.values);
      record[SampleSlot.sensorStampNs] = reading.ms * MS;
      record[SampleSlot.clockDomain] = reading.device ? ClockDomain.Device : ClockDomain.Monotonic;
      record[SampleSlot.receiveNs] = (reading.receiveMs ?? reading.ms) * MS;
      record[SampleSlot.validMask] = reading.mask ?? 3;
      record[SampleSlot.seq] = reading.seq ?? 0;
      record[SampleSlot.calibrationVersion] = 2;
      snapshot.arrived[index] = 1;
    }
    estimator.estimateInto(state, snapshot, instant(nowMs * MS));
  };
  const slot = (name: keyof typeof StateSlot) => state.record[StateSlot[name]]!;
  return { estimator, state, tick, slot };
}

const one = () => setup([bus("arm", ["a", "b"])]);
const two = () => setup([bus("left", ["a"]), bus("right", ["b"])]);

test("one sample becomes a state of its own stamp, with all that it says of itself", () => {
  const { state, tick, slot } = one();
  tick(12, [{ ms: 10, values: [0.5, -0.5], receiveMs: 11 }]);
  expect([...state.positionRad, ...state.velocityRadPerS, ...state.effortNm]).toEqual([
    0.5, -0.5, 0, 0, 0, 0,
  ]);
  expect({
    stampNs: slot("stampNs"),
    validityNs: slot("validityNs"),
    receivedNs: slot("receivedNs"),
    estimatedNs: slot("estimatedNs"),
    sourceIndex: slot("sourceIndex"),
    calibrationVersion: slot("calibrationVersion"),
    clockVersion: slot("clockVersion"),
    hypothesis: slot("hypothesis"),
    hasVelocity: slot("hasVelocity"),
    hasEffort: slot("hasEffort"),
  }).toEqual({
    stampNs: 10 * MS,
    validityNs: 15 * MS,
    receivedNs: 11 * MS,
    estimatedNs: 12 * MS,
    sourceIndex: 0,
    calibrationVersion: 2,
    clockVersion: 0,
    hypothesis: 0,
    hasVelocity: 1,
    hasEffort: 0,
  });
});

test("joints go by name: the order of a source is not the order of the robot", () => {
  const { state, tick } = setup([
    bus("arm", ["b", "a"], { measuresVelocity: true, measuresEffort: true }),
  ]);
  tick(5, [{ ms: 5, values: [1, 2, 3, 4, 5, 6] }]);
  expect([...state.positionRad, ...state.velocityRadPerS, ...state.effortNm]).toEqual([
    2, 1, 4, 3, 6, 5,
  ]);
});

test("effort is there only when every source of joints measures it", () => {
  const efforts = [true, false].map((measuresEffort) => {
    const { tick, slot } = setup([
      bus("left", ["a"], { measuresEffort: true }),
      bus("right", ["b"], { measuresEffort }),
    ]);
    tick(5, [{ ms: 5, values: [0, 0, 0] }]);
    return slot("hasEffort");
  });
  expect(efforts).toEqual([1, 0]);
});

test("a device that sends velocities is believed; otherwise they are a slope of 8 samples", () => {
  const measured = setup([bus("arm", ["a", "b"], { measuresVelocity: true })]);
  const derived = one();
  for (let tick = 1; tick <= 10; tick += 1) {
    const values = [0.01 * tick, -0.02 * tick, 7, 8];
    measured.tick(5 * tick, [{ ms: 5 * tick, values }]);
    derived.tick(5 * tick, [{ ms: 5 * tick, values }]);
  }
  expect([...measured.state.velocityRadPerS]).toEqual([7, 8]);
  expect(derived.state.velocityRadPerS[0]).toBeCloseTo(2, 9);
  expect(derived.state.velocityRadPerS[1]).toBeCloseTo(-4, 9);
});

test("without a new sample the state stays as it was, and only ages", () => {
  const { state, tick } = one();
  tick(5, [{ ms: 5, values: [1, 2] }]);
  tick(10, []);
  expect([...state.positionRad]).toEqual([1, 2]);
  expect(state.stampNs as number).toBe(5 * MS);
  expect([19.999, 20].map((ms) => state.freshness(instant(ms * MS)))).toEqual([
    Reason.Ok,
    Reason.StaleState,
  ]);
});

test("the newer source is interpolated back to the older one's stamp", () => {
  const { state, tick } = two();
  tick(10, [
    { source: 0, ms: 4, values: [1] },
    { source: 1, ms: 7, values: [5] },
  ]);
  tick(15, [{ source: 0, ms: 9, values: [2] }]);
  expect(state.positionRad[0]).toBeCloseTo(1 + 3 / 5, 12);
  expect(state.positionRad[1]).toBe(5);
  expect(state.stampNs as number).toBe(7 * MS);
});

test("a lagging source is extrapolated by one period at most, and keeps its stamp", () => {
  const { state, tick, slot } = two();
  // Joint b moves at 2 rad/s and is last heard of at 10 ms.
  for (const ms of [5, 10]) tick(ms, [{ source: 1, ms, values: [ms / 500] }]);
  for (const ms of [10, 15, 20]) tick(ms, [{ source: 0, ms, values: [ms] }]);
  // Aligned to 15 ms, one period before the newest: b moves on 5 ms, a is brought back 5 ms.
  expect(state.positionRad[1]).toBeCloseTo((10 + 5) / 500, 12);
  expect(state.positionRad[0]).toBeCloseTo(15, 12);
  expect([slot("stampNs"), slot("sourceIndex")]).toEqual([10 * MS, 1]);
  for (const ms of [25, 30]) tick(ms, [{ source: 0, ms, values: [ms] }]);
  expect(state.positionRad[1]).toBeCloseTo((10 + 5) / 500, 12);
  expect(state.positionRad[0]).toBeCloseTo(25, 12);
  expect(slot("stampNs")).toBe(10 * MS);
});

test("a source that lags by less than two periods is extrapolated by the rest alone", () => {
  const { state, tick } = two();
  for (const ms of [5, 10]) tick(ms, [{ source: 1, ms, values: [ms / 500] }]);
  for (const ms of [12, 17]) tick(ms, [{ source: 0, ms, values: [ms] }]);
  expect(state.positionRad[1]).toBeCloseTo(12 / 500, 12);
  expect(state.positionRad[0]).toBeCloseTo(12, 12);
});

test("temporal quality falls with the distance of the sources, to zero at the window", () => {
  const { tick, slot } = two();
  tick(40, [{ source: 1, ms: 40, values: [0] }]);
  expect(slot("qualityTemporalRatio")).toBe(0);
  const ratios = [40, 65, 90, 140, 190].map((ms) => {
    tick(ms, [{ source: 0, ms, values: [0] }]);
    return slot("qualityTemporalRatio");
  });
  expect(ratios).toEqual([1, 0.75, 0.5, 0, 0]);
});

test("before every joint was read there is no fresh state, and no quality", () => {
  const { state, tick, slot } = one();
  state.record[StateSlot.hypothesis] = 1;
  tick(0, []);
  expect([slot("hypothesis"), slot("qualityTemporalRatio")]).toEqual([0, 0]);
  tick(5, [{ ms: 5, values: [1, 2], mask: 1 }]);
  expect(state.stampNs as number).toBe(-Infinity);
  expect(state.freshness(instant(5 * MS))).toBe(Reason.StaleState);
  expect([slot("qualityProprioRatio"), slot("qualityTemporalRatio")]).toEqual([0, 0]);
  tick(10, [{ ms: 10, values: [1, 2], mask: 2 }]);
  expect(state.stampNs as number).toBe(5 * MS);
});

test("a joint that was not read keeps its own stamp, and moves on by one period at most", () => {
  const { state, tick } = one();
  for (const ms of [5, 10]) tick(ms, [{ ms, values: [ms / 500, ms / 500] }]);
  for (const ms of [15, 20, 25]) tick(ms, [{ ms, values: [ms / 500, 99], mask: 1 }]);
  expect(state.stampNs as number).toBe(10 * MS);
  expect(state.positionRad[0]).toBeCloseTo(20 / 500, 12);
  expect(state.positionRad[1]).toBeCloseTo(15 / 500, 12);
  expect(state.freshness(instant(25 * MS))).toBe(Reason.StaleState);
  // Read again, its velocity comes from what was read.
  tick(30, [{ ms: 30, values: [30 / 500, 30 / 500] }]);
  expect(state.positionRad[1]).toBeCloseTo(30 / 500, 12);
  expect(state.velocityRadPerS[1]).toBeCloseTo(2, 9);
});

test("a joint whose readings have left the history keeps its last position", () => {
  const { state, tick } = setup([
    bus("slow", ["a"], { periodNs: milliseconds(100) }),
    bus("fast", ["b"]),
  ]);
  tick(4, [{ source: 0, ms: 4, values: [1] }]);
  tick(5, [{ source: 1, ms: 5, values: [7], mask: 1 }]);
  for (let ms = 10; ms <= 60; ms += 5) tick(ms, [{ source: 1, ms, values: [99], mask: 0 }]);
  expect([...state.positionRad]).toEqual([1, 7]);
});

// What a corrupted bus delivers, as the first joint's position.
const rubbish = [Number.NaN, Infinity, -Infinity, 1e4, -1e30];
test.each(rubbish)("a position of %d is no reading, and spoils no later velocity", (value) => {
  const { estimator, state, tick } = one();
  for (const ms of [5, 10, 15]) tick(ms, [{ ms, values: [ms / 500, ms / 500] }]);
  tick(20, [{ ms: 20, values: [value, 20 / 500] }]);
  expect(estimator.badReadingCount).toBe(1);
  expect(state.stampNs as number).toBe(15 * MS);
  expect(state.positionRad[0]).toBeCloseTo(15 / 500, 12);
  tick(25, [{ ms: 25, values: [25 / 500, 25 / 500] }]);
  expect(state.stampNs as number).toBe(25 * MS);
  expect(state.positionRad[0]).toBe(25 / 500);
  expect(state.velocityRadPerS[0]).toBeCloseTo(2, 9);
  expect(estimator.badReadingCount).toBe(1);
});

test.each(rubbish)("a measured velocity or effort of %d is no reading either", (value) => {
  const source = bus("arm", ["a", "b"], { measuresVelocity: true, measuresEffort: true });
  for (const place of [2, 4]) {
    const { estimator, state, tick } = setup([source]);
    tick(5, [{ ms: 5, values: [1, 1, 1, 1, 1, 1] }]);
    const values = [2, 2, 2, 2, 2, 2];
    values[place] = value;
    tick(10, [{ ms: 10, values }]);
    expect([...state.positionRad, state.velocityRadPerS[0], state.effortNm[0]]).toEqual([
      1 + 0,
      1,
      1,
      1,
    ]);
    expect([state.stampNs as number, estimator.badReadingCount]).toEqual([5 * MS, 1]);
  }
});

test("what a source does not measure is not read from it", () => {
  const { estimator, state, tick } = one();
  tick(5, [{ ms: 5, values: [1, 2, Number.NaN, Number.NaN, Number.NaN, Number.NaN] }]);
  expect([...state.velocityRadPerS, ...state.effortNm]).toEqual([0, 0, 0, 0]);
  expect(estimator.badReadingCount).toBe(0);
});

test("proprioception is as good as its worst source delivers", () => {
  const { tick, slot } = two();
  for (let ms = 5; ms <= 80; ms += 5) {
    const left = { source: 0, ms, values: [0] };
    tick(ms, ms % 10 === 0 ? [left, { source: 1, ms, values: [0] }] : [left]);
  }
  expect(slot("qualityProprioRatio")).toBe(0.5);
});

test("samples that a late world made between two looks are not missing", () => {
  const { estimator, state } = one();
  const snapshot = new SensorSnapshot([bus("arm", ["a", "b"])]);
  const ratioAfter = (nowMs: number, worldStepMs: number): number => {
    const { record } = snapshot.samples[0]!;
    record[SampleSlot.sensorStampNs] = nowMs * MS;
    record[SampleSlot.validMask] = 3;
    snapshot.arrived[0] = 1;
    estimator.estimateInto(state, snapshot, instant(nowMs * MS), milliseconds(worldStepMs));
    return state.record[StateSlot.qualityProprioRatio]!;
  };
  // Of the last 40 ms 15 were made at once; of the five samples of the rest two came.
  expect([ratioAfter(5, 5), ratioAfter(25, 20), ratioAfter(45, 5)]).toEqual([1, 1, 2 / 5]);
});

test("a joint outside the window is worth nothing, exactly at the window it still is", () => {
  const { tick, slot } = one();
  tick(5, [{ ms: 5, values: [0, 0] }]);
  const ratios = [105, 105.001].map((ms) => {
    tick(ms, []);
    return slot("qualityProprioRatio");
  });
  expect(ratios).toEqual([1, 0]);
});

test("out-of-order samples change nothing", () => {
  const { state, tick } = one();
  tick(10, [{ ms: 10, values: [1, 1] }]);
  tick(15, [{ ms: 8, values: [9, 9] }]);
  expect([...state.positionRad]).toEqual([1, 1]);
  expect(state.stampNs as number).toBe(10 * MS);
});

test("a state from the future is never fresh, however long one waits for a sample", () => {
  const { state, tick } = one();
  tick(5, [{ ms: 5, values: [1, 1] }]);
  tick(10, [{ ms: 90, values: [9, 9] }]);
  expect(state.freshness(instant(10 * MS))).toBe(Reason.StampInFuture);
  tick(92, []);
  expect(state.freshness(instant(92 * MS))).toBe(Reason.StampInFuture);
  tick(95, [{ ms: 95, values: [2, 2] }]);
  expect(state.freshness(instant(95 * MS))).toBe(Reason.Ok);
  expect([...state.positionRad]).toEqual([2, 2]);
});

test("one source from the future makes the whole state so", () => {
  const { state, tick } = two();
  tick(5, [
    { source: 0, ms: 5, values: [0] },
    { source: 1, ms: 5, values: [0] },
  ]);
  tick(10, [
    { source: 0, ms: 10, values: [0] },
    { source: 1, ms: 30, values: [0] },
  ]);
  expect(state.freshness(instant(10 * MS))).toBe(Reason.StampInFuture);
});

test("a device clock is converted and the state names the conversion", () => {
  const { tick, slot } = one();
  tick(11, [{ ms: 5_000, values: [1, 1], device: true, receiveMs: 10 }]);
  tick(17, [{ ms: 5_005, values: [1, 1], device: true, receiveMs: 16 }]);
  expect([slot("stampNs"), slot("clockVersion")]).toEqual([15 * MS, 1]);
});

test("a reset forgets every sample", () => {
  const { estimator, state, tick } = one();
  tick(5, [{ ms: 5, values: [1, 1] }]);
  estimator.reset();
  tick(10, []);
  expect(state.stampNs as number).toBe(-Infinity);
  tick(15, [{ ms: 3, values: [2, 2] }]);
  expect(state.stampNs as number).toBe(3 * MS);
  expect([...state.velocityRadPerS]).toEqual([0, 0]);
});

const withCube = () => setup([bus("arm", ["a", "b"]), cube]);
const pose = [0.1, 0.2, 0.3, 0, 0, 0, 1];

test("a field shows its newest sample with its own stamp, validity, quality and number", () => {
  const { state, tick, slot } = withCube();
  const field = state.field("cube")!;
  expect(field.present).toBe(false);
  tick(5, [
    { ms: 5, values: [0, 0] },
    { source: 1, ms: 3, values: pose, seq: 8 },
  ]);
  expect([...field.values]).toEqual(pose);
  expect([field.present, field.stampNs as number, field.qualityRatio, field.seq]).toEqual([
    true,
    3 * MS,
    1,
    8,
  ]);
  expect([52.9, 53].map((ms) => field.freshness(instant(ms * MS)))).toEqual([
    Reason.Ok,
    Reason.StaleState,
  ]);
  // Proprioception alone sets the stamp of the state.
  expect(slot("stampNs")).toBe(5 * MS);
  expect([slot("qualityLocalizationRatio"), slot("qualityVisionRatio")]).toEqual([1, 1]);
});

test("a field is dropped after three of its validities, and its quality with it", () => {
  const { state, tick, slot } = withCube();
  const field = state.field("cube")!;
  tick(5, [{ source: 1, ms: 0, values: pose }]);
  const seen = [150, 150.001].map((ms) => {
    tick(ms, []);
    return [field.present, slot("qualityLocalizationRatio")];
  });
  expect(seen).toEqual([
    [true, 1],
    [false, 0],
  ]);
  expect([...field.values]).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

test("a field that says it saw nothing, or whose values are no numbers, is absent", () => {
  const { state, tick } = withCube();
  const field = state.field("cube")!;
  tick(5, [{ source: 1, ms: 5, values: pose }]);
  tick(25, [{ source: 1, ms: 25, values: pose, mask: 0 }]);
  expect(field.present).toBe(false);
  tick(45, [{ source: 1, ms: 45, values: pose }]);
  expect(field.present).toBe(true);
  tick(65, [{ source: 1, ms: 65, values: [0, 0, 0, 0, 0, 0, Number.NaN] }]);
  expect(field.present).toBe(false);
});

test("each sample of a field is shown, whatever its place in the history holds beside it", () => {
  const { state, tick } = withCube();
  const field = state.field("cube")!;
  for (let index = 1; index <= 20; index += 1) {
    const first = index % 3 === 0 ? Number.NaN : index;
    tick(20 * index, [{ source: 1, ms: 20 * index, values: [first, ...pose.slice(1)] }]);
    expect([index, field.present]).toEqual([index, index % 3 !== 0]);
    if (field.present) expect([...field.values]).toEqual([index, ...pose.slice(1)]);
  }
});

test("a field from the future says so, and proprioception is untouched by it", () => {
  const { state, tick } = withCube();
  const field = state.field("cube")!;
  tick(5, [
    { ms: 5, values: [0, 0] },
    { source: 1, ms: 4, values: pose },
  ]);
  tick(10, [
    { ms: 10, values: [0, 0] },
    { source: 1, ms: 60, values: pose },
  ]);
  expect(field.freshness(instant(10 * MS))).toBe(Reason.StampInFuture);
  expect(field.freshness(instant(61 * MS))).toBe(Reason.StampInFuture);
  expect(state.freshness(instant(10 * MS))).toBe(Reason.Ok);
});

test("an image lowers vision, not localization", () => {
  const camera: SourceProfile = { ...cube, id: "front", kind: "image" };
  const { tick, slot } = setup([bus("arm", ["a", "b"]), camera]);
  tick(5, [{ ms: 5, values: [0, 0] }]);
  expect([slot("qualityVisionRatio"), slot("qualityLocalizationRatio")]).toEqual([0, 1]);
  for (let ms = 10; ms < 400; ms += 40) tick(ms, [{ source: 1, ms, values: [1, 2, 3, 4] }]);
  expect(slot("qualityVisionRatio")).toBe(0.5);
});

test("the sources and the joints of a robot fit each other, or nothing is built", () => {
  expect(() => setup([bus("arm", ["a"])])).toThrow(AssertionError);
  expect(() => setup([bus("arm", ["a", "b", "c"])])).toThrow(AssertionError);
});
