// Tests over the whole matrix: every mode, every cue, and every walk of cues from every mode.
// They search the table itself, so that a changed cell fails by the rule that it breaks.

import { expect, test } from "bun:test";
import { Mode, modeNames } from "../runtime/contracts/mode.ts";
import { CUE_COUNT, Cue, nextMode, transitions } from "./supervisor-table.ts";

const allModes = Object.values(Mode);
const allCues = Object.values(Cue);
const moves = (mode: number) => mode === Mode.Running || mode === Mode.Degraded;
const next = (mode: number, cue: number) => nextMode[mode * CUE_COUNT + cue]!;
const dangers = [Cue.Fault, Cue.FaultHeld, Cue.Relapse, Cue.EstopOpen];

/** Modes that a walk of these cues can reach, by plain search. */
function reachable(from: number, cues: readonly number[]): number[] {
  const seen = new Set([from]);
  for (const mode of seen) for (const cue of cues) seen.add(next(mode, cue));
  return [...seen].sort();
}

test("the flat table says what the matrix says, in the order of the mode codes", () => {
  expect(allCues).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(allModes).toEqual([...modeNames.keys()] as Mode[]);
  expect(CUE_COUNT).toBe(allCues.length);
  expect(nextMode.length).toBe(allModes.length * allCues.length);
  for (const mode of allModes) {
    expect(allCues.map((cue) => next(mode, cue))).toEqual([...transitions[mode]]);
  }
});

test("the cells are the ones that were decided", () => {
  const rows = allModes.map((mode) => allCues.map((cue) => next(mode, cue)).join(""));
  //                    HFhReRS: Healthy, Fault, FaultHeld, Relapse, EstopOpen, Reset, Start
  expect(rows).toEqual(["0035501", "1235511", "1235522", "3355543", "4355541", "5555545"]);
});

test("only an operator leaves SAFE_STOP for anything but the latch", () => {
  const exits = allCues.filter((cue) => next(Mode.SafeStop, cue) !== Mode.SafeStop);
  const upward = exits.filter((cue) => next(Mode.SafeStop, cue) !== Mode.FaultLatched);
  expect(upward).toEqual([Cue.OperatorReset]);
});

test("only a reset leaves FAULT_LATCHED", () => {
  const exits = allCues.filter((cue) => next(Mode.FaultLatched, cue) !== Mode.FaultLatched);
  expect(exits).toEqual([Cue.OperatorReset]);
});

test("no dangerous cue leads to RUNNING, and none leads from a still mode to a moving one", () => {
  for (const cue of dangers) {
    for (const mode of allModes) {
      expect(next(mode, cue)).not.toBe(Mode.Running);
      if (!moves(mode)) expect(moves(next(mode, cue))).toBe(false);
    }
  }
});

test("a reset never leads to a moving mode, from any still mode", () => {
  for (const mode of allModes) {
    if (!moves(mode)) expect(moves(next(mode, Cue.OperatorReset))).toBe(false);
  }
});

test("only a start leads to motion, and only from STARTING and RECOVER", () => {
  const found: [number, number][] = [];
  for (const mode of allModes) {
    for (const cue of allCues) if (!moves(mode) && moves(next(mode, cue))) found.push([mode, cue]);
  }
  expect(found).toEqual([
    [Mode.Starting, Cue.OperatorStart],
    [Mode.Recover, Cue.OperatorStart],
  ]);
});

test("an open e-stop and a relapse latch from every mode", () => {
  for (const mode of allModes) {
    expect(next(mode, Cue.EstopOpen)).toBe(Mode.FaultLatched);
    expect(next(mode, Cue.Relapse)).toBe(Mode.FaultLatched);
  }
});

test("a held fault twice latches from every mode", () => {
  for (const mode of allModes) {
    expect(next(next(mode, Cue.FaultHeld), Cue.FaultHeld)).toBe(Mode.FaultLatched);
  }
});

test("every mode is reachable from STARTING, and RUNNING from every mode", () => {
  expect(reachable(Mode.Starting, allCues)).toEqual(allModes);
  for (const mode of allModes) expect(reachable(mode, allCues)).toContain(Mode.Running);
});

test("without a person, a stop is never left", () => {
  const unmanned = [Cue.Healthy, ...dangers];
  expect(reachable(Mode.SafeStop, unmanned)).toEqual([Mode.SafeStop, Mode.FaultLatched]);
});

test("from a latch, motion takes a reset and then a start: no walk has fewer", () => {
  const withoutReset = allCues.filter((cue) => cue !== Cue.OperatorReset);
  const withoutStart = allCues.filter((cue) => cue !== Cue.OperatorStart);
  expect(reachable(Mode.FaultLatched, withoutReset).some(moves)).toBe(false);
  expect(reachable(Mode.FaultLatched, withoutStart).some(moves)).toBe(false);
  expect(next(Mode.FaultLatched, Cue.OperatorStart)).toBe(Mode.FaultLatched);
});
