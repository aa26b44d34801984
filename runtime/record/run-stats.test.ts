// Tests of the run's statistics: told from tick records alone, and reconciled to the tick. Records
// that never came are counted and change no other figure.

import { expect, test } from "bun:test";
import { CommandKind, RepairBit } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { RunStats } from "./run-stats.ts";

const SIZE = tickSlotCount(1);
type Facts = Partial<Record<keyof typeof TickSlot, number>>;

/** Ticks at 200 Hz in RUNNING, each overwritten by its facts. */
function statsOf(ticks: readonly Facts[], lateNsMax = 12e6): RunStats {
  const stats = new RunStats(SIZE, lateNsMax);
  for (const [index, facts] of ticks.entries()) {
    const record = new Float64Array(SIZE);
    record[TickSlot.tick] = index;
    record[TickSlot.mode] = Mode.Running;
    for (const [name, value] of Object.entries(facts)) {
      record[TickSlot[name as keyof typeof TickSlot]] = value;
    }
    if (facts.nowNs === undefined) record[TickSlot.nowNs] = 1e9 + record[TickSlot.tick]! * 5e6;
    stats.write(record);
  }
  return stats;
}

test("the rate is ticks per second between the first and the last", () => {
  const stats = statsOf(Array.from({ length: 401 }, () => ({})));
  expect([stats.rateHz, stats.tickCount, stats.firstNs, stats.lastNs]).toEqual([
    200, 401, 1e9, 3e9,
  ]);
  expect([statsOf([]).rateHz, statsOf([{}]).rateHz]).toEqual([0, 0]);
});

test("records that never came are counted, and change no rate", () => {
  const stats = statsOf([0, 1, 4, 5, 9].map((tick) => ({ tick })));
  expect([stats.tickCount, stats.lostCount, stats.rateHz]).toEqual([5, 5, 200]);
  const late = statsOf([7, 8, 9].map((tick) => ({ tick })));
  expect([late.lostCount, late.rateHz]).toEqual([7, 200]);
});

test("a decision takes from its readings to its first motion, less the policy's own time", () => {
  const MS = 1e6;
  const chunk = { chunkStateStampNs: 3 * MS, actStartNs: 6 * MS, actEndNs: 16 * MS };
  const first = { ...chunk, nowNs: 21 * MS, activatedNs: 21 * MS };
  const stats = statsOf([
    { ...first, kind: CommandKind.Hold },
    { ...first, kind: CommandKind.Motion },
    { ...first, kind: CommandKind.Motion, nowNs: 26 * MS },
  ]);
  expect([stats.decision.count, stats.decision.maxNs]).toEqual([1, 8 * MS]);
});

test("reasons count by tick and by entry; a gap in coverage only while motion is allowed", () => {
  const { Running, Degraded, SafeStop } = Mode;
  const stats = statsOf([
    { reason: Reason.NoAction, mode: Running },
    { reason: Reason.NoAction, mode: Degraded },
    { reason: Reason.StaleState, mode: Degraded },
    { reason: Reason.NoAction, mode: SafeStop },
    {},
    { reason: Reason.NoAction, mode: Running },
  ]);
  const ticks = new Float64Array(stats.safeTicks.length);
  ticks[Reason.NoAction] = 4;
  ticks[Reason.StaleState] = 1;
  const episodes = new Float64Array(ticks.length);
  episodes[Reason.NoAction] = 3;
  episodes[Reason.StaleState] = 1;
  expect([stats.safeTicks, stats.safeEpisodes]).toEqual([ticks, episodes]);
  expect(stats.coverageGapCount).toBe(3);
});

test("the path lists each change of mode, and keeps the last 256", () => {
  const { Running, Degraded } = Mode;
  const short = statsOf([Running, Running, Degraded, Running].map((mode) => ({ mode })));
  expect(short.path).toEqual([Running, Degraded, Running]);
  const flicker = statsOf(Array.from({ length: 301 }, (_, tick) => ({ mode: 1 + (tick % 2) })));
  expect(flicker.path).toEqual(Array.from({ length: 256 }, (_, index) => 1 + ((index + 45) % 2)));
});

test("lateness, misses and repairs are counted from their slots", () => {
  const stats = statsOf([
    { lateNs: 12e6, missedTicks: 0 },
    { lateNs: 12e6 + 1, missedTicks: 3, repairs: RepairBit.Velocity | RepairBit.Coast },
    { lateNs: 0, missedTicks: 1, repairs: RepairBit.Velocity },
  ]);
  expect([stats.lateCount, stats.missedCount]).toEqual([1, 4]);
  expect([...stats.repairTicks]).toEqual([0, 2, 0, 0, 0, 0, 0, 1, 0]);
  expect([stats.wake.count, stats.wake.maxNs]).toEqual([3, 12e6 + 1]);
});

test("work is that of the tick before: the first tick has none to tell", () => {
  const stats = statsOf([{ previousWorkNs: 9e6 }, { previousWorkNs: 20e3 }, { previousWorkNs: 1 }]);
  expect([stats.work.count, stats.work.maxNs]).toEqual([2, 20e3]);
});

test("sample age counts the ticks that had a sample", () => {
  const stats = statsOf([
    { sampledNs: -Infinity },
    { sampledNs: Infinity },
    { nowNs: 1e9, sampledNs: 1e9 - 2.5e6 },
  ]);
  expect([stats.sampleAge.count, stats.sampleAge.maxNs]).toEqual([1, 2.5e6]);
});

test("the newest record is kept as a copy", () => {
  const stats = new RunStats(SIZE, 0);
  const record = new Float64Array(SIZE).fill(3);
  stats.write(record);
  record.fill(4);
  expect(stats.last).toEqual(new Float64Array(SIZE).fill(3));
});
