// The program's name from made-up processes: as typed for a binary, the way to scripts/run from
// source.

import { expect, test } from "bun:test";
import { programName } from "./program-name.ts";

test.each([
  ["holdfast", "/$bunfs/root/main", "/home/ana", "holdfast"],
  ["./dist/holdfast", "/$bunfs/root/main", "/home/ana/holdfast", "./dist/holdfast"],
  ["bun", "/home/ana/holdfast/runtime/main.ts", "/home/ana/holdfast", "scripts/run"],
  ["bun", "/home/ana/holdfast/runtime/main.ts", "/home/ana", "holdfast/scripts/run"],
  ["bun", "/opt/holdfast/runtime/main.ts", undefined, "/opt/holdfast/scripts/run"],
  ["holdfast", "/$bunfs/root/main", undefined, "holdfast"],
  ["bun", "/opt/holdfast/runtime/main.ts", "/home", "../opt/holdfast/scripts/run"],
])("%s with %s in %s is %s", (argv0, mainPath, workingFolder, name) => {
  expect(programName({ argv0, mainPath, workingFolder })).toBe(name);
});
