// Tests of the code tables: a name for every code, in the order of the codes, none twice. Logs and
// recordings hold the codes, so each table is pinned whole: entries may be added, never moved.

import { expect, test } from "bun:test";
import { AssertionError, assert } from "./assert.ts";
import { CommandKind, RepairBit, commandKindNames, repairNames } from "./command.ts";
import { Evidence, evidenceNames, isVerdict } from "./evidence.ts";
import { Mode, OperatorCue, modeNames } from "./mode.ts";
import { SequenceAllocator } from "./policy.ts";
import { REASON_COUNT, Reason, reasonNames } from "./reason.ts";
import { milliseconds } from "./units.ts";

const snake = (key: string): string => key.replace(/(?<!^)(?=[A-Z])/g, "_").toLowerCase();

/** Codes 0, 1, 2 … in the order of the keys. */
const inOrder = (table: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.keys(table).map((key, index) => [key, index]));

test("every code has a name, at its own place", () => {
  const tables = [
    [Reason, reasonNames],
    [Evidence, evidenceNames],
    [CommandKind, commandKindNames],
  ] as const;
  for (const [table, names] of tables) {
    expect(table as Record<string, number>).toEqual(inOrder(table));
    expect(names as readonly string[]).toEqual(Object.keys(table).map(snake));
  }
  expect(modeNames as readonly string[]).toEqual(
    Object.keys(Mode).map((key) => snake(key).toUpperCase()),
  );
  expect(REASON_COUNT).toBe(13);
});

test("a verdict is what was accepted or rejected, and nothing that happened later", () => {
  const verdicts = evidenceNames.filter((_, code) => isVerdict(code as Evidence));
  expect(verdicts).toEqual(evidenceNames.filter((name) => /^(accepted|rejected_.+)$/.test(name)));
});

test("codes keep the places that recordings hold", () => {
  expect(Object.keys(Reason).slice(0, 13).join(" ")).toBe(
    "Ok Stop StaleState StampInFuture LowQuality NoAction SchemaMismatch WidthMismatch NotFinite " +
      "StartMismatch HypothesisUnsupported SourceMissing PolicyThrew",
  );
  expect(Object.keys(Mode).join(" ")).toBe(
    "Starting Running Degraded SafeStop Recover FaultLatched",
  );
  expect(OperatorCue as Record<string, number>).toEqual(inOrder(OperatorCue));
  expect(Object.keys(OperatorCue).slice(0, 9).join(" ")).toBe(
    "None Stop Reset Start Shutdown DriverLost PolicyLost MainSlow Park",
  );
});

test("each repair has a bit of its own, in the order of the names", () => {
  const bits = Object.entries(RepairBit).map(([key, bit]): [string, number] => [snake(key), bit]);
  expect(bits).toEqual(repairNames.map((name, index): [string, number] => [name, 2 ** index]));
});

test("an allocator counts its epoch's decisions from 1 and knows no other allocator", () => {
  const first = new SequenceAllocator(4);
  const second = new SequenceAllocator(5);
  expect([first.next(), first.next(), second.next(), first.next()]).toEqual([1, 2, 1, 3]);
  expect([first.epoch, second.epoch]).toEqual([4, 5]);
});

test("an epoch is a whole number from 0", () => {
  for (const epoch of [-1, 0.5, Number.NaN, Infinity]) {
    expect(() => new SequenceAllocator(epoch)).toThrow(AssertionError);
  }
});

test("an assertion throws its statement when the fact does not hold, and only then", () => {
  expect(() => assert(false, "water is wet")).toThrow("Assertion failed: water is wet");
  expect(() => assert(true, "water is wet")).not.toThrow();
});

test("milliseconds are whole nanoseconds", () => {
  expect([milliseconds(2.5), milliseconds(0.1), milliseconds(16.7)] as number[]).toEqual([
    2_500_000, 100_000, 16_700_000,
  ]);
});
