// What a robot with a LinkRig goes through while its link dies and comes back: it follows its host,
// hears what its side says, stops, takes a fresh decision, and is started by a person. One of these
// at a time for a rig, since each ticks it. Lengths of time are less what the rig was away.

import { expect } from "bun:test";
import { mayMove, Mode, modeNames, OperatorCue } from "../runtime/contracts/mode.ts";
import { staleMotion, WINDOW_NS } from "./link-rig.ts";
import type { LinkRig } from "./link-rig.ts";

const PATIENCE_MS = 8_000;
/** Ten ticks. */
const AWAY_NS = 50e6;
/** A person's, on a machine that is away now and then. */
const PRESSES_MAX = 20;

/** Ticks on while something goes on beside the robot. */
export async function beside(rig: LinkRig, act: () => Promise<void> | void): Promise<void> {
  let isOver = false;
  const going = Promise.resolve(act()).finally(() => {
    isOver = true;
  });
  await Promise.all([going, rig.until(() => isOver, PATIENCE_MS)]);
}

/** Milliseconds from now until `holds`, less what the rig itself was away; NaN if it never does. */
export async function timed(rig: LinkRig, holds: () => boolean): Promise<number> {
  rig.beginTiming();
  const fromNs = rig.nowNs;
  const atNs = await rig.until(holds, PATIENCE_MS);
  return (atNs - fromNs - rig.awayNs) / 1e6;
}

export const hears = (rig: LinkRig, text: RegExp) => () => text.test(rig.policy.statusText);

/** The robot's side says all that it should; how long the first took. */
export async function told(rig: LinkRig, [first, ...others]: readonly RegExp[]): Promise<number> {
  const firstMs = await timed(rig, hears(rig, first!));
  for (const text of others) expect(await timed(rig, hears(rig, text))).not.toBeNaN();
  return firstMs;
}

/** It begins, and is told; what it takes to begin goes on beside that. */
export async function known(
  rig: LinkRig,
  says: readonly RegExp[],
  act: Promise<void> | void,
): Promise<number> {
  const [knownMs] = await Promise.all([told(rig, says), act]);
  return knownMs;
}

/** Until the robot follows its host; from here on its ticks are kept. */
export async function running(rig: LinkRig): Promise<void> {
  await rig.until(() => rig.mode === Mode.Running && rig.motionCount > 40, PATIENCE_MS);
  await rig.until(hears(rig, /^connected$/), PATIENCE_MS);
  expect(rig.mode).toBe(Mode.Running);
  rig.forget();
}

export async function stopped(rig: LinkRig): Promise<void> {
  // A machine that is away spoils the samples too, and that may latch in the stop.
  const isStopped = () =>
    rig.mode === Mode.SafeStop || (rig.mode === Mode.FaultLatched && rig.longestAwayNs > AWAY_NS);
  await rig.until(isStopped, PATIENCE_MS);
  expect([modeNames[rig.mode], isStopped()]).toEqual([expect.any(String), true]);
}

/** Milliseconds until a decision was taken. */
export function fresh(rig: LinkRig): Promise<number> {
  const before = rig.acceptedCount;
  return timed(rig, () => rig.acceptedCount > before);
}

/**
 * Reset, then start, as a person does: once more where a machine that was away has stopped the rig
 * in between. Nothing moves before a start.
 */
export async function startedByPerson(rig: LinkRig): Promise<void> {
  const before = rig.motionCount;
  for (let press = 0; press < PRESSES_MAX && rig.motionCount === before; press += 1) {
    rig.press(OperatorCue.Reset);
    await rig.run(100);
    expect(rig.motionCount).toBe(before);
    rig.press(OperatorCue.Start);
    const isStopped = (): boolean => rig.mode === Mode.SafeStop || rig.mode === Mode.FaultLatched;
    await rig.until(() => rig.motionCount > before || isStopped(), PATIENCE_MS);
  }
  expect(rig.motionCount).toBeGreaterThan(before);
}

/** After what passed so soon that the robot may not have stopped. */
export async function goesOn(rig: LinkRig): Promise<void> {
  await rig.run(200);
  if (!mayMove(rig.mode)) await startedByPerson(rig);
  expect(staleMotion(rig.records, WINDOW_NS)).toBe("");
  await running(rig);
}
