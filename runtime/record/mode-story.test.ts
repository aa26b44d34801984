// The story of the mode, from made-up tick records: each change once, the phases with their dips,
// and the cause of a stop, which outlives the fault and ends with the stop.

import { expect, test } from "bun:test";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { Fault, faultRows } from "../../safety/faults.ts";
import { ChunkTally } from "./chunk-tally.ts";
import { causeOf, isShutdown, ModeStory } from "./mode-story.ts";
import type { ModeChange } from "./mode-story.ts";

const { Starting, Running, Degraded, SafeStop, Recover, FaultLatched } = Mode;
const bits = (...faults: readonly Fault[]): number =>
  faults.reduce<number>((mask, fault) => mask | (1 << fault), 0);

type Tick = readonly [mode: number, faultBits?: number, cueBits?: number];

/** One tick each 5 ms. */
function storyOf(ticks: readonly Tick[]): ModeStory {
  const story = new ModeStory();
  const chunks = new ChunkTally();
  for (const [tick, [mode, faultBits = 0, cueBits = 0]] of ticks.entries()) {
    const record = new Float64Array(tickSlotCount(1));
    record[TickSlot.nowNs] = tick * 5e6;
    record[TickSlot.mode] = mode;
    record[TickSlot.faults] = faultBits;
    record[TickSlot.cues] = cueBits;
    story.write(record, chunks);
  }
  return story;
}

const stale = bits(Fault.StaleState);
const noAction = bits(Fault.NoAction);

test("each change is told once, with what its tick said", () => {
  const { changes, changeCount } = storyOf([
    [Starting],
    [Starting],
    [Running, 0, 1 << OperatorCue.Start],
    [Degraded, stale],
    [Degraded, 0],
  ]);
  const plain = { reason: Reason.Ok, faultBits: 0, cueBits: 0, refusal: undefined };
  expect(changes).toEqual([
    { ...plain, fromMode: -1, toMode: Starting, nowNs: 0 },
    { ...plain, fromMode: Starting, toMode: Running, nowNs: 10e6, cueBits: 8 },
    { ...plain, fromMode: Running, toMode: Degraded, nowNs: 15e6, faultBits: stale },
  ]);
  expect(changeCount).toBe(3);
});

test("the cause of a stop is kept while the stop lasts, whatever the faults do", () => {
  const stop: Tick[] = [[Running], [Degraded, stale], [SafeStop, stale], [SafeStop, noAction]];
  expect(causeOf(storyOf(stop).stop!)).toBe(Fault.StaleState);
  const latched = storyOf([...stop, [FaultLatched, bits(Fault.LowQuality)], [FaultLatched]]);
  expect([causeOf(latched.stop!), latched.stop!.nowNs]).toEqual([Fault.LowQuality, 20e6]);
  expect(storyOf([...stop, [Recover]]).stop).toBeUndefined();
  expect(storyOf(stop.slice(0, 2)).stop).toBeUndefined();
});

const change = (toMode: number, faultBits: number, cueBits = 0): ModeChange =>
  storyOf([[Running], [toMode, faultBits, cueBits]]).stop!;

test("of several faults the worst is the cause, then the first of the table", () => {
  const { OperatorStop, DriverLost, ControlLate, MainSlow } = Fault;
  expect([
    causeOf(change(SafeStop, bits(Fault.NoAction, Fault.LowQuality, ControlLate))),
    causeOf(change(SafeStop, bits(Fault.NoAction, Fault.NotFinite))),
    causeOf(change(FaultLatched, bits(Fault.StaleState, DriverLost))),
    causeOf(change(SafeStop, bits(OperatorStop, Fault.StaleState))),
    causeOf(change(FaultLatched, bits(OperatorStop, Fault.StaleState))),
    causeOf(change(SafeStop, bits(MainSlow))),
    causeOf(change(SafeStop, 0)),
  ]).toEqual([
    Fault.LowQuality,
    Fault.NoAction,
    DriverLost,
    OperatorStop, // a person's own act names the stop
    Fault.StaleState,
    -1, // a warning stops nothing
    -1,
  ]);
  const away = bits(Fault.StaleState, Fault.ControlAway);
  expect(causeOf(change(SafeStop, away))).toBe(Fault.ControlAway); // it stops at once
  const stayed = storyOf([
    [SafeStop, away],
    [FaultLatched, away],
  ]).stop!;
  expect(causeOf(stayed)).toBe(Fault.StaleState); // there all are patient
  // Whatever else is active, no fault that can stop goes unnamed.
  for (const { fault, severity } of faultRows) {
    if (severity !== "warning") expect(causeOf(change(SafeStop, bits(fault)))).toBe(fault);
  }
});

test("the end of a run is told from a person's stop", () => {
  const operator = bits(Fault.OperatorStop);
  expect(isShutdown(change(SafeStop, operator, 1 << OperatorCue.Shutdown))).toBe(true);
  expect(isShutdown(change(SafeStop, operator, 1 << OperatorCue.Stop))).toBe(false);
});

test("RUNNING and its dips are one phase, counted by fault, however many they are", () => {
  const flicker = Array.from(
    { length: 1_000 },
    (_, tick): Tick =>
      tick % 2 === 0 ? [Degraded, tick % 10 === 0 ? stale : noAction] : [Running],
  );
  const story = storyOf([
    [Starting],
    [Running],
    ...flicker,
    [SafeStop, stale],
    [Recover],
    [Running],
  ]);
  expect(story.phases.map(({ change: { toMode }, dips }) => [toMode, [...dips]])).toEqual([
    [Starting, []],
    [
      Running,
      [
        [Fault.StaleState, 100],
        [Fault.NoAction, 400],
      ],
    ],
    [SafeStop, []],
    [Recover, []],
    [Running, []],
  ]);
  expect([story.changeCount, story.changes.length]).toEqual([1_005, 256]);
});
