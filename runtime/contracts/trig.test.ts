// Tests of the fixed-polynomial trigonometry against the engine's own, at many points and at the
// edges, plus pinned results that must be the same bits on every machine.

import { expect, test } from "bun:test";
import { ANGLE_RAD_MAX, acos, asin, atan2, cos, sin, sinCosInto } from "./trig.ts";

/** Points spread over [-1, 1) without repeating: the golden-ratio sequence. */
function spread(index: number): number {
  return ((index * 0.6180339887498949) % 1) * 2 - 1;
}

function worstError(count: number, error: (index: number) => number): number {
  let worst = 0;
  for (let index = 0; index < count; index += 1) {
    const found = error(index);
    if (!(found <= worst)) worst = found; // negated, so that NaN stays
  }
  return worst;
}

test("sin and cos agree with the engine within 1e-12 over ±1e4 rad", () => {
  const at = (index: number) => spread(index) * 10_000;
  expect(worstError(200_000, (i) => Math.abs(sin(at(i)) - Math.sin(at(i))))).toBeLessThan(1e-14);
  expect(worstError(200_000, (i) => Math.abs(cos(at(i)) - Math.cos(at(i))))).toBeLessThan(1e-14);
});

test("sin and cos agree with the engine within 1e-12 up to the largest angle", () => {
  const at = (index: number) => spread(index) * ANGLE_RAD_MAX;
  expect(worstError(50_000, (i) => Math.abs(sin(at(i)) - Math.sin(at(i))))).toBeLessThan(1e-12);
  expect(worstError(50_000, (i) => Math.abs(cos(at(i)) - Math.cos(at(i))))).toBeLessThan(1e-12);
});

test("sin and cos agree with the engine beside every multiple of pi/4 up to 1e4 rad", () => {
  const at = (index: number) => ((index >> 2) * Math.PI) / 4 + ((index & 3) - 1.5) * 1e-9;
  expect(worstError(48_000, (i) => Math.abs(sin(at(i)) - Math.sin(at(i))))).toBeLessThan(1e-14);
  expect(worstError(48_000, (i) => Math.abs(cos(at(i)) - Math.cos(at(i))))).toBeLessThan(1e-14);
});

test("sine and cosine together are the same bits as one by one", () => {
  const both = new Float64Array(2);
  const wrong = Array.from({ length: 100_000 }, (_, index) => {
    const size = [1, 100, ANGLE_RAD_MAX][index % 3]!;
    return index === 0 ? -0 : index === 1 ? Number.NaN : index === 2 ? 2e6 : spread(index) * size;
  }).filter((angleRad) => {
    sinCosInto(both, angleRad);
    return !(Object.is(both[0], sin(angleRad)) && Object.is(both[1], cos(angleRad)));
  });
  expect(wrong).toEqual([]);
});

test("atan2 agrees with the engine within 1e-15 relative all around the circle", () => {
  const error = (i: number) => {
    const y = spread(i) * 10 ** ((i % 9) - 4);
    const x = spread(i * 7 + 3);
    return Math.abs(atan2(y, x) - Math.atan2(y, x)) / Math.abs(Math.atan2(y, x));
  };
  expect(worstError(200_000, error)).toBeLessThan(1e-15);
});

test("asin and acos agree with the engine within 1e-12, also close to one", () => {
  const at = (index: number) => {
    const near = 1 - 10 ** -(index % 16);
    return (index & 1) === 0 ? spread(index) : (index & 2) === 0 ? near : -near;
  };
  expect(worstError(50_000, (i) => Math.abs(asin(at(i)) - Math.asin(at(i))))).toBeLessThan(1e-15);
  expect(worstError(50_000, (i) => Math.abs(acos(at(i)) - Math.acos(at(i))))).toBeLessThan(1e-15);
});

test("NaN, infinities and angles beyond the limit give NaN", () => {
  const bad = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1_000_001, -1e300];
  expect(bad.map(sin)).toEqual(bad.map(() => Number.NaN));
  expect(bad.map(cos)).toEqual(bad.map(() => Number.NaN));
  const outside = [Number.NaN, 1.0000000001, -1.0000000001, Number.POSITIVE_INFINITY];
  expect(outside.map(asin)).toEqual(outside.map(() => Number.NaN));
  expect(outside.map(acos)).toEqual(outside.map(() => Number.NaN));
  expect([atan2(Number.NaN, 1), atan2(1, Number.NaN)]).toEqual([Number.NaN, Number.NaN]);
});

test("signed zeros, ones and infinities give exactly what the engine gives", () => {
  expect([sin(0), sin(-0), cos(0), cos(-0)]).toEqual([0, -0, 1, 1]);
  expect([asin(0), asin(-0), asin(1), asin(-1)]).toEqual([0, -0, Math.PI / 2, -Math.PI / 2]);
  expect([acos(1), acos(-1), acos(0)]).toEqual([0, Math.PI, Math.PI / 2]);
  const edges = [0, -0, 1, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 1e308];
  for (const y of edges) {
    for (const x of edges) expect(atan2(y, x)).toBe(Math.atan2(y, x));
  }
});

test("the same bits come out on every machine", () => {
  let hash = 0n;
  const word = new BigUint64Array(1);
  const slot = new Float64Array(word.buffer);
  for (let index = 0; index < 10_000; index += 1) {
    const value = spread(index);
    const circle = sin(value * 7) + 2 * cos(value * 7);
    slot[0] = circle + 4 * atan2(value, spread(index * 3)) + acos(value);
    hash = ((hash ^ (word[0] ?? 0n)) * 1_099_511_628_211n) & 0xffff_ffff_ffff_ffffn;
  }
  expect(hash.toString(16)).toBe("4558c2eeebb68d78");
});
