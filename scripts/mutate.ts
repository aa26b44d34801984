// Mutation check: breaks the given files one token at a time in a copy of the tree, runs the tests
// for each, and names the mutants that no test noticed. A survivor is a missing test, or a change
// that changes nothing; a person decides which. It fails only when it cannot measure.
//
//   bun scripts/mutate.ts --sample 10 --seed 1
//   bun scripts/mutate.ts safety/gate.ts --tests "safety/ runtime/core/"
//   bun scripts/mutate.ts --firmware --sample 50
//
// A mutant of the firmware's core is compiled first; one that gives the same machine code, or does
// not compile, is dropped from the count.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { cMutantsOf } from "./c-mutants.ts";
import { ROOT, runCommand } from "./child-process.ts";
import type { Mutant } from "./mutants.ts";
import { mutantsOf } from "./mutants.ts";
import { SKIPPED_FOLDERS } from "./tidy/repository.ts";

const DEFAULT_FILES = new Bun.Glob("{safety,runtime/core}/*.ts");
const FIRMWARE_FILES = new Bun.Glob("safety/firmware/estop*.c");
const DEFAULT_TESTS = "safety/ runtime/core/";
/** The quickest first: most mutants need no more than the first. */
const FIRMWARE_TESTS: readonly (readonly string[])[] = [
  ["firmware-tests/estop-behaviour.test.ts", "-t", "core "],
  ["firmware-tests/estop-core.test.ts", "firmware-tests/estop-edges.test.ts"],
  ["firmware-tests/estop-keyed.test.ts"],
  ["firmware-tests/estop-model.test.ts"],
  ["firmware-tests/estop-fuzz.test.ts", "-t", "random scripts"],
];
const LIBRARIES = ["libestop.so", "libestop_keyed.so"];
const BASELINE_SECONDS_MAX = 300;
const BUILD_SECONDS_MAX = 60;
/** A mutant may loop for ever; four times the unbroken run and five seconds is ever enough. */
const TIMEOUT_FACTOR = 4;
const TIMEOUT_SECONDS = 5;

export class MutationError extends Error {
  override readonly name = "MutationError";
}

/** `count` mutants drawn without replacement, in file order; equal seeds draw equal ones. */
export function sample(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const random = new SeededRandom(seed);
  const ranks = mutants.map((mutant, index) => ({ mutant, index, rank: random.next() }));
  const drawn = ranks.sort((a, b) => a.rank - b.rank).slice(0, count);
  return drawn.sort((a, b) => a.index - b.index).map((each) => each.mutant);
}

type Verdict = "killed" | "timeout" | "survived" | "dropped";

/** A copy of the tree in which one file at a time is broken. */
class Bench {
  readonly #copy = mkdtempSync(join(tmpdir(), "holdfast-mutate-"));
  readonly #tests: string;
  /** Seconds that each run of tests may take, by its arguments. */
  readonly #secondsMax = new Map<string, number>();
  #machineCode = "";

