// What an openpi server's rows become, against values worked out by hand, and tool poses against
// forward kinematics: adding deltas up row by row must end where each small move ends.

import { describe, expect, test } from "bun:test";
import { ChunkView } from "../contracts/action.ts";
import type { OpenpiMapping } from "../contracts/openpi.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { StateLayout } from "../contracts/state.ts";
import type { StateView } from "../contracts/state.ts";
import { Chain } from "../kinematics/chain.ts";
import { composeInto } from "../kinematics/pose.ts";
import { ActionAdapter } from "../policy/adapter.ts";
import { testState } from "../policy/fixture.ts";
import { setTurn } from "../policy/turn.ts";
import { loadDeployment } from "../profile/load.ts";
import { OpenpiActions } from "./openpi-actions.ts";
import type { ReadArray } from "./openpi-codec.ts";

const STAMP_NS = 1_000e6;

const deployed = (name: string): { robot: RobotProfile; mapping: OpenpiMapping } => {
  const { robot, openpi } = loadDeployment(name);
  return { robot, mapping: openpi! };
};
const positions = deployed("so101-openpi-positions");
const velocities = deployed("so101-openpi-velocities");
const tool = deployed("ur5e-openpi-tool");

/** Rows that hold `value(row, column)`. */
function rowsOf(
  { horizon, columns }: OpenpiMapping,
  value: (row: number, column: number) => number,
): ReadArray {
  const width = columns.length;
  const values = Float64Array.from({ length: horizon * width }, (_, at) =>
    value(Math.floor(at / width), at % width),
  );
  return { shape: [horizon, width], values };
}

function stateOf(robot: RobotProfile, positionRad?: readonly number[]): StateView {
  const home = positionRad ?? robot.joints.map(({ homeRad }) => homeRad);
  return testState(new StateLayout(robot, robot.sources, ""), home, STAMP_NS);
}

/** The chunk as the adapter turns it into joint positions. */
function adapted(
  { robot, mapping }: { robot: RobotProfile; mapping: OpenpiMapping },
  rows: ReadArray,
  state: StateView,
): ChunkView {
  const actions = new OpenpiActions(mapping, robot);
  const given = new ChunkView();
  const out = new ChunkView();
  actions.writeInto(given, rows, state, 3, 9);
  new ActionAdapter(actions.schema, robot).adaptInto(out, given, state);
  return out;
}

const rowAt = (chunk: ChunkView, row: number): number[] => [
  ...chunk.values.subarray(row * chunk.width, (row + 1) * chunk.width),
];
const rounded = (values: readonly number[]): number[] =>
  values.map((value) => Number(value.toFixed(9)));

test("joint positions: scaled, in our order, in a window from the state's stamp", () => {
  const { robot, mapping } = positions;
  const swapped = [5, 4, 3, 2, 1, 0].map((index) => mapping.columns[index]!);
  const rows = rowsOf(mapping, (row, column) => row / 100 + (5 - column) / 10);
  const chunk = adapted({ robot, mapping: { ...mapping, columns: swapped } }, rows, stateOf(robot));
  expect(chunk.horizon).toBe(25);
  expect(rounded(rowAt(chunk, 3))).toEqual(
    rounded([0.03, 0.13, 0.23, 0.33, 0.43, 0.53 * 1.919863 - 0.174533]),
  );
  expect([
    chunk.epoch,
    chunk.seq,
    chunk.stateStampNs,
    chunk.validFromNs,
    chunk.validUntilNs,
  ]).toEqual([3, 9, STAMP_NS, STAMP_NS, STAMP_NS + 25 * 20e6] as never);
});

test("a gripper that is 0 to them is the end that the deployment says, and 1 the other", () => {
  const [shut, open] = [0, 1].map((value) => {
    const rows = rowsOf(positions.mapping, () => value);
    return rowAt(adapted(positions, rows, stateOf(positions.robot)), 0)[5]!;
  });
  const { positionRadMin, positionRadMax } = positions.robot.joints[5]!;
  expect(shut).toBeCloseTo(positionRadMin, 5);
  expect(open).toBeCloseTo(positionRadMax, 5);
});

test("velocities with a gripper position among them are integrated from the last command", () => {
  const { robot, mapping } = velocities;
  const state = stateOf(robot);
  state.command[0] = 0.2;
  const rows = rowsOf(mapping, (row, column) => (column === 5 ? 0.5 : (row + 1) * 0.1));
  const chunk = adapted(velocities, rows, state);
  const dtS = 1 / 15;
  // Row i is where the arm is i steps later: rows 0 to i-1 have moved it.
  const moved = [0, 1, 2].map((row) => rowAt(chunk, row)[0]!);
  const expected = [0.2, 0.2 + 0.1 * dtS, 0.2 + 0.3 * dtS];
  for (const [row, rad] of moved.entries()) expect(rad).toBeCloseTo(expected[row]!, 8);
  expect(rowAt(chunk, 2)[5]!).toBeCloseTo(1.74533 - 0.5 * 1.919863, 9);
});

