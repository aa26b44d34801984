// Safe actions on the robots that need them, as they ship, through the real core over kinematic
// joints: a base that brakes, a quadruped that sits, a multirotor that lands, seeing and blind.
// What is said of a robot is read off its joints.

import { expect, test } from "bun:test";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { Fault } from "../safety/faults.ts";
import { KinematicRig as Rig } from "./kinematic-rig.ts";

test("a wheeled base brakes along its curve and stands, with its torque on", () => {
  const rig = new Rig(loadRobot("wheeled-base"));
  rig.values = [12, 8];
  rig.run(1.5);
  expect([rig.mode, ...rig.core.gate.command]).toEqual(["RUNNING", 12, 8]);
  rig.told();
  rig.cues.push(OperatorCue.Stop);
  // 12 rad/s at 54 rad/s2 and 2,700 rad/s3: 0.22 s and a ramp of 0.02 s.
  rig.run(0.26);
  expect([rig.mode, ...rig.core.gate.command]).toEqual(["SAFE_STOP", 0, 0]);
  const stood = rig.positions;
  rig.run(2);
  expect(rig.positions).toEqual(stood);
  expect(rig.told()).toEqual(["brake"]);
});

test("a gap in the decisions brakes the base for as long as it lasts", () => {
  const rig = new Rig(loadRobot("wheeled-base"));
  rig.values = [4, 4];
  rig.run(1).told();
  rig.values = [];
  rig.run(0.2);
  expect([rig.mode, rig.told()]).toEqual(["DEGRADED", ["motion", "brake"]]);
  rig.values = [4, 4];
  rig.run(0.3);
  expect([rig.mode, rig.core.gate.command[0]]).toEqual(["RUNNING", 4]);
});

const quadruped = loadRobot("quadruped");
const restRad = quadruped.joints.map((joint) => joint.restRad);
const homeRad = quadruped.joints.map((joint) => joint.homeRad);

/** Walking in place, then told of a lost driver: the latch is what makes it sit. */
function walkThenLatch(): Rig {
  const rig = new Rig(quadruped);
  rig.values = homeRad.map((rad, joint) => rad + (joint % 3 === 0 ? 0.1 : 0));
  rig.run(0.5);
  expect(rig.mode).toBe("RUNNING");
  rig.told();
  rig.lost = 1 << Fault.DriverLost;
  return rig;
}

test("a quadruped brakes, sits within its second, and only then lets go", () => {
  const rig = walkThenLatch().run(0.9);
  expect([rig.mode, rig.robot.follower.isLimp]).toEqual(["FAULT_LATCHED", false]);
  rig.run(0.4);
  expect(rig.told()).toEqual(["brake", "sit", "zero_torque"]);
  expect(rig.robot.follower.isLimp).toBe(true);
  expect(rig.positions).toEqual(restRad);
});

test("a quadruped that cannot see while it sits lets go at once, and stays so", () => {
  const rig = walkThenLatch().run(0.5);
  rig.robot.isSilent = true;
  rig.run(0.2);
  expect(rig.told()).toEqual(["brake", "sit", "brake", "zero_torque"]);
  rig.robot.isSilent = false;
  rig.run(1);
  expect(rig.told()).toEqual(["zero_torque"]);
});

test("a person's stop makes the quadruped stand, not sit", () => {
  const rig = new Rig(quadruped).run(0.1);
  rig.told();
  rig.cues.push(OperatorCue.Stop);
  rig.run(2);
  expect([rig.mode, rig.told(), rig.positions]).toEqual(["SAFE_STOP", ["hold"], homeRad]);
});

/** Flying forward at 3 m/s, 2 m and more above the ground, then stopped. */
function flyThenStop(): Rig {
  const rig = new Rig(loadRobot("multirotor"));
  rig.values = [3, 0, 0.5, 0];
  rig.run(2);
  expect(rig.mode).toBe("RUNNING");
  rig.told();
  rig.cues.push(OperatorCue.Stop);
  return rig;
}

test("a multirotor brakes in the air, comes down at 0.5 m/s and lets go on the ground", () => {
  const rig = flyThenStop().run(1);
  const [forwardM, , heightM] = rig.positions;
  expect(rig.told()).toEqual(["brake", "land"]);
  expect(rig.core.gate.command[2]).toBeCloseTo(-0.5, 9);
  rig.run(1);
  expect(heightM! - rig.positions[2]!).toBeCloseTo(0.5, 6);
  expect(rig.positions[0]).toBe(forwardM!);
  while (!rig.robot.follower.isLimp && rig.timeS < 20) rig.run(0.05);
  expect(rig.told()).toEqual(["land", "brake", "zero_torque"]);
  expect(Math.abs(rig.positions[2]!)).toBeLessThan(0.05);
  const landed = rig.positions;
  rig.run(1);
  expect(rig.positions).toEqual(landed);
});

test("a blind multirotor goes on down for what the way should take, and a quarter more", () => {
  const rig = flyThenStop().run(1);
  rig.told();
  rig.robot.isSilent = true;
  const blindFromS = rig.timeS;
  const heightM = rig.positions[2]!;
  while (!rig.robot.follower.isLimp && rig.timeS < 20) rig.run(0.005);
  expect(rig.told()).toEqual(["land", "brake", "zero_torque"]);
  expect(rig.timeS - blindFromS).toBeGreaterThan(heightM / 0.5);
  expect(rig.timeS - blindFromS).toBeLessThan((1.25 * heightM) / 0.5 + 0.3);
});

test("an arm that returns home does so slowly, and holds while it is blind", () => {
  const so101 = loadRobot("so101");
  const safeActions = { degraded: "hold", stop: "return_home", latch: "hold" } as const;
  const rig = new Rig({ ...so101, safeActions });
  rig.values = so101.joints.map((joint, index) => joint.homeRad + (index === 0 ? 0.25 : 0));
  rig.run(1).told();
  rig.cues.push(OperatorCue.Stop);
  rig.run(0.1);
  rig.robot.isSilent = true;
  rig.run(0.1);
  const held = rig.positions;
  rig.run(0.05);
  expect(rig.positions).toEqual(held);
  rig.robot.isSilent = false;
  rig.run(2);
  expect(rig.told()).toEqual(["brake", "return_home", "hold", "return_home"]);
  expect(rig.positions).toEqual(so101.joints.map((joint) => joint.homeRad));
});

test("an arm whose action is zero_torque brakes first", () => {
  const so101 = loadRobot("so101");
  const safeActions = { degraded: "hold", stop: "zero_torque", latch: "zero_torque" } as const;
  const rig = new Rig({ ...so101, safeActions });
  rig.values = so101.joints.map((joint, index) => joint.homeRad + (index === 0 ? 0.25 : 0));
  rig.run(0.2).told();
  rig.cues.push(OperatorCue.Stop);
  rig.run(0.3);
  expect(rig.told()).toEqual(["brake", "zero_torque"]);
});
