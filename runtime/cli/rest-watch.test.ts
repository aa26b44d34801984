// When a run that was told to end may end, for a robot with brakes, one that is parked and one that
// lands, told from tick records written out by hand.

import { expect, test } from "bun:test";
import { CommandKind } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { loadRobot } from "../profile/load.ts";
import { RestWatch } from "./rest-watch.ts";

type Tick = readonly [mode: number, kind: number, commandRad: number];

/** After how many of these ticks, the last again and again, the run may end. */
function ticksUntilOver(name: string, ticks: readonly Tick[]): number {
  const robot = loadRobot(name);
  const watch = new RestWatch(robot);
  const record = new Float64Array(tickSlotCount(robot.joints.length));
  for (let tick = 0; tick < 100; tick += 1) {
    const [mode, kind, commandRad] = ticks[Math.min(tick, ticks.length - 1)]!;
    record[TickSlot.mode] = mode;
    record[TickSlot.kind] = kind;
    record[TickSlot.joints + robot.joints.length] = commandRad;
    if (watch.isOver(record)) return tick + 1;
  }
  return Number.POSITIVE_INFINITY;
}

const { FaultLatched, Recover, Running, SafeStop } = Mode;
const { Hold, Motion, None, Park, ZeroTorque } = CommandKind;

test("a robot with brakes ends after ten ticks at rest", () => {
  const stops: readonly Tick[] = [
    [Running, Motion, 1],
    [SafeStop, Hold, 2],
    [SafeStop, Hold, 3],
  ];
  expect(ticksUntilOver("ur5e", stops)).toBe(13);
  expect(ticksUntilOver("ur5e", [[Running, Motion, 1]])).toBe(Number.POSITIVE_INFINITY);
});

test.each(["so101", "multirotor"])("%s ends only once it has let go", (name) => {
  const never = Number.POSITIVE_INFINITY;
  expect(ticksUntilOver(name, [[SafeStop, Hold, 0]])).toBe(never);
  expect(ticksUntilOver(name, [[FaultLatched, Park, 0]])).toBe(never);
  expect(ticksUntilOver(name, [[SafeStop, ZeroTorque, 0]])).toBe(10);
  // It was never known to be anywhere, or a person has reset it.
  expect(ticksUntilOver(name, [[SafeStop, None, 0]])).toBe(10);
  expect(ticksUntilOver(name, [[Recover, Hold, 0]])).toBe(10);
});

test("an end takes as long as the way down may, and no longer", () => {
  const longestMs = ["ur5e", "so101", "multirotor"].map(
    (name) => new RestWatch(loadRobot(name)).restMsMax,
  );
  expect(longestMs).toEqual([1_500, 6_500, 251_500]);
});
