// Tests of the history of one source: what enters, what is kept, and the three questions it
// answers: a reading at a time, its velocity, and how much of what was expected came.

import { expect, test } from "bun:test";
import { AssertionError } from "../contracts/assert.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { ClockDomain, SampleSlot, SampleView, sampleSlotCount } from "../contracts/sample.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { HISTORY_COUNT, SensorBuffer } from "./sensor-buffer.ts";

const MS = 1e6;
const source: SourceProfile = {
  id: "arm",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["a", "b"],
  measuresVelocity: false,
  measuresEffort: false,
  frame: "joint",
};

type Given = {
  readonly ms: number;
  readonly at?: readonly [number, number];
  readonly mask?: number;
  readonly nowMs?: number;
  readonly device?: boolean;
  readonly seq?: number;
};

const newBuffer = (windowMs = 1_000) => new SensorBuffer(source, 6, milliseconds(windowMs));

/** Gives the buffer a sample stamped at `ms`, received and judged at `nowMs`. */
function give(buffer: SensorBuffer, given: Given): boolean {
  const { ms, at = [0, 0], mask = 3, nowMs = Math.max(0, ms), device = false, seq = 0 } = given;
  const sample = new SampleView(new Float64Array(sampleSlotCount(source)), source);
  const { record } = sample;
  record[SampleSlot.sensorStampNs] = ms * MS;
  record[SampleSlot.receiveNs] = nowMs * MS;
  record[SampleSlot.clockDomain] = device ? ClockDomain.Device : ClockDomain.Monotonic;
  record[SampleSlot.validMask] = mask;
  record[SampleSlot.seq] = seq;
  record[SampleSlot.calibrationVersion] = seq + 1;
  sample.payload.set(at);
  return buffer.take(sample, instant(nowMs * MS));
}

test("an empty buffer was never sampled, holds nothing and delivered nothing", () => {
  const buffer = newBuffer();
  expect({
    stampNs: buffer.newestStampNs as number,
    fromFuture: buffer.fromFuture,
    holds: buffer.holds(0),
    delivered: buffer.deliveredRatio(0),
    slope: buffer.slopePerS(0),
    value: buffer.valueAt(0, 0, 7),
  }).toEqual({
    stampNs: -Infinity,
    fromFuture: false,
    holds: false,
    delivered: 0,
    slope: 0,
    value: 7,
  });
});

test("a sample enters only with a later stamp; an older one is counted, an equal one not", () => {
  const buffer = newBuffer();
  const taken = [10, 15, 15, 12, 20].map((ms) => give(buffer, { ms, nowMs: 30 }));
  expect(taken).toEqual([true, true, false, false, true]);
  expect([buffer.count, buffer.outOfOrderCount]).toEqual([3, 1]);
});

test("a stamp that is no moment is refused, and the next good one enters", () => {
  const buffer = newBuffer();
  const taken = [Number.NaN, -Infinity, 5].map((ms) => give(buffer, { ms, nowMs: 6 }));
  expect(taken).toEqual([false, false, true]);
  expect(buffer.newestStampNs as number).toBe(5 * MS);
});

test("a refused sample changes nothing that is known of the last one", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 10, at: [1, 2], nowMs: 11, seq: 4 });
  give(buffer, { ms: 9, at: [8, 9], nowMs: 15, seq: 5, mask: 0 });
  const { receivedNs, seq, calibrationVersion } = buffer;
  expect({ receivedNs, seq, calibrationVersion }).toEqual({
    receivedNs: 11 * MS,
    seq: 4,
    calibrationVersion: 5,
  });
  expect([buffer.holds(0), buffer.valueAt(1, 10 * MS, 0)]).toEqual([true, 2]);
});

test("a stamp more than 1 ms ahead is said to be from the future until the next sample", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 5 });
  expect(give(buffer, { ms: 11, nowMs: 10 })).toBe(true);
  expect(buffer.fromFuture).toBe(false);
  expect(give(buffer, { ms: 91.000_001, nowMs: 90 })).toBe(false);
  expect([buffer.fromFuture, buffer.newestStampNs as number]).toEqual([true, 11 * MS]);
  expect(give(buffer, { ms: 95 })).toBe(true);
  expect([buffer.fromFuture, buffer.count, buffer.outOfOrderCount]).toEqual([false, 3, 0]);
});

