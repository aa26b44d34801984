// Tests of the ActionBuffer, line by line of its rules: what `put` refuses and in which order, when
// a chunk takes over and when it ends, which row applies, and the evidence of every step. At the
// end a random walk against a model that keeps every chunk in a list and asks no slots.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { ActionSample } from "../contracts/action-sample.ts";
import { ChunkBase, ChunkSlot, HORIZON_MAX } from "../contracts/action.ts";
import { AssertionError } from "../contracts/assert.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { evidenceNames } from "../contracts/evidence.ts";
import { Reason } from "../contracts/reason.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { commandVec, instant, milliseconds } from "../contracts/units.ts";
import { bufferOf, chunkOf, FINGERPRINT, MS } from "./action-buffer-rig.ts";
import type { Shape } from "./action-buffer-rig.ts";
import { ActionBuffer } from "./action-buffer.ts";
import { EvidenceLog } from "./evidence-log.ts";

test("without a decision there is no action, before the first epoch as after it", () => {
  expect(bufferOf().at(0)).toBe("no_action");
  const command = commandVec(new Float64Array(1));
  const buffer = new ActionBuffer(testProfile(), FINGERPRINT, command, new EvidenceLog());
  expect(buffer.sampleInto(new ActionSample(1), instant(0))).toBe(Reason.NoAction);
});

test("a chunk whose time has come is active at once, and the buffer keeps its own copy", () => {
  const { buffer, at, sample, events } = bufferOf();
  const chunk = chunkOf({ seq: 3, slots: { stateStampNs: 5 } });
  expect(buffer.put(chunk, instant(0))).toBe(Evidence.Accepted);
  chunk.values.fill(99);
  expect(at(0)).toBe(0);
  const { epoch, seq, row, width, schemaFingerprint, stateStampNs } = sample;
  expect({ epoch, seq, row, width, schemaFingerprint, stateStampNs }).toEqual({
    epoch: 1,
    seq: 3,
    row: 0,
    width: 1,
    schemaFingerprint: FINGERPRINT,
    stateStampNs: 5,
  });
  expect(events()).toEqual(["accepted 3", "activated 3"]);
});

test("row i covers its own dt, closed at the start and open at the end", () => {
  const { put, at } = bufferOf();
  put({}, 0);
  expect([0, 19.999_999, 20, 39.999_999, 40, 60, 79.999_999].map(at)).toEqual([
    0, 0, 1, 1, 2, 3, 3,
  ]);
});

test("a chunk ends exactly at valid_until, is noted once, and never comes back", () => {
  const { put, at, events } = bufferOf();
  put({ untilMs: 50 }, 0);
  expect([49.999_999, 50, 51].map(at)).toEqual([2, "no_action", "no_action"]);
  expect(events()).toEqual(["accepted 1", "activated 1", "expired 1"]);
});

test("beyond its last row a chunk that is still valid stays at that row", () => {
  const { put, at, sample } = bufferOf();
  put({ untilMs: 200 }, 0);
  expect([79, 80, 199].map(at)).toEqual([3, 3, 3]);
  expect(sample.row).toBe(3);
});

test("late arrivals skip the rows whose time is over", () => {
  const { put, at } = bufferOf();
  put({}, 45);
  expect(at(45)).toBe(2);
});

test("the latest decision wins: it replaces the active one and clears the scheduled one", () => {
  const { put, at, events } = bufferOf();
  put({ seq: 1 }, 0);
  put({ seq: 2, fromMs: 40, rows: () => 20 }, 0);
  put({ seq: 3, rows: () => 30 }, 10);
  expect([10, 40, 60].map(at)).toEqual([30, 30, 30]);
  expect(events()).toEqual([
    "accepted 1",
    "activated 1",
    "accepted 2",
    "accepted 3",
    "preempted 2",
    "preempted 1",
    "activated 3",
  ]);
});

