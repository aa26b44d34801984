// SystemClock on the real timer: one origin for all, early return on a stop, waits of several
// slices, and no suspend where there was none.

import { expect, test } from "bun:test";
import { duration, instant, NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import { MachineWatch, NO_WORLD } from "../core/machine-watch.ts";
import { sessionOrigin, SystemClock } from "./system-clock.ts";

const never = { stopped: false };

test("two clocks of one session agree, and time only rises", () => {
  const origin = structuredClone(sessionOrigin());
  const clocks = [0, 1].map(() => new SystemClock(origin, duration(0), never));
  const timesNs = Array.from({ length: 1000 }, (_, index) => clocks[index % 2]!.nowNs());
  expect(timesNs).toEqual(timesNs.toSorted((left, right) => left - right));
});

test("sleepUntil reaches the due time though the wait takes several slices", () => {
  let asked = 0;
  const clock = new SystemClock(sessionOrigin(), duration(0), {
    get stopped() {
      asked += 1;
      return false;
    },
  });
  const dueNs = instant(clock.nowNs() + 150 * NS_PER_MS);
  clock.sleepUntil(dueNs);
  expect([clock.nowNs() >= dueNs, asked]).toEqual([true, 1]);
});

test("sleepUntil returns after one slice when a stop was asked for", () => {
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: true });
  const dueNs = instant(clock.nowNs() + 3600 * NS_PER_S);
  clock.sleepUntil(dueNs);
  expect(clock.nowNs()).toBeLessThan(dueNs);
});

test("a machine that was not suspended meanwhile is not told so", () => {
  const clock = new SystemClock(sessionOrigin(), duration(0), never);
  const machine = { suspendedNs: () => clock.suspendedNs(), worldNs: () => NO_WORLD };
  const watch = new MachineWatch(machine, true);
  const told = Array.from({ length: 100 }, () => {
    watch.observe(clock.nowNs());
    return watch.wasSuspended;
  });
  expect(told).not.toContain(true);
});
