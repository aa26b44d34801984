// Whole ways of the chase, without a limiter: against the fewest ticks of any ramp of whole
// changes, found by trying all; with several joints, and with goals that move or turn. In whole
// numbers per tick, so that borders are met exactly.

import { expect, test } from "bun:test";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { Chase } from "./chase.ts";
import type { JointLimits } from "./limits.ts";

const POSITION = 0;
const VELOCITY = 1;

/** Joints of these kinds with the same limits; a stop may change twice as much, twice as fast. */
function limitsOf(strideRad: number, changeRad: number, ...kinds: readonly number[]): JointLimits {
  const each = (rad: number) => Float64Array.from(kinds, () => rad);
  return {
    jointCount: kinds.length,
    isVelocity: Uint8Array.from(kinds),
    strideRadMax: each(strideRad),
    motionChangeRadMax: each(changeRad),
    motionJerkRad: each(1),
    stopChangeRadMax: each(2 * changeRad),
    stopJerkRad: each(2),
  } as unknown as JointLimits;
}

/** Joints that do what the chase says, each from 0 with its stride and change. */
class Ride {
  readonly command: Float64Array;
  readonly strideRad: Float64Array;
  readonly changeRad: Float64Array;
  readonly #chase: Chase;
  readonly #goal: Float64Array;
  readonly #limits: JointLimits;

  constructor(limits: JointLimits, strideRad: readonly number[], changeRad: readonly number[]) {
    this.#limits = limits;
    this.#chase = new Chase(limits);
    this.command = new Float64Array(limits.jointCount);
    this.strideRad = Float64Array.from(strideRad);
    this.changeRad = Float64Array.from(changeRad);
    this.#goal = new Float64Array(limits.jointCount);
  }

  /** One tick towards these goals, which moved by `feedRad`; what the joints changed. */
  step(
    goal: readonly number[],
    feedRad = goal.map(() => 0),
    turnRad = goal.map(() => 0),
  ): number[] {
    const next = new Float64Array(goal.length);
    this.#goal.set(goal);
    this.#chase.stepInto(
      next,
      this.command,
      this.strideRad,
      this.changeRad,
      this.#goal,
      Float64Array.from(feedRad),
      Float64Array.from(turnRad),
    );
    this.changeRad.set(next);
    for (const [joint, change] of next.entries()) {
      this.strideRad[joint]! += change;
      if (this.#limits.isVelocity[joint] === 0) this.command[joint]! += this.strideRad[joint]!;
    }
    return [...next];
  }
}

/** Ticks of the best ramp of whole changes to rest at a goal, none of which passes it. */
function fewestTicks(way: number, stride: number, change: number, strideMax: number, most: number) {
  let states = [[way, stride, change] as const];
  for (let ticks = 1; states.length > 0; ticks += 1) {
    const found = new Map<string, readonly [number, number, number]>();
    for (const [wayLeft, speed, now] of states) {
      for (const next of [now - 1, now, now + 1]) {
        const [faster, left] = [speed + next, wayLeft - speed - next];
        if (left === 0 && faster === 0 && Math.abs(next) <= 1) return ticks;
        const isWithin = Math.abs(next) <= most && Math.abs(faster) <= strideMax && left >= 0;
        if (isWithin) found.set(`${left} ${faster} ${next}`, [left, faster, next]);
      }
    }
    states = [...found.values()];
  }
  return Number.POSITIVE_INFINITY;
}

/** Of a joint that begins so, until it goes with a goal so far ahead, within its limits. */
function ticksOf(way: number, stride: number, change: number, strideMax: number, most: number) {
  const side = Math.sign(way);
  // A goal that goes evenly is one that stands, to whoever goes along.
  const feed = strideMax > 10 ? 7 : 0;
  const limits = limitsOf(strideMax, most, POSITION);
  const ride = new Ride(limits, [side * (stride + feed)], [side * change]);
  let ticks = 0;
  let left = Math.abs(way);
  let speed = stride;
  while (ticks < 100 && (left > 1e-7 || Math.abs(speed) > 1e-7)) {
    const before = ride.changeRad[0]!;
    ticks += 1;
    const [next] = ride.step([way + side * feed * ticks], [side * feed]);
    speed = side * ride.strideRad[0]! - feed;
    left -= speed;
    expect(Math.abs(next! - before)).toBeLessThan(1 + 1e-6);
    expect(Math.abs(next!)).toBeLessThan(most + 1e-6);
    expect(Math.abs(ride.strideRad[0]!)).toBeLessThan(strideMax + 1e-6);
    expect(left).toBeGreaterThan(-1e-7);
  }
  return ticks;
}