test("a stuck sample after one from the future is old news, not the future", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 5 });
  give(buffer, { ms: 500, nowMs: 10 });
  give(buffer, { ms: 5, nowMs: 15 });
  expect(buffer.fromFuture).toBe(false);
});

test("the history keeps the last eight samples, newest first", () => {
  const buffer = newBuffer();
  for (let index = 0; index < 11; index += 1) give(buffer, { ms: 5 * index, at: [index, -index] });
  const stamps = Array.from({ length: HISTORY_COUNT }, (_, back) => {
    return buffer.stampNs[buffer.slot(back)]! / MS;
  });
  expect(stamps).toEqual([50, 45, 40, 35, 30, 25, 20, 15]);
  expect(buffer.count).toBe(8);
});

test("a reading lies on the line between two samples, and is the nearest beyond either end", () => {
  const buffer = newBuffer();
  for (const [index, ms] of [10, 20, 25].entries()) give(buffer, { ms, at: [index, 10 * index] });
  const at = (reading: number) => (ms: number) => buffer.valueAt(reading, ms * MS, 99);
  expect([5, 10, 12.5, 20, 24, 25, 40].map(at(0))).toEqual([0, 0, 0.25, 1, 1.8, 2, 2]);
  expect(at(1)(15)).toBe(5);
});

test("older than a full history a reading is its oldest; at a sample's own time it is that", () => {
  const buffer = newBuffer();
  for (let index = 1; index <= 12; index += 1) give(buffer, { ms: 10 * index, at: [index, 0] });
  // Eight are left, from 50 ms on.
  expect([0, 49, 50].map((ms) => buffer.valueAt(0, ms * MS, 99))).toEqual([5, 5, 5]);
  give(buffer, { ms: 130, at: [0.4, 0] });
  give(buffer, { ms: 140, at: [0.1, 0] });
  give(buffer, { ms: 150, at: [0.2, 0] });
  // To the bit: 0.4 + (0.1 - 0.4) is not 0.1.
  expect(buffer.valueAt(0, 140 * MS, 99)).toBe(0.1);
});

test("a reading that its sample did not bring takes no part", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 10, at: [1, 1] });
  give(buffer, { ms: 15, at: [99, 2], mask: 2 });
  give(buffer, { ms: 20, at: [3, 3] });
  expect(buffer.valueAt(0, 15 * MS, 0)).toBe(2);
  expect(buffer.slopePerS(0)).toBeCloseTo(200, 9);
  give(buffer, { ms: 25, at: [99, 4], mask: 2 });
  expect([buffer.holds(0), buffer.holds(1)]).toEqual([false, true]);
});

test("a refused reading is as if it had not been read", () => {
  const buffer = newBuffer();
  for (const ms of [5, 10, 15]) give(buffer, { ms, at: [ms, ms] });
  give(buffer, { ms: 20, at: [Number.NaN, 20] });
  buffer.refuse(0);
  expect([buffer.holds(0), buffer.holds(1)]).toEqual([false, true]);
  give(buffer, { ms: 25, at: [25, 25] });
  expect(buffer.slopePerS(0)).toBeCloseTo(1_000, 6);
  expect(buffer.valueAt(0, 20 * MS, 0)).toBe(20);
});

/** Slope by the textbook's normal equations, in seconds from zero. */
function leastSquares(points: readonly (readonly [number, number])[]): number {
  const n = points.length;
  const sum = (value: (t: number, x: number) => number) =>
    points.reduce((total, [t, x]) => total + value(t, x), 0);
  const top = n * sum((t, x) => t * x) - sum((t) => t) * sum((_, x) => x);
  return top / (n * sum((t) => t * t) - sum((t) => t) ** 2);
}

test("velocity is the least-squares slope over the last eight samples", () => {
  const random = new SeededRandom(3);
  const buffer = newBuffer();
  const points: [number, number][] = [];
  for (let index = 0; index < 40; index += 1) {
    const ms = 5 * index + random.next();
    const rad = 0.002 * ms + 0.01 * random.normal();
    give(buffer, { ms, at: [-rad, rad] });
    points.push([ms / 1e3, rad]);
    const expected = points.length < 2 ? 0 : leastSquares(points.slice(-8));
    expect(buffer.slopePerS(1)).toBeCloseTo(expected, 6);
    expect(buffer.slopePerS(0)).toBeCloseTo(-expected, 6);
  }
});