test("a scheduled chunk waits, only a later decision replaces it, and it leaves no gap", () => {
  const { put, at, sample, events } = bufferOf();
  put({ seq: 1 }, 0);
  put({ seq: 3, fromMs: 60, rows: () => 30 }, 0);
  expect(put({ seq: 2, fromMs: 40, rows: () => 20 }, 0)).toBe("rejected_out_of_order");
  put({ seq: 4, fromMs: 40, rows: () => 40 }, 0);
  expect([0, 39.999_999, 40, 60].map(at)).toEqual([0, 1, 40, 40]);
  expect(sample.seq).toBe(4);
  expect(events()).toEqual([
    "accepted 1",
    "activated 1",
    "accepted 3",
    "rejected_out_of_order 2",
    "accepted 4",
    "preempted 3",
    "preempted 1",
    "activated 4",
  ]);
});

test("a scheduled chunk takes over from nothing, and expires in its turn", () => {
  const { put, at } = bufferOf();
  put({ fromMs: 40, horizon: 1, rows: () => 5 }, 0);
  expect([0, 39, 40, 59, 60].map(at)).toEqual(["no_action", "no_action", 5, 5, "no_action"]);
});

test("a scheduled chunk whose window was slept through is never used", () => {
  const { put, at, events } = bufferOf();
  put({ fromMs: 20, horizon: 1 }, 0);
  expect(at(45)).toBe("no_action");
  expect(events()).toEqual(["accepted 1", "activated 1", "expired 1"]);
});

test("a chunk whose time has come is not replaced by one that is still to come", () => {
  const { put, at } = bufferOf();
  put({ seq: 1, horizon: 2, rows: () => 10 }, 0);
  put({ seq: 2, fromMs: 40, rows: () => 20 }, 0);
  put({ seq: 3, fromMs: 100, rows: () => 30 }, 40);
  expect([40, 99, 100].map(at)).toEqual([20, 20, 30]);
});

test("a parked chunk that is replaced by one for now never took over", () => {
  const { put, at, events } = bufferOf();
  put({ seq: 1, fromMs: 40 }, 0);
  put({ seq: 2, fromMs: 40, rows: () => 20 }, 40);
  expect(at(40)).toBe(20);
  expect(events()).toEqual(["accepted 1", "accepted 2", "preempted 1", "activated 2"]);
});

test("a takeover is told in one sample, whether it came at once or was scheduled", () => {
  const { put, at, sample } = bufferOf();
  put({ seq: 1 }, 0);
  put({ seq: 2, fromMs: 40 }, 0);
  const told = [0, 5, 39, 40, 45].map((nowMs) => {
    at(nowMs);
    return sample.tookOver;
  });
  expect(told).toEqual([true, false, false, true, false]);
});

test("a takeover waits for the first sample: a tick that never asked has not seen it", () => {
  const { put, at, sample } = bufferOf();
  put({ seq: 1 }, 0);
  at(10);
  expect(sample.tookOver).toBe(true);
  at(90);
  expect(sample.tookOver).toBe(false);
});

