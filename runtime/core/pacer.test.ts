// Tests of the pacers: the phase grid under lateness, with a clock that moves when it is told, and
// exact tick times against big integers.

import { expect, test } from "bun:test";
import { AssertionError } from "../contracts/assert.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { Clock } from "./clock.ts";
import { LockstepPacer, ReplayPacer, STOPPED, StreamingPacer, tickTimeNs } from "./pacer.ts";

const MS = 1e6;

/** Wakes late by what the test says, then works as long as the test says. */
class FakeClock implements Clock {
  now = 0;
  overshootNs = 0;
  readonly sleeps: number[] = [];

  nowNs(): Instant {
    return instant(this.now);
  }

  sleepUntil(dueNs: Instant): void {
    this.sleeps.push(dueNs / MS);
    this.now = Math.max(this.now, dueNs) + this.overshootNs;
  }
}

function streaming(originMs = 0) {
  const clock = new FakeClock();
  clock.now = originMs * MS;
  const signal = { stopped: false };
  const pacer = new StreamingPacer(clock, signal, milliseconds(5), instant(originMs * MS));
  /** One tick: what the pacer says, after the last one worked so long and this one woke so late. */
  const tick = (workMs: number, lateMs: number) => {
    clock.now += workMs * MS;
    clock.overshootNs = lateMs * MS;
    const nowNs = pacer.next();
    return {
      ms: nowNs / MS,
      lateMs: pacer.lateNs / MS,
      missed: pacer.missedTicks,
      workMs: pacer.workNs / MS,
    };
  };
  return { clock, signal, pacer, tick };
}

test("ticks fall on the grid from its origin, whatever the work within a period", () => {
  const { tick, pacer } = streaming(100);
  expect(pacer.originNs as number).toBe(100 * MS);
  const ticks = [0, 1, 4.9].map((workMs) => tick(workMs, 0));
  expect(ticks).toEqual([
    { ms: 105, lateMs: 0, missed: 0, workMs: 0 },
    { ms: 110, lateMs: 0, missed: 0, workMs: 1 },
    { ms: 115, lateMs: 0, missed: 0, workMs: 4.9 },
  ]);
});

test("a tick at time zero has worked as any other; before the first one nothing has", () => {
  const { tick } = streaming(-5);
  expect([tick(1, 0), tick(2, 0)]).toEqual([
    { ms: 0, lateMs: 0, missed: 0, workMs: 0 },
    { ms: 5, lateMs: 0, missed: 0, workMs: 2 },
  ]);
});

test("a late wake-up is told, and the next tick is back on the grid", () => {
  const { tick } = streaming();
  expect([tick(0, 0.5), tick(0.25, 0)]).toEqual([
    { ms: 5.5, lateMs: 0.5, missed: 0, workMs: 0 },
    { ms: 10, lateMs: 0, missed: 0, workMs: 0.25 },
  ]);
});

test("an overrun of less than a period runs once at once, late, and skips nothing", () => {
  const { tick } = streaming();
  tick(0, 0);
  expect([tick(7, 0), tick(0, 0)]).toEqual([
    { ms: 12, lateMs: 2, missed: 0, workMs: 7 },
    { ms: 15, lateMs: 0, missed: 0, workMs: 0 },
  ]);
});

test("beats that are wholly over are counted and left out, never made up in a burst", () => {
  const { tick, clock } = streaming();
  tick(0, 0);
  // The tick of 5 ms worked until 27 ms: the beats of 10, 15 and 20 are over, that of 25 is late.
  expect([tick(22, 0), tick(0, 0)]).toEqual([
    { ms: 27, lateMs: 2, missed: 3, workMs: 22 },
    { ms: 30, lateMs: 0, missed: 0, workMs: 0 },
  ]);
  expect(clock.sleeps).toEqual([5, 25, 30]);
});

test("work that ends exactly on a beat has missed the one before it", () => {
  const { tick } = streaming();
  tick(0, 0);
  expect(tick(10, 0)).toEqual({ ms: 15, lateMs: 0, missed: 1, workMs: 10 });
});

