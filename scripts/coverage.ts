// Judges the lcov file of `bun test --coverage`: nine lines of ten over the product, and every line
// under safety/. A product file that no test loads counts as a failure of its own, and what cannot
// be measured is named in a table with the reason.

import { parseSync } from "oxc-parser";
import { ROOT } from "./child-process.ts";

/** Least share of covered lines, overall and under safety/. */
const OVERALL_RATIO_MIN = 0.9;
const SAFETY_RATIO_MIN = 1;
const PRODUCT = new Bun.Glob("{runtime,hal,drivers,safety}/**/*.ts");

type Exclusion = { readonly pattern: string; readonly reason: string };

const THREAD = "runs only in a Worker, which coverage does not follow; the run tests start it";
const CHILD = "runs in a process of its own in the tests, which coverage does not follow";

export const exclusions: readonly Exclusion[] = [
  { pattern: "runtime/workers/*.worker.ts", reason: THREAD },
  { pattern: "runtime/main.ts", reason: CHILD },
  { pattern: "runtime/compose.ts", reason: CHILD },
  { pattern: "runtime/cli/run-streaming.ts", reason: CHILD },
  { pattern: "runtime/cli/last-resort.ts", reason: CHILD },
  { pattern: "runtime/cli/bench-core.ts", reason: CHILD },
  { pattern: "runtime/workers/thread.ts", reason: THREAD },
  { pattern: "runtime/workers/ports.ts", reason: THREAD },
  { pattern: "runtime/workers/estop-port.ts", reason: THREAD },
  { pattern: "runtime/workers/remote-policy.ts", reason: THREAD },
  { pattern: "drivers/estop/emulator.ts", reason: CHILD },
];

/** Product sources by path. */
export type Sources = ReadonlyMap<string, string>;

export type CoverageVerdict = {
  readonly overallRatio: number;
  readonly safetyRatio: number;
  /** One sentence per failure; none when all is well. */
  readonly problems: readonly string[];
};

/** Covered and all lines of each file in an lcov text. */
export function readLcov(text: string): Map<string, { hits: Map<number, number> }> {
  const files = new Map<string, { hits: Map<number, number> }>();
  let current = new Map<number, number>();
  for (const line of text.split("\n")) {
    const [key, value = ""] = line.split(/:(.*)/s, 2);
    if (key === "SF") {
      current = new Map();
      files.set(value, { hits: current });
    } else if (key === "DA") {
      const [number = 0, count = 0] = value.split(",").map(Number);
      current.set(number, Math.max(count, current.get(number) ?? 0));
    }
  }
  return files;
}

/** Holds the measured lines of `lcov` against the limits. */
export function judgeCoverage(lcov: string, sources: Sources): CoverageVerdict {
  const measured = readLcov(lcov);
  const problems: string[] = [];
  let overall = { covered: 0, all: 0 };
  let safety = { covered: 0, all: 0 };
  for (const [path, source] of sources) {
    if (isExcluded(path)) continue;
    const hits = measured.get(path)?.hits;
    if (hits === undefined) {
      if (hasCode(path, source)) problems.push(`${path}: no test loads it`);
      continue;
    }
    const missed = [...hits].filter(([, count]) => count === 0).map(([line]) => line);
    const counts = { covered: hits.size - missed.length, all: hits.size };
    overall = add(overall, counts);
    if (!path.startsWith("safety/")) continue;
    safety = add(safety, counts);
    if (missed.length > 0) problems.push(`${path}: no test reaches ${ranges(missed)}`);
  }
  for (const { pattern } of exclusions) {
    if (![...sources.keys()].some((path) => new Bun.Glob(pattern).match(path))) {
      problems.push(`${pattern}: excluded, but no file fits: take it out of the table`);
    }
  }
  const overallRatio = ratio(overall);
  const safetyRatio = ratio(safety);
  if (overallRatio < OVERALL_RATIO_MIN) {
    problems.push(`overall ${percent(overallRatio)} is below ${percent(OVERALL_RATIO_MIN)}`);
  }
  if (safetyRatio < SAFETY_RATIO_MIN) {
    problems.push(`safety/ ${percent(safetyRatio)} is below ${percent(SAFETY_RATIO_MIN)}`);
  }
  return { overallRatio, safetyRatio, problems };
}

/** "3, 7-9" from the numbers of missed lines. */
export function ranges(lines: readonly number[]): string {
  const sorted = [...lines].sort((a, b) => a - b);
  const spans: [number, number][] = [];
  for (const line of sorted) {
    const last = spans[spans.length - 1];
    if (last !== undefined && line === last[1] + 1) last[1] = line;
    else spans.push([line, line]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}

const isExcluded = (path: string): boolean =>
  exclusions.some(({ pattern }) => new Bun.Glob(pattern).match(path));

/** Whether a file leaves anything at run time; a file of types leaves nothing to cover. */
function hasCode(path: string, source: string): boolean {
  return parseSync(path, source).program.body.some((statement) => {
    if (statement.type === "ImportDeclaration" || statement.type === "ExportAllDeclaration") {
      return false;
    }
    const declared =
      statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    return (
      declared !== null &&
      !["TSTypeAliasDeclaration", "TSInterfaceDeclaration"].includes(declared.type)
    );
  });
}

function add(
  a: { covered: number; all: number },
  b: { covered: number; all: number },
): { covered: number; all: number } {
  return { covered: a.covered + b.covered, all: a.all + b.all };
}

const ratio = (lines: { covered: number; all: number }): number =>
  lines.all === 0 ? 0 : lines.covered / lines.all;

const percent = (value: number): string => `${(Math.floor(value * 1_000) / 10).toFixed(1)} %`;

async function readSources(): Promise<Sources> {
  const sources = new Map<string, string>();
  for (const path of [...PRODUCT.scanSync({ cwd: ROOT })].sort()) {
    if (path.endsWith(".test.ts") || path.endsWith(".d.ts")) continue;
    sources.set(path, await Bun.file(`${ROOT}/${path}`).text());
  }
  return sources;
}

if (import.meta.main) {
  const lcov = Bun.file(process.argv[2] ?? `${ROOT}/.cache/test/coverage/lcov.info`);
  if (!(await lcov.exists())) {
    console.error(`Cannot judge coverage: no ${lcov.name}; run bun test --coverage first`);
    process.exit(2);
  }
  const verdict = judgeCoverage(await lcov.text(), await readSources());
  for (const problem of verdict.problems) console.log(problem);
  const { overallRatio, safetyRatio } = verdict;
  console.log(`coverage: ${percent(overallRatio)} overall, ${percent(safetyRatio)} in safety/`);
  for (const { pattern, reason } of exclusions) console.log(`not measured: ${pattern}: ${reason}`);
  process.exit(verdict.problems.length === 0 ? 0 : 1);
}
