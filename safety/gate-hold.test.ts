// Tests of what the gate does when it may not move: it knows where the robot is, coasts or brakes,
// holds, and goes on from there on a re-arm. Numbers are worked out by hand from the fixture.

import { expect, test } from "bun:test";
import { CommandKind, RepairBit } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { GateBench, gateBench } from "./gate-bench.ts";

test("before the gate has seen the robot there is no command to hold", () => {
  for (const reason of [Reason.StaleState, Reason.StampInFuture, Reason.LowQuality]) {
    const one = gateBench().measure(0.5);
    expect(one.hold(reason)).toEqual([0]);
    expect([one.kind, one.gate.seeded]).toEqual([CommandKind.None, false]);
  }
  const old = gateBench().measure(0.5);
  old.tick = 3; // 15 ms later the state is stale, though a stop hides that
  old.hold(Reason.Stop);
  expect([old.kind, old.gate.seeded]).toEqual([CommandKind.None, false]);
  const lost = gateBench().measure(Number.NaN);
  lost.hold(Reason.NoAction);
  expect([lost.kind, lost.gate.seeded]).toEqual([CommandKind.None, false]);
});

test("the first fresh state seeds the hold, also while a stop is asked for", () => {
  for (const reason of [Reason.NoAction, Reason.Stop, Reason.NotFinite]) {
    const one = gateBench().measure(0.5);
    expect(one.hold(reason)).toEqual([0.5]);
    expect([one.kind, one.gate.seeded, one.gate.atRest]).toEqual([CommandKind.Hold, true, true]);
  }
});

test("hold repeats the command and never follows gravity: a servo may droop, and droop on", () => {
  const one = gateBench().measure(1);
  one.hold();
  for (let tick = 0; tick < 12_000; tick += 1) {
    one.measure(1 - 0.06 - (tick % 100) * 1e-4); // sags, and swings a little
    expect(one.hold(tick % 2 === 0 ? Reason.NoAction : Reason.StaleState)).toEqual([1]);
    expect(one.gate.watch(one.state, Reason.NoAction)).toBe(0);
  }
});

test("hold brakes first: from full speed within stop limits, on past where it was asked", () => {
  const one = gateBench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  const from = one.gate.command[0]!;
  const at: number[] = [];
  while (!one.gate.atRest) at.push(one.hold(Reason.StaleState)[0]!);
  // 2.925, 2.775 … 0.075 rad/s: 15 rad/s2 in the first tick and the last, 30 between; then rest.
  expect(at[19]! - from).toBeCloseTo(((20 * (2.925 + 0.075)) / 2) * 0.005, 9);
  expect(at.at(-1)! - at[19]!).toBeCloseTo(0, 9);
  expect(at.length).toBeLessThanOrEqual(23);
  expect(one.hold(Reason.StaleState)[0]).toBe(at.at(-1)!);
});

test("a gap may coast for its ticks: slower each tick, shown, and then it brakes", () => {
  const supervisor = { ...testProfile().supervisor, startsIn: "Running" as const, coastTicks: 3 };
  const joint = testJoint({ leadNs: milliseconds(500) });
  const one = new GateBench([joint, joint], { supervisor }).measure(0, 0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(...one.move(1.8, 0.9));
  const speeds: number[] = [];
  const bits: number[] = [];
  let last = [...one.gate.command];
  for (let tick = 0; tick < 4; tick += 1) {
    const now = one.hold();
    const [first, second] = now.map((rad, index) => (rad - last[index]!) / 0.005);
    speeds.push(first!);
    bits.push(one.repairs);
    if (tick < 3) expect(second! * 2).toBeCloseTo(first!, 9); // the path keeps its direction
    last = now;
  }
  // 15 rad/s2 while it coasts, 30 rad/s2 afterwards.
  expect(speeds).toEqual([2.925, 2.85, 2.775, 2.625].map((speed) => expect.closeTo(speed, 9)));
  expect(bits).toEqual([RepairBit.Coast, RepairBit.Coast, RepairBit.Coast, 0]);
  expect(one.gate.repairCounts[7]).toBe(3);
});

test("only a missing decision coasts, only in motion, and each gap anew", () => {
  const supervisor = { ...testProfile().supervisor, startsIn: "Running" as const, coastTicks: 2 };
  const one = new GateBench([testJoint({ leadNs: milliseconds(500) })], { supervisor }).measure(0);
  const run = () => {
    for (let tick = 0; tick < 30; tick += 1) one.measure(one.move(1.8)[0]!);
  };
  const bit = (reason: Reason) => {
    one.hold(reason);
    return one.repairs;
  };
  expect(bit(Reason.NoAction)).toBe(0); // nothing moves yet
  run();
  expect([bit(Reason.StaleState), bit(Reason.NoAction)]).toEqual([0, 0]);
  run();
  const seen = [0, 1, 2].map(() => bit(Reason.NoAction));
  expect(seen).toEqual([RepairBit.Coast, RepairBit.Coast, 0]);
  run();
  expect(bit(Reason.NoAction)).toBe(RepairBit.Coast);
  run();
  const { gate, nowNs, state, tick } = one;
  one.spend(gate.approveSafe(state, Reason.NoAction, tick, nowNs, Mode.SafeStop));
  expect(one.repairs).toBe(0);
});

test("a held robot may be moved by hand: no fault, and re-arming takes it as it is", () => {
  const one = gateBench().measure(0.5);
  one.hold();
  for (let tick = 0; tick < 10; tick += 1) {
    one.measure(-0.5);
    expect(one.gate.watch(one.state, Reason.NoAction)).toBe(0);
    one.hold();
  }
  one.gate.rearm(one.state);
  for (let tick = 0; tick < 20; tick += 1) {
    expect(one.move(-0.5)).toEqual([-0.5]);
    expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
  }
});

test("re-arming keeps the held command within droop, and takes measured beyond it", () => {
  const held = (measuredRad: number) => {
    const one = gateBench({ droopRad: 0.125 }).measure(1);
    one.hold();
    one.measure(measuredRad).gate.rearm(one.state);
    return one.hold()[0];
  };
  expect([0.875, 1.125, 0.874, 1.126].map(held)).toEqual([1, 1, 0.874, 1.126]);
});

test("re-arming goes joint by joint: one beyond droop does not make the others sag", () => {
  const one = new GateBench([testJoint(), testJoint()]).measure(1, 1);
  one.hold();
  one.measure(0.95, 0.5).gate.rearm(one.state);
  expect(one.hold()).toEqual([1, 0.5]);
});

test("re-arming while a brake is under way lets the brake go on: nothing jumps", () => {
  const one = gateBench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  const before = one.hold()[0]!;
  const twin = before + 2.775 * 0.005; // the next step of a brake from 3 rad/s
  one.measure(0).gate.rearm(one.state);
  expect(one.hold()[0]).toBeCloseTo(twin, 9);
});

test("without power a command in full motion stands at once where the robot is", () => {
  const one = gateBench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  one.measure(0.4).gate.follow(one.state);
  expect([one.gate.atRest, ...one.hold(), ...one.hold()]).toEqual([true, 0.4, 0.4]);
});

test("re-arming on a position that is no number keeps what is held", () => {
  const one = gateBench().measure(1);
  one.hold();
  one.measure(Number.NaN).gate.rearm(one.state);
  expect(one.hold()).toEqual([1]);
});

test("re-arming before the first command seeds it", () => {
  const one = gateBench().measure(0.25);
  one.gate.rearm(one.state);
  expect([one.gate.seeded, ...one.hold(Reason.StaleState)]).toEqual([true, 0.25]);
});
