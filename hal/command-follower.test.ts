// Tests of CommandFollower by hand-worked times: what it follows, when it lets go, what it refuses.
// One position joint and one velocity joint; a step is 2.5 ms.

import { expect, test } from "bun:test";
import {
  CommandKind,
  CommandSlot,
  CommandView,
  commandSlotCount,
} from "../runtime/contracts/command.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { duration, instant, radVec } from "../runtime/contracts/units.ts";
import { CommandFollower } from "./command-follower.ts";

function joint(name: string, command: JointProfile["command"]): JointProfile {
  const limits = { accelerationRadPerS2: 10, jerkRadPerS3: 100 };
  return {
    name,
    command,
    originM: [0, 0, 0],
    originWxyz: [1, 0, 0, 0],
    axis: [0, 0, 1],
    positionRadMin: -1,
    positionRadMax: 1,
    velocityRadPerSMax: 1,
    motion: limits,
    stop: limits,
    effortNmMax: 1,
    leadNs: duration(0),
    droopRad: 0,
    followingErrorRadMax: 1,
    startMismatchRadMax: 1,
    homeRad: 0,
    restRad: 0,
  };
}

const joints = [joint("lift", "position"), joint("wheel", "velocity")];
const MS = 1_000_000;

function command(
  values: readonly number[],
  expiresMs: number,
  kind: number = CommandKind.Motion,
): CommandView {
  const view = new CommandView(new Float64Array(commandSlotCount(2)), 2);
  view.record[CommandSlot.kind] = kind;
  view.record[CommandSlot.expiresNs] = expiresMs * MS;
  view.values.set(values);
  return view;
}

function advance(follower: CommandFollower, fromMs: number, untilMs: number): number[] {
  follower.advance(instant(fromMs * MS), instant(untilMs * MS));
  return [...follower.targetRad];
}

test("a position is taken at once, a velocity is integrated over time", () => {
  const follower = new CommandFollower(joints);
  follower.hold(radVec(Float64Array.of(0.5, 0)));
  expect(advance(follower, 0, 10)).toEqual([0.5, 0]);
  follower.take(command([0.75, 2], 100));
  expect([...follower.targetRad]).toEqual([0.5, 0]); // from the next advance on
  expect(advance(follower, 10, 20)).toEqual([0.75, 0.02]);
  expect(advance(follower, 20, 30)).toEqual([0.75, 0.04]);
  expect(follower.expiredCommands).toBe(0);
});

test("at its expiry, half-open, a command's position stays and its velocity ends", () => {
  const follower = new CommandFollower(joints);
  follower.take(command([0.75, 1], 15));
  expect(advance(follower, 0, 10)).toEqual([0.75, 0.01]);
  expect(advance(follower, 10, 20)).toEqual([0.75, 0.015]); // to 15 ms and no further
  expect(advance(follower, 20, 30)).toEqual([0.75, 0.015]);
  expect(follower.expiredCommands).toBe(1);
});

test("a command that is over when it comes is never followed, and the former goes on", () => {
  const follower = new CommandFollower(joints);
  follower.take(command([0.25, 1], 100));
  advance(follower, 0, 10);
  follower.take(command([0.75, -1], 10));
  expect(advance(follower, 10, 20)).toEqual([0.25, 0.02]);
  expect(follower.expiredCommands).toBe(1);
});

test("a command of kind none changes nothing, not even what came just before", () => {
  const follower = new CommandFollower(joints);
  follower.take(command([0.25, 0], 100));
  follower.take(command([0.75, 0], 100, CommandKind.None));
  expect(advance(follower, 0, 10)).toEqual([0.25, 0]);
});

test("a value that is not finite refuses the whole command, and is counted", () => {
  const follower = new CommandFollower(joints);
  for (const bad of [Number.NaN, Infinity, -Infinity]) {
    follower.take(command([0.75, bad], 100));
    follower.take(command([bad, 1], 100));
  }
  expect(advance(follower, 0, 10)).toEqual([0, 0]);
  const { refusedCommands, expiredCommands } = follower;
  expect({ refusedCommands, expiredCommands }).toEqual({ refusedCommands: 6, expiredCommands: 0 });
});

test("hold makes the present the goal and forgets a waiting and a running command", () => {
  const follower = new CommandFollower(joints);
  follower.take(command([0.25, 1], 100));
  advance(follower, 0, 10);
  follower.take(command([0.75, 1], 100));
  follower.hold(radVec(Float64Array.of(0.1, 0.2)));
  expect(advance(follower, 10, 20)).toEqual([0.1, 0.2]);
});

test("torque is off exactly while the last command followed says so", () => {
  const follower = new CommandFollower(joints);
  const limp: boolean[] = [];
  for (const kind of [CommandKind.Motion, CommandKind.ZeroTorque, CommandKind.Hold]) {
    follower.take(command([0, 0], 1_000, kind));
    advance(follower, 0, 10);
    limp.push(follower.isLimp);
  }
  follower.take(command([0, 0], 1_000, CommandKind.ZeroTorque));
  advance(follower, 10, 20);
  follower.hold(radVec(new Float64Array(2)));
  expect([...limp, follower.isLimp]).toEqual([false, true, false, false]);
});
