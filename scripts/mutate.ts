// Mutation check: breaks the given files one token at a time in a copy of the tree, runs the tests
// for each, and names the mutants that no test noticed. A survivor is a missing test, or a change
// that changes nothing; a person decides which. It fails only when it cannot measure.
//
//   bun scripts/mutate.ts --sample 50 --seed 1
//   bun scripts/mutate.ts safety/gate.ts --tests "safety/ runtime/core/"

import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { ROOT, runCommand } from "./child-process.ts";
import type { Mutant } from "./mutants.ts";
import { mutantsOf } from "./mutants.ts";
import { SKIPPED_FOLDERS } from "./tidy/repository.ts";

const DEFAULT_FILES = new Bun.Glob("{safety,runtime/core}/*.ts");
const DEFAULT_TESTS = "safety/ runtime/core/";
const BASELINE_SECONDS_MAX = 300;
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

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), "holdfast-mutate-"));
  const filter = (path: string): boolean => path === ROOT || !SKIPPED_FOLDERS.has(basename(path));
  cpSync(ROOT, copy, { recursive: true, filter });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

type Verdict = "killed" | "timeout" | "survived";

async function tryMutant(
  copy: string,
  mutant: Mutant,
  argv: readonly string[],
  secondsMax: number,
): Promise<Verdict> {
  const file = join(copy, mutant.path);
  const original = await Bun.file(join(ROOT, mutant.path)).text();
  writeFileSync(file, mutant.text);
  const result = await runCommand(argv, { secondsMax, cwd: copy });
  writeFileSync(file, original);
  if (result.timedOut) return "timeout";
  return result.code === 0 ? "survived" : "killed";
}

async function measure(copy: string, mutants: readonly Mutant[], tests: string): Promise<void> {
  const paths = tests.split(" ");
  const argv = [process.execPath, "test", "--no-orphans", "--bail", ...paths];
  const baseline = await runCommand(argv, { secondsMax: BASELINE_SECONDS_MAX, cwd: copy });
  if (baseline.code !== 0) {
    const end = baseline.output.slice(-2_000);
    throw new MutationError(`Cannot measure: the tests fail before any change\n${end}`);
  }
  const secondsMax = Math.ceil(baseline.seconds * TIMEOUT_FACTOR) + TIMEOUT_SECONDS;
  console.log(`${mutants.length} mutants, ${baseline.seconds.toFixed(1)} s for the tests of each`);
  const counts = { killed: 0, timeout: 0, survived: 0 };
  for (const mutant of mutants) {
    const verdict = await tryMutant(copy, mutant, argv, secondsMax);
    counts[verdict] += 1;
    if (verdict === "survived") console.log(`${mutant.path}:${mutant.line}: ${mutant.change}`);
  }
  const noticed = counts.killed + counts.timeout;
  const score = ((100 * noticed) / Math.max(mutants.length, 1)).toFixed(1);
  console.log(
    `mutation: ${noticed} of ${mutants.length} noticed (${counts.timeout} by running on), ` +
      `${counts.survived} survived, score ${score} %`,
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
      sample: { type: "string" },
      seed: { type: "string", default: "1" },
      tests: { type: "string", default: DEFAULT_TESTS },
    },
  });
  const found = positionals.length > 0 ? positionals : [...DEFAULT_FILES.scanSync({ cwd: ROOT })];
  const files = found.filter((path) => !path.endsWith(".test.ts")).sort();
  const mutants: Mutant[] = [];
  for (const path of files) {
    mutants.push(...mutantsOf(path, await Bun.file(join(ROOT, path)).text()));
  }
  const count = wholeNumber("sample", values.sample ?? String(mutants.length));
  const chosen = sample(mutants, count, wholeNumber("seed", values.seed));
  const copy = copyTree();
  try {
    await measure(copy, chosen, values.tests);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
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
