// A whole lockstep run in this process, from its command line to its exit code and JSON report. It
// opens no socket and no page: only what the run itself does is of interest.

import { afterAll } from "bun:test";
import { EventEmitter } from "node:events";
import { runProgram } from "../runtime/cli/program.ts";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import { PATIENCE, runLockstep } from "../runtime/cli/run-lockstep.ts";
import type { Patience } from "../runtime/cli/run-lockstep.ts";
import type { RunPlan } from "../runtime/workers/plan.ts";
import { reportOf, Scratch } from "./process.ts";
import type { RunJson } from "./process.ts";

/** Until the test is over a run that latches writes its last ticks into a folder of their own. */
function freshState(): void {
  const scratch = new Scratch();
  process.env["XDG_STATE_HOME"] = scratch.stateFolder;
  afterAll(() => scratch[Symbol.dispose]());
}

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

export type LockstepRun = RunJson & {
  readonly exitCode: number;
  /** What the command line asked for. */
  readonly plan: RunPlan;
  /** What a person was told while it ran. */
  readonly told: readonly string[];
};

/** `args` follow `holdfast run --time lockstep --json`; `onHandle` sees the run as it begins. */
export async function lockstepRun(
  args: readonly string[],
  onHandle: (handle: RunHandle) => void = () => undefined,
  patience: Partial<Patience> = {},
): Promise<LockstepRun> {
  freshState();
  const out = new Text();
  const err = new Text();
  const told: string[] = [];
  let plan: RunPlan | undefined;
  const exitCode = await runProgram(["run", "--time", "lockstep", "--json", ...args], {
    out,
    err,
    user: { uid: process.getuid?.() ?? 0, environment: {} },
    startRun: (options) => {
      ({ plan } = options);
      const hooks = {
        onHandle,
        note: (text: string) => void told.push(text),
        changed: () => undefined,
        endAsked: new Promise<void>(() => undefined),
      };
      return runLockstep(options, hooks, { ...PATIENCE, ...patience });
    },
    pid: process.pid,
    program: "holdfast",
    keyboard: undefined,
    signals: new EventEmitter(),
    leave: () => undefined,
  });
  const stderr = `${err.written}${told.join("\n")}`;
  return { ...reportOf({ stdout: out.written, stderr }), exitCode, plan: plan!, told };
}
