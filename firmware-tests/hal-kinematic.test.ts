// Tests of the robots without physics, by numbers worked out by hand: what a sample says and when,
// the lag, the age, and a signal whose sensor stamps late or dies.

import { expect, test } from "bun:test";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { HalError } from "../hal/lifecycle.ts";
import type { RobotSensor } from "../hal/robot.ts";
import { SignalRobot } from "../hal/signal-robot.ts";
import {
  CommandKind,
  CommandSlot,
  CommandView,
  commandSlotCount,
} from "../runtime/contracts/command.ts";
import { SampleSlot, SensorSnapshot } from "../runtime/contracts/sample.ts";
import { sin } from "../runtime/contracts/trig.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { loadRobot } from "../runtime/profile/load.ts";

const one = loadRobot("document-one");
const MS = 1_000_000;

function commandOf(valueRad: number, expiresMs: number): CommandView {
  const command = new CommandView(new Float64Array(commandSlotCount(1)), 1);
  command.record[CommandSlot.kind] = CommandKind.Motion;
  command.record[CommandSlot.expiresNs] = expiresMs * MS;
  command.values[0] = valueRad;
  return command;
}

/** Stamp and receipt in ms, sequence id, position and velocity of what arrived; none: undefined. */
function observe(sensor: RobotSensor, nowMs: number, snapshot = new SensorSnapshot(one.sources)) {
  sensor.observeInto(snapshot, instant(nowMs * MS));
  const { sensorStampNs, receiveNs, seq, payload } = snapshot.samples[0]!;
  if (snapshot.arrived[0] === 0) return undefined;
  return [sensorStampNs / MS, receiveNs / MS, seq, ...payload];
}

function kinematic(ageMs: number, lagMs: number, profile = one): KinematicRobot {
  const options = { ageNs: duration(ageMs * MS), lagNs: duration(lagMs * MS) };
  return new KinematicRobot(profile, profile.sources, options);
}

test("a joint is at its command one observation after it, with a sample of fixed age", () => {
  const robot = kinematic(4, 0);
  expect(observe(robot, 0)).toEqual([-4, 0, 1, 0, 0, 0]);
  robot.activate(instant(0));
  robot.send(commandOf(0.5, 60));
  expect(observe(robot, 20)).toEqual([16, 20, 2, 0.5, 0, 0]); // document-one measures no velocity
  expect([...robot.velocityRadPerS]).toEqual([25]);
  expect(observe(robot, 40)).toEqual([36, 40, 3, 0.5, 0, 0]);
  expect([...robot.velocityRadPerS]).toEqual([0]);
});

test("a sample says which joints were read, on whose clock and from which source", () => {
  const so101 = loadRobot("so101");
  const robot = kinematic(0, 0, so101);
  const snapshot = new SensorSnapshot(so101.sources);
  snapshot.samples[0]!.record.fill(9);
  robot.observeInto(snapshot, instant(0));
  const { record, payload } = snapshot.samples[0]!;
  expect([...record.subarray(0, SampleSlot.payload)]).toEqual([0, 0, 0, 0, 1, 0, 0b111111, 0]);
  expect([...payload.subarray(0, 6)]).toEqual(so101.joints.map((joint) => joint.homeRad));
});

test("a lag closes the same share of the way in each period", () => {
  const robot = kinematic(0, 60);
  observe(robot, 0);
  robot.activate(instant(0));
  const positions = [20, 40, 60].map((nowMs) => {
    robot.send(commandOf(1, 1_000));
    return observe(robot, nowMs)?.[3];
  });
  expect(positions).toEqual([0.25, 0.4375, 0.578125]); // a quarter of the rest: 20 / (60 + 20)
});

test("a silent device moves on without telling", () => {
  const robot = kinematic(0, 0);
  observe(robot, 0);
  robot.activate(instant(0));
  robot.isSilent = true;
  robot.send(commandOf(0.5, 100));
  expect(observe(robot, 20)).toBeUndefined();
  robot.isSilent = false;
  expect(observe(robot, 40)).toEqual([40, 40, 2, 0.5, 0, 0]);
});

test("a sample may not be older than a control period", () => {
  expect(() => kinematic(21, 0)).toThrow("a sample is no older than a control period");
});

test("a source of an unknown joint is refused by name", () => {
  const sources = one.sources.map((source) => ({ ...source, joints: ["elbow"] }));
  const expected =
    'Cannot read source "joints" on "document-one", joint "elbow": expected one of joint';
  expect(() => kinematic(0, 0, { ...one, sources })).toThrow(expected);
});

test("activation of a closed robot is refused", () => {
  const robot = kinematic(0, 0);
  robot.close();
  expect(() => robot.activate(instant(0))).toThrow(HalError);
});

function signal(stampDelayMs: number, failAtMs: number): SignalRobot {
  return new SignalRobot(one, one.sources, {
    signal: sin,
    stampDelayNs: duration(stampDelayMs * MS),
    failAtNs: instant(failAtMs * MS),
  });
}

test("a signal is sampled now, whatever was commanded", () => {
  const robot = signal(0, Infinity);
  robot.activate(instant(0));
  robot.send(commandOf(9, 1_000));
  expect(observe(robot, 0)).toEqual([0, 0, 1, 0, 0, 0]);
  expect(observe(robot, 500)).toEqual([500, 500, 2, sin(0.5), 0, 0]);
  expect(robot.sentCommands).toBe(1);
});

test("the velocity of a signal is its derivative", () => {
  const sources = one.sources.map((source) => ({ ...source, measuresVelocity: true }));
  const robot = new SignalRobot(one, sources, {
    signal: sin,
    stampDelayNs: duration(0),
    failAtNs: instant(Infinity),
  });
  const velocity = observe(robot, 700, new SensorSnapshot(sources))?.[4] ?? Number.NaN;
  expect(Math.abs(velocity - Math.cos(0.7))).toBeLessThan(1e-9);
});

test("a delayed sensor brings the value of now with an older stamp", () => {
  expect(observe(signal(200, Infinity), 500)).toEqual([300, 500, 1, sin(0.5), 0, 0]);
});

test("a sensor that dies repeats its last sample: value, stamp and sequence id stay", () => {
  const robot = signal(0, 100);
  observe(robot, 80);
  expect(observe(robot, 100)).toEqual([100, 100, 2, sin(0.1), 0, 0]);
  expect(observe(robot, 120)).toEqual([100, 120, 2, sin(0.1), 0, 0]);
  expect(observe(robot, 900)).toEqual([100, 900, 2, sin(0.1), 0, 0]);
});
