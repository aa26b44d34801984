// A whole lockstep run in this process, from its command line to its exit code and JSON report. It
// opens no socket and no page: only what the run itself does is of interest.

import { EventEmitter } from "node:events";
import { runProgram } from "../runtime/cli/program.ts";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import { runLockstep } from "../runtime/cli/run-lockstep.ts";
import { reportOf } from "./process.ts";
import type { RunJson } from "./process.ts";

class Text {
  readonly isTerminal = false;
  readonly hasColour = false;
  readonly columnCount = 80;
  written = "";

  write(text: string): void {
    this.written += text;
  }
  writeIfRoom(text: string): void {
    this.write(text);
  }
  flush(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

export type LockstepRun = RunJson & { readonly exitCode: number };

/** `args` follow `holdfast run --time lockstep --json`; `onHandle` sees the run as it begins. */
export async function lockstepRun(
  args: readonly string[],
  onHandle: (handle: RunHandle) => void = () => undefined,
): Promise<LockstepRun> {
  const out = new Text();
  const err = new Text();
  const exitCode = await runProgram(["run", "--time", "lockstep", "--json", ...args], {
    out,
    err,
    user: { uid: process.getuid?.() ?? 0, environment: {} },
    startRun: (options) =>
      runLockstep(options, {
        onHandle,
        note: (text) => err.write(text),
        changed: () => undefined,
        endAsked: new Promise(() => undefined),
      }),
    pid: process.pid,
    program: "holdfast",
    keyboard: undefined,
    signals: new EventEmitter(),
    leave: () => undefined,
  });
  return { ...reportOf({ stdout: out.written, stderr: err.written }), exitCode };
}
