// What the core tells gate and supervisor beside the tick's own order: a person who wants the robot
// laid down, the faults that forbid it, and a machine that was away or asleep.

import { expect, test } from "bun:test";
import { Fault } from "../../safety/faults.ts";
import { OperatorCue } from "../contracts/mode.ts";
import { duration, milliseconds } from "../contracts/units.ts";
import { profileOf, Rig } from "./core-rig.ts";
import { STEADY_MACHINE } from "./machine-watch.ts";

/** A robot that falls without power, held at 0.25 rad with its rest pose at zero. */
const falling = (): Rig => {
  const rig = new Rig(profileOf({ powerCut: "falls", parkNs: milliseconds(2_000) }));
  follow(rig, 1);
  return rig;
};

/** Ticks of a robot that is at once where it was told to be. Returns each kind once, in order. */
function follow(rig: Rig, ticks: number): string[] {
  const kinds: string[] = [];
  for (let tick = 0; tick < ticks; tick += 1) {
    rig.tick();
    const { kind, valueRad } = rig.sent.at(-1)!;
    rig.positionRad = valueRad;
    if (kinds.at(-1) !== kind) kinds.push(kind);
  }
  return kinds;
}

const placeOf = (rig: Rig): number => rig.sent.at(-1)!.valueRad;

test("a park, or the end of a run, lays the robot down; a stop only holds it", () => {
  for (const cue of [OperatorCue.Park, OperatorCue.Shutdown]) {
    const rig = falling();
    rig.cues.push(cue);
    expect(follow(rig, 300)).toEqual(["brake", "park", "zero_torque"]);
    expect(placeOf(rig)).toBe(0);
  }
  const stopped = falling();
  stopped.cues.push(OperatorCue.Stop);
  expect(follow(stopped, 300)).toEqual(["hold"]);
  expect(placeOf(stopped)).toBe(0.25);
});

test("a stop on the way lets go there; any other cue leaves the way as it is", () => {
  const at = [OperatorCue.Stop, OperatorCue.MainSlow].map((cue) => {
    const rig = falling();
    rig.cues.push(OperatorCue.Park);
    expect(follow(rig, 30)).toEqual(["brake", "park"]);
    rig.cues.push(cue);
    expect(follow(rig, 300).at(-1)).toBe("zero_torque");
    return placeOf(rig);
  });
  expect(at[0]!).toBeGreaterThan(0.05);
  expect(at[1]!).toBe(0);
});

test("a fault of the robot itself ends the way to the rest pose", () => {
  const rig = falling();
  rig.cues.push(OperatorCue.Park);
  follow(rig, 30);
  rig.silentFaults = 1 << Fault.Overload;
  follow(rig, 1);
  rig.silentFaults = 0;
  expect(follow(rig, 100)).toEqual(["hold"]);
  expect(placeOf(rig)).toBeGreaterThan(0.05);
});

test("a machine that was away or asleep between two ticks has lost the world", () => {
  let suspendedMs = 0;
  const machine = { ...STEADY_MACHINE, suspendedNs: () => duration(milliseconds(suspendedMs)) };
  const faultsAfter = (awayMs: number, asleepMs: number): number => {
    const rig = new Rig(profileOf(), true, machine);
    rig.tick();
    rig.nowMs += awayMs - 5;
    suspendedMs += asleepMs;
    rig.tick();
    return rig.fact("faults") & ((1 << Fault.ControlAway) | (1 << Fault.Suspended));
  };
  expect([faultsAfter(1_000, 100), faultsAfter(1_001, 100), faultsAfter(5, 101)]).toEqual([
    0,
    1 << Fault.ControlAway,
    1 << Fault.Suspended,
  ]);
});
