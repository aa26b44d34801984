// Ticks that work too long: where the border lies, how many of how many make the fault, when it is
// over, and what the core makes of it. Each figure stands here as the design's reason gives it:
// half of 5 ms, and as many in the window as may miss their beat.

import { expect, test } from "bun:test";
import { testProfile } from "../../safety/fixture.ts";
import { Fault } from "../../safety/faults.ts";
import { Rig } from "./core-rig.ts";
import { DeadlineMonitor } from "./timing.ts";

const base = testProfile();
/** More than 2 of 5 ticks are too many; a period is 5 ms. */
const profile = {
  ...base,
  supervisor: { ...base.supervisor, missCountMax: 2, missWindowTicks: 5 },
};
const OVER_NS = 2_500_001;
const WITHIN_NS = 2_500_000;

/** The verdict after each tick, for what the tick before it took. */
function verdicts(worksNs: readonly number[], isFault = true): boolean[] {
  const monitor = new DeadlineMonitor(profile, isFault);
  return worksNs.map((workNs) => {
    monitor.note(0, 0, workNs);
    return monitor.overBudget;
  });
}

test("half of the period is within the budget, a nanosecond more is not", () => {
  expect(profile.periodNs as number).toBe(5_000_000);
  expect(verdicts(Array(20).fill(WITHIN_NS))).not.toContain(true);
  expect(verdicts([OVER_NS, OVER_NS, OVER_NS])).toEqual([false, false, true]);
});

test("it takes more ticks of the window than may miss a beat, in a row or not", () => {
  expect(verdicts([OVER_NS, OVER_NS, 0, 0, 0, OVER_NS, OVER_NS])).not.toContain(true);
  expect(verdicts([OVER_NS, 0, OVER_NS, 0, OVER_NS])).toEqual([false, false, false, false, true]);
  // One tick that took a second is one.
  expect(verdicts([1e9, 1e9, 0, 0, 0])).not.toContain(true);
});

test("it is over once a whole window kept to the budget, and not a tick sooner", () => {
  const three = [OVER_NS, OVER_NS, OVER_NS];
  expect(verdicts([...three, 0, 0, 0, 0, 0, 0]).slice(2)).toEqual([
    ...[true, true, true, true, true],
    ...[false, false],
  ]);
  expect(verdicts([...three, 0, 0, 0, 0, OVER_NS, 0, 0, 0, 0, 0]).slice(2)).toEqual([
    ...[true, true, true, true, true, true, true, true, true, true],
    false,
  ]);
});

test("a simulation is never told: its machine may be busy", () => {
  expect(verdicts(Array(20).fill(4_900_000), false)).not.toContain(true);
});

test("on hardware the core raises it, takes no motion away, and lets it end by itself", () => {
  const told = [true, false].map((isHardware) => {
    const rig = new Rig(profile, isHardware);
    const works = [OVER_NS, OVER_NS, OVER_NS, 0, 0, 0, 0, 0];
    return works.map((workNs) => {
      rig.core.timing.note(0, 0, workNs);
      rig.tick();
      return [
        (rig.fact("faults") & (1 << Fault.OverBudget)) !== 0,
        rig.core.supervisor.reducesMotion,
      ];
    });
  });
  const yes = [true, true];
  const no = [false, false];
  expect(told).toEqual([
    [no, no, yes, yes, yes, yes, yes, no],
    [no, no, no, no, no, no, no, no],
  ]);
});
