// What happens when nobody caught an error, and on every exit: the terminal is given back first,
// then the error is printed with its stack as a bug and the process ends. Nothing is swallowed.
//
// An exit that nobody here asked for while a run is not over (a policy that calls process.exit) is
// a failure, whatever code it came with.

import type { ReadStream } from "node:tty";
import type { TextOut } from "./output.ts";
import { bugText } from "./program.ts";
import { ExitCode } from "./usage.ts";

export class ProcessGuard {
  readonly #err: TextOut;
  #isRunUnfinished = false;

  /** Made once, before anything can fail. */
  constructor(keyboard: ReadStream | undefined, err: TextOut) {
    this.#err = err;
    const giveBack = () => {
      if (keyboard?.isRaw === true) keyboard.setRawMode(false);
    };
    const failAsBug = (error: unknown) => {
      giveBack();
      err.write(`\n${bugText(error)}`);
      this.leave(ExitCode.Bug);
    };
    process.on("exit", () => {
      giveBack();
      this.#tellUnfinished();
    });
    process.on("uncaughtException", failAsBug);
    process.on("unhandledRejection", failAsBug);
  }

  /** Gives back what the run gives; until then the process may end by `leave` only. */
  async watch<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#isRunUnfinished = true;
    try {
      return await run();
    } finally {
      this.#isRunUnfinished = false;
    }
  }

  /** Ends the process now, on purpose. */
  leave(exitCode: number): never {
    this.#isRunUnfinished = false;
    process.exit(exitCode);
  }

  #tellUnfinished(): void {
    if (!this.#isRunUnfinished) return;
    process.exitCode = ExitCode.Failed;
    this.#err.write(
      "\nholdfast: the process was ended from inside the run, so there is no report: " +
        "does the policy call process.exit?\n",
    );
  }
}