// Each lie alone, and the name of its refusal.
const lies: [(typeof evidenceNames)[number], Shape][] = [
  ["rejected_stale_epoch", { epoch: 2 }],
  ["rejected_stale_epoch", { epoch: 0 }],
  ["rejected_stale_epoch", { epoch: Number.NaN }],
  ["rejected_out_of_order", { seq: 5 }],
  ["rejected_out_of_order", { seq: 4 }],
  ["rejected_out_of_order", { seq: Number.NaN }],
  ["rejected_not_finite", { seq: Infinity }],
  ["rejected_unreachable", { slots: { refusal: Evidence.RejectedUnreachable } }],
  ["rejected_singular", { slots: { refusal: Evidence.RejectedSingular } }],
  ["rejected_schema", { slots: { schemaFingerprint: 78 } }],
  ["rejected_schema", { slots: { schemaVersion: 99 } }],
  ["rejected_width", { width: 2 }],
  ["rejected_width", { slots: { width: 0 } }],
  ["rejected_horizon", { slots: { horizon: 0 } }],
  ["rejected_horizon", { slots: { horizon: -1 } }],
  ["rejected_horizon", { slots: { horizon: 2.5 } }],
  ["rejected_horizon", { slots: { horizon: HORIZON_MAX + 1 } }],
  ["rejected_horizon", { slots: { horizon: Number.NaN } }],
  ["rejected_horizon", { slots: { dtNs: 0 } }],
  ["rejected_horizon", { slots: { dtNs: -1 } }],
  ["rejected_horizon", { slots: { dtNs: 1e9 + 1, validUntilNs: 1e9 } }],
  ["rejected_horizon", { untilMs: 1_080.000_001 }],
  ["rejected_horizon", { slots: { validUntilNs: 1e18 } }],
  ["rejected_horizon", { slots: { validFromNs: -1e18 } }],
  ["rejected_horizon", { horizon: 1, fromMs: 50, untilMs: 1_071 }],
  ["rejected_not_finite", { slots: { dtNs: Number.NaN } }],
  ["rejected_not_finite", { slots: { generatedNs: Infinity } }],
  ["rejected_not_finite", { slots: { validFromNs: -Infinity } }],
  ["rejected_not_finite", { slots: { validUntilNs: Infinity } }],
  ["rejected_not_finite", { slots: { stateStampNs: Number.NaN } }],
  ["rejected_not_finite", { rows: (row) => (row === 3 ? Number.NaN : 0) }],
  ["rejected_not_finite", { rows: (row) => (row === 0 ? -Infinity : 0) }],
  ["rejected_window_over", { untilMs: 10 }],
  ["rejected_window_over", { fromMs: 60, untilMs: 60 }],
  ["rejected_window_over", { fromMs: 60, untilMs: 50 }],
  ["rejected_state_in_future", { slots: { stateStampNs: 11 * MS + 1 } }],
];
test.each(lies)("a chunk is %s, said with its id, and the active one stays", (code, shape) => {
  const { put, at, events } = bufferOf();
  put({ seq: 5, untilMs: 500, rows: () => 5 }, 0);
  expect(put({ seq: 6, untilMs: 500, rows: () => 6, ...shape }, 10)).toBe(code);
  expect(at(10)).toBe(5);
  expect(events().slice(2)).toEqual([`${code} ${shape.seq ?? 6}`]);
  // A refused decision has used nothing up: the next one may have any id above the last accepted.
  expect(put({ seq: 6 }, 10)).toBe("accepted");
});

test("what a chunk may say: the edges that are still accepted", () => {
  const accepted: Shape[] = [
    { slots: { stateStampNs: 11 * MS } },
    { slots: { generatedNs: 1e15 } },
    { horizon: HORIZON_MAX },
    { horizon: 1 },
    { untilMs: 10.000_001 },
    { untilMs: 1_080 },
    { horizon: 1, fromMs: 50, untilMs: 1_070 },
    { horizon: 1, dtMs: 1_000 },
    { seq: 1e15 },
  ];
  for (const shape of accepted) expect(bufferOf().put(shape, 10)).toBe("accepted");
  // What lies beyond the stated rows is nobody's business.
  const chunk = chunkOf();
  chunk.values[4] = Number.NaN;
  expect(bufferOf().buffer.put(chunk, instant(0))).toBe(Evidence.Accepted);
});

test("the first thing that is wrong names the refusal: epoch, order, adapter, schema …", () => {
  const wrong = { seq: 0, horizon: 0, dtNs: Number.NaN, refusal: Evidence.RejectedSingular };
  const all = { ...wrong, schemaFingerprint: 0, width: 9, validUntilNs: 0, stateStampNs: 1e15 };
  const names: (string | undefined)[] = [];
  let slots: Record<string, number> = { ...all, epoch: 9 };
  for (const right of [
    "epoch",
    "seq",
    "refusal",
    "schemaFingerprint",
    "width",
    "horizon",
    "dtNs",
  ]) {
    names.push(bufferOf().put({ slots }, 10));
    slots = Object.fromEntries(Object.entries(slots).filter(([name]) => name !== right));
  }
  names.push(bufferOf().put({ slots }, 10));
  expect(names).toEqual([
    "rejected_stale_epoch",
    "rejected_out_of_order",
    "rejected_singular",
    "rejected_schema",
    "rejected_width",
    "rejected_horizon",
    "rejected_not_finite",
    "rejected_window_over",
  ]);
});

