// The velocities that `sine` asks of robots that take them: where they begin, how they go on over
// seams, and when they begin anew. The robot's commands are written here.

import { expect, test } from "bun:test";
import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { testContext, testState } from "./fixture.ts";
import { createPolicy } from "./registry.ts";

const base = loadRobot("wheeled-base");
const MS = 1e6;

function begun(robot: RobotProfile = base) {
  const { joints } = robot;
  const context = testContext(robot, loadTask("none"));
  const policy: Policy = createPolicy("sine", context);
  policy.reset(1, new SequenceAllocator(1));
  /** Its rows for a robot that is commanded so; a row lasts 20 ms. */
  const rows = (command: readonly number[], atMs: number): number[][] => {
    const state = testState(context.layout, command, (atMs - 5) * MS);
    const { values, horizon, width } = policy.act(state, instant(atMs * MS)) as ChunkView;
    return Array.from({ length: horizon }, (_, row) => [
      ...values.slice(row * width, (row + 1) * width),
    ]);
  };
  return { policy, rows, still: joints.map(() => 0) };
}

test("it begins at rest, grows, and asks the same of both wheels", () => {
  const { policy, rows, still } = begun();
  expect(policy.schema.space).toBe("joint_vel");
  const first = rows(still, 0);
  expect(Math.abs(first[0]![0]!)).toBeLessThan(1e-6);
  for (const [left, right] of first) expect(left).toBe(right!);
  expect(first.at(-1)![0]!).toBeGreaterThan(first[1]![0]!);
});

test("a robot that was commanded as planned gets the same rows from the next decision", () => {
  const { rows, still } = begun();
  rows(still, 0);
  const before = rows(still, 300);
  const after = rows(before[5]!, 400);
  expect(after.slice(0, 10)).toEqual(before.slice(5, 15));
});

test("one that was held back begins anew from rest, one near enough does not", () => {
  for (const [offRadPerS, isAnew] of [
    [0.49, false],
    [0.51, true],
    [Number.NaN, true],
  ] as const) {
    const { rows, still } = begun();
    rows(still, 0);
    // A decision may begin 1 rad/s away, so a command half as far off is another robot.
    const planned = rows(still, 300).at(-1)!;
    const before = rows(planned, 1_000);
    const command = before[0]!.map((each) => each - offRadPerS);
    const again = rows(command, 1_000);
    expect([offRadPerS, Math.abs(again[0]![0]!) < 0.01]).toEqual([offRadPerS, isAnew]);
  }
});

test("a position joint beside velocity joints is asked for no velocity", () => {
  const [left, right] = base.joints;
  const robot = { ...base, joints: [left!, { ...right!, command: "position" as const }] };
  const { rows } = begun(robot);
  rows([0, 70], 0);
  const planned = rows([0, 70], 300).at(-1)!; // of the moment at 600 ms
  const later = rows([planned[0]!, 70], 600); // where the position joint stands begins nothing anew
  expect(later.every(([, position]) => position === 0)).toBe(true);
  expect(later[0]).toEqual(planned);
  expect(planned[0]!).toBeGreaterThan(0);
});

test("an epoch begins at rest, on a grid of its own", () => {
  const { policy, rows, still } = begun();
  rows(still, 0);
  const planned = rows(still, 300).at(-1)!;
  policy.reset(2, new SequenceAllocator(2));
  const first = rows(planned, 607);
  expect(Math.abs(first[0]![0]!)).toBeLessThan(1e-6);
  expect(first[5]).toEqual(begunAt(607)[5]!);
});

/** The rows of a robot that only begins then. */
const begunAt = (atMs: number): number[][] => {
  const { rows, still } = begun();
  return rows(still, atMs);
};
