// What was refused, told from made-up evidence: since the last good chunk, by the newest kind, and
// every entry counted by its code.

import { expect, test } from "bun:test";
import { Evidence } from "../contracts/evidence.ts";
import { ChunkTally } from "./chunk-tally.ts";

const { Accepted, Activated, Expired, Preempted, Voided } = Evidence;
const { RejectedHorizon, RejectedNotFinite, RejectedStartMismatch } = Evidence;

test.each([
  ["nothing", [], undefined],
  [
    "good chunks",
    [Accepted, Activated, Accepted, Preempted, Activated, Expired, Voided],
    undefined,
  ],
  [
    "refusals after a good one",
    [RejectedHorizon, Accepted, RejectedNotFinite, RejectedNotFinite],
    2,
  ],
  ["a good one after refusals", [RejectedNotFinite, Accepted], undefined],
  ["an end of the last good one", [RejectedNotFinite, Expired, RejectedNotFinite], 2],
  ["another kind before", [RejectedHorizon, RejectedHorizon, RejectedNotFinite], 1],
] as const)("after %s", (_, codes, chunkCount) => {
  const tally = new ChunkTally();
  for (const code of codes) tally.note(code);
  expect(tally.refusal).toEqual(
    chunkCount === undefined ? undefined : { code: RejectedNotFinite, chunkCount },
  );
});

test("a chunk that was taken and refused at its start counts as refused", () => {
  const tally = new ChunkTally();
  for (let count = 0; count < 3; count += 1) {
    for (const code of [Accepted, Activated, RejectedStartMismatch]) tally.note(code);
  }
  expect(tally.refusal).toEqual({ code: RejectedStartMismatch, chunkCount: 3 });
  expect([...tally.counts]).toEqual([3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
});
