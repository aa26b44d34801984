// The check that tests clean up behind them: folders made by hand stand for those of tests and of
// other programs.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { TemporaryFolder } from "./temporary-folder.ts";

test("what tests left is named, what others left is not, and all goes with the folder", () => {
  const folder = new TemporaryFolder();
  mkdirSync(join(folder.path, "org.chromium.x"));
  expect(folder.leftText()).toBeUndefined();
  mkdirSync(join(folder.path, "hf-abc"));
  expect(folder.leftText()).toBe("tests left hf-abc: scripts/test FILE says which file");
  for (let count = 0; count < 6; count += 1) mkdirSync(join(folder.path, `holdfast-${count}`));
  expect(folder.leftText()).toContain(", and 2 more: ");
  folder[Symbol.dispose]();
  expect(existsSync(folder.path)).toBe(false);
});
