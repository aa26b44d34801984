// Where a command may begin: only where several samples agree that the robot is. A bad sample, or a
// sensor that says something else each time, never becomes a command.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import { GateBench } from "./gate-bench.ts";
import { JointLimits } from "./limits.ts";
import { PoseCheck } from "./pose-check.ts";
import { StateSlot } from "../runtime/contracts/state.ts";

const joint = testJoint({
  positionRadMin: -1,
  positionRadMax: 1,
  velocityRadPerSMax: 3,
  droopRad: 0.08,
});
const wheel = testJoint({ command: "velocity", positionRadMin: -1, positionRadMax: 1 });
const supervisor = testProfile([joint]).supervisor;

/** Whether the pose is trusted after each of these samples, 5 ms apart. */
function verdicts(samplesRad: readonly number[], of = joint): boolean[] {
  const profile = testProfile([of]);
  const check = new PoseCheck(profile, new JointLimits(profile));
  const state = testState(profile, [0]);
  return samplesRad.map((rad, index) => {
    state.positionRad[0] = rad;
    state.record[StateSlot.stampNs] = index * 5e6;
    check.observe(state);
    check.observe(state);
    return check.trusted;
  });
}

test("three samples that agree are believed, and one that jumps begins anew", () => {
  expect(verdicts([0.5, 0.5, 0.5, 0.51])).toEqual([false, false, true, true]);
  const jumped = verdicts([0.5, 0.5, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5]);
  expect(jumped).toEqual([false, false, true, false, false, false, true, true]);
});

test("a joint may move as fast as it can, and a quarter more, between samples", () => {
  const step = 1.25 * 3 * 0.005 + 0.02;
  expect(verdicts([0, step - 1e-9, 2 * step - 2e-9]).at(-1)).toBe(true);
  expect(verdicts([0, step + 1e-6, 2 * step]).at(-1)).toBe(false);
});

test("the way between two samples counts from the one to the other, however late it is", () => {
  const far = 1.25 * 3 * 0.015 + 0.02; // as far as in three periods
  expect(verdicts([0, 0, 0, 0, far]).at(-1)).toBe(false);
});

test("a wheel may stand anywhere", () => {
  expect(verdicts([50, 50, 50], wheel).at(-1)).toBe(true);
});

test("a pose outside the joint's range by more than droop, or no number, is never believed", () => {
  expect(verdicts([1.09, 1.09, 1.09]).at(-1)).toBe(true);
  expect(verdicts([1.11, 1.11, 1.11, 1.11]).at(-1)).toBe(false);
  expect(verdicts([-1.11, -1.11, -1.11, -1.11]).at(-1)).toBe(false);
  expect(verdicts([Number.NaN, Number.NaN, Number.NaN]).at(-1)).toBe(false);
});

test("a joint's range and its reach are believed up to their very edge, and no further", () => {
  const slack = 0.08 + 0.02;
  for (const edge of [1 + slack, -1 - slack]) {
    expect(verdicts([edge, edge, edge]).at(-1)).toBe(true);
    const outside = edge * (1 + 1e-9);
    expect(verdicts([outside, outside, outside]).at(-1)).toBe(false);
  }
  const step = 1.25 * 3 * 0.005 + 0.02;
  expect(verdicts([0, step, step]).at(-1)).toBe(true);
});

test.each([joint, wheel])(
  "no pose is trusted before there was one, nor one that is no number",
  (of) => {
    const profile = testProfile([of], { supervisor: { ...supervisor, startsIn: "Running" } });
    const check = new PoseCheck(profile, new JointLimits(profile));
    expect(check.trusted).toBe(false);
    const state = testState(profile, [0]);
    for (const [index, rad] of [Number.NaN, Infinity, -Infinity].entries()) {
      state.positionRad[0] = rad;
      state.record[StateSlot.stampNs] = 1 + index;
      check.observe(state);
      expect([rad, check.trusted]).toEqual([rad, false]);
    }
  },
);

test("a gate that begins in STARTING holds nothing until the samples agree", () => {
  const bench = new GateBench([joint], { supervisor });
  const held: number[] = [];
  for (const rad of [0.9, -0.4, 0.3, 0.3, 0.3, 0.3]) {
    bench.measure(rad).hold();
    held.push(bench.kind);
  }
  const { None, Hold } = CommandKind;
  expect(held).toEqual([None, None, None, None, Hold, Hold]);
  expect([...bench.gate.command]).toEqual([0.3]);
});

test("noise beyond anything true never becomes a command, and a decision is low quality", () => {
  const bench = new GateBench([joint], { supervisor });
  for (let tick = 0; tick < 200; tick += 1) {
    bench.measure(((tick * 7_919) % 401) / 2 - 100);
    expect(bench.takeOver(0.1).judge()).toBe(Reason.LowQuality);
    bench.hold();
    expect(bench.kind).toBe(CommandKind.None);
  }
});

test("a re-arm never begins where no robot can be: what was held is kept", () => {
  const bench = new GateBench([joint], { supervisor });
  for (let tick = 0; tick < 5; tick += 1) bench.measure(0.3).hold();
  bench.measure(7).gate.rearm(bench.state);
  expect(bench.hold()).toEqual([0.3]);
  bench.measure(-0.5).gate.rearm(bench.state);
  expect(bench.hold()).toEqual([0.3]);
  expect(bench.measure(-0.5).hold()).toEqual([0.3]);
  expect(bench.measure(-0.5).hold()).toEqual([-0.5]);
});

test("one wrong reading in the tick of a re-arm is no command: the start waits for three", () => {
  const bench = new GateBench([joint], { supervisor });
  for (let tick = 0; tick < 5; tick += 1) bench.measure(0.3).hold();
  bench.measure(-0.4).gate.rearm(bench.state);
  expect(bench.hold()).toEqual([0.3]);
  const seen = [0.3, 0.3, 0.3].map((rad) => {
    const reason = bench.measure(rad).takeOver(0.35).judge();
    return [reason, ...bench.hold(reason)];
  });
  const { LowQuality, Ok } = Reason;
  expect(seen).toEqual([
    [LowQuality, 0.3],
    [LowQuality, 0.3],
    [Ok, 0.3],
  ]);
});

test("a start that waits is forgotten by a stop: what is held stays", () => {
  const bench = new GateBench([joint], { supervisor });
  for (let tick = 0; tick < 5; tick += 1) bench.measure(0.3).hold();
  bench.measure(-0.4).gate.rearm(bench.state);
  const { gate, nowNs, state, tick } = bench;
  bench.spend(gate.approveSafe(state, Reason.Stop, tick, nowNs, Mode.SafeStop));
  for (let ticks = 0; ticks < 5; ticks += 1) expect(bench.measure(-0.4).hold()).toEqual([0.3]);
});
