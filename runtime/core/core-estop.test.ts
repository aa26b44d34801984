// What an e-stop means to the command, tick by tick: without power it is where the robot is, and
// while there is power to brake with it brakes.

import { expect, test } from "bun:test";
import { Fault } from "../../safety/faults.ts";
import { Rig } from "./core-rig.ts";

test("while the e-stop holds the power off the command is where the robot is", () => {
  const rig = new Rig();
  rig.tick();
  rig.silentFaults = 1 << Fault.EstopOpen;
  rig.tick();
  expect(rig.mode).toBe("FAULT_LATCHED");
  for (const positionRad of [0.2, -0.4, -1.1]) {
    rig.positionRad = positionRad;
    rig.tick();
    expect(rig.sent.at(-1)).toMatchObject({ kind: "hold", valueRad: positionRad });
  }
  rig.silentFaults = 0;
  rig.positionRad = -1.15; // closed again: held from here on, as any robot at rest
  rig.tick();
  expect(rig.sent.at(-1)!.valueRad).toBe(-1.1);
});

/** A rig in the middle of a fast motion, and its last two commands. */
function moving(): { readonly rig: Rig; readonly strideRad: number } {
  const rig = new Rig();
  rig.tick();
  rig.decide(0.35);
  rig.reasons(5);
  const [before, last] = rig.sent.slice(-2);
  return { rig, strideRad: last!.valueRad - before!.valueRad };
}

test("power that goes in full motion leaves no motion in the command", () => {
  const { rig, strideRad } = moving();
  expect(strideRad).toBeGreaterThan(0.001);
  rig.silentFaults = 1 << Fault.EstopOpen;
  rig.positionRad = 0.26;
  rig.tick();
  expect([rig.mode, rig.sent.at(-1)!.valueRad]).toEqual(["FAULT_LATCHED", 0.26]);
  rig.positionRad = -0.5;
  rig.reasons(2);
  expect(rig.sent.at(-1)).toMatchObject({ kind: "hold", valueRad: -0.5 });
});

test("while the e-stop is about to cut the robot brakes within its limits", () => {
  const { rig, strideRad } = moving();
  rig.silentFaults = 1 << Fault.EstopStop;
  const before = rig.sent.length - 1;
  rig.reasons(60);
  expect(rig.mode).toBe("FAULT_LATCHED");
  const ways = rig.sent.slice(before + 1).map(({ valueRad }, at) => {
    return valueRad - rig.sent[before + at]!.valueRad;
  });
  expect(ways[0]!).toBeGreaterThan(strideRad / 2); // no jump to where the robot was measured
  expect(ways.at(-1)).toBe(0);
  for (const [at, way] of ways.entries()) expect(way).toBeLessThanOrEqual(ways[at - 1] ?? 1);
});

test("a latched fault of a robot that doesn't obey is told to the e-stop, no other is", () => {
  const told = (fault: Fault): readonly boolean[] => {
    const rig = new Rig();
    rig.tick();
    rig.silentFaults = 1 << fault;
    rig.reasons(200);
    expect(rig.mode).toBe("FAULT_LATCHED");
    return [rig.wantsCut[1]!, rig.wantsCut.at(-1)!];
  };
  // It stops first, and latches when it stays.
  for (const fault of [Fault.Overspeed, Fault.Overload, Fault.FollowingError]) {
    expect(told(fault)).toEqual([false, true]);
  }
  expect(told(Fault.GateInfeasible)).toEqual([false, true]);
  expect(told(Fault.DriverLost)).toEqual([true, true]); // latches at once
  expect(told(Fault.EstopOpen)).toEqual([false, false]);
  expect(told(Fault.ControlMissed)).toEqual([false, false]);
});
