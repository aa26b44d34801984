// What went wrong between other people's policies and their robots, tried on ours: each case by its
// id in the collection of field reports. The real core and both ends of the link, in virtual time.

import { expect, test } from "bun:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { jointSchema, schemaFingerprint } from "../../runtime/contracts/action.ts";
import { Evidence } from "../../runtime/contracts/evidence.ts";
import { Mode, OperatorCue } from "../../runtime/contracts/mode.ts";
import type { Anchoring, RobotProfile } from "../../runtime/contracts/profile.ts";
import { SeededRandom } from "../../runtime/contracts/seeded-random.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import { milliseconds } from "../../runtime/contracts/units.ts";
import {
  ChunkSchema,
  HostMessageSchema,
  PolicyFactsSchema,
} from "../../runtime/link/generated/policy_pb.js";
import type { Observation } from "../../runtime/link/generated/policy_pb.js";
import { parseLatency } from "../../runtime/policy/latency.ts";
import { LinkCell } from "./link-cell.ts";
import type { LinkCellOptions } from "./link-cell.ts";

const { Reset, Start, Stop } = OperatorCue;
const QUICK_NS = 50e6;
const WINDOW_NS = 320e6;
const PATIENCE_MS = 3_000;
const ROWS = 16;
const slowRows = (robot: RobotProfile): RobotProfile => ({
  ...robot,
  policy: { ...robot.policy, dtNs: milliseconds(50) },
});

async function running(options: LinkCellOptions = {}): Promise<LinkCell> {
  const cell = new LinkCell(options);
  cell.link.inferenceNs = QUICK_NS;
  return follows(cell);
}

async function follows(cell: LinkCell): Promise<LinkCell> {
  const from = cell.motions().length;
  await cell.until(
    () => cell.motions().length > from + 40 && cell.mode === Mode.Running,
    PATIENCE_MS,
  );
  expect(cell.mode).toBe(Mode.Running);
  return cell;
}

/** Nothing moves by itself or by half of what a person has to do; then it does. */
async function startsByPersonOnly(cell: LinkCell): Promise<void> {
  const moved = cell.motions().length;
  await cell.run(2_000);
  for (const cue of [Start, Reset]) {
    cell.press(cue);
    await cell.run(200);
    expect(cell.motions().length).toBe(moved);
  }
  cell.press(Start);
  await follows(cell);
}

/** The same pose in every row. */
const constant = ({ commandRad }: Observation): number[] =>
  Array.from({ length: ROWS }, () => commandRad).flat();

/** The first joint goes on at `radPerS` from where it was observed, rows `dtS` apart. */
const ramp =
  (radPerS: number, dtS: number) =>
  ({ commandRad }: Observation): number[] =>
    Array.from({ length: ROWS }, (_, row) =>
      commandRad.map((value, joint) => (joint === 0 ? value + radPerS * dtS * row : value)),
    ).flat();

test("B01: an answer after 0.7 s skips what has passed: no jump, no memory of it", async () => {
  const cell = await running({ change: slowRows, rows: steadyPlan() });
  await cell.run(1_000);
  const asked = cell.link.observations.length;
  cell.link.inferenceNs = 700e6;
  await cell.until(() => cell.link.observations.length > asked, PATIENCE_MS);
  cell.link.inferenceNs = QUICK_NS;
  const from = cell.commands.length;
  const fromNs = cell.nowNs;
  const estimates: number[] = [];
  await cell.until(() => {
    estimates.push(cell.delayNs);
    return false;
  }, 2_000);
  const rows = takeoverRows(cell.motions(fromNs));
  expect(rows).toContain(14); // fourteen rows of 50 ms had passed
  expect(Math.max(...estimates)).toBeLessThanOrEqual(60e6);
  expect(backRad(cell.commands.slice(from))).toBe(0);
  expect(cell.mode).toBe(Mode.Running);
});

/** The row that each decision began with. */
function takeoverRows(motions: readonly Float64Array[]): number[] {
  const begun = motions.filter(
    (record, at) => at > 0 && record[TickSlot.seq] !== motions[at - 1]![TickSlot.seq],
  );
  return begun.map((record) => record[TickSlot.row]!);
}

