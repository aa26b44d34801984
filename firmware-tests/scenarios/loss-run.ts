// Runs one row of the loss table at one phase and tells what happened, from the commands that left
// and from the true moment of the cause. Names of reasons and modes come from the core's records;
// whether the robot moved never does.

import { CommandKind } from "../../runtime/contracts/command.ts";
import { EvidenceSlot, evidenceNames } from "../../runtime/contracts/evidence.ts";
import { Mode, OperatorCue, modeNames } from "../../runtime/contracts/mode.ts";
import { reasonNames } from "../../runtime/contracts/reason.ts";
import { RepairBit } from "../../runtime/contracts/command.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import { faultNames } from "../../safety/faults.ts";
import { LossCell, PERIOD_NS, TROUBLE_NS } from "./loss-cell.ts";
import type { Loss } from "./loss.ts";

const NS_PER_MS = 1e6;
/** Longer than the last change of mode of every row. */
const LONG_MS = 1_150;
/** A cause that ended is forgotten: the window of missed beats is a second long. */
const SETTLE_MS = 1_100;
const WAIT_MS = 300;

export type Measured = {
  readonly withinMs: number;
  readonly holdAfterMs: number;
  /** From the first moment of trouble to where it is known, and to the first safe command. */
  readonly knownMs: number;
  readonly heldMs: number;
  readonly pathMs: readonly (readonly [string, number])[];
};

const isMotion = (kind: number): boolean => kind === CommandKind.Motion;
const ms = (ns: number): number => Math.round(ns / 1e5) / 10;

const cellOf = ({ provoke, change }: Loss, phaseIndex: number, lengthNs: number): LossCell =>
  new LossCell({ provoke, phaseIndex, lengthNs, ...(change !== undefined && { change }) });

/** Runs it with a cause that never ends. Throws StormError when the oracle sees a violation. */
export function measure(loss: Loss, phaseIndex: number): Measured {
  const cell = cellOf(loss, phaseIndex, Infinity);
  cell.runUntil(TROUBLE_NS + (loss.withinMs + LONG_MS + 150) * NS_PER_MS);
  const detectedNs = detectionOf(loss, cell);
  const isUnnoticed = loss.detect.of === "nothing";
  if (isUnnoticed && cell.senses.struckCount === 0) throw new Error("no sample was spoiled");
  const after = cell.sent.filter(({ nowNs }) => nowNs >= detectedNs);
  const stop = after.find(({ command }) => !isMotion(command.kind));
  if (stop !== undefined) mustStay(cell, stop.nowNs);
  return {
    withinMs: isUnnoticed ? 0 : ms(detectedNs - causeOf(loss, cell)),
    holdAfterMs: stop === undefined ? Infinity : ms(stop.nowNs - detectedNs),
    knownMs: ms(detectedNs - TROUBLE_NS),
    heldMs: stop === undefined ? 0 : ms(stop.nowNs - TROUBLE_NS),
    pathMs: pathOf(cell, detectedNs),
  };
}

/** From the first safe command on nothing moves but the brake, and the rest is exact. */
function mustStay(cell: LossCell, fromNs: number): void {
  const after = cell.sent.filter(({ nowNs }) => nowNs >= fromNs);
  const moving = after.filter(({ command }) => isMotion(command.kind));
  if (moving.length > 0) throw new Error(`${moving.length} motions after the stop`);
  const last = after.at(-1)!.command.values;
  // The longest stop from full speed takes 23 ticks.
  for (const { command } of after.slice(24)) {
    if (command.values.some((value, joint) => value !== last[joint])) {
      throw new Error("the held command creeps");
    }
    if (command.kind !== CommandKind.Hold) throw new Error("the arm is let go of");
  }
}

function causeOf({ provoke, detect }: Loss, cell: LossCell): number {
  const { senses, policy } = cell;
  if (provoke.by === "policy") {
    return detect.of === "reason" && detect.name === "no_action"
      ? policy.goodUntilNs
      : policy.firstBadNs;
  }
  const isArm = provoke.by === "device" || provoke.by === "world";
  if (provoke.by !== "sensor" && !isArm) return cell.causeNs;
  const id = isArm ? "joints" : provoke.fault.split(/[:=]/)[1]!;
  const source = cell.core.state.layout.sources.findIndex((each) => each.id === id);
  const bad = senses.firstBadNs[source]!;
  return Number.isFinite(bad) ? bad : senses.goodNs[source]!;
}

