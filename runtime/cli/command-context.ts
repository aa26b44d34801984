// What a subcommand is given by the program: where to write, whose machine it is, and how to say
// how it went. Subcommands know no process and no stream, so that tests run them whole.

import type { KeyTerminal } from "./keys.ts";
import type { TextOut } from "./output.ts";
import type { RunReport } from "./report.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import type { FolderUser } from "./runtime-folder.ts";
import type { SignalSource } from "./signals.ts";
import type { ExitCode } from "./usage.ts";

/** Runs to the end and reports how it went; undefined when it was ended before it began. */
export type StartRun = (options: RunOptions, hooks: RunHooks) => Promise<RunReport | undefined>;

export interface CommandContext {
  readonly out: TextOut;
  readonly err: TextOut;
  readonly user: FolderUser;
  readonly startRun: StartRun;
  readonly pid: number;
  /** The program as this person types it. */
  readonly program: string;
  /** Where keys are typed; undefined when there is no terminal. */
  readonly keyboard: KeyTerminal | undefined;
  readonly signals: SignalSource;
  /** Leaves the process now. Only for a person who asked twice. */
  leave(code: number): void;
  /** The process's exit code, unless something fails later. */
  exitWith(code: ExitCode): void;
}
