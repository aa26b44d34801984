// Which branches of the e-stop's core its tests on this machine take: gcc counts them in the very
// library that bun:ffi loads, and gcov tells them, plain and keyed build together. A branch that no
// test takes fails, unless it stands in the table of those that nothing can take, with the reason.
//
//   bun scripts/firmware-coverage.ts

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { FIRMWARE, FIRMWARE_OUT, hasHostCompiler } from "../firmware-tests/firmware-build.ts";
import { makeFirmware } from "../firmware-tests/firmware-build.ts";
import { runCommand } from "./child-process.ts";

const COUNTED_OUT = join(FIRMWARE_OUT, "counted");
const TEST_SECONDS_MAX = 240;
const GCOV_SECONDS_MAX = 60;
/** Those that walk every part of the core; others do so too, for longer. */
const TESTS = ["behaviour", "core", "edges", "keyed", "link", "model", "proof"];
/** In each process of those tests, at its end. */
const WRITE_COUNTS = new URL("../firmware-tests/write-counts.ts", import.meta.url).pathname;
/** Not part of the firmware. */
const RIG = "host_ffi.c";

type Unreachable = { readonly file: string; readonly code: string; readonly reason: string };

/** One branch each, by the text of its line. */
export const unreachable: readonly Unreachable[] = [
  {
    file: "estop.c",
    code: "switch (self->proof_step) {",
    reason: "its default: the steps without a case are never asked",
  },
  {
    file: "estop.c",
    code: "return link->bad_streak >= ESTOP_FAIL_OFF && link->fail_count >= ESTOP_FAIL_OFF;",
    reason: "each of five bad answers in a row has raised the count",
  },
];

/** One file of gcov's JSON, as far as it is read. */
type GcovFile = {
  readonly file: string;
  readonly lines: readonly {
    readonly line_number: number;
    readonly branches: readonly { readonly count: number }[];
  }[];
};

/** Times that each branch was taken, by `file:line` and then in the order of the line. */
export type BranchCounts = ReadonlyMap<string, readonly number[]>;

/** Adds what every build counted. A line has the same branches in each that has it. */
export function sumCounts(files: readonly GcovFile[]): BranchCounts {
  const sums = new Map<string, number[]>();
  for (const { file, lines } of files) {
    for (const { line_number: line, branches } of lines) {
      if (branches.length === 0) continue;
      const place = `${basename(file)}:${line}`;
      const sum = sums.get(place) ?? branches.map(() => 0);
      for (const [at, { count }] of branches.entries()) sum[at] = (sum[at] ?? 0) + count;
      sums.set(place, sum);
    }
  }
  return sums;
}

export type BranchVerdict = {
  readonly branchCount: number;
  readonly takenCount: number;
  /** One sentence each; none when all is well. */
  readonly problems: readonly string[];
};

/** Holds the counts against the table; `codeAt` is the text of a line. */
export function judgeBranches(
  counts: BranchCounts,
  codeAt: (place: string) => string,
  table: readonly Unreachable[] = unreachable,
): BranchVerdict {
  const problems: string[] = [];
  const met = new Set<Unreachable>();
  let branchCount = 0;
  let takenCount = 0;
  for (const [place, taken] of counts) {
    branchCount += taken.length;
    const missing = taken.filter((count) => count === 0).length;
    takenCount += taken.length - missing;
    if (missing === 0) continue;
    const code = codeAt(place);
    const known = table.find((each) => place.startsWith(`${each.file}:`) && each.code === code);
    if (known !== undefined) met.add(known);
    if (missing === (known === undefined ? 0 : 1)) continue;
    problems.push(`${place}: ${missing} of ${taken.length} branches never taken: ${code}`);
  }
  for (const each of table) {
    if (!met.has(each)) problems.push(`${each.file}: taken, and yet in the table: ${each.code}`);
  }
  return { branchCount, takenCount, problems };
}

async function gcovFiles(): Promise<GcovFile[]> {
  const counted = readdirSync(COUNTED_OUT).filter((name) => name.endsWith(".gcda"));
  const options = { secondsMax: GCOV_SECONDS_MAX, cwd: COUNTED_OUT };
  const { code, output } = await runCommand(["gcov", "-b", "-j", "-t", ...counted], options);
  if (code !== 0) throw new Error(`Cannot read the counts: gcov says ${output}`);
  const texts = output.split("\n").filter((line) => line !== "");
  return texts.flatMap((text) => (JSON.parse(text) as { files: GcovFile[] }).files);
}

/** Runs the tests on the libraries that count. False when one fails, with its words told. */
async function runTests(): Promise<boolean> {
  const argv = [process.execPath, "test", "--timeout=60000"];
  argv.push("--preload", WRITE_COUNTS);
  argv.push(...TESTS.map((name) => `./firmware-tests/estop-${name}.test.ts`));
  // The chips' images have code of their own.
  argv.push("-t", "^(?!committed image)");
  const options = { secondsMax: TEST_SECONDS_MAX, env: { ESTOP_COUNTED: "1" } };
  const { code, output } = await runCommand(argv, options);
  if (code !== 0) console.error(output);
  return code === 0;
}

/** The text of a line of the firmware, by `file:line`. */
function codeAt(place: string): string {
  const [file = "", line = ""] = place.split(":");
  return readFileSync(join(FIRMWARE, file), "utf8").split("\n")[Number(line) - 1]?.trim() ?? "";
}

async function main(): Promise<number> {
  if (!hasHostCompiler || Bun.which("gcov") === null) {
    console.log("skipped: branches of the firmware: sudo apt-get install gcc make libc6-dev");
    return 0;
  }
  makeFirmware("counted");
  for (const name of readdirSync(COUNTED_OUT)) {
    if (name.endsWith(".gcda")) rmSync(join(COUNTED_OUT, name));
  }
  if (!(await runTests())) return 1;
  const all = await gcovFiles();
  const files = all.filter(({ file }) => file.endsWith(".c") && basename(file) !== RIG);
  const { branchCount, takenCount, problems } = judgeBranches(sumCounts(files), codeAt);
  for (const problem of problems) console.error(problem);
  console.log(`firmware: ${takenCount} of ${branchCount} branches taken`);
  return problems.length === 0 && branchCount > 0 ? 0 : 1;
}

if (import.meta.main) process.exit(await main());
