// Runs every check of the repository in turn, names each with its seconds, and ends with one line
// "N passed, N failed": the cases of `bun test` by its JUnit file, and each other check as one.
// With paths it runs only those test files. It never stops at the first failure.

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./child-process.ts";
import { JunitError, readJunit } from "./junit.ts";
import { LONG_FIGURES } from "./long-report.ts";
import { optionalParts } from "./optional-parts.ts";

type Outcome = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What a reader must know: why it failed, or what was left out. */
  readonly notes: readonly string[];
};

type Stage = { readonly name: string; readonly run: () => Promise<Outcome> };
type Arguments = { readonly long: boolean; readonly paths: readonly string[] };

const PASSED: Outcome = { passed: 1, failed: 0, skipped: 0, notes: [] };
const failed = (note: string): Outcome => ({ passed: 0, failed: 1, skipped: 0, notes: [note] });

const RESULTS = join(ROOT, ".cache/test");
const JUNIT = join(RESULTS, "junit.xml");
const BUN = process.execPath;
/** Everything together stays below 15 minutes; a stage that hangs must not take all of them. */
const TEST_SECONDS_MAX = 660;
const LONG_SECONDS_MAX = 4 * 3_600;
// Coverage makes hot loops five times slower, and does not follow threads and child processes.
const NOT_FOR_COVERAGE = [
  ...["estop-behaviour*", "estop-chip*", "estop-core*", "estop-e2e*", "estop-errors*"],
  ...["estop-fuzz*", "estop-late*", "estop-model*", "kill-matrix*", "scenarios/*"],
  ...["console-page*", "gate-*", "pick-place*", "run-streaming*", "shm-*"],
  ...["host-metrics*", "link-deaths*", "onnx-host*", "openpi-link*", "pair.test*"],
  ...["pictures*", "python-host*", "rp2040*", "run-lockstep*", "lockstep-policy*"],
].map((name) => `firmware-tests/${name}`);
/** A case that hangs must end; a busy machine must not fail one. */
const CASE_MS_MAX = 60_000;

/** A stage that is one command: it passes when the exit status is 0. */
function command(name: string, secondsMax: number, argv: readonly string[]): Stage {
  return {
    name,
    run: async () => {
      const result = await runCommand(argv, { secondsMax, shown: true });
      if (result.code === 0) return PASSED;
      return failed(result.timedOut ? `ran past ${secondsMax} s` : `exit status ${result.code}`);
    },
  };
}

const packageTool = (...argv: string[]): string[] => [BUN, "run", "--bun", ...argv];

function testStage({ long, paths }: Arguments): Stage {
  return {
    name: "tests",
    run: async () => {
      rmSync(JUNIT, { force: true });
      const secondsMax = long ? LONG_SECONDS_MAX : TEST_SECONDS_MAX;
      const argv = [BUN, "test", "--no-orphans", `--timeout=${CASE_MS_MAX}`, "--reporter=junit"];
      argv.push(`--reporter-outfile=${JUNIT}`);
      const result = await runCommand([...argv, ...paths], { secondsMax, shown: true });
      if (result.timedOut) return failed(`ran past ${secondsMax} s`);
      if (!existsSync(JUNIT)) return failed(`exit status ${result.code}, and no JUnit file`);
      return countTests(await Bun.file(JUNIT).text(), result.code, paths.length === 0);
    },
  };
}

/** A file that did not load, or an error outside every case, is a failure JUnit does not have. */
function countTests(junit: string, code: number, whole: boolean): Outcome {
  try {
    const counts = readJunit(junit);
    const notes = whole
      ? testFiles()
          .filter((path) => !counts.files.has(path))
          .map((path) => `${path}: no case of it ran`)
      : [];
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

const coverageStage: Stage = {
  name: "coverage",
  run: async () => {
    const folder = join(RESULTS, "coverage");
    rmSync(folder, { recursive: true, force: true });
    const argv = [BUN, "test", "--no-orphans", "--dots", `--timeout=${CASE_MS_MAX}`];
    argv.push("--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`);
    argv.push(...NOT_FOR_COVERAGE.map((pattern) => `--path-ignore-patterns=${pattern}`));
    // Its own failures count in the stage before: here only the lines are asked for.
    await runCommand(argv, { secondsMax: TEST_SECONDS_MAX });
    return command("", 60, [BUN, "scripts/coverage.ts"]).run();
  },
};

/** Builds this machine's binary twice and compares the lines with the SHA-256. */
const buildStage: Stage = {
  name: "build, twice the same",
  run: async () => {
    const target = process.arch === "arm64" ? "arm64" : "x64";
    const argv = [BUN, "scripts/build.ts", target];
    const first = await runCommand(argv, { secondsMax: 300 });
    const second = await runCommand(argv, { secondsMax: 300 });
    process.stdout.write(second.output);
    if (first.code !== 0 || second.code !== 0) return failed("cannot build");
    const lines = [first, second].map((each) => each.output.trimEnd().split("\n").at(-1));
    return lines[0] === lines[1] ? PASSED : failed(`two builds differ: first ${lines[0]}`);
  },
};

const optionalStage: Stage = {
  name: "optional parts",
  run: async () => {
    const missing = await optionalParts();
    return { passed: 0, failed: 0, skipped: missing.length, notes: missing };
  },
};

function allStages(given: Arguments): Stage[] {
  const binaryCheck = "scripts/binary-check.ts";
  const stages = [
    optionalStage,
    command("tidy", 60, [BUN, "scripts/tidy.ts"]),
    command("types", 180, packageTool("tsc", "-p", ".")),
    command("format and lint", 60, packageTool("biome", "check", "--error-on-warnings", ".")),
    command("promises and switches", 120, packageTool("oxlint", "--type-aware", "--deny-warnings")),
    testStage(given),
    ...(given.long ? [command("long report", 60, [BUN, "scripts/long-report.ts"])] : []),
    coverageStage,
    command("allocation", 600, [BUN, "scripts/alloc.ts"]),
    buildStage,
  ];
  if (existsSync(join(ROOT, binaryCheck))) {
    stages.push(command("binary", 300, [BUN, binaryCheck]));
  }
  return stages;
}

async function runStages(stages: readonly Stage[]): Promise<boolean> {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const summary: string[] = [];
  for (const [index, stage] of stages.entries()) {
    console.log(`\n[${index + 1}/${stages.length}] ${stage.name}`);
    const startedMs = performance.now();
    const outcome = await stage.run();
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    total.passed += outcome.passed;
    total.failed += outcome.failed;
    total.skipped += outcome.skipped;
    const verdict = outcome.failed === 0 ? "ok" : "FAILED";
    summary.push(`${verdict.padEnd(6)} ${seconds.padStart(6)} s  ${stage.name}`);
    summary.push(...outcome.notes.map((note) => `                 ${note}`));
    console.log(`[${index + 1}/${stages.length}] ${stage.name}: ${verdict}, ${seconds} s`);
  }
  console.log(`\n${summary.join("\n")}\n`);
  const skipped = total.skipped === 0 ? "" : `, ${total.skipped} skipped`;
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
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
  const stages = given.paths.length > 0 ? [testStage(given)] : allStages(given);
  process.exit((await runStages(stages)) ? 0 : 1);
}
