// Tests of the adapter: columns by name, every space against values worked out by hand or against
// forward kinematics, refusals by name, and headers that lie.

import { expect, test } from "bun:test";
import {
  ChunkBase,
  ChunkSlot,
  ChunkView,
  HORIZON_MAX,
  jointSchema,
  schemaFingerprint,
  toolDeltaSchema,
} from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { duration } from "../contracts/units.ts";
import { Chain } from "../kinematics/chain.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ActionAdapter, commandFingerprint } from "./adapter.ts";
import { testContext, testState } from "./fixture.ts";
import { PolicyError } from "./policy-error.ts";

const so101 = loadRobot("so101");
const ur5e = loadRobot("ur5e");
const names = so101.joints.map((joint) => joint.name);
const DT_NS = duration(20_000_000);
// Away from every symmetry, and from the singular poses of both arms.
const BENT = [0.3, -0.6, 0.8, 0.9, -0.4, 0.5];
const UR_BENT = [-1.2, -1.3, 1.6, -1.1, -1.4, 0.3];

function chunkOf(schema: ActionSchema, rows: readonly (readonly number[])[]): ChunkView {
  const chunk = new ChunkView();
  chunk.begin(3, 9, rows.length, schema.columns.length, DT_NS);
  chunk.record[ChunkSlot.schemaFingerprint] = schemaFingerprint(schema);
  chunk.values.set(rows.flat());
  return chunk;
}

function adapt(robot: RobotProfile, schema: ActionSchema, rows: number[][], at: number[]) {
  const { layout } = testContext(robot, loadTask("none"));
  const out = new ChunkView();
  new ActionAdapter(schema, robot).adaptInto(out, chunkOf(schema, rows), testState(layout, at, 0));
  const count = robot.joints.length;
  const row = (index: number) => [...out.values.subarray(index * count, (index + 1) * count)];
  return { out, row };
}

const closeTo = (found: readonly number[], expected: readonly number[], tolerance: number) => {
  expect(found.length).toBe(expected.length);
  for (const [index, value] of found.entries()) {
    expect(Math.abs(value - expected[index]!)).toBeLessThanOrEqual(tolerance);
  }
};

test("joint_pos finds its joints by name, in whatever order the columns come", () => {
  const order = [
    "gripper",
    "wrist_roll",
    "elbow_flex",
    "shoulder_pan",
    "wrist_flex",
    "shoulder_lift",
  ];
  const schema = jointSchema("joint_pos", order);
  const { out, row } = adapt(
    so101,
    schema,
    [
      [6, 5, 3, 1, 4, 2],
      [60, 50, 30, 10, 40, 20],
    ],
    BENT,
  );
  expect([row(0), row(1)]).toEqual([
    [1, 2, 3, 4, 5, 6],
    [10, 20, 30, 40, 50, 60],
  ]);
  const head = [out.schemaFingerprint, out.width, out.horizon, out.epoch, out.seq, out.dtNs];
  expect(head).toEqual([commandFingerprint(so101), 6, 2, 3, 9, DT_NS]);
  expect(out.record[ChunkSlot.base]).toBe(ChunkBase.Absolute);
});

test("joint_delta is against the position measured in the state the policy saw", () => {
  const schema = jointSchema("joint_delta", names.toReversed());
  const { row } = adapt(
    so101,
    schema,
    [
      [6, 5, 4, 3, 2, 1],
      [0, 0, 0, 0, 0, 0.5],
    ],
    BENT,
  );
  expect(row(0)).toEqual(BENT.map((rad, index) => rad + index + 1));
  expect(row(1)).toEqual(BENT.map((rad, index) => rad + (index === 0 ? 0.5 : 0)));
});

test("joint_vel becomes offsets from the command at takeover: row 0 is the takeover itself", () => {
  const schema = jointSchema("joint_vel", names);
  const still = [0, 0, 0, 0, 0];
  const { out, row } = adapt(
    so101,
    schema,
    [
      [1, ...still],
      [2, ...still],
      [4, ...still],
    ],
    BENT,
  );
  closeTo([row(0)[0]!, row(1)[0]!, row(2)[0]!], [0, 0.02, 0.06], 1e-12);
  expect(out.record[ChunkSlot.base]).toBe(ChunkBase.TakeoverCommand);
});

