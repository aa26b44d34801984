// Tests of the faults that the gate itself finds: limits that contradict each other, and a robot
// that does not follow. Numbers are worked out by hand from the fixture's limits.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { testJoint } from "./fixture.ts";
import { GateBench, freeLimits, gateBench } from "./gate-bench.ts";

test("limits that contradict each other brake in that tick, and are a fault in the next", () => {
  const wheel = testJoint({ command: "velocity", leadNs: milliseconds(30) });
  const one = new GateBench([wheel]).measure(-50);
  for (let tick = 0; tick < 100; tick += 1) one.move(3);
  expect([one.kind, one.gate.watch(one.state, Reason.Ok)]).toEqual([CommandKind.Motion, 0]);
  one.measure(1.9); // the stop takes 0.15 rad, and the limit is 0.1 rad away
  expect(one.move(3)[0]).toBeCloseTo(3 - 15 * 0.005, 12);
  expect(one.kind).toBe(CommandKind.Brake);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(1 << Fault.GateInfeasible);
  expect(one.gate.watch(one.state, Reason.StaleState)).toBe(1 << Fault.GateInfeasible);
  one.hold();
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
});

test("a following error is judged by the command of lead ago, and a fault after its ticks", () => {
  const one = gateBench({
    ...freeLimits,
    leadNs: milliseconds(15),
    followingErrorRadMax: 0.2,
  }).measure(0);
  const seen: number[] = [];
  for (let tick = 0; tick < 8; tick += 1) {
    seen.push(one.gate.watch(one.state, Reason.Ok));
    one.move(0.3); // the robot stays at 0
  }
  // Moved in tick 0; three ticks ago from tick 3 on; three ticks in a row at tick 5.
  expect(seen).toEqual([0, 0, 0, 0, 0, 1, 1, 1].map((bit) => bit << Fault.FollowingError));
  one.measure(0.11);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
  one.measure(0);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0); // the count begins anew
});

test("a following error at the limit is none, and each joint counts its own ticks", () => {
  const joint = testJoint({ ...freeLimits, leadNs: milliseconds(5), followingErrorRadMax: 0.25 });
  const one = new GateBench([joint, joint]).measure(0, 0);
  one.move(0.25, 0.25);
  const watch = (...positionRad: number[]) =>
    one.measure(...positionRad).gate.watch(one.state, Reason.Ok);
  for (let tick = 0; tick < 5; tick += 1) expect(watch(0, 0)).toBe(0);
  const off = [watch(-0.1, 0), watch(-0.1, 0.6), watch(0, 0.6), watch(-0.1, 0.6)];
  expect(off).toEqual([0, 0, 0, 1 << Fault.FollowingError]);
});

test("each joint is judged by its own lead, against its own commands", () => {
  const joint = { ...freeLimits, followingErrorRadMax: 0.2 };
  const leads = [5, 15, 10].map((ms) => testJoint({ ...joint, leadNs: milliseconds(ms) }));
  const oneTick = { startMismatch: "refuse", followingErrorTicks: 1 } as const;
  for (const moved of [0, 1, 2]) {
    const one = new GateBench(leads, { gate: oneTick }).measure(0.5, 0.5, 0.5);
    const values = [0.5, 0.5, 0.5];
    for (let tick = 0; tick < 3; tick += 1) one.move(...values);
    values[moved] = 0.8;
    const seen = [0, 1, 2, 3].map(() => {
      one.move(...values);
      return one.gate.watch(one.state, Reason.Ok);
    });
    const leadTicks = [1, 3, 2][moved]!;
    const fault = 1 << Fault.FollowingError;
    expect(seen).toEqual([1, 2, 3, 4].map((ago) => (ago >= leadTicks ? fault : 0)));
  }
});

test("ticks of a following error before a hold do not count after it", () => {
  const one = gateBench({
    ...freeLimits,
    leadNs: milliseconds(5),
    followingErrorRadMax: 0.2,
  }).measure(0);
  one.move(0.25);
  const watch = () => one.gate.watch(one.state, Reason.Ok);
  expect([watch(), watch()]).toEqual([0, 0]);
  one.hold();
  one.hold();
  watch();
  one.move(0.25);
  expect([watch(), watch(), watch()]).toEqual([0, 0, 1 << Fault.FollowingError]);
});

test("a blind tick neither counts a following error nor forgets it", () => {
  const one = gateBench({
    ...freeLimits,
    leadNs: milliseconds(5),
    followingErrorRadMax: 0.2,
  }).measure(0);
  one.move(0.25);
  const watch = (reason: Reason) => one.gate.watch(one.state, reason);
  expect([watch(Reason.Ok), watch(Reason.NoAction)]).toEqual([0, 0]);
  const blind = [Reason.StaleState, Reason.StampInFuture, Reason.LowQuality, Reason.Stop];
  expect(blind.map(watch)).toEqual([0, 0, 0, 0]);
  expect(watch(Reason.Ok)).toBe(1 << Fault.FollowingError);
});

test("a robot that jams while the command still brakes is noticed before it stands", () => {
  const one = gateBench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  const jammed = one.gate.command[0]! - 0.15;
  let seen = 0;
  while (!one.gate.atRest) {
    one.measure(jammed);
    seen |= one.gate.watch(one.state, Reason.NoAction);
    one.hold();
  }
  expect(seen).toBe(1 << Fault.FollowingError);
});

test("a stop before the first command says nothing of how fast a robot is pushed about", () => {
  const seen = [Reason.Stop, Reason.NoAction].map((reason) => {
    const one = gateBench();
    one.state.velocityRadPerS[0] = 100;
    return [1, 2, 3, 4].map((tick) => {
      one.tick = tick;
      return one.measure(0).gate.watch(one.state, reason);
    });
  });
  expect(seen).toEqual([
    [0, 0, 0, 0],
    [0, 0, 1 << Fault.Overspeed, 1 << Fault.Overspeed],
  ]);
});

test("a re-arm in place forgets no command of before: the robot is not where they led", () => {
  const joint = testJoint({
    ...freeLimits,
    leadNs: milliseconds(30),
    followingErrorRadMax: 0.05,
  });
  const gate = { startMismatch: "refuse", followingErrorTicks: 1 } as const;
  const one = new GateBench([joint], { gate }).measure(0.3);
  one.move(0.3);
  one.move(0.37);
  one.measure(0.36).hold();
  one.hold();
  one.gate.rearm(one.state);
  one.move(0.37);
  // Six ticks ago it was still told 0.3; from 0.37 it is 0.01 off.
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(1 << Fault.FollowingError);
  for (let tick = 0; tick < 4; tick += 1) one.move(0.37);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
});
