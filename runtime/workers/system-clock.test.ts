// SystemClock on the real timer: one origin for all, early return on a stop, waits of several
// slices. The suspend question is asked of made-up readings, since no test suspends the machine.

import { expect, test } from "bun:test";
import { duration, instant, NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import { sessionOrigin, SuspendWatch, SystemClock } from "./system-clock.ts";

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

test("SuspendWatch reports each growth above 100 ms once, and no delayed reading", () => {
  const readingsMs = [500, 500, 100, 500, 600, 600.1, 600, 700.2, 700.2, 5000, 5000];
  const watch = new SuspendWatch(duration(500 * NS_PER_MS));
  const reportedMs = readingsMs.filter((ms) => watch.observe(duration(ms * NS_PER_MS)));
  expect(reportedMs).toEqual([700.2, 5000]);
});

test("a machine that was not suspended meanwhile is not reported", () => {
  const clock = new SystemClock(sessionOrigin(), duration(0), never);
  const watch = new SuspendWatch(clock.suspendedNs());
  expect(Array.from({ length: 100 }, () => watch.observe(clock.suspendedNs()))).not.toContain(true);
});