test("a new epoch empties both slots, notes each, and ids start again", () => {
  const { buffer, put, at, events, times } = bufferOf();
  put({ seq: 8 }, 0);
  put({ seq: 9, fromMs: 40 }, 0);
  buffer.syncEpoch(2, instant(10 * MS));
  expect(buffer.epoch).toBe(2);
  expect([10, 40].map(at)).toEqual(["no_action", "no_action"]);
  expect(put({ seq: 10 }, 10)).toBe("rejected_stale_epoch");
  expect(put({ seq: 1, epoch: 2, rows: () => 7 }, 10)).toBe("accepted");
  expect(at(10)).toBe(7);
  expect(events().slice(3, 5)).toEqual(["voided 8", "voided 9"]);
  expect(times().slice(3, 5)).toEqual([10, 10]);
});

test("the gate's refusal to begin voids the active chunk under its own name, once", () => {
  const { buffer, put, at, events } = bufferOf();
  buffer.voidActive(Evidence.RejectedStartMismatch, instant(0));
  put({ seq: 1 }, 0);
  buffer.voidActive(Evidence.RejectedStartMismatch, instant(5 * MS));
  buffer.voidActive(Evidence.RejectedStartMismatch, instant(5 * MS));
  expect(at(5)).toBe("no_action");
  expect(events()).toEqual(["accepted 1", "activated 1", "rejected_start_mismatch 1"]);
});

test("linear: row i is the target at its own time, lines between, the last row holds", () => {
  const { put, at, sample } = bufferOf({ interpolation: "linear" });
  put({ untilMs: 200, rows: (row) => row * row }, 0);
  expect([0, 5, 20, 30].map(at)).toEqual([0, 0.25, 1, 2.5]);
  expect(sample.row).toBe(1);
  expect([50, 60, 70, 100].map(at)).toEqual([6.5, 9, 9, 9]);
  expect(sample.row).toBe(3);
});

test("several joints are read by row and column", () => {
  const joints = [testJoint({ name: "a" }), testJoint({ name: "b" })];
  const { put, at, sample } = bufferOf({ interpolation: "linear" }, joints);
  put({ width: 2, rows: (row, joint) => 10 * row + joint }, 0);
  at(30);
  expect([...sample.values]).toEqual([15, 16]);
  const last = (row: number, joint: number) => (row === 3 && joint === 1 ? Number.NaN : 0);
  expect(put({ seq: 2, width: 2, rows: last }, 30)).toBe("rejected_not_finite");
});

test("held offsets that arrive late move by the row at hand alone, the first row by itself", () => {
  const rows = (row: number) => [1, 3, 6, 10][row]!;
  const starts = [0, 19, 20, 45, 79].map((lateMs) => {
    const { put, at, command } = bufferOf();
    command[0] = 100;
    put({ fromMs: 40, rows, slots: { base: ChunkBase.TakeoverCommand } }, 40 + lateMs);
    return at(40 + lateMs);
  });
  expect(starts).toEqual([101, 101, 102, 103, 104]);
  const { put, at, command } = bufferOf();
  command[0] = 100;
  put({ rows, slots: { base: ChunkBase.TakeoverCommand } }, 25);
  expect([25, 40, 60].map(at)).toEqual([102, 105, 109]);
});

test("absolute rows that arrive late are not moved", () => {
  const { put, at, command } = bufferOf();
  command[0] = 100;
  put({ rows: (row) => row }, 45);
  expect(at(45)).toBe(2);
});

test("a blend fades from the old chunk to the new one over its stated time", () => {
  const { put, at } = bufferOf({ blendNs: milliseconds(40) });
  put({ seq: 1, untilMs: 500, rows: () => 0 }, 0);
  put({ seq: 2, untilMs: 500, rows: () => 8 }, 100);
  expect([100, 110, 120, 139, 140, 150].map(at)).toEqual([0, 2, 4, 7.8, 8, 8]);
});

test("the first row behind a blend is the new chunk's own, to the bit", () => {
  const { put, at } = bufferOf({ blendNs: milliseconds(40) });
  put({ seq: 1, untilMs: 500, rows: () => 0.4 }, 0);
  put({ seq: 2, untilMs: 500, rows: () => 0.1 }, 100);
  // 0.4 + (0.1 - 0.4) is not 0.1.
  expect(at(140)).toBe(0.1);
});

