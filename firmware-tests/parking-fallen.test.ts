// Parking an SO-101 that has fallen: without power it lies on its folded wrist, and the straight
// way to the rest pose leads through the table. It pushes once, is blocked, holds, and lets go
// where it lies when its time is up. Where it is, is read off the physics.

import { expect, test } from "bun:test";
import { loadEngine } from "../hal/mujoco/engine.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { HoldPolicy } from "../runtime/policy/hold.ts";
import { loadDeployment } from "../runtime/profile/load.ts";
import { Fault } from "../safety/faults.ts";
import { ArmRig, startingAt } from "./arm-rig.ts";
import { noteFigure } from "./figures.ts";

const engine = await loadEngine();
const TICK_S = 0.005;

const largest = (left: Float64Array, right: Float64Array): number =>
  Math.max(...left.map((value, index) => Math.abs(value - right[index]!)));

/** Ticks until a record says so, for at most six seconds; NaN when none does. */
function ticksUntil(rig: ArmRig, holds: (record: Float64Array) => boolean): number {
  for (let ticks = 1; ticks <= 1_200; ticks += 1) {
    rig.tick();
    if (holds(rig.stats.last)) return ticks;
  }
  return Number.NaN;
}

const poses: readonly (readonly [string, readonly number[]])[] = [
  ["so101", [1.5, -0.5, -0.6, 0, 1, 0.5]],
  ["so101", [0.3, 0, 0, 0, 0, 0.2]],
  ["so101-servo", [0, -0.7, 0.3, 0.6, 0, 0.5]],
  ["so101-servo-payload", [1.5, -0.5, -0.6, 0, 1, 0.5]],
];

test.each(poses)(
  "%s, fallen from %p, is blocked and let go of where it lies",
  (name, raisedRad) => {
    const { robot } = loadDeployment(name);
    const from = startingAt(robot, Float64Array.from(raisedRad));
    const rig = new ArmRig(engine, from, (context) => new HoldPolicy(context));
    for (let tick = 0; tick < 100; tick += 1) rig.tick();
    const act = (cue: OperatorCue, tickCount: number): void => {
      rig.cues.push(cue);
      for (let tick = 0; tick < tickCount; tick += 1) rig.tick();
    };
    // Let go of in the air, it falls as it does when an e-stop cuts.
    act(OperatorCue.Park, 1);
    act(OperatorCue.Stop, 800);
    const fallenRad = rig.positionRad();
    expect(largest(fallenRad, Float64Array.from(raisedRad))).toBeGreaterThan(0.3);
    act(OperatorCue.Reset, 40);
    act(OperatorCue.Start, 200);
    rig.cues.push(OperatorCue.Park);
    const isBlocked = (record: Float64Array): boolean =>
      ((record[TickSlot.faults]! >>> Fault.FollowingError) & 1) === 1;
    const isReleased = (record: Float64Array): boolean =>
      record[TickSlot.kind] === CommandKind.ZeroTorque;
    const blockedS = ticksUntil(rig, isBlocked) * TICK_S;
    const releasedS = blockedS + ticksUntil(rig, isReleased) * TICK_S;
    for (let tick = 0; tick < 600; tick += 1) rig.tick();
    const movedRad = largest(rig.positionRad(), fallenRad);
    rig.close();
    noteFigure({
      part: "parking of a fallen arm",
      case: name,
      measured: `blocked after ${blockedS.toFixed(2)} s, let go after ${releasedS.toFixed(2)} s`,
      limit: "5 s",
      tries: "one fall",
    });
    expect(blockedS).toBeLessThan(0.6);
    expect(releasedS).toBeGreaterThan(4.5);
    expect(releasedS).toBeLessThan(5);
    // What it lies on has not moved it.
    expect(movedRad).toBeLessThan(0.03);
  },
);
