// How much goals turn, told from their strides: against the second derivative of what they follow,
// with rows that are joined by straight lines, rows that do not divide evenly, and leaps between.

import { expect, test } from "bun:test";
import { GoalTurn } from "./goal-turn.ts";
import { JointLimits } from "./limits.ts";
import { testJoint, testProfile } from "./fixture.ts";

const DT = 0.005;
const limits = new JointLimits(testProfile([testJoint()]));
const CHANGE_MAX = limits.motionChangeRadMax[0]!;

/** Fed with a goal, tick by tick; what is told of it then, in rad/s2. */
function told(goalAt: (tick: number) => number, ticks: number, turn = new GoalTurn(limits)) {
  const found: number[] = [];
  for (let tick = 1; tick < ticks; tick += 1) {
    turn.see(Float64Array.of(goalAt(tick) - goalAt(tick - 1)));
    found.push(turn.turnRad[0]! / DT ** 2);
  }
  return found;
}

/** A joint that may change by 100 in a tick: whole numbers, so that each border is met exactly. */
const whole = { jointCount: 1, motionChangeRadMax: Float64Array.of(100) };

/** What is told after each of these strides. */
function toldOf(...strides: readonly number[]): number[] {
  const turn = new GoalTurn(whole as unknown as JointLimits);
  return strides.map((stride) => {
    turn.see(Float64Array.of(stride));
    return turn.turnRad[0]!;
  });
}

/** Straight lines between values at every `rowTicks`. */
const rows = (at: (timeS: number) => number, rowTicks: number) => (tick: number) => {
  const row = Math.floor(tick / rowTicks);
  const from = at(row * rowTicks * DT);
  return from + (at((row + 1) * rowTicks * DT) - from) * (tick / rowTicks - row);
};

const ACCELERATION = 6;
const bend = (timeS: number): number => (ACCELERATION / 2) * timeS ** 2;

test.each([1, 2, 4, 10])(
  "a goal that turns evenly, rows of %d ticks, is told as it turns",
  (each) => {
    const found = told(rows(bend, each), 100).slice(3 * each + 12);
    for (const value of found) expect(Math.abs(value - ACCELERATION)).toBeLessThan(1e-6);
  },
);

test("a quick swing is told with the lag of a row and a half", () => {
  const swing = (timeS: number): number => 0.05 * Math.sin(10.5 * timeS);
  const found = told(rows(swing, 4), 600);
  const truth = (tick: number): number => -0.05 * 10.5 ** 2 * Math.sin(10.5 * (tick - 8) * DT);
  for (let tick = 60; tick < found.length; tick += 1) {
    expect(Math.abs(found[tick]! - truth(tick))).toBeLessThan(0.3 * 0.05 * 10.5 ** 2);
  }
});

test("a leap by a hair, as where two chunks meet, is no turn", () => {
  const plain = told(rows(bend, 4), 60);
  const leaps = told((tick) => rows(bend, 4)(tick) + (tick >= 39 ? 3e-4 : 0), 60);
  expect(Math.max(...leaps.map((value, at) => Math.abs(value - plain[at]!)))).toBeLessThan(1e-6);
});

test("what goes straight on, or turns as no joint could, turns by nothing", () => {
  expect(told((tick) => 0.01 * tick, 60).at(-1)).toBe(0);
  const corner = told((tick) => (tick < 20 ? 0.01 * tick : 0.2), 60);
  expect(corner.at(-1)).toBe(0);
  expect(Math.max(...corner.map(Math.abs)) * DT ** 2).toBeLessThanOrEqual(0.9 * CHANGE_MAX);
});

test("what was forgotten leaves nothing behind", () => {
  const used = new GoalTurn(limits);
  told(rows(bend, 4), 50, used);
  used.forget();
  expect(told(rows(Math.sin, 4), 50, used)).toEqual(told(rows(Math.sin, 4), 50));
});

test("a stride lasts up to 0.3 of what it differs by, and rounding is no corner", () => {
  expect(toldOf(0, 7, 10)).toEqual([0, 0, 10 / 3]);
  expect(toldOf(0, 6.99, 10)).toEqual([0, 0, 0]);
  expect(toldOf(0, 1e-12, 1e-12)).toEqual([0, 0, 0]);
  expect(toldOf(0, 1.001e-12, 1.001e-12)[2]).toBeGreaterThan(0);
});

test("nine tenths of what a joint may change are the most that is told, to the bit", () => {
  expect(toldOf(0, 270, 270)).toEqual([0, 0, 90]);
  expect(toldOf(0, -270, -270)).toEqual([0, 0, -90]);
  expect(toldOf(0, 270.1, 270.1)).toEqual([0, 0, 0]);
});

test("a goal goes straight on once its stride has stayed for thirteen ticks more", () => {
  const turns = toldOf(0, ...Array<number>(15).fill(30));
  // The second of them lasts, and is told for twelve ticks.
  expect(turns).toEqual([0, 0, ...Array<number>(13).fill(10), 0]);
});
