// A policy's host is lost, in each way at fifty phases of its heartbeat: when that is known, when
// the arm holds and stops, what a person is told, and that only a person makes it move again.

import { expect, test } from "bun:test";
import { CommandKind } from "../../runtime/contracts/command.ts";
import { Mode, OperatorCue } from "../../runtime/contracts/mode.ts";
import { Reason } from "../../runtime/contracts/reason.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import { PING_NS } from "../../runtime/link/limits.ts";
import { LinkCell } from "./link-cell.ts";
import { linkLosses, STOP_AFTER_MS } from "./link-losses.ts";
import type { LinkLoss } from "./link-losses.ts";

const { Reset, Start } = OperatorCue;
const PHASE_COUNT = 50;
const INFERENCE_NS = 50e6;
const LOST_MS = 2_000;
const BACK_NS_MAX = 2_000e6;
const WINDOW_NS = 320e6;

/** A robot that followed its host until it was lost, `phase` fiftieths of a heartbeat in. */
async function lost(loss: LinkLoss, phase: number): Promise<LinkCell> {
  const cell = new LinkCell();
  cell.link.inferenceNs = INFERENCE_NS;
  await cell.until(() => cell.motions().length > 60, 3_000);
  expect(cell.mode).toBe(Mode.Running);
  const atNs = cell.link.nowNs + Math.round(((phase / PHASE_COUNT) * PING_NS) / 1e6) * 1e6;
  cell.at(atNs, () => loss.kill(cell));
  await cell.until(() => cell.link.nowNs >= atNs, 200);
  return cell;
}

type Measured = { knownMs: number; noActionMs: number; stopAfterMs: number };

async function measure(loss: LinkLoss, phase: number): Promise<Measured> {
  const cell = await lost(loss, phase);
  const fromNs = cell.happenedNs;
  await cell.run(LOST_MS);
  const timeOf = (holds: (record: Float64Array) => boolean): number =>
    cell.records.find((record) => record[TickSlot.nowNs]! > fromNs && holds(record))![
      TickSlot.nowNs
    ]!;
  const holdNs = timeOf((record) => record[TickSlot.reason] === Reason.NoAction);
  const stopNs = timeOf((record) => record[TickSlot.mode] === Mode.SafeStop);
  for (const record of cell.records) {
    if (record[TickSlot.nowNs]! < holdNs) continue;
    expect(record[TickSlot.kind]).not.toBe(CommandKind.Motion);
  }
  expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS);
  expect(cell.told.some((text) => text.includes(loss.says))).toBe(true);
  return {
    knownMs: (cell.unreadyNs - fromNs) / 1e6,
    noActionMs: (holdNs - fromNs) / 1e6,
    stopAfterMs: (stopNs - holdNs) / 1e6,
  };
}

test.each(linkLosses)("$id: known, held and stopped as the table says", async (loss) => {
  const all: Measured[] = [];
  for (let phase = 0; phase < PHASE_COUNT; phase += 1) all.push(await measure(loss, phase));
  expect(Math.max(...all.map(({ knownMs }) => knownMs))).toBe(loss.knownWithinMs);
  expect(Math.max(...all.map(({ noActionMs }) => noActionMs))).toBe(loss.noActionWithinMs);
  expect(new Set(all.map(({ stopAfterMs }) => stopAfterMs))).toEqual(new Set([STOP_AFTER_MS]));
});

test.each(linkLosses)("$id for 300 ms: the robot goes on by itself", async (loss) => {
  const cell = await lost(loss, 17);
  await cell.run(300);
  loss.revive(cell);
  await cell.run(1_500);
  const modes = new Set(cell.records.map((record) => record[TickSlot.mode]!));
  expect(modes.has(Mode.SafeStop)).toBe(false);
  expect(cell.mode).toBe(Mode.Running);
  expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS);
});

test.each(linkLosses)("$id: only a person moves the robot again, once it is back", async (loss) => {
  const cell = await lost(loss, 17);
  await cell.run(LOST_MS);
  const moved = cell.motions().length;
  for (const cue of [Reset, Start, Reset, Start]) {
    cell.press(cue);
    await cell.run(100);
  }
  await cell.run(1_000); // so long a start waits for its first decision
  expect(cell.mode).toBe(Mode.SafeStop);
  expect(cell.motions().length).toBe(moved);
  loss.revive(cell);
  const accepted = cell.acceptedCount;
  const freshNs = await cell.until(() => cell.acceptedCount > accepted, 3_000);
  expect(freshNs).toBeLessThanOrEqual(BACK_NS_MAX);
  await cell.run(1_000);
  for (const cue of [Start, Reset]) {
    cell.press(cue);
    await cell.run(200);
    expect(cell.motions().length).toBe(moved);
  }
  cell.press(Start);
  await cell.until(() => cell.motions().length > moved + 40, 1_000);
  expect(cell.mode).toBe(Mode.Running);
});
