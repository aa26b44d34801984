// Tests of the gate: what it refuses and in which order, what it mints, and what our own mistakes
// cost. Each expected number is worked out by hand from the fixture's limits.

import { expect, test } from "bun:test";
import { CommandKind, RepairBit } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { GateBench, freeLimits, gateBench } from "./gate-bench.ts";
import { SafetyGate } from "./gate.ts";

/** The fixture of the document: 50 Hz, 5 rad/s, lead of one period, no droop. */
function documentOne(): GateBench {
  const rates = { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 };
  const joint = testJoint({
    positionRadMin: -100,
    positionRadMax: 100,
    velocityRadPerSMax: 5,
    motion: rates,
    stop: rates,
    leadNs: milliseconds(20),
    droopRad: 0,
    followingErrorRadMax: 10,
    startMismatchRadMax: 10,
  });
  return new GateBench([joint], { controlHz: 50, periodNs: milliseconds(20) });
}

test("the document's numbers: 0.70 to 0.80, and 0.85 when the robot has only reached 0.75", () => {
  const document = documentOne().measure(0.7);
  expect(document.move(5)[0]).toBeCloseTo(0.8, 12);
  expect(document.measure(0.75).move(5)[0]).toBeCloseTo(0.85, 12);
});

test("what is wrong is refused, in order: state, schema, width, number, start", () => {
  const { gate, action, state } = gateBench().measure(0).takeOver(1);
  const judge = () => gate.judge(action, state);
  expect(judge()).toBe(Reason.StartMismatch);
  action.values[0] = Number.NaN;
  expect(judge()).toBe(Reason.NotFinite);
  action.width = 2;
  expect(judge()).toBe(Reason.WidthMismatch);
  action.schemaFingerprint = 1;
  expect(judge()).toBe(Reason.SchemaMismatch);
  state.positionRad[0] = Number.NaN;
  expect(judge()).toBe(Reason.LowQuality);
});

test("no value that is no number passes, wherever it stands", () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    for (const joint of [0, 1, 2]) {
      const arm = new GateBench([testJoint(), testJoint(), testJoint()]).measure(0, 0, 0);
      arm.action.values[joint] = bad;
      expect(arm.judge()).toBe(Reason.NotFinite);
      arm.ask(0, 0, 0).state.positionRad[joint] = bad;
      expect(arm.judge()).toBe(Reason.LowQuality);
    }
  }
  const odd = gateBench(freeLimits).measure(0);
  for (const value of [-0, 5e-324, 1e308, -1e308]) expect(odd.ask(value).judge()).toBe(Reason.Ok);
});

test("a motion command says all that a driver and a record need", () => {
  const one = gateBench(freeLimits).measure(0.01);
  one.hold(Reason.NotFinite);
  Object.assign(one.action, { epoch: 3, seq: 7, row: 2 });
  one.tick = 4;
  one.measure(0.01).ask(0.02);
  expect(one.judge()).toBe(Reason.Ok);
  const { action, gate, nowNs, state, tick } = one;
  const { record } = gate.approveMotion(action, state, tick, nowNs, Mode.Degraded);
  //        tick, stamp, expires, kind, epoch, seq, row, reason, mode, repairs, state stamp
  const head = [4, 20e6, 35e6, CommandKind.Motion, 3, 7, 2, Reason.Ok, Mode.Degraded, 0, 20e6];
  expect([...record]).toEqual([...head, 0, 0, 0, 0, 0, 0.02]);
});

test("a safe command says its reason and names no decision", () => {
  const one = gateBench().measure(0.5);
  Object.assign(one.action, { epoch: 3, seq: 7, row: 2 });
  one.move(0.5);
  one.state.record[StateSlot.epoch] = 9;
  one.tick = 2;
  const { gate, nowNs, state, tick } = one;
  const { record } = gate.approveSafe(state, Reason.NoAction, tick, nowNs, Mode.SafeStop);
  const head = [2, 10e6, 25e6, CommandKind.Hold, 9, 0, 0, Reason.NoAction, Mode.SafeStop, 0, 0];
  expect([...record]).toEqual([...head, 0, 0, 0, 0, 0, 0.5]);
});

test("the first motion starts from the measured position, at rest", () => {
  const one = gateBench().measure(0.5);
  expect(one.move(0.6)[0]).toBeCloseTo(0.5 + 600 * 0.005 ** 3, 12);
  expect([one.kind, one.gate.seeded, one.gate.atRest]).toEqual([CommandKind.Motion, true, false]);
});

test("in motion a drooping servo keeps its command too: lead leaves room for the droop", () => {
  const one = gateBench().measure(1);
  for (let tick = 0; tick < 2_000; tick += 1) {
    expect(one.move(1)).toEqual([1]);
    expect([one.repairs, one.gate.watch(one.state, Reason.Ok)]).toEqual([0, 0]);
    one.measure(1 - 0.079);
  }
});

test("repairs are counted by tick, in the order of their names", () => {
  const one = gateBench().measure(0);
  one.move(0); // nothing
  one.move(0.001); // a corner that is rounded by less than a milliradian
  one.move(1); // velocity, acceleration, jerk, lead
  one.move(3); // position, velocity, acceleration, jerk, lead
  one.hold();
  expect([...one.gate.repairCounts]).toEqual([1, 2, 2, 2, 2, 0, 0, 0, 1]);
});

test("a chunk that starts far from the last command is refused in the tick it takes over", () => {
  const one = gateBench(freeLimits).measure(0);
  one.move(1);
  one.measure(0.5); // lags behind its command
  expect(one.takeOver(1.29).judge()).toBe(Reason.Ok);
  expect(one.takeOver(1.31).judge()).toBe(Reason.StartMismatch);
  expect(one.takeOver(0.69).judge()).toBe(Reason.StartMismatch);
  expect(one.ask(1.31).judge()).toBe(Reason.Ok);
});

