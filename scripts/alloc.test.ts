// Counting collections in a log of the collector, written by hand: only what lies between the
// marks counts, each collection once, and a log without marks is refused.

import { expect, test } from "bun:test";
import { countCollections } from "./alloc.ts";

const START = "[GC<0x4f23>: START M 2480kb => EdenCollection, a=0kb hf=0.000\nGC END!\n";
const FROM = "[allocation mark: from]\n";
const UNTIL = "[allocation mark: until]\n";

test("only collections between the marks count, each once", () => {
  expect(countCollections(`${START}${FROM}${UNTIL}${START}`)).toBe(0);
  expect(countCollections(`${START}${FROM}${START}text ${START}${UNTIL}${START}`)).toBe(2);
});

test("a log without both marks in order is refused", () => {
  for (const log of ["", FROM, UNTIL, UNTIL + FROM]) {
    expect(() => countCollections(log)).toThrow("a mark is missing");
  }
});
