// A host that takes its time, behind a real link and the real core, in virtual time: slow answers
// without a gap, a warm-up, a first inference of seconds, a GPU that went to sleep. The cell's
// oracle holds every command to the limits.

import { expect, test } from "bun:test";
import { Mode, OperatorCue } from "../../runtime/contracts/mode.ts";
import type { RobotProfile } from "../../runtime/contracts/profile.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import { milliseconds } from "../../runtime/contracts/units.ts";
import { LinkCell } from "./link-cell.ts";

const { Reset, Start, Stop } = OperatorCue;
const QUICK_NS = 50e6;
/** With the way there and back, the age of a sample and a step of virtual time. */
const QUICK_DELAY_NS_MAX = 60e6;
const WINDOW_NS = 320e6;
const slowRows = (robot: RobotProfile): RobotProfile => ({
  ...robot,
  policy: { ...robot.policy, dtNs: milliseconds(50) },
});
const delayNs = (cell: LinkCell): number => cell.delayNs;

/** Until the robot has followed decisions of its present epoch for a while. */
async function running(cell: LinkCell): Promise<LinkCell> {
  const from = cell.motions().length;
  await cell.until(() => cell.motions().length > from + 40 && cell.mode === Mode.Running, 3_000);
  expect(cell.mode).toBe(Mode.Running);
  return cell;
}

async function restart(cell: LinkCell): Promise<void> {
  cell.press(Reset);
  await cell.run(50);
  cell.press(Start);
  await running(cell);
}

test("answers of 150 ± 100 ms, 16 rows of 50 ms: 60 s without a gap, nothing stale", async () => {
  for (const seed of [1, 2, 3]) {
    const cell = new LinkCell({ seed, change: slowRows });
    cell.drawInference(50e6, 250e6);
    await running(cell);
    const before = cell.core.coverageGapTicks;
    await cell.run(1_000); // the first answer of an epoch waits for one of the epoch before
    const fromNs = cell.nowNs;
    await cell.run(60_000);
    expect(cell.core.coverageGapTicks - before).toBe(0);
    expect(cell.motions(fromNs).length).toBe(12_000);
    // A decision is used until the next is there, asked as it came: two answers and their travel.
    expect(cell.oldestNs(fromNs)).toBeLessThanOrEqual(2 * 260e6);
    expect(cell.link.answers.every((answer) => "chunk" in answer)).toBe(true);
  }
});

test("the same answers with rows of 20 ms leave gaps: the figure is the horizon's", async () => {
  const cell = new LinkCell();
  cell.drawInference(50e6, 250e6);
  await cell.run(10_000);
  expect(cell.core.coverageGapTicks).toBeGreaterThan(50);
  expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS);
});

test("answers of 300 ms and more: a start waits for two, then there is no gap", async () => {
  for (const inferenceMs of [50, 240, 300, 390]) {
    const cell = new LinkCell({ change: slowRows });
    cell.link.inferenceNs = inferenceMs * 1e6;
    await running(cell);
    cell.press(Stop);
    await cell.run(1_000);
    cell.press(Reset);
    await cell.run(50);
    const moved = cell.motions().length;
    cell.press(Start);
    const waitNs = await cell.until(() => cell.motions().length > moved, 2_000);
    expect(waitNs).toBeLessThanOrEqual(2 * (inferenceMs * 1e6 + 60e6));
    const before = cell.core.coverageGapTicks;
    const fromNs = cell.nowNs;
    await cell.run(20_000);
    expect(cell.core.coverageGapTicks - before).toBe(0);
    expect(cell.motions(fromNs).length).toBe(4_000);
  }
});

