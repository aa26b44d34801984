// BufferedRows against rows worked out by hand: what lies ahead from a moment on, across a decision
// that begins later.

import { expect, test } from "bun:test";
import { ChunkView } from "../contracts/action.ts";
import { duration, instant } from "../contracts/units.ts";
import { BufferedRows } from "./buffered-rows.ts";

const MS = 1e6;

/** Four rows of one joint, 20 ms apart, that begin at a moment; without one, by the profile. */
function chunk(seq: number, fromMs?: number): ChunkView {
  const view = new ChunkView();
  view.begin(1, seq, 4, 1, duration(20 * MS));
  view.values.set([0, 1, 2, 3].map((row) => 10 * seq + row));
  if (fromMs !== undefined) {
    view.setWindow(instant(fromMs * MS), instant((fromMs + 80) * MS));
  }
  return view;
}
const at = (ms: number) => instant(ms * MS);

test("the row in force comes first, and nothing after the last", () => {
  const rows = new BufferedRows("observation");
  expect(rows.at(at(0))).toEqual([]);
  rows.accepted(chunk(1, 100), at(105));
  const seen = [105, 119, 120, 179, 180, 900].map((ms) => rows.at(at(ms)));
  expect(seen).toEqual([[10, 11, 12, 13], [10, 11, 12, 13], [11, 12, 13], [13], [], []]);
});

test("one that begins later leaves the one before in force until then", () => {
  const rows = new BufferedRows("observation");
  rows.accepted(chunk(1, 100), at(100));
  rows.accepted(chunk(2, 150), at(110));
  expect(rows.at(at(125))).toEqual([11, 12, 20, 21, 22, 23]);
  expect(rows.at(at(150))).toEqual([20, 21, 22, 23]);
  rows.accepted(chunk(3, 400), at(160)); // a gap: it does not follow on
  expect(rows.at(at(180))).toEqual([21, 22, 23]);
});

test("a later decision that waits is replaced by the next, one that is due is in force", () => {
  const rows = new BufferedRows("observation");
  rows.accepted(chunk(1, 100), at(100));
  rows.accepted(chunk(2, 150), at(110));
  rows.accepted(chunk(3, 160), at(120));
  expect(rows.at(at(125))).toEqual([11, 12, 30, 31, 32, 33]);
  rows.accepted(chunk(4, 190), at(165));
  expect(rows.at(at(165))).toEqual([30, 31, 40, 41, 42, 43]);
});

test("what arrives begins then, where the profile says so, and what is voided is not told", () => {
  const rows = new BufferedRows("arrival");
  rows.accepted(chunk(1), at(100));
  expect(rows.at(at(121))).toEqual([11, 12, 13]);
  rows.voided(7);
  expect(rows.at(at(121))).toEqual([11, 12, 13]);
  rows.voided(1);
  expect(rows.at(at(121))).toEqual([]);
  rows.accepted(chunk(2), at(130));
  rows.clear();
  expect(rows.at(at(131))).toEqual([]);
});
