// Tests of the latency model: what its text may say, that draws follow the distribution it names,
// and that what cannot be read is refused.

import { expect, test } from "bun:test";
import { milliseconds } from "../contracts/units.ts";
import { LatencyModel, parseLatency } from "./latency.ts";
import { PolicyError } from "./policy-error.ts";

const draws = (text: string, seed = 1) => {
  const model = new LatencyModel(parseLatency(text), seed);
  return Array.from({ length: 20_000 }, () => model.drawNs() / 1e6);
};
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: number[]) => {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
};

test("every form of the option is read", () => {
  const none = milliseconds(0);
  expect(["150ms", "1.5s", "250us", " 0ms "].map(parseLatency)).toEqual([
    { kind: "constant", firstNs: milliseconds(150), secondNs: none },
    { kind: "constant", firstNs: milliseconds(1500), secondNs: none },
    { kind: "constant", firstNs: milliseconds(0.25), secondNs: none },
    { kind: "constant", firstNs: none, secondNs: none },
  ]);
  const spread = { firstNs: milliseconds(50), secondNs: milliseconds(250) };
  expect(parseLatency("uniform:50ms..250ms")).toEqual({ kind: "uniform", ...spread });
  const bell = { kind: "normal", firstNs: milliseconds(150), secondNs: milliseconds(40) } as const;
  expect(parseLatency("normal:150ms,40ms")).toEqual(bell);
  expect(parseLatency("normal:150ms±40ms")).toEqual(bell);
  const decay = { kind: "exponential", firstNs: milliseconds(100), secondNs: none } as const;
  expect(parseLatency("exp:100ms")).toEqual(decay);
});

test("a distribution has the mean and the spread that it names, never below zero", () => {
  expect(new Set(draws("150ms"))).toEqual(new Set([150]));
  const uniform = draws("uniform:50ms..250ms");
  expect(Math.abs(mean(uniform) - 150)).toBeLessThan(2);
  expect(Math.min(...uniform)).toBeGreaterThanOrEqual(50);
  expect(Math.max(...uniform)).toBeLessThanOrEqual(250);
  const normal = draws("normal:150ms,20ms");
  expect(Math.abs(mean(normal) - 150)).toBeLessThan(1);
  expect(Math.abs(deviation(normal) - 20)).toBeLessThan(1);
  const exponential = draws("exp:100ms");
  expect(Math.abs(mean(exponential) - 100)).toBeLessThan(3);
  expect(Math.min(...draws("normal:10ms,40ms"))).toBe(0);
});

test("equal seeds draw equal delays, other seeds others, all in whole ns", () => {
  expect(draws("exp:100ms", 7)).toEqual(draws("exp:100ms", 7));
  expect(draws("exp:100ms", 7)).not.toEqual(draws("exp:100ms", 8));
  const model = new LatencyModel(parseLatency("exp:100ms"), 1);
  for (let index = 0; index < 100; index += 1) expect(Number.isInteger(model.drawNs())).toBe(true);
});

const refused = [
  "",
  "150",
  "ms",
  "-5ms",
  "1e3ms",
  "Infinityms",
  "NaNms",
  "61s",
  "150 ms later",
  "uniform:50ms",
  "uniform:250ms..50ms",
  "uniform:50ms..",
  "uniform:1ms..2ms..3ms",
  "normal:150ms",
  "normal:150ms,40ms,1ms",
  "exp:",
  "exp:1ms,2ms",
  "gauss:1ms",
  "uniform 1ms..2ms",
];

test.each(refused)("refuses %p and says what it expected", (text) => {
  const act = () => parseLatency(text);
  expect(act).toThrow(PolicyError);
  expect(act).toThrow(/expected 150ms, uniform:.*found/);
  expect(act).toThrow(JSON.stringify(text));
});
