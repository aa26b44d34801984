// Tests of the gate around letting go: the command follows a robot that has, a decision or a start
// takes hold again, a safe action moves at reduced tool speed, which samples count meanwhile, and
// what a wheel was told before.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { SafeActionKind } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { freeLimits, GateBench } from "./gate-bench.ts";

/** One tick in SAFE_STOP; the command's value. */
function stopped(one: GateBench): number {
  const { gate, state, tick, nowNs } = one;
  return one.spend(gate.approveSafe(state, Reason.Stop, tick, nowNs, Mode.SafeStop))[0]!;
}

const actions = (stop: SafeActionKind) => ({
  safeActions: { degraded: "hold" as const, stop, latch: "hold" as const },
});

/** A robot that has let go where it stood, at 0.5 rad. */
function released(): GateBench {
  const one = new GateBench([testJoint(freeLimits)], actions("zero_torque")).measure(0.5);
  one.move(0.5);
  for (let tick = 0; tick < 3; tick += 1) stopped(one);
  expect(one.kind).toBe(CommandKind.ZeroTorque);
  return one;
}

test("the command of a robot that has let go is where it is", () => {
  const one = released();
  for (const rad of [0.4, -0.3]) expect(stopped(one.measure(rad))).toBe(rad);
});

test("a start takes hold where the robot is, and holds it there", () => {
  const one = released().measure(-0.3);
  one.gate.rearm(one.state);
  expect([...one.hold(), one.kind]).toEqual([-0.3, CommandKind.Hold]);
  expect(one.measure(-0.31).hold()).toEqual([-0.3]);
});

test("a decision after letting go begins where the robot is, and goes on from its command", () => {
  const one = released().measure(0.4);
  expect(one.move(0.41)[0]).toBeCloseTo(0.41, 12);
  // Held again: not begun anew at what is measured.
  expect(one.measure(0.4).hold()[0]).toBeCloseTo(0.41, 12);
});

test("a safe action that moves keeps the tool's reduced speed", () => {
  // A metre from the joint the tool makes a metre per second of a radian per second.
  const wide = { positionRadMin: -9, positionRadMax: 9, homeRad: 5 };
  const profile = { toolM: [1, 0, 0] as const, ...actions("return_home") };
  const one = new GateBench([testJoint(wide)], profile).measure(0);
  one.move(0);
  let most = 0;
  for (let tick = 0; tick < 400; tick += 1) {
    const before = one.gate.command[0]!;
    most = Math.max(most, stopped(one.measure(before)) - before);
  }
  expect(one.kind).toBe(CommandKind.ReturnHome);
  expect(most / 0.005).toBeGreaterThan(0.2);
  expect(most / 0.005).toBeLessThanOrEqual(0.25);
});

test("samples count for where the robot is in every tick that sees, and in no other", () => {
  const seededBy = (reason: Reason): boolean => {
    const one = new GateBench([testJoint()], { supervisor: testProfile().supervisor });
    for (let sample = 0; sample < 3; sample += 1) {
      one.measure(0.5).gate.watch(one.state, reason);
      one.tick += 1;
    }
    one.gate.follow(one.state);
    return one.gate.seeded;
  };
  expect([Reason.NoAction, Reason.Stop].map(seededBy)).toEqual([true, true]);
  const blind = [Reason.StaleState, Reason.StampInFuture, Reason.LowQuality];
  expect(blind.map(seededBy)).toEqual([false, false, false]);
});

test.each(["hold", "zero_torque"] as const)(
  "what a wheel was told before %s is on its way no more: pushed to a wall, it turns back at once",
  (stop) => {
    const one = new GateBench([testJoint({ command: "velocity" })], actions(stop)).measure(0);
    let rad = 0;
    const obey = (velocityRadPerS: number): void => {
      rad += velocityRadPerS * 0.005;
      one.measure(rad);
    };
    for (let tick = 0; tick < 40; tick += 1) obey(one.move(3)[0]!);
    // It stops in 23 ticks, and 12 more are the 60 ms of its lead.
    for (let tick = 0; tick < 60; tick += 1) obey(stopped(one));
    one.measure(1.99).gate.rearm(one.state);
    const first = one.move(-1)[0]!;
    expect([one.kind, one.gate.watch(one.state, Reason.Ok)]).toEqual([CommandKind.Motion, 0]);
    expect(first).toBeLessThan(0);
  },
);
