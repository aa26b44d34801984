// What of a host's chunk is refused, by word, and how one that fits is written: with the epoch,
// the id and the stamp of the request, whatever the host says.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ANCHOR_BY_PROFILE, ChunkView, schemaFingerprint } from "../contracts/action.ts";
import { instant } from "../contracts/units.ts";
import { ChunkCheck } from "./chunk-check.ts";
import { DT_NS, HORIZON, SCHEMA } from "./fixture.ts";
import { ChunkSchema } from "./generated/policy_pb.js";

const check = new ChunkCheck({ schema: SCHEMA, horizon: HORIZON, dtNs: DT_NS });
const asked = { epoch: 3, seq: 7, stampNs: instant(1_000_000) };
const rows = Array.from({ length: HORIZON * 2 }, (_, index) => index / 8);
const chunk = (change: MessageInitShape<typeof ChunkSchema> = {}) => {
  const plain: MessageInitShape<typeof ChunkSchema> = {
    epoch: 3n,
    actionSchemaFingerprint: BigInt(schemaFingerprint(SCHEMA)),
    horizon: HORIZON,
    width: 2,
    dtNs: BigInt(DT_NS),
    values: rows,
  };
  return create(ChunkSchema, { ...plain, ...change } as typeof plain);
};

test.each([
  ["wrong_epoch", { epoch: 2n }],
  ["wrong_schema", { actionSchemaFingerprint: 1n }],
  ["wrong_width", { width: 3 }],
  ["wrong_horizon", { horizon: HORIZON + 1 }],
  ["wrong_horizon", { horizon: 0 }],
  ["wrong_dt", { dtNs: 1n }],
  ["wrong_count", { values: rows.slice(1) }],
  ["wrong_count", { values: [...rows, 1] }],
  ["not_finite", { values: rows.with(3, Number.NaN) }],
  ["not_finite", { values: rows.with(0, Infinity) }],
  ["wrong_start_offset", { startOffsetNs: 1n << 60n }],
  ["wrong_start_offset", { startOffsetNs: -(1n << 60n) }],
])("%s is refused", (word, change) => {
  expect(check.refusalOf(chunk(change), asked)).toBe(word as never);
});

test("a chunk that fits is written with the asked epoch, id and stamp", () => {
  const out = new ChunkView();
  expect(check.refusalOf(chunk(), asked)).toBeUndefined();
  check.writeInto(out, chunk(), asked);
  expect([out.epoch, out.seq, out.stateStampNs]).toEqual([3, 7, instant(1_000_000)]);
  expect([...out.values.subarray(0, rows.length)]).toEqual(rows);
  expect(out.validFromNs).toBe(ANCHOR_BY_PROFILE);
});

test("a start offset names the window, from the stamp of the asked state", () => {
  const out = new ChunkView();
  check.writeInto(out, chunk({ startOffsetNs: 40_000_000n }), asked);
  expect(Number(out.validFromNs)).toBe(41_000_000);
  expect(Number(out.validUntilNs)).toBe(41_000_000 + HORIZON * DT_NS);
});

test("a plan that began before the state was sampled keeps its place in time", () => {
  const out = new ChunkView();
  check.writeInto(out, chunk({ startOffsetNs: -15_000_000n }), {
    ...asked,
    stampNs: instant(20e6),
  });
  expect(Number(out.validFromNs)).toBe(5e6);
  check.writeInto(out, chunk({ startOffsetNs: 0n }), asked);
  expect(Number(out.validFromNs)).toBe(1_000_000);
});