test("B02: rows are never invented: what is left is told as it is, leaps are refused", async () => {
  const cell = await running();
  await cell.run(500);
  const jointCount = cell.robot.joints.length;
  const told = cell.link.observations.filter(({ bufferedRowCount }) => bufferedRowCount > 0);
  expect(told.length).toBeGreaterThan(5);
  for (const { bufferedRows, bufferedRowCount } of told) {
    expect(bufferedRows.length).toBe(bufferedRowCount * jointCount);
    // The wrist stands near 1.5 rad: a zero would be a row of nobody's.
    for (let row = 0; row < bufferedRowCount; row += 1) {
      expect(bufferedRows[row * jointCount + 3]!).toBeGreaterThan(1.2);
    }
  }
  let isPadding = false;
  const padded = await running({
    rows: (observation) => (isPadding ? zeros(jointCount) : constant(observation)),
  });
  isPadding = true;
  await padded.run(1_000);
  expect(padded.evidence.counts[Evidence.RejectedStartMismatch]).toBeGreaterThan(0);
  for (const command of padded.commands) expect(command[3]!).toBeGreaterThan(1.4);
});
const zeros = (jointCount: number): number[] => Array.from({ length: ROWS * jointCount }, () => 0);

/** The first joint goes on at 0.2 rad/s all through an epoch; rows begin where it was to be. */
function steadyPlan(): (observation: Observation) => number[] {
  let epoch = -1n;
  let base: readonly number[] = [];
  return (observation) => {
    if (observation.epoch !== epoch) base = observation.commandRad;
    epoch = observation.epoch;
    const sinceS = Number(observation.sinceResetNs - observation.ageNs) / 1e9;
    return ramp(
      0.2,
      0.05,
    )({
      ...observation,
      commandRad: base.map((value, joint) => value + (joint === 0 ? 0.2 * sinceS : 0)),
    });
  };
}

/** The farthest step back of the first joint, which is to go forward all the time. */
function backRad(commands: readonly Float64Array[]): number {
  let farthestRad = -Infinity;
  let mostRad = 0;
  for (const [value] of commands) {
    farthestRad = Math.max(farthestRad, value!);
    mostRad = Math.max(mostRad, farthestRad - value!);
  }
  return mostRad;
}

async function stepBackRad(anchoring: Anchoring): Promise<number> {
  const change = (robot: RobotProfile): RobotProfile => {
    const slow = slowRows(robot);
    return { ...slow, policy: { ...slow.policy, anchoring } };
  };
  const cell = new LinkCell({ change, rows: steadyPlan() });
  cell.drawInference(50e6, 250e6);
  await follows(cell);
  await cell.run(500); // until it has caught up with the plan
  const from = cell.commands.length;
  await cell.run(5_000);
  return backRad(cell.commands.slice(from));
}

test("B03: a chunk of an old observation takes over where it is by now", async () => {
  expect(await stepBackRad("observation")).toBe(0);
  // Put at its arrival, the same chunk steps back: the test would see it.
  expect(await stepBackRad("arrival")).toBeGreaterThan(5e-3);
});

test("B07: chunks of another horizon than the host said move nothing, and say so", async () => {
  const cell = new LinkCell({ rows: (observation) => constant(observation).slice(0, 8 * 6) });
  await cell.run(2_000);
  expect([cell.motions().length, cell.acceptedCount]).toEqual([0, 0]);
  expect(cell.policy.refusals.get("wrong_horizon")).toBeGreaterThan(10);
  expect(cell.policy.statusText).toContain("refused: wrong_horizon");
  expect(cell.link.session?.counts.receipts.get("wrong_horizon")).toBeGreaterThan(10);
});

