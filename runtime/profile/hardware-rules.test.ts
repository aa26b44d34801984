// What is asked of a real robot beyond its file: the shipped fixture that runs without a start is
// refused at its line, and no other.

import { expect, test } from "bun:test";
import { builtinFiles, plainRobotNames } from "./builtin.ts";
import { placeOf, problemsOf } from "./fixtures/two.ts";
import { requireHardwareFit } from "./hardware-rules.ts";
import { loadRobot } from "./load.ts";

test("a robot that runs without a start is refused on hardware, at its place", () => {
  const robot = loadRobot("document-one");
  const text = builtinFiles.get(robot.path)!;
  expect(problemsOf(() => requireHardwareFit(robot, true))).toEqual([
    {
      file: "profiles/document-one.yaml",
      ...placeOf(text, "running\n  start_timeout"),
      field: "supervisor.starts_in",
      expected: "starting on hardware, where nothing moves before a person's start",
      found: '"running"',
    },
  ]);
  expect(problemsOf(() => requireHardwareFit(robot, false))).toEqual([]);
});

test("every other robot that ships may be real", () => {
  const refused = plainRobotNames.filter(
    (name) => problemsOf(() => requireHardwareFit(loadRobot(name), true)).length > 0,
  );
  expect(refused).toEqual(["document-one"]);
});
