// A command's answer to a program: one line of JSON on standard output. A program that does not
// get it must not be told that all went well, so a line that did not go out is a failure.

import type { CommandContext } from "./command-context.ts";
import { ExitCode } from "./usage.ts";

/** Writes the line, and makes the exit code a failure when it cannot go out. */
export async function writeJson(context: CommandContext, value: object): Promise<void> {
  context.out.write(`${JSON.stringify(value)}\n`);
  if (await context.out.flush()) return;
  context.err.write("holdfast: Cannot write the JSON to standard output\n");
  context.exitWith(ExitCode.Failed);
}