test("a chunk may start exactly at the limit of the mismatch", () => {
  const one = gateBench({ ...freeLimits, startMismatchRadMax: 0.25 }).measure(0);
  expect([0.25, -0.25, 0.250_001].map((value) => one.takeOver(value).judge())).toEqual([
    Reason.Ok,
    Reason.Ok,
    Reason.StartMismatch,
  ]);
});

test("at rest after a gap or a start, the robot itself is what a chunk must start near", () => {
  const one = gateBench(freeLimits).measure(0);
  one.move(1);
  one.hold();
  expect(one.gate.atRest).toBe(false); // it stands, and the brake still has to ease off
  one.hold();
  expect(one.gate.atRest).toBe(true);
  one.measure(0.5);
  expect(one.takeOver(0.79).judge()).toBe(Reason.Ok);
  expect(one.takeOver(0.81).judge()).toBe(Reason.StartMismatch);
  const unseeded = gateBench().measure(0.5);
  expect(unseeded.takeOver(0.81).judge()).toBe(Reason.StartMismatch);
  expect(unseeded.takeOver(0.79).judge()).toBe(Reason.Ok);
});

test("a brake still under way judges a takeover by the command, not by a robot that lags", () => {
  const one = gateBench().measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]! - 0.12);
  one.hold();
  const command = one.gate.command[0]!;
  expect(one.takeOver(command + 0.29).judge()).toBe(Reason.Ok);
  expect(one.takeOver(command - 0.31).judge()).toBe(Reason.StartMismatch);
});

test("the ramp rule walks from the mismatch within the limits, and says so until the end", () => {
  const one = new GateBench([testJoint()], {
    gate: { startMismatch: "ramp", followingErrorTicks: 3 },
  });
  one.measure(0);
  expect(one.takeOver(1).judge()).toBe(Reason.Ok);
  const ticks: number[] = [];
  for (let tick = 0; one.gate.command[0] !== 1; tick += 1) {
    one.measure(one.move(1)[0]!);
    // `move` judges again, without a takeover: the ramp goes on.
    if ((one.repairs & RepairBit.StartRamp) !== 0) ticks.push(tick);
  }
  expect(ticks).toEqual(ticks.map((_, index) => index));
  expect(ticks.length).toBe(one.tick);
  one.move(1);
  expect(one.repairs).toBe(0);
});

test("a safe action ends a ramp", () => {
  const one = new GateBench([testJoint()], {
    gate: { startMismatch: "ramp", followingErrorTicks: 3 },
  });
  one.measure(0).takeOver(1);
  one.judge();
  one.hold();
  one.move(0.1);
  expect(one.repairs & RepairBit.StartRamp).toBe(0);
});

test("what others write into a command changes neither the next one nor the hold", () => {
  const one = gateBench().measure(0.5);
  one.hold();
  one.gate.command[0] = 2;
  expect(one.hold()).toEqual([0.5]);
});

test("a velocity joint stands still when held, and no start or lag is judged in radians", () => {
  const one = gateBench({ command: "velocity" }).measure(1.5);
  expect(one.hold()).toEqual([0]);
  expect(one.takeOver(3).judge()).toBe(Reason.Ok);
  for (let tick = 0; tick < 20; tick += 1) one.move(0.5);
  expect(one.gate.watch(one.measure(-1.5).state, Reason.Ok)).toBe(0);
  expect(one.gate.command[0]).toBe(0.5);
  while (!one.gate.atRest) one.hold();
  one.measure(1).gate.rearm(one.state);
  expect(one.hold()).toEqual([0]);
});

test("our own mistakes end the thread", () => {
  const one = gateBench().measure(0);
  const approve = () =>
    one.gate.approveMotion(one.action, one.state, one.tick, one.nowNs, Mode.Running);
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.move(0);
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.ask(Number.NaN).judge();
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.ask(0).judge();
  one.hold();
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.tick -= 1;
  expect(() => one.hold()).toThrow("one approval per tick, in order");
  expect(() => new SafetyGate(testProfile(), 0.5)).toThrow("the schema fingerprint");
  const hasty = testProfile([testJoint()], {
    gate: { startMismatch: "refuse", followingErrorTicks: 0 },
  });
  expect(() => new SafetyGate(hasty, 1)).toThrow("a following error is counted from one tick");
  const other = new GateBench([testJoint(), testJoint()]);
  expect(() => one.gate.judge(one.action, other.state)).toThrow("one measured position per joint");
  expect(() => one.gate.watch(other.state, Reason.Ok)).toThrow("one measured position per joint");
  expect(() => one.gate.rearm(other.state)).toThrow("one measured position per joint");
});

test("the tool keeps its reduced speed while it is told to, and only then", () => {
  // A metre from the joint the tool makes a metre per second of a radian per second.
  const profile = { toolM: [1, 0, 0] as const };
  const wide = { positionRadMin: -50, positionRadMax: 50, velocityRadPerSMax: 1 };
  const one = new GateBench([testJoint(wide)], profile).measure(0);
  const fastestMPerS = (): number => {
    let most = 0;
    for (let tick = 0; tick < 200; tick += 1) {
      const before = one.gate.command[0]!;
      most = Math.max(most, one.measure(before).move(40)[0]! - before);
    }
    return most / 0.005;
  };
  expect(fastestMPerS()).toBeCloseTo(1, 6);
  one.gate.reduceSpeed(true);
  fastestMPerS();
  expect(fastestMPerS()).toBeLessThanOrEqual(0.25);
  one.gate.reduceSpeed(false);
  expect(fastestMPerS()).toBeCloseTo(1, 6);
});