test("velocities alone stay velocities: the command at takeover decides", () => {
  const { robot, mapping } = velocities;
  const columns = mapping.columns.map((column) => ({ ...column, isPosition: false }));
  const actions = new OpenpiActions({ ...mapping, columns }, robot);
  expect(actions.schema).toMatchObject({ space: "joint_vel", representation: "joint_rad_per_s" });
});

describe("joint deltas", () => {
  const of = (eachRowFrom: "state" | "row_before"): OpenpiMapping => ({
    ...positions.mapping,
    space: "joint_delta",
    eachRowFrom,
    columns: positions.mapping.columns.map((column, index) => ({
      ...column,
      isPosition: index === 5,
    })),
  });
  const small = (row: number, column: number): number => (column === 5 ? 1 : 0.01 * (row + 1));
  test.each([
    ["state", [0.01, 0.02, 0.03]],
    ["row_before", [0.01, 0.03, 0.06]],
  ] as const)("against the %s", (eachRowFrom, offsets) => {
    const { robot } = positions;
    const mapping = of(eachRowFrom);
    const chunk = adapted({ robot, mapping }, rowsOf(mapping, small), stateOf(robot));
    for (const [row, offset] of offsets.entries()) {
      expect(rowAt(chunk, row)[1]!).toBeCloseTo(robot.joints[1]!.homeRad + offset, 9);
      expect(rowAt(chunk, row)[5]!).toBeCloseTo(1.919863 - 0.174533, 9);
    }
  });
});

describe("tool deltas, each against the row before", () => {
  /** Moves and turns of a unit that make a curve: their order matters. */
  const delta = (row: number, column: number): number =>
    [0.2, -0.1, 0.15, 0.05 * row, -0.04, 0.06, 1][column]!;

  test.each(["base", "tool"] as const)("in the %s frame, end where small moves end", (frame) => {
    const { robot } = tool;
    const mapping = { ...tool.mapping, frame };
    const state = stateOf(robot);
    const chunk = adapted({ robot, mapping }, rowsOf(mapping, delta), state);
    expect(chunk.record[16]).toBe(0); // not refused by the adapter
    const chain = new Chain(robot);
    const pose = new Float64Array(7);
    const step = new Float64Array(7);
    chain.forwardInto(pose, state.positionRad);
    for (let row = 0; row < mapping.horizon; row += 1) {
      const values = mapping.columns.map(({ scaleFactor }, at) => delta(row, at) * scaleFactor);
      const before = pose.slice(0, 3);
      step.set(values.slice(0, 3));
      setTurn(step, values[3]!, values[4]!, values[5]!);
      if (frame === "tool") composeInto(pose, pose, step);
      else {
        composeInto(pose, step, pose);
        for (let axis = 0; axis < 3; axis += 1) pose[axis] = before[axis]! + values[axis]!;
      }
      const reached = new Float64Array(7);
      chain.forwardInto(reached, Float64Array.from(rowAt(chunk, row)));
      const sign = Math.sign(reached[6]! * pose[6]!) || 1;
      for (let slot = 0; slot < 7; slot += 1) {
        const wanted = slot < 3 ? pose[slot]! : sign * pose[slot]!;
        expect(Math.abs(reached[slot]! - wanted)).toBeLessThan(1e-5);
      }
    }
  });

  test("each against the state, row after row is the row itself", () => {
    const { robot } = tool;
    const mapping: OpenpiMapping = { ...tool.mapping, eachRowFrom: "state" };
    const actions = new OpenpiActions(mapping, robot);
    const chunk = new ChunkView();
    actions.writeInto(chunk, rowsOf(mapping, delta), stateOf(robot), 1, 1);
    expect(rounded(rowAt(chunk, 4))).toEqual(rounded([0.01, -0.005, 0.0075, 0.1, -0.02, 0.03]));
  });
});

test("other shapes and numbers that are none are refused by name", () => {
  const { robot, mapping } = positions;
  const actions = new OpenpiActions(mapping, robot);
  const good = rowsOf(mapping, () => 0);
  expect(actions.refusalOf(good)).toBeUndefined();
  const shapes = [[50, 7], [49, 6], [300], [1, 50, 6], [], [6, 50]];
  for (const shape of shapes) {
    expect(actions.refusalOf({ ...good, shape })).toEqual({
      expected: "actions of the shape (50, 6)",
      found: `(${shape.join(", ")})`,
    });
  }
  for (const bad of [Number.NaN, Infinity, -Infinity]) {
    const rows = rowsOf(mapping, (row, column) => (row === 49 && column === 2 ? bad : 0));
    expect(actions.refusalOf(rows)).toEqual({
      expected: "finite actions",
      found: `${bad} in row 49, column 2`,
    });
  }
});
