// Property tests of the profile loader: whatever is done to a good file, the answer is a profile
// with finite numbers or a ProfileError, never another error.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { builtinFiles } from "./builtin.ts";
import { GOOD, read } from "./fixtures/two.ts";
import { loadProfile, loadTask } from "./load.ts";
import { ProfileError } from "./problem.ts";

const RUN_COUNT = 150;

/** Things that break YAML, schemas or arithmetic when they stand where something else was. */
const nasty = fc.constantFrom(
  ".nan",
  "-.inf",
  "1e999",
  "-0",
  "1e308",
  "5e-324",
  "0x10",
  "null",
  "~",
  "true",
  "[]",
  "{}",
  "[[]]",
  "*a",
  "&a b",
  "!!float 1",
  "? x",
  "- - -",
  "|",
  ">",
  '"',
  "'",
  "#",
  ":",
  "---",
  "...",
  "%",
  "\t",
  "<<: 1",
  "__proto__",
  "constructor",
  "\u0000",
  "\u2028",
  "😀",
  "9007199254740993",
  "''",
  "\n",
  "  ",
);

type Edit = { readonly at: number; readonly length: number; readonly text: string };
const edits = fc.array(
  fc.record({
    at: fc.nat(),
    length: fc.integer({ min: 0, max: 40 }),
    text: fc.oneof(nasty, fc.string({ maxLength: 12 })),
  }),
  { minLength: 1, maxLength: 4 },
);

function mutate(text: string, list: readonly Edit[]): string {
  let result = text;
  for (const { at, length, text: inserted } of list) {
    const from = at % (result.length + 1);
    result = result.slice(0, from) + inserted + result.slice(from + length);
  }
  return result;
}

/** Every number in a loaded profile. */
function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}

/** Loads, and says whether the answer was one of the two allowed. */
function isAnswered(load: () => unknown): boolean {
  try {
    return numbersIn(load()).every(Number.isFinite);
  } catch (error) {
    return error instanceof ProfileError && error.problems.length > 0;
  }
}

test("a robot file with random edits is a finite profile or a ProfileError", () => {
  fc.assert(
    fc.property(edits, (list) =>
      isAnswered(() => loadProfile("robots/two.yaml", read(mutate(GOOD, list)))),
    ),
    { numRuns: RUN_COUNT, seed: 1 },
  );
});

test("a task file with random edits is a finite profile or a ProfileError", () => {
  const good = builtinFiles.get("profiles/tasks/pick_place.yaml")!;
  fc.assert(
    fc.property(edits, (list) =>
      isAnswered(() => loadTask("my/task.yaml", () => mutate(good, list))),
    ),
    { numRuns: RUN_COUNT, seed: 2 },
  );
});

test("a robot file with one value replaced is a finite profile or a ProfileError", () => {
  const values = [...GOOD.matchAll(/: ([^\n{}[\],]+)/g)];
  const chosen = fc.constantFrom(...values);
  const value = fc.oneof(nasty, fc.double().map(String), fc.json({ maxDepth: 2 }));
  fc.assert(
    fc.property(chosen, value, (match, replacement) => {
      const at = match.index + 2;
      const text = GOOD.slice(0, at) + replacement + GOOD.slice(at + match[1]!.length);
      return isAnswered(() => loadProfile("robots/two.yaml", read(text)));
    }),
    { numRuns: RUN_COUNT, seed: 3 },
  );
});

test("random text is refused with a ProfileError", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const load = () => loadProfile("x.yaml", () => text);
      expect(load).toThrow(ProfileError);
    }),
    { numRuns: RUN_COUNT, seed: 4 },
  );
});