  constructor(tests: string) {
    this.#tests = tests;
    const filter = (path: string): boolean => path === ROOT || !SKIPPED_FOLDERS.has(basename(path));
    cpSync(ROOT, this.#copy, { recursive: true, filter });
    symlinkSync(join(ROOT, "node_modules"), join(this.#copy, "node_modules"));
  }

  close(): void {
    rmSync(this.#copy, { recursive: true, force: true });
  }

  /** What runs for a mutant of this file, one after the other until one of them fails. */
  #stagesOf(path: string): readonly (readonly string[])[] {
    if (path.endsWith(".c")) return FIRMWARE_TESTS;
    const own = new Bun.Glob(`${path.slice(0, -".ts".length)}*.test.ts`);
    const first = [...own.scanSync({ cwd: ROOT })].sort();
    return [...(first.length > 0 ? [first] : []), this.#tests.split(" ")];
  }

  /** The unbroken run: it must pass, and it gives the mutants their time. */
  async measure(path: string): Promise<void> {
    if (path.endsWith(".c")) {
      const code = await this.#build();
      if (code === undefined)
        throw new MutationError("Cannot measure: the firmware does not build");
      this.#machineCode = code;
    }
    for (const stage of this.#stagesOf(path)) {
      const name = stage.join(" ");
      if (this.#secondsMax.has(name)) continue;
      const run = await this.#run(stage, BASELINE_SECONDS_MAX);
      if (run.code !== 0) {
        const end = run.output.slice(-2_000);
        throw new MutationError(`Cannot measure: the tests fail before any change\n${end}`);
      }
      console.log(`${run.seconds.toFixed(1)} s for ${name}`);
      this.#secondsMax.set(name, Math.ceil(run.seconds * TIMEOUT_FACTOR) + TIMEOUT_SECONDS);
    }
  }

  async try(mutant: Mutant): Promise<Verdict> {
    const file = join(this.#copy, mutant.path);
    const original = readFileSync(file, "utf8");
    writeFileSync(file, mutant.text);
    try {
      return await this.#judge(mutant.path);
    } finally {
      writeFileSync(file, original);
    }
  }

  async #judge(path: string): Promise<Verdict> {
    if (path.endsWith(".c")) {
      const code = await this.#build();
      if (code === undefined || code === this.#machineCode) return "dropped";
    }
    for (const stage of this.#stagesOf(path)) {
      const run = await this.#run(stage, this.#secondsMax.get(stage.join(" "))!);
      if (run.timedOut) return "timeout";
      if (run.code !== 0) return "killed";
    }
    return "survived";
  }

  #run(stage: readonly string[], secondsMax: number): ReturnType<typeof runCommand> {
    const argv = [process.execPath, "test", "--no-orphans", "--bail", ...stage];
    return runCommand(argv, { secondsMax, cwd: this.#copy });
  }

  /** The core as machine code, in a form to compare; undefined when it does not compile. */
  async #build(): Promise<string | undefined> {
    const argv = ["make", "-s", "-C", join(this.#copy, "safety/firmware"), "host"];
    const run = await runCommand(argv, { secondsMax: BUILD_SECONDS_MAX });
    if (run.code !== 0) return undefined;
    const sums = LIBRARIES.map((name) =>
      Bun.hash(readFileSync(join(this.#copy, ".cache/firmware", name))).toString(16),
    );
    return sums.join(" ");
  }
}

async function tryFile(bench: Bench, path: string, mutants: readonly Mutant[]): Promise<Counts> {
  await bench.measure(path);
  const counts: Counts = { killed: 0, timeout: 0, survived: 0, dropped: 0 };
  for (const mutant of mutants) {
    const verdict = await bench.try(mutant);
    counts[verdict] += 1;
    if (verdict === "survived") console.log(`${mutant.path}:${mutant.line}: ${mutant.change}`);
  }
  report(path, counts);
  return counts;
}

type Counts = Record<Verdict, number>;

function report(name: string, { killed, timeout, survived, dropped }: Counts): void {
  const noticed = killed + timeout;
  const tried = noticed + survived;
  const score = ((100 * noticed) / Math.max(tried, 1)).toFixed(1);
  console.log(
    `${name}: ${noticed} of ${tried} noticed (${timeout} by running on), ` +
      `${dropped} dropped, score ${score} %`,
  );
}

function wholeNumber(name: string, given: string): number {
  const value = Number(given);
  if (given !== "" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MutationError(`Cannot use --${name} "${given}": expected a whole number`);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      firmware: { type: "boolean", default: false },
      sample: { type: "string" },
      seed: { type: "string", default: "1" },
      tests: { type: "string", default: DEFAULT_TESTS },
    },
  });
  const glob = values.firmware ? FIRMWARE_FILES : DEFAULT_FILES;
  const found = positionals.length > 0 ? positionals : [...glob.scanSync({ cwd: ROOT })];
  const files = found.filter((path) => !path.endsWith(".test.ts")).sort();
  const seed = wholeNumber("seed", values.seed);
  const count = values.sample === undefined ? Infinity : wholeNumber("sample", values.sample);
  const bench = new Bench(values.tests);
  const all: Counts = { killed: 0, timeout: 0, survived: 0, dropped: 0 };
  try {
    for (const path of files) {
      const text = readFileSync(join(ROOT, path), "utf8");
      const mutants = path.endsWith(".c") ? cMutantsOf(path, text) : mutantsOf(path, text);
      const counts = await tryFile(bench, path, sample(mutants, count, seed));
      for (const [verdict, more] of Object.entries(counts)) all[verdict as Verdict] += more;
    }
  } finally {
    bench.close();
  }
  report("mutation", all);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}
