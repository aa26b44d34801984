// Memory that runs out for one process and for no other: a run that eats when asked to, and a limit
// on what the kernel gives it. Bun has no limit of its own on a heap, so it grows until the kernel
// refuses; what it had reserved before is eaten first, a gigabyte or so.

import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KillRun } from "./kill-run.ts";
import { FROM_SOURCE } from "./process.ts";

const PRELOAD = join(import.meta.dir, "fixtures/eats-memory.ts");
/** What it may still get. */
const MORE_BYTES = 20_000_000;

const [bun = "", main = ""] = FROM_SOURCE;
/** The program from source, ready to eat. */
export const EATER: readonly string[] = [bun, "--preload", PRELOAD, main];

export type EatingThread = "control" | "main";

/** Megabytes that this thread has kept so far. */
export const eatenMb = ({ scratch }: KillRun, thread: EatingThread): number =>
  statSync(join(scratch.runtimeFolder, `eaten-${thread}`)).size;

/** From now on this thread of an EATER keeps all that it can get. */
export function eat({ program, scratch }: KillRun, thread: EatingThread): void {
  const status = readFileSync(`/proc/${program.pid}/status`, "utf8");
  const usedKib = Number(/^VmData:\s+(\d+) kB$/m.exec(status)?.[1]);
  const limit = usedKib * 1024 + MORE_BYTES;
  const { status: code } = spawnSync("prlimit", ["--pid", `${program.pid}`, `--data=${limit}`]);
  if (code !== 0) throw new Error(`Cannot limit the memory of process ${program.pid}`);
  writeFileSync(join(scratch.runtimeFolder, `eat-${thread}`), "");
}