test("a way takes no longer than the best of whole changes, and never goes past", () => {
  let ways = 0;
  for (const [strideMax, most] of [
    [100, 4],
    [5, 2],
  ] as const)
    for (const way of [1, 2, 5, 13, 30])
      for (const stride of [-2, 0, 1, 3])
        for (const change of [-2, -1, 0, 1, 2]) {
          const fewest = fewestTicks(way, stride, change, strideMax, most);
          if (fewest === Number.POSITIVE_INFINITY) continue;
          ways += 1;
          for (const side of [1, -1]) {
            expect(ticksOf(side * way, stride, change, strideMax, most)).toBeLessThanOrEqual(
              fewest,
            );
          }
        }
  expect(ways).toBeGreaterThan(150);
});

test("near goals are each joint's own; far ones are shared, from a quarter of a stride on", () => {
  const two = limitsOf(100, 4, POSITION, POSITION);
  const firstOf = (...goal: number[]) => new Ride(two, [0, 0], [0, 0]).step(goal);
  expect(firstOf(25, 10)).toEqual([1, 1]);
  expect(firstOf(-25, 10)).toEqual([-1, 1]);
  expect(firstOf(40, 10)).toEqual([1, 0.25]);
  expect(firstOf(-10, 40)).toEqual([-0.25, 1]);
  expect(firstOf(40, 0)).toEqual([1, 0]);
});

test("a walk goes on near its goals, until they move or are reached", () => {
  const two = limitsOf(100, 4, POSITION, POSITION);
  const walked = () => {
    const ride = new Ride(two, [0, 0], [0, 0]);
    ride.step([40, 20]);
    ride.strideRad.fill(0);
    ride.changeRad.fill(0);
    ride.command.fill(0);
    return ride;
  };
  expect(walked().step([20, 10])).toEqual([1, 0.5]);
  // The goals move as far as the joints have to go, and a joint that moves with its goal stays so.
  expect(walked().step([20, 10], [0, 1e-9])).toEqual([1, 1]);
  const arrived = walked();
  arrived.step([0, 0]);
  expect(arrived.step([20, 10])).toEqual([1, 1]);
});

test("a walk gains all that motion allows, to whichever side its goal turns", () => {
  const one = limitsOf(100, 4, POSITION);
  for (const side of [1, -1])
    for (const turn of [3, -3]) {
      const [next] = new Ride(one, [0], [3 * side]).step([4_000 * side], [0], [turn * side]);
      expect(next).toBeCloseTo(4 * side, 9);
    }
});

test("a joint that goes home does not go beyond full speed with its goal", () => {
  const ride = new Ride(limitsOf(100, 4, POSITION), [99.7], [0]);
  expect(ride.step([100.3], [100])[0]).toBeCloseTo(0.3, 6);
  expect(new Ride(limitsOf(100, 4, POSITION), [-99.7], [0]).step([-100.3], [-100])[0]).toBeCloseTo(
    -0.3,
    6,
  );
});

test("whatever goals do, and turn by, no change is beyond the limits of motion", () => {
  const random = new SeededRandom(1);
  const draw = (most: number): number => most * (2 * random.next() - 1);
  for (let round = 0; round < 500; round += 1) {
    const limits = limitsOf(100, 4, POSITION, POSITION, round % 3 === 0 ? VELOCITY : POSITION);
    const ride = new Ride(limits, [draw(40), draw(40), draw(40)], [draw(4), draw(4), draw(4)]);
    const most = random.next() < 0.5 ? 20 : 400;
    const goal = [draw(most), draw(most), draw(most)];
    const feed = round % 2 === 0 ? [0, 0, 0] : [draw(40), draw(40), draw(40)];
    const turn = [draw(3.6), draw(3.6), draw(3.6)];
    for (let tick = 0; tick < 30; tick += 1) {
      const before = [...ride.changeRad];
      for (const joint of [0, 1, 2])
        if (limits.isVelocity[joint] === 0) goal[joint]! += feed[joint]!;
      for (const [joint, next] of ride.step(goal, feed, turn).entries()) {
        expect(Math.abs(next)).toBeLessThan(4 + 1e-6);
        expect(Math.abs(next - before[joint]!)).toBeLessThan(1 + 1e-6);
        expect(Math.abs(ride.strideRad[joint]!)).toBeLessThan(100 + 1e-6);
      }
    }
  }
});