/** The time of the tick in which it is noticed. */
function detectionOf({ detect }: Loss, cell: LossCell): number {
  const records = cell.records.filter((record) => record[TickSlot.nowNs]! >= TROUBLE_NS);
  const at = (holds: (record: Float64Array) => boolean): number =>
    records.find(holds)?.[TickSlot.nowNs] ?? Number.NaN;
  switch (detect.of) {
    case "reason":
      return at((record) => reasonNames[record[TickSlot.reason]!] === detect.name);
    case "fault": {
      const bit = 1 << faultNames.indexOf(detect.name);
      return at((record) => (record[TickSlot.faults]! & bit) !== 0);
    }
    case "repair":
      return at((record) => (record[TickSlot.repairs]! & RepairBit.Velocity) !== 0);
    case "nothing":
      return TROUBLE_NS;
    case "policy":
      return cell.refusedNs.get(reasonNames.indexOf(detect.name)) ?? Number.NaN;
    case "evidence": {
      const code = evidenceNames.indexOf(detect.name);
      const entries = cell.evidence.dump();
      const entry = entries.find((each) => each[EvidenceSlot.code] === code);
      return entry?.[EvidenceSlot.nowNs] ?? Number.NaN;
    }
  }
}

function pathOf(cell: LossCell, detectedNs: number): [string, number][] {
  const path: [string, number][] = [];
  let last: number = Mode.Running;
  for (const record of cell.records) {
    if (record[TickSlot.nowNs]! < detectedNs) continue;
    const mode = record[TickSlot.mode]!;
    if (mode !== last) path.push([modeNames[mode]!, ms(record[TickSlot.nowNs]! - detectedNs)]);
    last = mode;
  }
  return path;
}

/** What moves the robot again after this loss: each attempt by name, and whether it moved. */
export type Attempts = Readonly<Record<string, boolean>>;

/**
 * A cause that ends 30 ms after the robot held: does it go on by itself? What only the policy side
 * sees ends as soon as it refused: a longer gap leaves the quality of its source low for as long
 * as eight samples take, and then it is the time without decisions that stops the robot.
 */
export function goesOnByItself(loss: Loss, phaseIndex: number): boolean {
  const { knownMs, heldMs } = measure(loss, phaseIndex);
  const lengthMs = (loss.detect.of === "policy" ? knownMs : heldMs) + 30;
  const cell = cellOf(loss, phaseIndex, lengthMs * NS_PER_MS);
  cell.runUntil(TROUBLE_NS + lengthMs * NS_PER_MS + SETTLE_MS * NS_PER_MS);
  return isMotion(cell.sent.at(-1)!.command.kind);
}

/** A cause that lasted, and who moves the robot then, while it lasts and after it. */
export function attempts(loss: Loss, phaseIndex: number): Attempts {
  const lengthNs = LONG_MS * NS_PER_MS;
  const moved = (...acts: readonly (readonly OperatorCue[])[]): boolean => {
    const cell = cellOf(loss, phaseIndex, lengthNs);
    cell.runUntil(TROUBLE_NS + lengthNs + SETTLE_MS * NS_PER_MS);
    return tryActs(cell, acts);
  };
  const { Reset, Start } = OperatorCue;
  return {
    "while it lasts": movesWhileItLasts(loss, phaseIndex),
    nobody: moved([]),
    "a start": moved([Start]),
    "a reset": moved([Reset]),
    "a start, then a reset": moved([Start], [Reset]),
    "a reset and a start at once": moved([Reset, Start]),
    "a reset, then a start": moved([Reset], [Start]),
  };
}

/** The mode after a reset of a cause that is still there. */
export function modeAfterEarlyReset(loss: Loss, phaseIndex: number): string {
  const cell = cellOf(loss, phaseIndex, Infinity);
  cell.runUntil(TROUBLE_NS + LONG_MS * NS_PER_MS);
  tryActs(cell, [[OperatorCue.Reset]]);
  return modeNames[cell.core.supervisor.mode]!;
}

function movesWhileItLasts(loss: Loss, phaseIndex: number): boolean {
  const { Reset, Start } = OperatorCue;
  const cell = cellOf(loss, phaseIndex, Infinity);
  cell.runUntil(TROUBLE_NS + LONG_MS * NS_PER_MS);
  return tryActs(cell, [[Reset], [Start], [Reset], [Start]]);
}

/** Each act is followed by 100 ms; true when anything moved after the first of them. */
function tryActs(cell: LossCell, acts: readonly (readonly OperatorCue[])[]): boolean {
  const from = cell.sent.length;
  for (const cues of acts) {
    cell.cues.push(...cues);
    cell.runFor(20 * (PERIOD_NS / NS_PER_MS));
  }
  cell.runFor(WAIT_MS);
  return cell.sent.slice(from).some(({ command }) => isMotion(command.kind));
}
