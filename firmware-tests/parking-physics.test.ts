// Letting go in physics: an SO-101 that was parked stays where it lies, as near as droop explains,
// and one that lets go of a raised pose falls. Where it is, is read off the physics.

import { expect, test } from "bun:test";
import { loadEngine } from "../hal/mujoco/engine.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { HoldPolicy } from "../runtime/policy/hold.ts";
import { loadDeployment } from "../runtime/profile/load.ts";
import { ArmRig, startingAt } from "./arm-rig.ts";
import { noteFigure } from "./figures.ts";

const engine = await loadEngine();
const RAISED_RAD = [1.5, -0.5, -0.6, 0, 1, 0.5];
/** An arm without torque has come to rest by then. */
const FALL_TICKS = 600;

const largest = (left: Float64Array, right: Float64Array): number =>
  Math.max(...left.map((value, index) => Math.abs(value - right[index]!)));

/** Parks, or is hurried, from a raised pose. Returns how far it then moved, without torque. */
function letGo(name: string, isHurried: boolean) {
  const { robot } = loadDeployment(name);
  const from = startingAt(robot, Float64Array.from(RAISED_RAD));
  const rig = new ArmRig(engine, from, (context) => new HoldPolicy(context));
  for (let tick = 0; tick < 100; tick += 1) rig.tick();
  rig.cues.push(OperatorCue.Park);
  rig.tick();
  if (isHurried) rig.cues.push(OperatorCue.Stop);
  let ticks = 1;
  for (; rig.stats.last[TickSlot.kind] !== CommandKind.ZeroTorque; ticks += 1) rig.tick();
  const releasedRad = rig.positionRad();
  for (let tick = 0; tick < FALL_TICKS; tick += 1) rig.tick();
  const movedRad = largest(rig.positionRad(), releasedRad);
  const restRad = Float64Array.from(robot.joints, (joint) => joint.restRad);
  rig.close();
  return { movedRad, offRad: largest(releasedRad, restRad), seconds: ticks * 0.005 };
}

test.each([
  ["so101", 0.01],
  ["so101-servo", 0.08],
  ["so101-servo-payload", 0.08],
])("%s, parked, moves by less than %f rad once it has let go", (name, radMax) => {
  const { movedRad, offRad, seconds } = letGo(name, false);
  noteFigure({
    part: "parking in physics",
    case: name,
    measured:
      `let go after ${seconds.toFixed(2)} s, ${(offRad * 1e3).toFixed(1)} mrad from the rest ` +
      `pose, then moved ${(movedRad * 1e3).toFixed(1)} mrad`,
    limit: `within ${radMax * 1e3} mrad`,
    tries: "one way from a raised pose",
  });
  expect(seconds).toBeLessThan(5);
  expect(offRad).toBeLessThan(0.08);
  expect(movedRad).toBeLessThan(radMax);
});

test("let go at once in the raised pose, it falls", () => {
  const { movedRad, seconds } = letGo("so101", true);
  expect(seconds).toBeLessThan(0.2);
  expect(movedRad).toBeGreaterThan(0.3);
});
