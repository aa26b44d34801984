// Lines of changes: all of them while they are few, a count when they are many, and never a stop
// left out.

import { expect, test } from "bun:test";
import { ChangeLines, LINES_PER_PERIOD_MAX } from "./change-lines.ts";

test("a period has five lines, and says how many more there were", () => {
  const lines = new ChangeLines("change");
  const names = Array.from({ length: 7 }, (_, index) => `change ${index}`);
  expect(names.flatMap((name) => lines.add(name, false))).toEqual(names.slice(0, 5));
  expect(LINES_PER_PERIOD_MAX).toBe(5);
  expect(lines.endPeriod()).toEqual(["… 2 more changes"]);
  expect(lines.endPeriod()).toEqual([]);
  expect(lines.add("next", false)).toEqual(["next"]);
});

test("an important line is always written, after what came before it", () => {
  const lines = new ChangeLines("change");
  for (let index = 0; index < 6; index += 1) lines.add("flicker", false);
  expect(lines.add("stop", true)).toEqual(["… 1 more change", "stop"]);
  expect(lines.add("flicker", false)).toEqual([]);
  expect(lines.add("stop", true)).toEqual(["… 1 more change", "stop"]);
  expect(lines.endPeriod()).toEqual([]);
});
