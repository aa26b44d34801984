// Ticks that take more than half of their period, through the real core in virtual time: hardware
// goes on more slowly and never stops for it, simulation doesn't change, and a replay of the
// recorded inputs has the same ticks to the bit. How fast the tool goes is differenced from the
// commands that left, by the kinematics that the gate does not use.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { Fault } from "../safety/faults.ts";
import { BusyRun, quiet } from "./busy-machine.ts";
import type { Script } from "./busy-machine.ts";
import { LossCell, TROUBLE_NS } from "./scenarios/loss-cell.ts";
import type { CellOptions } from "./scenarios/loss-cell.ts";
import { fastestToolMPerS } from "./scenarios/tool-speed.ts";

const S = 1e9;
const LONG_NS = 2_500_001;
/** Ticks that begin then work for too long. */
const longFrom = (fromS: number, untilS: number) => (nowNs: number) =>
  nowNs >= fromS * S && nowNs < untilS * S ? LONG_NS : 0;

const hardware: Script = { ...quiet, isHardware: true };
const hasFault = (record: Float64Array): boolean =>
  ((record[TickSlot.faults]! >>> Fault.OverBudget) & 1) === 1;

test("hardware is slowed while it lasts and a second longer, and never stopped", () => {
  const run = new BusyRun({ ...hardware, workNs: longFrom(3, 23) }, 26 * S);
  expect(run.path).toBe("STARTING RUNNING DEGRADED RUNNING");
  const seen = run.records.filter(hasFault).map((record) => record[TickSlot.nowNs]!);
  // The eleventh long tick begins at 3.05 s and is known one later; the last begins before 23 s.
  expect([seen[0], seen.at(-1)]).toEqual([3.055 * S, 23.995 * S]);
  expect(run.moves(3 * S, 23 * S)).toBe(true);
});

test("ten long ticks in a second are none", () => {
  const workNs = (nowNs: number): number => ((nowNs / 5e6) % 20 === 0 ? LONG_NS : 0);
  expect(new BusyRun({ ...hardware, workNs }, 8 * S).path).toBe("STARTING RUNNING");
});

test("a simulation on a busy machine doesn't change its mode for it", () => {
  const run = new BusyRun({ ...quiet, workNs: longFrom(1, 8) }, 9 * S);
  expect(run.path).toBe("STARTING RUNNING");
  expect(run.records.some(hasFault)).toBe(false);
});

test("while it lasts a person may start, stop, reset and start again", () => {
  const cues = [OperatorCue.Start, OperatorCue.Stop, OperatorCue.Reset, OperatorCue.Start];
  const acts = cues.map((cue, at) => ({ atNs: (1 + at) * S, cue }));
  const run = new BusyRun({ ...hardware, acts, workNs: longFrom(0, 9) }, 6 * S);
  // A start leads to RUNNING and, in the same tick, on.
  expect(run.path).toBe("STARTING DEGRADED SAFE_STOP RECOVER DEGRADED");
  expect(run.moves(5 * S, 6 * S)).toBe(true);
  expect(run.records.at(-1)!).toSatisfy(hasFault);
});

test("the recorded inputs give the same ticks again, the slowed ones too", () => {
  const run = new BusyRun({ ...hardware, workNs: longFrom(2, 3) }, 6 * S);
  expect(run.records.some(hasFault)).toBe(true);
  expect(run.replay()).toEqual(run.records as Float64Array[]);
});

function fastestMPerS(provoke: CellOptions["provoke"], fromNs: number): number {
  const cell = new LossCell({
    phaseIndex: 0,
    lengthNs: Infinity,
    ...(provoke !== undefined && { provoke }),
  });
  cell.runUntil(TROUBLE_NS + 3 * S);
  const kinds = cell.sent.filter(({ nowNs }) => nowNs >= fromNs).map(({ command }) => command.kind);
  expect(new Set(kinds)).toEqual(new Set([CommandKind.Motion]));
  return fastestToolMPerS(cell, fromNs);
}

test("the tool goes at reduced speed once it is known, and faster without it", () => {
  // Known after 60 ms at most; from full speed it slows down within half a second.
  const fromNs = TROUBLE_NS + 0.6 * S;
  expect(fastestMPerS(undefined, fromNs)).toBeGreaterThan(0.4);
  expect(fastestMPerS({ by: "work", ratio: 0.5 }, fromNs)).toBeLessThan(0.25 + 1e-9);
});
