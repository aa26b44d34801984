// Runs every check of the repository, names each with its seconds, and ends with one line
// "N passed, N failed": the cases of `bun test` by its JUnit file, and each other check as one.
// With paths it runs only those test files. It never stops at the first failure.
//
// Tests that follow the wall clock mostly wait. Beside them goes what only computes, so that a
// second core is not idle; two runs in real time never go on beside each other.

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./child-process.ts";
import { JunitError, readJunit } from "./junit.ts";
import { runGroups } from "./lanes.ts";
import type { Group, Outcome, Stage, Verdict } from "./lanes.ts";
import { LONG_FIGURES } from "./long-report.ts";
import { optionalParts } from "./optional-parts.ts";
import { TemporaryFolder } from "./temporary-folder.ts";

type Arguments = { readonly long: boolean; readonly paths: readonly string[] };

const PASSED: Outcome = { passed: 1, failed: 0, skipped: 0, notes: [] };
const failed = (note: string): Outcome => ({ passed: 0, failed: 1, skipped: 0, notes: [note] });

const RESULTS = join(ROOT, ".cache/test");
const BUN = process.execPath;
/** Everything together stays below 15 minutes; a stage that hangs must not take all of them. */
const TEST_SECONDS_MAX = 820;
const LONG_SECONDS_MAX = 4 * 3_600;
const BUILD_SECONDS_MAX = 300;
/** Long ones that look at no clock and start nothing in real time. Any other waits its turn. */
const COMPUTING = [
  ...["chunk-seams*", "estop-behaviour*", "estop-chip*", "estop-core*", "estop-errors*"],
  ...["estop-fuzz*", "estop-keyed*", "estop-late*", "estop-model*", "estop-replay*", "gate-*"],
  ...["estop-assertion*", "parking*", "pick-place*", "profile-sweep*", "rp2040*", "run-lockstep*"],
  ...["restart-histories*", "supervisor-explore*"],
  ...["scenarios/*losses*", "scenarios/field-reports*", "scenarios/proof-ignored*"],
].map((name) => new Bun.Glob(`firmware-tests/${name}`));
// Coverage makes hot loops five times slower, does not follow threads and child processes, and goes
// on beside tests in real time. `estop-emulator*` stays: nothing else loads the emulated board.
const NOT_FOR_COVERAGE = [
  ...["estop-behaviour*", "estop-chip*", "estop-core*", "estop-e2e*", "estop-errors*"],
  ...["estop-fuzz*", "estop-late*", "estop-model*", "kill-matrix*", "scenarios/*"],
  ...["command-line*", "console-page*", "gate-*", "pick-place*", "run-streaming*", "shm-*"],
  ...["host-metrics*", "link-deaths*", "link-gaps*", "onnx-host*", "openpi-link*", "pair.test*"],
  ...["jpeg-link*", "pictures*", "python-host*", "rp2040*", "run-lockstep*", "lockstep-policy*"],
  ...["anchoring*", "host-start*", "policy-trouble*", "profile-sweep*", "stood-still*"],
  ...["host-crowd*", "host-told*", "own-listeners*", "slow-host*", "two-robots*", "wall-clock*"],
].map((name) => `firmware-tests/${name}`);
/** A case that hangs must end; a busy machine must not fail one. */
const CASE_MS_MAX = 60_000;

/** A stage that is one command: it passes when the exit status is 0. */
const command = (name: string, secondsMax: number, argv: readonly string[]): Stage => ({
  name,
  run: async (start) => {
    const result = await start(argv, secondsMax);
    if (result.code === 0) return PASSED;
    return failed(result.timedOut ? `ran past ${secondsMax} s` : `exit status ${result.code}`);
  },
});

const packageTool = (...argv: string[]): string[] => [BUN, "run", "--bun", ...argv];

/** The cases of some test files, or of what the paths of a person name. */
const tests = (name: string, long: boolean, paths: readonly string[]): Stage => ({
  name,
  run: async (start) => {
    const junit = join(RESULTS, `${name.replaceAll(" ", "-")}.xml`);
    rmSync(junit, { force: true });
    const secondsMax = long ? LONG_SECONDS_MAX : TEST_SECONDS_MAX;
    const argv = [BUN, "test", "--no-orphans", `--timeout=${CASE_MS_MAX}`, "--reporter=junit"];
    argv.push(`--reporter-outfile=${junit}`);
    const result = await start([...argv, ...paths], secondsMax);
    if (result.timedOut) return failed(`ran past ${secondsMax} s`);
    if (!existsSync(junit)) return failed(`exit status ${result.code}, and no JUnit file`);
    const wanted = testFiles().filter((path) => paths.includes(`./${path}`));
    return countTests(await Bun.file(junit).text(), result.code, wanted);
  },
});

/** A file that did not load, or an error outside every case, is a failure JUnit does not have. */
function countTests(junit: string, code: number, wanted: readonly string[]): Outcome {
  try {
    const counts = readJunit(junit);
    const notes = wanted
      .filter((path) => !counts.files.has(path))
      .map((path) => `${path}: no case of it ran`);
    if (code !== 0 && counts.failed + notes.length === 0) notes.push(`exit status ${code}`);
    const { passed, skipped } = counts;
    return { passed, failed: counts.failed + notes.length, skipped, notes };
  } catch (error) {
    if (error instanceof JunitError) return failed(error.message);
    throw error;
  }
}

