// Tests of what only measurements show: overspeed and overload, counted in samples. The following
// error is tested through the gate, beside the commands it is measured against.

import { expect, test } from "bun:test";
import { StateSlot } from "../runtime/contracts/state.ts";
import { commandVec } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import { RobotWatch } from "./robot-watch.ts";

/** Two joints of 3 rad/s and 3 Nm; each call of `see` is a new sample. */
function watched() {
  const profile = testProfile([testJoint(), testJoint()]);
  const watch = new RobotWatch(profile);
  const state = testState(profile, [0, 0]);
  watch.begin(commandVec(new Float64Array(2)));
  let stampNs = 0;
  return {
    watch,
    state,
    see(velocityRadPerS: number, effortNm = 0, joint = 0): number {
      stampNs += 5_000_000;
      state.record[StateSlot.stampNs] = stampNs;
      state.velocityRadPerS[joint] = velocityRadPerS;
      state.effortNm[joint] = effortNm;
      return watch.judge(state, true);
    },
  };
}
const overspeed = 1 << Fault.Overspeed;
const overload = 1 << Fault.Overload;

test("a joint over 1.25 of its speed for three filtered samples is a fault, either way", () => {
  for (const side of [1, -1]) {
    const { see } = watched();
    // Filtered by quarters: 2, 3.5, 4.6, 5.5, 6.1, 6.6; over 3.75 from the third on.
    const seen = [8, 8, 8, 8, 8, 8].map((speed) => see(side * speed));
    expect(seen).toEqual([0, 0, 0, 0, overspeed, overspeed]);
    see(0);
    see(0);
    expect(see(0)).toBe(0);
  }
});

test("one odd reading, or full speed and a little more, is none", () => {
  const { see } = watched();
  const speeds = [3, 3, 5, 3, 3, 3.7, 3.74, 3.75, 3.75, 3.75, 3.75, 3.75];
  expect(speeds.map((speed) => see(speed))).toEqual(speeds.map(() => 0));
});

test("exactly at its limits a joint breaks none", () => {
  const { see } = watched();
  // Filtered by quarters: 3.75 from the first sample on.
  const speeds = [4 * 3.75, 3.75, 3.75, 3.75, 3.75];
  expect(speeds.map((speed) => see(speed, 3 * (1 + 1e-6)))).toEqual([0, 0, 0, 0, 0]);
});

test("velocities that nobody measured are no speed", () => {
  const { see } = watched();
  for (let sample = 0; sample < 10; sample += 1) expect(see(Number.NaN, Number.NaN)).toBe(0);
  expect([8, 8, 8, 8, 8].map((speed) => see(speed)).at(-1)).toBe(overspeed);
});

test("effort over its limit for three samples is a fault; at the limit or once it is none", () => {
  const { see } = watched();
  const efforts = [3, -3, 3, 3.1, 3.1, 3, 3.1, -3.1, 3.1, 3.1, 0];
  const faults = [0, 0, 0, 0, 0, 0, 0, 0, overload, overload, 0];
  expect(efforts.map((effort) => see(0, effort))).toEqual(faults);
});

test("each joint counts for itself", () => {
  const { see } = watched();
  expect([see(0, 4), see(0, 4), see(0, 0), see(0, 4, 1), see(0, 4, 1)]).toEqual([0, 0, 0, 0, 0]);
  expect(see(0, 4, 1)).toBe(overload);
});

test("a state that comes twice counts once, and a fault stays until the next sample", () => {
  const { see, state, watch } = watched();
  see(0, 4);
  see(0, 4);
  for (let tick = 0; tick < 5; tick += 1) expect(watch.judge(state, true)).toBe(0);
  expect(see(0, 4)).toBe(overload);
  expect([watch.judge(state, true), watch.judge(state, false)]).toEqual([overload, overload]);
});

test("a following error needs at least one tick, and one value per joint", () => {
  const gate = { startMismatch: "refuse", followingErrorTicks: 0 } as const;
  expect(() => new RobotWatch(testProfile([testJoint()], { gate }))).toThrow("from one tick");
  const { watch } = watched();
  expect(() => watch.remember(commandVec(new Float64Array(1)))).toThrow("one command per joint");
  const other = testState(testProfile([testJoint()]), [0]);
  expect(() => watch.judge(other, true)).toThrow("one measured position per joint");
});