test("5 s of warm-up, a first inference of 3 s: it waits, says why, sets out gently", async () => {
  const cell = new LinkCell({ readyNs: 5e9 });
  cell.link.inferenceNs = 3e9;
  await cell.until(() => cell.link.observations.length > 0, 6_000);
  expect(cell.nowNs / 1e6).toBeGreaterThanOrEqual(5_000);
  expect(cell.policy.statusText).toBe("connected");
  expect(cell.told).toEqual(["warming: warming up", "connected"]);
  cell.link.inferenceNs = QUICK_NS;
  await cell.until(() => cell.motions().length > 0, 6_000);
  expect(cell.nowNs / 1e6).toBeGreaterThanOrEqual(8_000);
  expect(cell.told).toContain("no decision: no answer in time");
  // The first step is one from rest: jerk times the period cubed.
  const steps = cell.robot.joints.map(({ homeRad, motion }, joint) => {
    const commandRad = cell.commands.at(-1)![joint]!;
    return Math.abs(commandRad - homeRad) / (motion.jerkRadPerS3 * 0.005 ** 3);
  });
  expect(Math.max(...steps)).toBeLessThanOrEqual(1 + 1e-6);
  // The answer of 3 s is in no estimate, then or later.
  let longestNs = 0;
  await cell.until(() => {
    longestNs = Math.max(longestNs, delayNs(cell));
    return false;
  }, 3_000);
  expect(longestNs).toBeLessThanOrEqual(WINDOW_NS);
  expect(delayNs(cell)).toBeLessThanOrEqual(QUICK_DELAY_NS_MAX);
  expect(cell.mode).toBe(Mode.Running);
});

test("a host that is back and warms up for 5 s: stopped, told, started by a person", async () => {
  const cell = new LinkCell();
  cell.link.inferenceNs = QUICK_NS;
  await running(cell);
  const before = delayNs(cell);
  cell.link.readyNs = cell.link.nowNs + 5e9;
  cell.link.inferenceNs = 3e9;
  cell.link.cut("UNAVAILABLE: Connection dropped");
  const stopNs = await cell.until(() => cell.mode === Mode.SafeStop, 2_000);
  expect(stopNs).toBeLessThanOrEqual(WINDOW_NS + 505e6);
  expect(cell.told.some((text) => text.includes("Connection dropped"))).toBe(true);
  await cell.run(3_000);
  expect(cell.policy.statusText).toBe("warming: warming up");
  const moved = cell.motions().length;
  await cell.until(() => cell.policy.phase === "ready", 6_000);
  await cell.run(1_000);
  cell.link.inferenceNs = QUICK_NS;
  await cell.run(4_000);
  expect(cell.motions().length).toBe(moved);
  expect(delayNs(cell)).toBeLessThanOrEqual(Math.max(before, QUICK_DELAY_NS_MAX));
  await restart(cell);
});

test("no decision for 10 s, then answers of 2 s: held, told, started by a person", async () => {
  const cell = new LinkCell();
  cell.link.inferenceNs = QUICK_NS;
  await running(cell);
  cell.link.decides = false;
  const stopNs = await cell.until(() => cell.mode === Mode.SafeStop, 2_000);
  expect(stopNs).toBeLessThanOrEqual(WINDOW_NS + 505e6 + 2 * QUICK_NS);
  await cell.run(10_000);
  const moved = cell.motions().length;
  cell.link.decides = true;
  cell.link.inferenceNs = 2e9;
  cell.told.length = 0;
  await cell.run(6_000);
  expect(cell.told).toContain("no decision: no answer in time");
  // A person may try: nothing is there to start with.
  cell.press(Reset);
  await cell.run(50);
  cell.press(Start);
  await cell.run(1_100);
  expect(cell.mode).toBe(Mode.SafeStop);
  cell.link.inferenceNs = QUICK_NS;
  await cell.run(3_000);
  expect(cell.policy.statusText).toBe("connected");
  expect(delayNs(cell)).toBeLessThanOrEqual(QUICK_DELAY_NS_MAX);
  expect(cell.mode).toBe(Mode.SafeStop);
  expect(cell.motions().length).toBe(moved);
  await restart(cell);
  expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS);
});

test("one answer of 450 ms: held when the rows have run out, on again by itself", async () => {
  const cell = new LinkCell();
  cell.link.inferenceNs = QUICK_NS;
  await running(cell);
  const asked = cell.link.observations.length;
  cell.link.inferenceNs = 450e6;
  await cell.until(() => cell.link.observations.length > asked, 200);
  cell.link.inferenceNs = QUICK_NS;
  const fromNs = cell.nowNs;
  await cell.run(1_000);
  const modes = cell.records.slice(-200).map((record) => record[TickSlot.mode]!);
  expect([...new Set(modes)]).toEqual([Mode.Running, Mode.Degraded]);
  expect(cell.mode).toBe(Mode.Running);
  expect(cell.oldestNs(fromNs)).toBeLessThanOrEqual(WINDOW_NS);
});
