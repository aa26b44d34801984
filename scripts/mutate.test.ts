// The mutation runner makes the mutants it promises, in file order, leaves types, imports and
// assertions alone, and draws the same sample for the same seed. The expected list is written out.

import { expect, test } from "bun:test";
import { cMutantsOf } from "./c-mutants.ts";
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

const C_SOURCE = `/// A head with < and 1.
#include "a.h"
#define LIMIT 5u
static uint8_t step(const state_t* const self, const uint8_t size)
{
    const uint8_t left = size & 3u;
    if (!self->on || left == 0u) { return 0; }
    for (uint8_t at = 0; at < size; at++) { self->sum += left; }
    self->count++; // one more
    return left;
}
`;

test("mutants of C are operators, numbers, conditions, statements and results", () => {
  const mutants = cMutantsOf("a.c", C_SOURCE);
  expect(mutants.map(({ line, change }) => `${line}: ${change}`)).toEqual([
    "6: & to |",
    "6: 3u to 2u",
    "6: 3u to 4u",
    "7: (!self->on || left == 0u) to (!(!self->on || left == 0u))",
    "7: ! to ",
    "7: || to &&",
    "7: == to !=",
    "7: 0u to 1u",
    "7: 0 to 1",
    "8: 0 to 1",
    "8: < to <=",
    "8: without self->sum += left;",
    "8: += to -=",
    "9: without self->count++;",
    "10: return left; to return 0;",
  ]);
  expect(mutants[0]?.text).toBe(C_SOURCE.replace("size & 3u", "size | 3u"));
  expect(mutants[3]?.text).toBe(
    C_SOURCE.replace("(!self->on || left == 0u)", "(!(!self->on || left == 0u))"),
  );
});