test("B10: 20 s until the next chunk: held, told, asked again, and fresh at once", async () => {
  const cell = await running();
  cell.link.inferenceNs = 20e9;
  await cell.run(1_000);
  const failures = cell.link.answers.filter((answer) => "failure" in answer).length;
  await cell.run(18_000);
  expect(cell.mode).toBe(Mode.SafeStop);
  expect(cell.told.at(-1)).toBe("no decision: no answer in time");
  const again = cell.link.answers.filter((answer) => "failure" in answer).length - failures;
  expect(again).toBeGreaterThan(18e9 / (WINDOW_NS + 55e6) - 2);
  const accepted = cell.acceptedCount;
  cell.link.inferenceNs = QUICK_NS;
  const freshNs = await cell.until(() => cell.acceptedCount > accepted, PATIENCE_MS);
  expect(freshNs).toBeLessThanOrEqual(2e9);
  await startsByPersonOnly(cell);
});

test("B13: poses that are all alike are asked about, the first of a session too", async () => {
  const cell = await running({ rows: constant });
  const asked = cell.link.observations.length;
  await cell.run(5_000);
  // An answer takes 55 ms: asked again as it comes.
  expect(cell.link.observations.length - asked).toBeGreaterThan(80);
  const accepted = cell.acceptedCount;
  cell.link.cut("UNAVAILABLE: Connection dropped");
  const freshNs = await cell.until(() => cell.acceptedCount > accepted, PATIENCE_MS);
  expect(freshNs).toBeLessThanOrEqual(2e9);
  expect(cell.link.link.session).toBe(2);
});

const deaths: readonly (readonly [string, (cell: LinkCell) => void])[] = [
  ["stops saying anything", ({ link }) => (link.isFrozen = true)],
  [
    "is gone",
    ({ link }) => {
      link.isDown = true;
      link.cut("UNAVAILABLE: Connection dropped");
    },
  ],
];

test.each(deaths)(
  "B21, B22: a stream that %s drives nothing beyond its window",
  async (_, kill) => {
    for (let phase = 0; phase < 12; phase += 1) {
      const cell = await running();
      await cell.run(5 * phase);
      kill(cell);
      await cell.run(1_200);
      // Judged in the tick itself: no motion on a decision whose rows are over.
      expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS + 2 * cell.robot.periodNs);
      expect(cell.mode).toBe(Mode.SafeStop);
      const held = cell.commands.at(-1)!;
      for (const command of cell.commands.slice(-60)) expect(command).toEqual(held);
    }
  },
);

test("B25: after a lag nothing is caught up with: what is late is void", async () => {
  const cell = await running();
  const { weather } = cell.link;
  for (const lagMs of [100, 200, 400, 900]) {
    cell.link.weather = { ...weather, delayNs: lagMs * 1e6 };
    await cell.run(lagMs + 100);
    cell.link.weather = weather;
    await cell.run(1_500);
    expect(cell.oldestNs()).toBeLessThanOrEqual(WINDOW_NS);
    if (cell.mode === Mode.SafeStop) await startsByPersonOnly(cell);
  }
  // One question is under way at most, so no queue can build up on the way.
  expect(cell.link.observations.length).toBeLessThan(cell.nowNs / 50e6);
});

test("B27: a question has a deadline always, and a time that is none is refused", async () => {
  const cell = await running();
  cell.link.inferenceNs = 15e9;
  const asked = cell.link.answers.length;
  const knownNs = await cell.until(
    () => cell.link.answers.slice(asked).some((answer) => "failure" in answer),
    PATIENCE_MS,
  );
  expect(knownNs).toBeLessThanOrEqual(WINDOW_NS + QUICK_NS + 10e6);
  for (const text of ["-1", "-1s", "infs", "0x10ms", ""]) {
    expect(() => parseLatency(text)).toThrow("Cannot read the policy latency");
  }
});

test("B28: answers that arrive after a stop are refused, counted, and move nothing", async () => {
  const cell = await running();
  cell.link.weather = { ...cell.link.weather, delayNs: 60e6 };
  await cell.run(1_000);
  const counted = cell.link.session?.counts.receipts.get("stale_epoch") ?? 0;
  cell.press(Stop);
  await cell.run(10);
  const moved = cell.motions().length;
  await cell.run(1_000);
  expect(cell.link.session?.counts.receipts.get("stale_epoch") ?? 0).toBeGreaterThan(counted);
  expect(cell.motions().length).toBe(moved);
  expect(cell.mode).toBe(Mode.SafeStop);
});