test("with rows that are held, joint_vel moves within its own row", () => {
  const one = loadRobot("document-one");
  const schema = jointSchema("joint_vel", ["joint"]);
  const { row } = adapt(one, schema, [[1], [2], [4]], [0]);
  closeTo([row(0)[0]!, row(1)[0]!, row(2)[0]!], [0.02, 0.06, 0.14], 1e-12);
});

test("velocity joints take joint_vel as it is, and no other space", () => {
  const wheels = {
    ...so101,
    joints: so101.joints.map((joint, index) => ({
      ...joint,
      command: index === 0 ? ("velocity" as const) : joint.command,
    })),
  };
  const schema = jointSchema("joint_vel", names);
  const { row } = adapt(
    wheels,
    schema,
    [
      [3, 1, 0, 0, 0, 0],
      [5, 1, 0, 0, 0, 0],
    ],
    BENT,
  );
  expect([row(0)[0], row(1)[0]]).toEqual([3, 5]);
  closeTo([row(0)[1]!, row(1)[1]!], [0, 0.02], 1e-12);
  const refused = () => new ActionAdapter(jointSchema("joint_pos", names), wheels);
  expect(refused).toThrow('space joint_vel for the velocity joint "shoulder_pan"');
  const tool = () => new ActionAdapter(toolDeltaSchema("base", ["gripper"]), wheels);
  expect(tool).toThrow(/position joints between base and tool/);
});

const refusedSchemas: readonly [string, ActionSchema, string][] = [
  ["a joint nobody decides", jointSchema("joint_pos", names.slice(1)), 'a column "shoulder_pan"'],
  [
    "a misspelt joint",
    jointSchema("joint_pos", [...names.slice(1), "shoulder_pam"]),
    '"shoulder_pam"',
  ],
  ["a joint given twice", jointSchema("joint_pos", [...names, "gripper"]), '"gripper" twice'],
  [
    "joints of another robot",
    jointSchema(
      "joint_vel",
      ur5e.joints.map((j) => j.name),
    ),
    '"elbow"',
  ],
  ["a tool schema without its gripper", toolDeltaSchema("base", []), 'a column "gripper"'],
  [
    "a tool schema that also names an arm joint",
    toolDeltaSchema("base", ["gripper", "wrist_roll"]),
    '"wrist_roll"',
  ],
  [
    "tool columns in another order",
    {
      ...toolDeltaSchema("tool", ["gripper"]),
      columns: ["rx", "ry", "rz", "tx", "ty", "tz", "gripper"],
    },
    "tx, ty, tz, rx, ry, rz first",
  ],
  ["joints in the base frame", { ...jointSchema("joint_pos", names), frame: "base" }, '"base"'],
  [
    "tool poses in the joint frame",
    { ...toolDeltaSchema("base", ["gripper"]), frame: "joint" },
    "base or tool",
  ],
];

test.each(refusedSchemas)("refuses %s by name", (_what, schema, words) => {
  const act = () => new ActionAdapter(schema, so101);
  expect(act).toThrow(PolicyError);
  expect(act).toThrow(words);
});

/** Rotation matrix of a rotation vector by Rodrigues, the second way to the same turn. */
function rotation([x = 0, y = 0, z = 0]: readonly number[]): number[][] {
  const angle = Math.hypot(x, y, z);
  const [a, b, c] = angle === 0 ? [1, 0, 0] : [x / angle, y / angle, z / angle];
  const s = Math.sin(angle);
  const k = 1 - Math.cos(angle);
  return [
    [1 - k * (b * b + c * c), k * a * b - s * c, k * a * c + s * b],
    [k * a * b + s * c, 1 - k * (a * a + c * c), k * b * c - s * a],
    [k * a * c - s * b, k * b * c + s * a, 1 - k * (a * a + b * b)],
  ];
}
const multiply = (left: number[][], right: number[][]) =>
  left.map((row) => right[0]!.map((_, j) => row.reduce((sum, v, k) => sum + v * right[k]![j]!, 0)));

