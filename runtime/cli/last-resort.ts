// What happens when nobody caught an error, and on every exit: the terminal is given back first,
// then the error is printed with its stack as a bug and the process ends. Nothing is swallowed.

import type { ReadStream } from "node:tty";
import type { TextOut } from "./output.ts";
import { bugText } from "./program.ts";
import { ExitCode } from "./usage.ts";

/** Called once, before anything can fail. */
export function guardProcess(keyboard: ReadStream | undefined, err: TextOut): void {
  const giveBack = () => {
    if (keyboard?.isRaw === true) keyboard.setRawMode(false);
  };
  const failAsBug = (error: unknown) => {
    giveBack();
    err.write(`\n${bugText(error)}`);
    process.exit(ExitCode.Bug);
  };
  process.on("exit", giveBack);
  process.on("uncaughtException", failAsBug);
  process.on("unhandledRejection", failAsBug);
}
