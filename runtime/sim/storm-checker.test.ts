// Tests of the storm's oracle: it must notice each violation, alone, in an otherwise clean run. An
// oracle that cannot fail proves nothing about what it watches.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { CommandKind, CommandSlot, CommandView, commandSlotCount } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import { StormChecker, StormError } from "./storm-checker.ts";
import type { TickTruth } from "./storm-checker.ts";

// 200 Hz, ±2 rad, 3 rad/s, a stop of 30 rad/s²: at most 0.15 rad/s change in a tick.
const robot = testProfile([testJoint()]);
const PERIOD_NS = 5e6;

type Step = {
  readonly rad: number;
  readonly kind?: number;
  readonly mode?: number;
  readonly expiresNs?: number;
  readonly count?: number;
  readonly tick?: number;
  readonly truth?: Partial<TickTruth>;
};

/** Runs these steps, one a tick, and tells what the oracle said of the last. */
function verdict(steps: readonly Step[]): string {
  const checker = new StormChecker(robot);
  for (const [index, step] of steps.entries()) {
    const nowNs = index * PERIOD_NS;
    const { rad, kind = CommandKind.Motion, mode = Mode.Running, count = 1 } = step;
    const command = new CommandView(new Float64Array(commandSlotCount(1)), 1);
    command.record[CommandSlot.tick] = step.tick ?? index;
    command.record[CommandSlot.stampNs] = nowNs;
    command.record[CommandSlot.expiresNs] = step.expiresNs ?? nowNs + 3 * PERIOD_NS;
    command.record[CommandSlot.kind] = kind;
    command.record[CommandSlot.mode] = mode;
    command.values[0] = rad;
    const truth = {
      tick: index,
      nowNs,
      seenNs: Float64Array.of(nowNs),
      isStopped: false,
      isStart: false,
      stoppedTick: -1,
      decidedTick: index,
      positionRad: Float64Array.of(0),
      readingRadMax: 0.02,
      ...step.truth,
    };
    try {
      checker.check(Array<CommandView>(count).fill(command), truth);
    } catch (error) {
      if (!(error instanceof StormError)) throw error;
      return index === steps.length - 1 ? error.message : `too early: ${error.message}`;
    }
  }
  return "";
}

/** Speeds up by 0.15 rad/s a tick from rest at zero, for so many ticks after the first. */
function speedUp(ticks: number): Step[] {
  const steps: Step[] = [{ rad: 0 }];
  for (let tick = 1; tick <= ticks; tick += 1) {
    steps.push({ rad: (0.15 * 0.005 * tick * (tick + 1)) / 2 });
  }
  return steps;
}
const after = (steps: readonly Step[], speed: number): number => steps.at(-1)!.rad + 0.005 * speed;
const fast = speedUp(10); // 1.5 rad/s
const blind = { seenNs: Float64Array.of(-1e9) };
const hold = { kind: CommandKind.Hold };

test("a clean run passes: up to the top speed, on at it, and braked to rest when blind", () => {
  const top = speedUp(20);
  const cruise = Array.from({ length: 5 }, (_, index) => ({ rad: after(top, 3 * (index + 1)) }));
  expect(verdict([...top, ...cruise])).toBe("");
  const braked: Step[] = [];
  let rad = fast.at(-1)!.rad;
  for (let speed = 1.35; speed > 1e-9; speed -= 0.15) {
    rad += 0.005 * speed;
    braked.push({ rad, ...hold, truth: blind });
  }
  const rest = { rad, ...hold, truth: blind };
  expect(verdict([...fast, ...braked, rest, rest])).toBe("");
  const stirs = { ...rest, rad: rad + 1e-5 };
  expect(verdict([...fast, ...braked, rest, rest, stirs])).toContain("brakes to");
});

// The last step alone is wrong, and the word that the oracle must have for it.
const violations: [string, Step[]][] = [
  ["0 submits", [{ rad: 0, count: 0 }]],
  ["2 submits", [{ rad: 0 }, { rad: 0, count: 2 }]],
  ["not this tick's command", [{ rad: 0, tick: 5 }]],
  ["over before it is sent", [{ rad: 0, expiresNs: 0 }]],
  ["no number", [{ rad: 0 }, { rad: Number.NaN }]],
  ["motion in a mode without", [{ rad: 0 }, { rad: 0, mode: Mode.Recover }]],
  ["motion after a stop", [{ rad: 0 }, { rad: 0, truth: { isStopped: true } }]],
  ["from before a stop", [{ rad: 0 }, { rad: 0, truth: { stoppedTick: 0, decidedTick: 0 } }]],
  ["motion of a blind robot", [{ rad: 0 }, { rad: 0, truth: blind }]],
  ["motion of a blind robot", [{ rad: 0 }, { rad: 0, truth: { seenNs: Float64Array.of(-10e6) } }]],
  ["no command after there was one", [{ rad: 0 }, { rad: 0, kind: CommandKind.None }]],
  ["a command begins", [{ rad: 0.03 }]],
  ["outruns its limit", [...speedUp(20), { rad: after(speedUp(20), 3.001) }]],
  ["changes by", [...fast, { rad: after(fast, 1.66) }]],
  ["changes by", [...fast, { rad: after(fast, 1.34) }]],
  // 3,000 rad/s³ take 0.075 rad/s off what the tick before gained.
  ["brakes to", [...fast, { rad: after(fast, 1.576), ...hold }]],
  ["brakes to", [...fast, { rad: after(fast, 1.576), ...hold, truth: blind }]],
  ["outside its limits", [{ rad: 2, truth: { positionRad: Float64Array.of(2) } }, { rad: 2.0001 }]],
];
test.each(violations)("%s is noticed", (word, steps) => {
  expect(verdict(steps)).toContain(word);
  expect(verdict(steps)).not.toContain("too early");
});

test("after a start a command may begin anew where the robot is, once, and nowhere else", () => {
  const held: Step[] = [{ rad: 0 }, { rad: 0, ...hold }];
  const moved = { positionRad: Float64Array.of(1) };
  const start = (rad: number): Step => ({ rad, ...hold, truth: { ...moved, isStart: true } });
  expect(verdict([...held, start(1.01)])).toBe("");
  expect(verdict([...held, start(0)])).toBe("");
  expect(verdict([...held, start(0.9)])).toContain("a command begins");
  const resumed: Step[] = [...held, start(1), { rad: 1, truth: moved }];
  expect(verdict(resumed)).toBe("");
  expect(verdict([...resumed, { rad: 0, ...hold, truth: moved }])).toContain("outruns");
});

test("a start pressed in motion gives no leave to jump", () => {
  const jump: Step = { rad: -0.05, truth: { isStart: true } };
  expect(verdict([...fast, jump])).toStartWith("tick 11, joint 0: outruns");
});

test("a robot found outside its limits may stay or come back", () => {
  const out: Step = { rad: 2.1, ...hold, truth: { positionRad: Float64Array.of(2.1) } };
  const moves = { kind: CommandKind.Motion };
  expect(verdict([out, out, { ...out, ...moves, rad: 2.0999 }])).toBe("");
  expect(verdict([out, out, { ...out, ...moves, rad: 2.1001 }])).toContain("outside");
});