const testFiles = (): string[] =>
  [
    ...new Bun.Glob("{runtime,hal,drivers,safety,firmware-tests,scripts}/**/*.test.ts").scanSync(
      ROOT,
    ),
  ].sort();

const computes = (path: string): boolean => COMPUTING.some((glob) => glob.match(path));
/** With a dot before it a path names one file, not every one whose path contains it. */
const exactly = (path: string): string => `./${path}`;

const coverageStage: Stage = {
  name: "coverage",
  run: async (start) => {
    const folder = join(RESULTS, "coverage");
    rmSync(folder, { recursive: true, force: true });
    const argv = [BUN, "test", "--no-orphans", "--dots", `--timeout=${CASE_MS_MAX}`];
    argv.push("--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`);
    argv.push(...NOT_FOR_COVERAGE.map((pattern) => `--path-ignore-patterns=${pattern}`));
    // Its own failures count elsewhere: here only the lines are asked for.
    await start(argv, TEST_SECONDS_MAX, { isQuiet: true });
    return command("", 60, [BUN, "scripts/coverage.ts"]).run(start);
  },
};

/** Builds this machine's binary twice and compares the lines with the SHA-256. */
const buildStage: Stage = {
  name: "build, twice the same",
  run: async (start) => {
    const target = process.arch === "arm64" ? "arm64" : "x64";
    const lines: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const argv = [BUN, "scripts/build.ts", target];
      const { code, output } = await start(argv, BUILD_SECONDS_MAX, { isQuiet: true });
      if (code !== 0) return failed(output);
      lines.push(output.trimEnd().split("\n").at(-1)!);
    }
    const [first, second] = lines;
    return first === second ? { ...PASSED, notes: [first!] } : failed(`${first} and ${second}`);
  },
};

const optionalStage: Stage = {
  name: "optional parts",
  run: async () => {
    const missing = await optionalParts();
    return { passed: 0, failed: 0, skipped: missing.length, notes: missing };
  },
};

const leftBehind = (folder: TemporaryFolder): Stage => ({
  name: "nothing left behind",
  run: async () => {
    const left = folder.leftText();
    return left === undefined ? PASSED : failed(left);
  },
});

function plan({ long, paths }: Arguments, folder: TemporaryFolder): Group[] {
  const last = [[leftBehind(folder)]];
  if (paths.length > 0) return [[[tests("tests", long, paths)]], last];
  const waiting = testFiles().filter((path) => !computes(path));
  const computing = testFiles().filter(computes);
  const checks = [
    optionalStage,
    command("tidy", 60, [BUN, "scripts/tidy.ts"]),
    command("types", 180, packageTool("tsc", "-p", ".")),
    command("format and lint", 60, packageTool("biome", "check", "--error-on-warnings", ".")),
    command("promises and switches", 120, packageTool("oxlint", "--type-aware", "--deny-warnings")),
  ];
  const beside = [
    tests("tests that compute", long, computing.map(exactly)),
    command("allocation", 600, [BUN, "scripts/alloc.ts"]),
    coverageStage,
    command("branches of the firmware", 300, [BUN, "scripts/firmware-coverage.ts"]),
    buildStage,
  ];
  const after = [
    ...(long ? [command("long report", 60, [BUN, "scripts/long-report.ts"])] : []),
    command("binary", 300, [BUN, "scripts/binary-check.ts"]),
  ];
  return [[checks], [[tests("tests", long, waiting.map(exactly))], beside], [after], last];
}

function tell(verdicts: readonly Verdict[]): boolean {
  const total = { passed: 0, failed: 0, skipped: 0 };
  console.log();
  for (const { stage, outcome, seconds } of verdicts) {
    total.passed += outcome.passed;
    total.failed += outcome.failed;
    total.skipped += outcome.skipped;
    const word = outcome.failed === 0 ? "ok" : "FAILED";
    console.log(`${word.padEnd(6)} ${seconds.toFixed(1).padStart(6)} s  ${stage.name}`);
    for (const note of outcome.notes) console.log(`                 ${note}`);
  }
  const skipped = total.skipped === 0 ? "" : `, ${total.skipped} skipped`;
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  return total.failed === 0 && total.passed > 0;
}

function readArguments(given: readonly string[]): Arguments {
  const unknown = given.find((each) => each.startsWith("-") && each !== "--long");
  if (unknown !== undefined) {
    console.error(`Cannot use "${unknown}": expected scripts/test [--long] [PATH…]`);
    process.exit(2);
  }
  return { long: given.includes("--long"), paths: given.filter((each) => each !== "--long") };
}

if (import.meta.main) {
  const given = readArguments(process.argv.slice(2));
  if (given.long) {
    process.env["HOLDFAST_LONG"] = "1";
    process.env["HOLDFAST_LONG_REPORT"] = LONG_FIGURES;
    rmSync(LONG_FIGURES, { force: true });
  }
  mkdirSync(RESULTS, { recursive: true });
  const folder = new TemporaryFolder();
  process.env["TMPDIR"] = folder.path;
  const verdicts = await runGroups(plan(given, folder), (text) => process.stdout.write(text));
  folder[Symbol.dispose]();
  process.exit(tell(verdicts) ? 0 : 1);
}
