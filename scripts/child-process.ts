// Starts one command and waits for it, with a limit, for the scripts that run other programs.
// It never uses a shell, so no argument is read twice.

import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..");

export type CommandResult = {
  /** Exit status; -1 when a signal ended it. */
  readonly code: number;
  /** What it wrote, both streams in order of arrival; empty when it went to the terminal. */
  readonly output: string;
  readonly seconds: number;
  readonly timedOut: boolean;
};

export type CommandOptions = {
  readonly secondsMax: number;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs; the repository root when absent. */
  readonly cwd?: string;
  /** Whether its output goes to the terminal as it comes, and not into the result. */
  readonly shown?: boolean;
};

/** Runs a command to its end, or kills it at `secondsMax`. Throws only when it cannot start. */
export async function runCommand(
  command: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const startedMs = performance.now();
  const stream = options.shown === true ? "inherit" : "pipe";
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, ...options.env },
    stdin: "ignore",
    stdout: stream,
    stderr: stream,
    timeout: options.secondsMax * 1_000,
    killSignal: "SIGKILL",
  });
  const chunks: string[] = [];
  const { stdout, stderr } = child;
  await Promise.all([collect(stdout, chunks), collect(stderr, chunks), child.exited]);
  const seconds = (performance.now() - startedMs) / 1_000;
  const timedOut = child.signalCode !== null && seconds >= options.secondsMax;
  return { code: child.exitCode ?? -1, output: chunks.join(""), seconds, timedOut };
}

async function collect(
  stream: ReadableStream<Uint8Array> | number | undefined,
  chunks: string[],
): Promise<void> {
  if (!(stream instanceof ReadableStream)) return;
  const decoder = new TextDecoder();
  for await (const bytes of stream) chunks.push(decoder.decode(bytes, { stream: true }));
}
