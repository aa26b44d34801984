#!/usr/bin/env bun
// The process: hands streams, keyboard and signals to the program and leaves with its exit code.
// The terminal is given back on every way out that still runs code. A run's heavy parts load when
// one is asked for, so that `holdfast stop` is there at once.

import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import type { WriteStream } from "node:tty";
import type { StartRun } from "./cli/command-context.ts";
import { ProcessGuard } from "./cli/last-resort.ts";
import { StreamOut } from "./cli/output.ts";
import type { TextOut } from "./cli/output.ts";
import { programName } from "./cli/program-name.ts";
import { runProgram } from "./cli/program.ts";
import { TerminalOut, TerminalRoom } from "./cli/terminal-out.ts";

// The C library is opened only for a terminal.
const hasTerminal = isatty(1) || isatty(2);
const room = hasTerminal
  ? new TerminalRoom((await import("../hal/ffi/writable.ts")).canWrite)
  : undefined;
const outOf = (fd: number, stream: WriteStream): TextOut =>
  room !== undefined && stream.isTTY
    ? new TerminalOut(fd, stream, Bun.env, room)
    : new StreamOut(stream);
const err = outOf(2, process.stderr);
const out = outOf(1, process.stdout);

/** Whether keys reach this process. One in the background would be stopped for trying to listen. */
function hasKeyboard(): boolean {
  if (!isatty(0)) return false;
  const stat = readFileSync("/proc/self/stat", "utf8");
  const [, , processGroup, , , foregroundGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return processGroup === foregroundGroup;
}

// Standard input is opened only for keys: it may be closed.
const keyboard = hasKeyboard() ? process.stdin : undefined;

const guard = new ProcessGuard(keyboard, err);

/** Undefined where a shell stands in a folder that somebody has removed. A stop needs none. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    return undefined;
  }
}

const startRun: StartRun = (options, hooks) =>
  guard.watch(async () => {
    if (options.time === "lockstep") {
      const { runLockstep } = await import("./cli/run-lockstep.ts");
      return runLockstep(options, hooks);
    }
    const { runStreaming } = await import("./cli/run-streaming.ts");
    return runStreaming(options, hooks);
  });

const exitCode = await runProgram(process.argv.slice(2), {
  out,
  err,
  user: { uid: process.getuid?.() ?? 0, environment: Bun.env },
  startRun,
  pid: process.pid,
  program: programName({
    argv0: process.argv0,
    mainPath: Bun.main,
    workingFolder: workingFolder(),
  }),
  keyboard,
  signals: process,
  leave: (code) => guard.leave(code),
});
await Promise.all([out.flush(), err.flush()]);
process.exit(exitCode);