test("a blend is over when the old window is, without a leap; the first chunk has none", () => {
  const { put, at } = bufferOf({ blendNs: milliseconds(40) });
  put({ seq: 1, untilMs: 110, rows: () => 4 }, 0);
  expect(at(0)).toBe(4);
  put({ seq: 2, untilMs: 500, rows: () => 8 }, 100);
  expect([100, 109, 110].map(at)).toEqual([4, 7.6, 8]);
});

test("a blend follows the old chunk's rows, and dies with a new epoch", () => {
  const { buffer, put, at } = bufferOf({ blendNs: milliseconds(40), interpolation: "linear" });
  put({ seq: 1, rows: (row) => row }, 0);
  put({ seq: 2, untilMs: 500, rows: () => 9 }, 20);
  expect(at(30)).toBe(1.5 + (9 - 1.5) / 4);
  buffer.syncEpoch(2, instant(30 * MS));
  put({ epoch: 2, untilMs: 500, rows: () => 5 }, 30);
  expect(at(31)).toBe(5);
});

test("a blend is not resumed after the chunk it led to was refused by the gate", () => {
  const { buffer, put, at } = bufferOf({ blendNs: milliseconds(40) });
  put({ seq: 1, untilMs: 500, rows: () => 0 }, 0);
  put({ seq: 2, untilMs: 500, rows: () => 8 }, 100);
  buffer.voidActive(Evidence.RejectedStartMismatch, instant(100 * MS));
  put({ seq: 3, untilMs: 500, rows: () => 6 }, 105);
  expect(at(105)).toBe(6);
});

test("the active chunk tells when it was activated", () => {
  const { buffer, put, at } = bufferOf();
  put({ fromMs: 40 }, 0);
  at(45);
  expect(buffer.active.record[ChunkSlot.activatedNs]).toBe(45 * MS);
});

test("one command value per joint is asserted", () => {
  const profile = testProfile();
  const command = commandVec(new Float64Array(2));
  const make = () => new ActionBuffer(profile, FINGERPRINT, command, new EvidenceLog());
  expect(make).toThrow(AssertionError);
});

/** Keeps every accepted chunk for ever and looks for the one that applies. */
class Model {
  #accepted: { seq: number; fromMs: number; untilMs: number; value: number; atMs: number }[] = [];

  put(seq: number, fromMs: number, untilMs: number, value: number, nowMs: number): boolean {
    const last = Math.max(0, ...this.#accepted.map((chunk) => chunk.seq));
    if (seq <= last || untilMs <= nowMs || fromMs >= untilMs) return false;
    this.#accepted.push({ seq, fromMs, untilMs, value, atMs: nowMs });
    return true;
  }

  /** The newest chunk that has taken over by now, unless its window is over. */
  at(nowMs: number): number | string {
    const applies = this.#accepted.filter((chunk, index) => {
      const takeoverMs = Math.max(chunk.fromMs, chunk.atMs);
      // Parked, then replaced before its time came: it never took over.
      const rest = this.#accepted.slice(index + 1);
      const dropped = rest.some((later) => later.atMs < takeoverMs || later.atMs < chunk.fromMs);
      return takeoverMs <= nowMs && !dropped;
    });
    const newest = applies[applies.length - 1];
    return newest === undefined || nowMs >= newest.untilMs ? "no_action" : newest.value;
  }
}

test("over random walks the two slots answer as a model that remembers everything", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = new SeededRandom(seed);
    const whole = (below: number) => Math.floor(random.next() * below);
    const { put, at } = bufferOf();
    const model = new Model();
    for (let nowMs = 0; nowMs < 1_500; nowMs += 5) {
      if (random.next() < 0.2) {
        const [seq, fromMs, length] = [whole(60), nowMs - 30 + whole(90), whole(120) - 10];
        const untilMs = fromMs + length;
        const accepted = put({ seq, fromMs, untilMs, rows: () => seq }, nowMs) === "accepted";
        expect(accepted).toBe(model.put(seq, fromMs, untilMs, seq, nowMs));
      }
      expect(at(nowMs)).toBe(model.at(nowMs));
    }
  }
});