test("a wake-up late by whole periods runs once, and the next one counts what it missed", () => {
  const { tick } = streaming();
  expect([tick(0, 12), tick(0, 0)]).toEqual([
    { ms: 17, lateMs: 12, missed: 0, workMs: 0 },
    { ms: 17, lateMs: 2, missed: 1, workMs: 0 },
  ]);
});

test("a stop ends the loop before the sleep, and after a sleep that was cut short", () => {
  const { pacer, signal, clock } = streaming();
  pacer.next();
  signal.stopped = true;
  expect(pacer.next()).toBe(STOPPED);
  expect(clock.sleeps).toEqual([5]);
  const other = streaming();
  const { sleepUntil } = FakeClock.prototype;
  other.clock.sleepUntil = (dueNs) => {
    other.signal.stopped = true;
    sleepUntil.call(other.clock, dueNs);
  };
  expect(other.pacer.next()).toBe(STOPPED);
});

test("lockstep: one grant is one tick from time zero, and no grant is the end", () => {
  let grants = 3;
  const pacer = new LockstepPacer(
    () => {
      grants -= 1;
      return grants >= 0;
    },
    200,
    1,
  );
  const times = Array.from({ length: 4 }, () => pacer.next() as number);
  expect(times).toEqual([0, 5 * MS, 10 * MS, STOPPED]);
  expect(STOPPED).toBeLessThan(0);
  expect([pacer.lateNs as number, pacer.missedTicks, pacer.workNs as number]).toEqual([0, 0, 0]);
});

test("60 Hz over ticks of 1 ms runs 16, 17, 17", () => {
  const frames = Array.from({ length: 61 }, (_, frame) =>
    Math.floor(tickTimeNs(frame, 60, 1) / MS),
  );
  const lengths = frames.slice(1).map((ms, index) => ms - frames[index]!);
  expect(lengths.slice(0, 6)).toEqual([16, 17, 17, 16, 17, 17]);
  expect(frames[60]).toBe(1_000);
});

// Rates as people write them: film, video, odd, and slower than one a second.
const rates: [number, number][] = [
  [30_000, 1_001],
  [60, 1],
  [24_000, 1_001],
  [200, 1],
  [7, 3],
  [1, 60],
];
test.each(rates)("tick times at %d/%d Hz are exact over ten million ticks", (num, den) => {
  for (let tick = 0; tick <= 10_000_000; tick += tick < 5_000 ? 1 : 99_991) {
    const exact = (BigInt(tick) * 1_000_000_000n * BigInt(den)) / BigInt(num);
    expect(tickTimeNs(tick, num, den) as number).toBe(Number(exact));
  }
  const last = (10_000_000n * 1_000_000_000n * BigInt(den)) / BigInt(num);
  expect(tickTimeNs(10_000_000, num, den) as number).toBe(Number(last));
});

test("replay gives the recorded times back with their lateness and work, then stops", () => {
  const pacer = new ReplayPacer(
    Float64Array.of(5, 11, 15),
    Float64Array.of(0, 1, 0),
    Float64Array.of(0, 0, 2),
    Float64Array.of(0, 3, 4),
  );
  const ticks = Array.from({ length: 3 }, () => {
    const nowNs = pacer.next();
    return [nowNs, pacer.lateNs, pacer.missedTicks, pacer.workNs];
  });
  expect(ticks as number[][]).toEqual([
    [5, 0, 0, 0],
    [11, 1, 0, 3],
    [15, 0, 2, 4],
  ]);
  expect([pacer.next(), pacer.next()]).toEqual([STOPPED, STOPPED]);
});

test("periods, rates and logs that make no sense are refused", () => {
  const { clock, signal } = streaming();
  const none = () => false;
  const two = new Float64Array(2);
  const refused = [
    () => new StreamingPacer(clock, signal, milliseconds(0), instant(0)),
    () => new LockstepPacer(none, 0, 1),
    () => new LockstepPacer(none, 60, 0),
    () => new LockstepPacer(none, 59.94, 1),
    () => new LockstepPacer(none, 60, 1.001),
    () => new ReplayPacer(two, new Float64Array(1), two, two),
    () => new ReplayPacer(two, two, new Float64Array(1), two),
    () => new ReplayPacer(two, two, two, new Float64Array(1)),
  ];
  for (const make of refused) expect(make).toThrow(AssertionError);
});
