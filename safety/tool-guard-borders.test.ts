// The borders of the tool guard in closed form: an arm of one joint whose tool is a metre from its
// axis, so that a turn by `a` moves it by a chord of 2 sin(a / 2), and a stop is counted by hand.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { RobotProfile, WorkspaceBox } from "../runtime/contracts/profile.ts";
import { testJoint, testProfile } from "./fixture.ts";
import { JointLimits } from "./limits.ts";
import { ToolGuard } from "./tool-guard.ts";

const DT = 0.005;
const { Velocity, Workspace } = RepairBit;
/** Changes up to 0.75 mrad in motion and 1.5 in a stop, at once. */
const CHANGE_RAD = 7.5e-4;
const joint = testJoint({
  motion: { accelerationRadPerS2: 30, jerkRadPerS3: 6e4 },
  stop: { accelerationRadPerS2: 60, jerkRadPerS3: 6e4 },
});

function guardOf(gate: Partial<RobotProfile["gate"]>, fromRad = 0): ToolGuard {
  const base = testProfile([joint], { toolM: [1, 0, 0] });
  const robot = { ...base, gate: { ...base.gate, ...gate } };
  const guard = new ToolGuard(robot, new JointLimits(robot));
  guard.slowDown(false);
  guard.begin(Float64Array.of(fromRad));
  return guard;
}

/** What a guard says of this stride, and of the same to the other side. */
function bothSides(of: () => ToolGuard, strideRad: number): number[] {
  return [1, -1].map((side) =>
    of().limit(Float64Array.of(0), Float64Array.of(side * strideRad), Float64Array.of(0)),
  );
}

/** A turn whose chord is this. */
const turnOf = (chordM: number): number => 2 * Math.asin(chordM / 2);

test("a tool may go as far in a tick as its speed allows, and a micrometre a second more", () => {
  const slow = (): ToolGuard => guardOf({ toolSpeedMPerSMax: 0.5 });
  expect(bothSides(slow, turnOf(0.5 * DT))).toEqual([0, 0]);
  expect(bothSides(slow, turnOf((0.5 + 0.9e-6) * DT))).toEqual([0, 0]);
  expect(bothSides(slow, turnOf((0.5 + 1.1e-6) * DT))).toEqual([Velocity, Velocity]);
});

test("motion is told of a limit at 92 % of it, and 3 mm before a wall", () => {
  const bitsAt = (guard: ToolGuard, strideRad: number): number =>
    guard.brokenBy(Float64Array.of(0), Float64Array.of(strideRad));
  for (const side of [1, -1]) {
    const slow = guardOf({ toolSpeedMPerSMax: 0.5 });
    expect(bitsAt(slow, side * turnOf(0.46 * DT))).toBe(0);
    expect(bitsAt(slow, side * turnOf(0.460_002 * DT))).toBe(Velocity);
    // A stride of one change is gone in the next tick: it ends one stride on.
    const box = { minM: [-2, -0.1, -1], maxM: [2, 0.1, 1] } as const;
    const wall = Math.asin(0.097);
    const near = guardOf({ workspace: box }, side * (wall - CHANGE_RAD));
    expect(bitsAt(near, side * CHANGE_RAD)).toBe(0);
    const nearer = guardOf({ workspace: box }, side * (wall - CHANGE_RAD + 2e-6));
    expect(bitsAt(nearer, side * CHANGE_RAD)).toBe(Workspace);
  }
});

test("a change that is to be eased off counts with what it still gains", () => {
  // By 2 mrad a tick that shrink by 0.5: 1.5, 1 and 0.5 more.
  const soft = testJoint({
    motion: { accelerationRadPerS2: 80, jerkRadPerS3: 4_000 },
    stop: { accelerationRadPerS2: 80, jerkRadPerS3: 4_000 },
  });
  const base = testProfile([soft], { toolM: [1, 0, 0] });
  const bitsOf = (chordM: number, change: number, stride: number): number => {
    const robot = { ...base, gate: { ...base.gate, toolSpeedMPerSMax: chordM / DT } };
    const guard = new ToolGuard(robot, new JointLimits(robot));
    guard.slowDown(false);
    guard.begin(Float64Array.of(0));
    return guard.limit(
      Float64Array.of(change),
      Float64Array.of(stride - change),
      Float64Array.of(change),
    );
  };
  const chord = 2 * Math.sin(0.007 / 2);
  for (const side of [1, -1]) {
    expect(bitsOf(chord + 1e-9, side * 2e-3, side * 4e-3)).toBe(0);
    expect(bitsOf(chord - 1e-7, side * 2e-3, side * 4e-3)).toBe(Velocity);
    // One that brakes gains nothing.
    expect(bitsOf(2 * Math.sin(0.004 / 2) + 1e-9, side * -2e-3, side * 4e-3)).toBe(0);
  }
});

test("a stop may end at a wall, and a micrometre beyond", () => {
  const workspace: WorkspaceBox = { minM: [-2, -0.1, -1], maxM: [2, 0.1, 1] };
  for (const side of [1, -1]) {
    const bitsOf = (endM: number): number =>
      guardOf({ workspace }, side * (Math.asin(endM) - CHANGE_RAD)).limit(
        Float64Array.of(0),
        Float64Array.of(side * CHANGE_RAD),
        Float64Array.of(0),
      );
    expect([0.1, 0.1 + 0.9e-6, 0.1 + 1.1e-6].map(bitsOf)).toEqual([0, 0, Workspace]);
  }
});

/** Where each wall stands that the tool touches at 0.5 rad, and to which side it may not turn. */
const [x, y] = [Math.cos(0.5), Math.sin(0.5)];
const walls: readonly (readonly [string, WorkspaceBox, number])[] = [
  ["above in x", { minM: [-2, -2, -2], maxM: [x, 2, 2] }, -1],
  ["below in x", { minM: [x, -2, -2], maxM: [2, 2, 2] }, 1],
  ["above in y", { minM: [-2, -2, -2], maxM: [2, y, 2] }, 1],
  ["below in y", { minM: [-2, y, -2], maxM: [2, 2, 2] }, -1],
];
test.each(walls)("a tool at the wall %s goes back only", (_name, workspace, out) => {
  const bits = (side: number): number =>
    guardOf({ workspace }, 0.5).limit(
      Float64Array.of(side * CHANGE_RAD),
      Float64Array.of(0),
      Float64Array.of(0),
    );
  expect([bits(out), bits(-out)]).toEqual([Workspace, 0]);
});
