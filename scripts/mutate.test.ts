// The mutation runner makes the mutants it promises, in file order, leaves types, imports and
// assertions alone, and draws the same sample for the same seed. The expected list is written out.

import { expect, test } from "bun:test";
import { mutantsOf } from "./mutants.ts";
import { sample } from "./mutate.ts";

const SOURCE = `import { assert } from "./assert.ts";
type Flag = true;
export function step(a: number, b: boolean): number {
  assert(a > 0, "a is positive");
  if (a < 1 && !b) return a + 1;
  for (let index = 0; index < 2; index += 1) total -= index;
  return -a;
}
`;

test("mutants differ in one token or statement, in the order of the file", () => {
  const mutants = mutantsOf("a.ts", SOURCE);
  expect(mutants.map(({ line, change }) => `${line}: ${change}`)).toEqual([
    "5: && to ||",
    "5: < to <=",
    "5: !b to b",
    "5: without return a + 1;",
    "5: + to -",
    "6: < to <=",
    "6: without total -= index;",
    "6: -= to +=",
    "7: without return -a;",
    "7: -a to a",
  ]);
  expect(mutants[1]?.text).toBe(SOURCE.replace("a < 1", "a <= 1"));
  expect(mutants[9]?.text).toBe(SOURCE.replace("return -a", "return a"));
});

test("equal seeds draw equal samples in file order, other seeds others", () => {
  const mutants = mutantsOf("a.ts", SOURCE.repeat(3));
  const first = sample(mutants, 8, 1);
  expect(sample(mutants, 8, 1)).toEqual(first);
  expect(sample(mutants, 8, 2)).not.toEqual(first);
  expect(first).toEqual(mutants.filter((mutant) => first.includes(mutant)));
  expect(sample(mutants, mutants.length + 1, 1)).toEqual(mutants);
});
