// The judge of the firmware's branches, on counts written by hand: what two builds took together,
// what the table excuses, and what it no longer may.

import { expect, test } from "bun:test";
import { judgeBranches, sumCounts } from "./firmware-coverage.ts";

const file = (name: string, line: number, ...counts: readonly number[]) => ({
  file: `/any/${name}`,
  lines: [
    { line_number: line, branches: counts.map((count) => ({ count })) },
    { line_number: line + 1, branches: [] },
  ],
});

test("a branch is taken when any build of the firmware takes it", () => {
  const sums = sumCounts([file("a.c", 3, 0, 2), file("a.c", 3, 1, 0), file("b.c", 3, 0, 0)]);
  expect([...sums]).toEqual([
    ["a.c:3", [1, 2]],
    ["b.c:3", [0, 0]],
  ]);
});

test("a branch that nobody takes is a problem, but for the one that the table names", () => {
  const counts = sumCounts([file("a.c", 3, 1, 0), file("a.c", 7, 0, 5, 0)]);
  const codeAt = (place: string): string => (place === "a.c:3" ? "if (never) {" : "if (x) {");
  const row = { file: "a.c", code: "if (never) {", reason: "" };
  const problem = "a.c:7: 2 of 3 branches never taken: if (x) {";
  expect(judgeBranches(counts, codeAt, [row])).toEqual({
    branchCount: 5,
    takenCount: 2,
    problems: [problem],
  });
  // A row excuses one branch of its line, and in its own file.
  expect(judgeBranches(counts, () => "if (never) {", [row]).problems).toHaveLength(1);
  expect(judgeBranches(counts, codeAt, [{ ...row, file: "b.c" }]).problems).toHaveLength(3);
});

test("a row whose branch is taken must go", () => {
  const row = { file: "a.c", code: "if (never) {", reason: "" };
  const { problems } = judgeBranches(sumCounts([file("a.c", 3, 1, 1)]), () => row.code, [row]);
  expect(problems).toEqual(["a.c: taken, and yet in the table: if (never) {"]);
});
