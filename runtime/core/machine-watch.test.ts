// MachineWatch with made-up readings: pauses and suspends to their limits, each told once; how far
// a simulated world went; and which stale states a late world explains.

import { expect, test } from "bun:test";
import { testProfile, testState } from "../../safety/fixture.ts";
import { AssertionError } from "../contracts/assert.ts";
import { StateSlot } from "../contracts/state.ts";
import { duration, instant, milliseconds } from "../contracts/units.ts";
import { AWAY_NS_MAX, MachineWatch, NO_WORLD, STEADY_MACHINE } from "./machine-watch.ts";

/** A watch whose readings are set by hand, in ms. */
function bench(isHardware = false) {
  let suspendedMs = 0;
  let worldMs = NO_WORLD as number;
  const port = {
    suspendedNs: () => duration(milliseconds(suspendedMs)),
    worldNs: () => instant(1e6 * worldMs),
  };
  const watch = new MachineWatch(port, isHardware);
  return {
    watch,
    tick: (nowMs: number, readings: { suspendedMs?: number; worldMs?: number } = {}) => {
      ({ suspendedMs = suspendedMs, worldMs = worldMs } = readings);
      watch.observe(instant(1e6 * nowMs));
      return watch;
    },
  };
}

test("before its first tick nothing has happened", () => {
  const { wasAway, wasSuspended, worldStepNs } = new MachineWatch(STEADY_MACHINE, true);
  expect([wasAway, wasSuspended, worldStepNs as number]).toEqual([false, false, 0]);
});

test("a tick that comes later than the limit was away, once; the first never was", () => {
  const watch = new MachineWatch(STEADY_MACHINE, true);
  const timesNs = [9e9, 9e9, 9e9 + AWAY_NS_MAX, 9e9 + 2 * AWAY_NS_MAX + 1, 12e9];
  const away = timesNs.map((nowNs) => {
    watch.observe(instant(nowNs));
    return watch.wasAway;
  });
  expect(away).toEqual([false, false, false, true, false]);
});

test("each suspend above 100 ms is told once, a delayed reading or an old one never", () => {
  const { tick } = bench();
  const readingsMs = [500, 500, 100, 500, 600, 600.1, 600, 700.2, 700.2, 5000, 5000];
  const told = readingsMs.filter((ms, at) => tick(5 * at, { suspendedMs: ms }).wasSuspended);
  expect(told).toEqual([700.2, 5000]);
});

test("time that goes back is refused", () => {
  const { tick } = bench();
  tick(10);
  tick(10);
  expect(() => tick(9)).toThrow(AssertionError);
});

const worlds: [number, number][] = [
  [0, -Infinity],
  [5, -Infinity],
  [10, 7.5], // it begins
  [15, 12.5],
  [20, 12.5], // late
  [25, 27.5], // after this tick's time: the next one's
  [30, 27.5],
];
test("a world's step is what it went on between two ticks; a real one has none", () => {
  const steps = (isHardware: boolean) => {
    const { tick } = bench(isHardware);
    return worlds.map(([nowMs, worldMs]) => tick(nowMs, { worldMs }).worldStepNs / 1e6);
  };
  expect(steps(false)).toEqual([0, 0, 0, 5, 0, 0, 15]);
  expect(steps(true)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  const { tick } = bench();
  expect([5, 10].map((nowMs) => tick(nowMs).worldStepNs as number)).toEqual([0, 0]);
});

test("a late world explains a state that is as fresh as itself, and nothing on hardware", () => {
  const profile = testProfile();
  const explains = (stampMs: number, worldMs: number, isHardware = false) => {
    const state = testState(profile, [0]);
    state.record[StateSlot.stampNs] = 1e6 * stampMs;
    return bench(isHardware).tick(100, { worldMs }).explains(state);
  };
  // The state is valid for 15 ms.
  expect({
    fresh: explains(90, 90),
    late: explains(85, 85),
    nearly: explains(50, 64.9),
    frozen: explains(50, 65),
    silent: explains(-Infinity, 90),
    real: explains(85, 85, true),
    noWorld: explains(50, NO_WORLD),
  }).toEqual({
    fresh: false,
    late: true,
    nearly: true,
    frozen: false,
    silent: false,
    real: false,
    noWorld: false,
  });
});

test("a world that has come to the very time of the tick has gone on in it", () => {
  const { tick } = bench();
  tick(5, { worldMs: 5 });
  expect(tick(10, { worldMs: 10 }).worldStepNs).toBe(duration(5e6));
  expect(tick(15).worldStepNs).toBe(duration(0));
});