test("a sample older than the window takes no part in a velocity", () => {
  const buffer = newBuffer(100);
  give(buffer, { ms: 0, at: [50, 0] });
  give(buffer, { ms: 900, at: [0, 0] });
  expect(buffer.slopePerS(0)).toBe(0);
  give(buffer, { ms: 1_000, at: [1, 0] });
  expect(buffer.slopePerS(0)).toBeCloseTo(10, 9);
  give(buffer, { ms: 1_000.001, at: [1, 0] });
  expect(buffer.slopePerS(0)).toBeCloseTo(0, 9);
});

test("delivery is the share of expected samples over the history, never above 1", () => {
  const ratios = [5, 2.5, 10, 20].map((stepMs) => {
    const buffer = newBuffer();
    for (let index = 0; index < 10; index += 1) give(buffer, { ms: 1 + stepMs * index });
    return buffer.deliveredRatio(0);
  });
  expect(ratios).toEqual([1, 1, 0.5, 0.25]);
  const one = newBuffer();
  give(one, { ms: 1 });
  expect(one.deliveredRatio(0)).toBe(1);
});

test("what a late world made all at once is not missing; what came to no look is", () => {
  /** Looks after steps of so many periods; a sample of the newest moment at each but the third. */
  const ratio = (periods: readonly number[], isMissing: (look: number) => boolean) => {
    const buffer = newBuffer();
    let ms = 0;
    for (const [look, count] of periods.entries()) {
      ms += 5 * count;
      buffer.skip(milliseconds(5 * count), 5 * MS);
      if (!isMissing(look)) give(buffer, { ms });
    }
    return buffer.deliveredRatio(5 * MS);
  };
  const all = () => false;
  const some = (look: number) => look % 2 === 1;
  expect([
    ratio([1, 1, 1, 1, 1], all),
    ratio([1, 9, 1, 0, 20], all),
    ratio([1, 1, 1, 1, 1], some),
    ratio([1, 9, 1, 9, 1], some),
  ]).toEqual([1, 1, 0.5, 0.5]);
});

test("what a late world made before the history counts for nothing in it", () => {
  const buffer = newBuffer();
  buffer.skip(milliseconds(1_000), 5 * MS);
  for (let index = 0; index < 10; index += 1) {
    buffer.skip(milliseconds(5), 5 * MS);
    if (index % 2 === 0) give(buffer, { ms: 1_000 + 5 * index });
  }
  expect(buffer.deliveredRatio(5 * MS)).toBe(0.5);
});

test("a source faster than the tick that reads it is expected at the tick's rate", () => {
  const buffer = newBuffer();
  for (let index = 0; index < 10; index += 1) give(buffer, { ms: 20 * index });
  expect(buffer.deliveredRatio(20 * MS)).toBe(1);
});

test("a device stamp is converted and names the conversion; the session's own is version 0", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 1_000, nowMs: 10, device: true });
  give(buffer, { ms: 1_005, nowMs: 17, device: true });
  expect([buffer.newestStampNs as number, buffer.clockVersion]).toEqual([15 * MS, 1]);
  give(buffer, { ms: 20, nowMs: 21 });
  expect([buffer.newestStampNs as number, buffer.clockVersion]).toEqual([20 * MS, 0]);
});

test("a cleared buffer starts anew", () => {
  const buffer = newBuffer();
  give(buffer, { ms: 50 });
  give(buffer, { ms: 500, nowMs: 60 });
  buffer.clear();
  expect([buffer.count, buffer.fromFuture, buffer.holds(0)]).toEqual([0, false, false]);
  expect(give(buffer, { ms: 10, nowMs: 70 })).toBe(true);
});

test("a source has at most the 31 joints of its mask", () => {
  const joints = Array.from({ length: 32 }, (_, joint) => `joint ${joint}`);
  const make = () => new SensorBuffer({ ...source, joints }, 96, milliseconds(100));
  expect(make).toThrow(AssertionError);
});
