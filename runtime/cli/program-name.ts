// The program's own name, as this person typed it: what a line that says "type this" must begin
// with. A binary is known by the name it was called by; from source it is scripts/run.

import { join, relative } from "node:path";

/** The part of a process that tells. */
export type ProcessFacts = {
  /** The first word of the command line. */
  readonly argv0: string;
  /** The entry file. A binary has it inside itself. */
  readonly mainPath: string;
  /** Undefined when it is gone. */
  readonly workingFolder: string | undefined;
};

const INSIDE_BINARY = "/$bunfs/";

export function programName({ argv0, mainPath, workingFolder }: ProcessFacts): string {
  if (mainPath.startsWith(INSIDE_BINARY)) return argv0;
  const path = join(mainPath, "../../scripts/run");
  return workingFolder === undefined ? path : relative(workingFolder, path);
}