test("B30: a dropped connection latches, and the next step needs a person", async () => {
  const cell = await running();
  cell.link.isDown = true;
  cell.link.cut("UNAVAILABLE: Connection dropped");
  await cell.until(() => cell.mode === Mode.SafeStop, PATIENCE_MS);
  cell.link.isDown = false;
  const accepted = cell.acceptedCount;
  await cell.until(() => cell.acceptedCount > accepted, PATIENCE_MS);
  expect(cell.policy.phase).toBe("ready");
  await startsByPersonOnly(cell);
});

test("B31: a line that says nothing, or nothing known, is made anew each time", async () => {
  const cell = await running();
  cell.link.isFrozen = true;
  cell.link.cut("UNAVAILABLE: Connection dropped");
  await cell.run(8_000);
  expect(cell.mode).toBe(Mode.SafeStop);
  expect(cell.policy.statusText).toContain("no welcome within 1000 ms");
  const sessions = cell.link.link.session;
  expect(sessions).toBeGreaterThan(3);
  cell.link.isFrozen = false;
  await cell.until(() => cell.policy.phase === "ready", PATIENCE_MS);
  for (let count = 0; count < 5; count += 1) {
    cell.link.link.received(create(HostMessageSchema, {}), cell.link.nowNs);
    expect(cell.policy.statusText).toContain("a message without content");
    await cell.until(() => cell.policy.phase === "ready", PATIENCE_MS);
  }
  expect(cell.link.link.session).toBe(sessions + 6);
  await startsByPersonOnly(cell);
});

test("B35: bytes are numbers or nothing: 3,000 spoilt answers break no limit", async () => {
  const cell = await running();
  const random = new SeededRandom(35);
  const pick = (count: number): number => Math.floor(random.next() * count);
  let readCount = 0;
  cell.beforeTick = () => {
    for (let index = 0; index < 3; index += 1) {
      const { session } = cell.link.link;
      const value = create(ChunkSchema, {
        linkSession: BigInt(session),
        observationId: BigInt(cell.link.observations.length + pick(3) - 1),
        epoch: BigInt(cell.core.epoch),
        actionSchemaFingerprint: cell.link.facts.actionSchemaFingerprint,
        horizon: ROWS,
        width: 6,
        dtNs: 20_000_000n,
        values: Array.from({ length: ROWS * 6 }, () => 100 * random.normal()),
      });
      const message = create(HostMessageSchema, { message: { case: "chunk", value } });
      const bytes = toBinary(HostMessageSchema, message);
      for (let spoilt = pick(6); spoilt >= 0; spoilt -= 1) bytes[pick(bytes.length)] = pick(256);
      try {
        cell.link.link.received(fromBinary(HostMessageSchema, bytes), cell.link.nowNs);
        readCount += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  };
  await cell.run(5_000); // the oracle judges each command
  expect(readCount).toBeGreaterThan(100);
});

test("B54: columns in another order are refused by name, and move nothing", async () => {
  const cell = await running();
  const { link } = cell;
  const { facts } = link;
  const columns = cell.robot.joints.map(({ name }) => name);
  const permuted = [...columns.slice(1), columns[0]!];
  link.facts = create(PolicyFactsSchema, {
    ...facts,
    actionSchema: { ...facts.actionSchema!, columns: permuted },
    actionSchemaFingerprint: BigInt(schemaFingerprint(jointSchema("joint_pos", permuted))),
  });
  link.cut("UNAVAILABLE: Connection dropped");
  await cell.run(WINDOW_NS / 1e6);
  const moved = cell.motions().length;
  await cell.run(3_000);
  expect(cell.motions().length).toBe(moved);
  expect(cell.mode).toBe(Mode.SafeStop);
  expect(link.link.refusal).toMatchObject({
    field: "policy.action_schema.columns",
    expected: columns.join(", "),
    found: permuted.join(", "),
  });
  link.facts = facts;
  await cell.until(() => cell.policy.phase === "ready", PATIENCE_MS);
  await startsByPersonOnly(cell);
});
