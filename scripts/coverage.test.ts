// The judge of coverage, on lcov texts written by hand: the limits, the exact limit of safety/, the
// files that nobody loads, and the table of exclusions.

import { expect, test } from "bun:test";
import { exclusions, judgeCoverage, ranges } from "./coverage.ts";

const CODE = "export const a = 1;\n";
/** A file for each row of the exclusions, so that none of them is stale. */
const excluded = exclusions.map(({ pattern }) => [pattern.replace("*", "x"), CODE] as const);

function lcov(files: Readonly<Record<string, readonly number[]>>): string {
  const blocks = Object.entries(files).map(([path, counts]) => {
    const lines = counts.map((count, index) => `DA:${index + 1},${count}`);
    return [`TN:`, `SF:${path}`, ...lines, "end_of_record"].join("\n");
  });
  return `${blocks.join("\n")}\n`;
}

const hits = (covered: number, missed: number): number[] => [
  ...Array<number>(covered).fill(3),
  ...Array<number>(missed).fill(0),
];

function judge(files: Readonly<Record<string, readonly number[]>>, more: [string, string][] = []) {
  const own = Object.keys(files).map((path) => [path, CODE] as const);
  return judgeCoverage(lcov(files), new Map([...excluded, ...own, ...more]));
}

test("nine lines of ten and all of safety are enough", () => {
  expect(judge({ "hal/a.ts": hits(80, 10), "safety/gate.ts": hits(10, 0) })).toEqual({
    overallRatio: 0.9,
    safetyRatio: 1,
    problems: [],
  });
});

test("one line less than nine of ten is named with its share", () => {
  const { problems } = judge({ "hal/a.ts": hits(79, 11), "safety/gate.ts": hits(10, 0) });
  expect(problems).toEqual(["overall 89.0 % is below 90.0 %"]);
});

test("one missed line of safety is named with its place", () => {
  const { problems } = judge({ "safety/gate.ts": hits(999, 1) });
  expect(problems).toEqual([
    "safety/gate.ts: no test reaches 1000",
    "safety/ 99.9 % is below 100.0 %",
  ]);
});

test("a file with code that no test loads is named, a file of types is not", () => {
  const types = 'import type { A } from "./a.ts";\nexport type B = A;\n';
  const { problems } = judge({ "safety/gate.ts": hits(10, 0) }, [
    ["hal/b.ts", CODE],
    ["hal/types.ts", types],
  ]);
  expect(problems).toEqual(["hal/b.ts: no test loads it"]);
});

test("an exclusion that fits no file is stale", () => {
  const sources = new Map([["safety/gate.ts", CODE]]);
  const { problems } = judgeCoverage(lcov({ "safety/gate.ts": hits(1, 0) }), sources);
  expect(problems).toEqual(
    exclusions.map(
      ({ pattern }) => `${pattern}: excluded, but no file fits: take it out of the table`,
    ),
  );
});

test("files that nobody measured do not pass as covered", () => {
  expect(judgeCoverage("", new Map(excluded)).problems).toEqual([
    "overall 0.0 % is below 90.0 %",
    "safety/ 0.0 % is below 100.0 %",
  ]);
});

test("missed lines are told as ranges", () => {
  expect(ranges([9, 3, 7, 8])).toBe("3, 7-9");
});