/** Place and rotation matrix of the tool, from the pose's quaternion. */
function toolOf(robot: RobotProfile, rad: readonly number[]) {
  const pose = new Float64Array(7);
  new Chain(robot).forwardInto(pose, Float64Array.from(rad));
  const [px, py, pz, x, y, z, w] = [...pose] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const matrix = [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
  return { place: [px, py, pz], matrix };
}

const moves = [0, 0.01, 0.03, 0.06].map((m) => [m, -m, m / 2, 4 * m, -2 * m, 3 * m]);

test("ee_pose_delta in the base frame moves and turns the tool along the base's axes", () => {
  const { out, row } = adapt(ur5e, toolDeltaSchema("base", []), moves, UR_BENT);
  expect(out.record[ChunkSlot.refusal]).toBe(Evidence.Accepted);
  const from = toolOf(ur5e, UR_BENT);
  for (const [index, move] of moves.entries()) {
    const to = toolOf(ur5e, row(index));
    closeTo(
      to.place,
      from.place.map((m, axis) => m + move[axis]!),
      2e-5,
    );
    closeTo(to.matrix.flat(), multiply(rotation(move.slice(3)), from.matrix).flat(), 2e-4);
  }
});

test("ee_pose_delta in the tool frame moves and turns the tool along its own axes", () => {
  const { row } = adapt(ur5e, toolDeltaSchema("tool", []), moves, UR_BENT);
  const from = toolOf(ur5e, UR_BENT);
  for (const [index, move] of moves.entries()) {
    const to = toolOf(ur5e, row(index));
    const way = multiply(from.matrix, [[move[0]!], [move[1]!], [move[2]!]]).flat();
    closeTo(
      to.place,
      from.place.map((m, axis) => m + way[axis]!),
      2e-5,
    );
    closeTo(to.matrix.flat(), multiply(from.matrix, rotation(move.slice(3))).flat(), 2e-4);
  }
});

test("an arm of five joints meets the place, the turn nearly, and its jaw is a column", () => {
  const rows = [0.005, 0.01, 0.02].map((m) => [m, m, -m, 0, 0, 0, 40 * m]);
  const { out, row } = adapt(so101, toolDeltaSchema("base", ["gripper"]), rows, BENT);
  expect(out.record[ChunkSlot.refusal]).toBe(Evidence.Accepted);
  const from = toolOf(so101, BENT);
  for (const [index, move] of rows.entries()) {
    const to = toolOf(so101, row(index));
    closeTo(
      to.place,
      from.place.map((m, axis) => m + move[axis]!),
      1e-4,
    );
    closeTo(to.matrix.flat(), from.matrix.flat(), 0.11);
    expect(row(index)[5]).toBe(move[6]!);
  }
});

test("a pose beyond reach refuses the chunk as unreachable", () => {
  const { out } = adapt(
    ur5e,
    toolDeltaSchema("base", []),
    [
      [0, 0, 0, 0, 0, 0],
      [3, 0, 0, 0, 0, 0],
    ],
    UR_BENT,
  );
  expect(out.record[ChunkSlot.refusal]).toBe(Evidence.RejectedUnreachable);
});

test("a straight arm asked to draw in along its own line refuses the chunk as singular", () => {
  const [first, second] = so101.joints;
  const link = { ...first!, originWxyz: [1, 0, 0, 0] as const };
  const planar: RobotProfile = {
    ...so101,
    joints: [
      { ...link, name: "near", originM: [0, 0, 0] },
      {
        ...link,
        ...second,
        name: "far",
        parent: "near",
        originM: [0.3, 0, 0],
        originWxyz: [1, 0, 0, 0],
      },
    ],
    toolParent: "far",
    toolM: [0.3, 0, 0],
    toolWxyz: [1, 0, 0, 0],
  };
  const along = [-0.005, 0, 0, 0, 0, 0];
  const { out } = adapt(planar, toolDeltaSchema("base", []), [along], [0, 0]);
  expect(out.record[ChunkSlot.refusal]).toBe(Evidence.RejectedSingular);
  const bent = adapt(planar, toolDeltaSchema("base", []), [along], [-0.3, 0.6]);
  expect(bent.out.record[ChunkSlot.refusal]).toBe(Evidence.Accepted);
});

test("what is not finite is passed on untouched, for the buffer to refuse by its name", () => {
  const allFinite = (out: ChunkView) =>
    out.values.subarray(0, out.horizon * out.width).every(Number.isFinite);
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    for (const space of ["joint_pos", "joint_vel", "joint_delta"] as const) {
      const { out } = adapt(
        so101,
        jointSchema(space, names),
        [
          [0, 0, 0, 0, 0, bad],
          [0, 0, 0, 0, 0, 0],
        ],
        BENT,
      );
      expect([allFinite(out), out.record[ChunkSlot.refusal]]).toEqual([false, Evidence.Accepted]);
    }
    for (const column of [0, 5, 6]) {
      const row = [0, 0, 0, 0, 0, 0, 0];
      row[column] = bad;
      const { out } = adapt(
        so101,
        toolDeltaSchema("tool", ["gripper"]),
        [[0, 0, 0, 0, 0, 0, 0], row],
        BENT,
      );
      expect([allFinite(out), out.record[ChunkSlot.refusal]]).toEqual([false, Evidence.Accepted]);
    }
  }
});

