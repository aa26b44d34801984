// What a simulated robot may do and a real one may not: asked once it is known which of the two a
// run has, since a file alone cannot tell.

import type { RobotProfile } from "../contracts/profile.ts";
import type { ReadText } from "./files.ts";
import { readDisk } from "./files.ts";
import { fieldError } from "./load.ts";

/** Throws a ProfileError when nothing real may be run so: nothing moves before a person's start. */
export function requireHardwareFit(
  robot: RobotProfile,
  isHardware: boolean,
  readText: ReadText = readDisk,
): void {
  if (!isHardware || robot.supervisor.startsIn === "Starting") return;
  const expected = "starting on hardware, where nothing moves before a person's start";
  throw fieldError(robot, "/supervisor/starts_in", expected, '"running"', readText);
}