test("a head that lies never looks like the robot's own command space", () => {
  // Seven columns of a tool schema and six joints: a chunk six wide would fit the robot.
  const schema = toolDeltaSchema("base", ["gripper"]);
  const { layout } = testContext(so101, loadTask("none"));
  const adapter = new ActionAdapter(schema, so101);
  const head = (change: (record: Float64Array) => void) => {
    const chunk = chunkOf(schema, [[0, 0, 0, 0, 0, 0, 0]]);
    const out = new ChunkView();
    change(chunk.record);
    adapter.adaptInto(out, chunk, testState(layout, BENT, 0));
    return [out.schemaFingerprint, out.width, out.horizon];
  };
  const own = commandFingerprint(so101);
  expect(head(() => {})).toEqual([own, 6, 1]);
  expect(head((record) => record.fill(own, 0, 1))).toEqual([0, 6, 1]);
  expect(head((record) => record.fill(6, ChunkSlot.width, ChunkSlot.width + 1))).toEqual([
    own,
    0,
    1,
  ]);
  for (const horizon of [0, -1, 1.5, Number.NaN, HORIZON_MAX + 1, 1e9]) {
    const found = head((record) => record.fill(horizon, ChunkSlot.horizon, ChunkSlot.horizon + 1));
    expect(found).toEqual([own, 6, horizon]);
  }
  for (const dtNs of [0, -1, Number.NaN, 1e12]) {
    expect(head((record) => record.fill(dtNs, ChunkSlot.dtNs, ChunkSlot.dtNs + 1))).toEqual([
      own,
      6,
      0,
    ]);
  }
});

test("the longest horizon and the longest step are still read", () => {
  const schema = jointSchema("joint_pos", names);
  const rows = Array.from({ length: HORIZON_MAX }, () => BENT);
  const { layout } = testContext(so101, loadTask("none"));
  const chunk = chunkOf(schema, rows);
  chunk.record[ChunkSlot.dtNs] = 1e9;
  const out = new ChunkView();
  new ActionAdapter(schema, so101).adaptInto(out, chunk, testState(layout, BENT, 0));
  expect([out.horizon, Number(out.dtNs)]).toEqual([HORIZON_MAX, 1e9]);
  expect([...out.values.subarray(HORIZON_MAX * 6 - 6)].slice(0, 6)).toEqual(BENT);
});

test("one adapter starts each chunk from its own state, not from the chunk before", () => {
  const schema = toolDeltaSchema("base", []);
  const { layout } = testContext(ur5e, loadTask("none"));
  const adapter = new ActionAdapter(schema, ur5e);
  const out = new ChunkView();
  const away = UR_BENT.map((rad, joint) => (joint === 2 ? rad : rad + 2));
  for (const at of [away, UR_BENT]) {
    adapter.adaptInto(out, chunkOf(schema, [[0, 0, 0.001, 0, 0, 0]]), testState(layout, at, 0));
    closeTo([...out.values.subarray(0, 6)], at, 0.05);
  }
});

test("a refusal that a policy wrote into its chunk does not count", () => {
  const schema = jointSchema("joint_pos", names);
  const { layout } = testContext(so101, loadTask("none"));
  const chunk = chunkOf(schema, [BENT]);
  chunk.record[ChunkSlot.refusal] = Evidence.RejectedSingular;
  const out = new ChunkView();
  new ActionAdapter(schema, so101).adaptInto(out, chunk, testState(layout, BENT, 0));
  expect(out.record[ChunkSlot.refusal]).toBe(Evidence.Accepted);
});
