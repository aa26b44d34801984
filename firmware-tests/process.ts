// ProgramRun: the program as a process of its own, for tests that need real threads, signals,
// streams and exit codes. A test gets a runtime and a state folder of its own, so that it neither
// sees nor leaves anything of a person's own runs.
//
// Nothing here waits for a length of time: a test waits for a text, a fact or the end. Only a
// process that hangs is killed, which its signal then shows.

import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scanThreads } from "../hal/ffi/threads.ts";
import type { ThreadFacts } from "../hal/ffi/threads.ts";

export const MAIN = join(import.meta.dir, "../runtime/main.ts");
/** A process that lives longer hangs: no test asks for a run of more than a few seconds. */
const HANG_MS = 60_000;

/** The program from source; a binary is started by its own path. */
export const FROM_SOURCE: readonly string[] = [process.execPath, MAIN];

/** Folders of one test, empty at first. */
export class Scratch {
  readonly folder = mkdtempSync(join(tmpdir(), "hf-"));

  get runtimeFolder(): string {
    return this.made("run");
  }
  get stateFolder(): string {
    return this.made("state");
  }

  made(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Sockets of runs that are live, or were killed. */
  sockets(): string[] {
    const folder = join(this.runtimeFolder, "holdfast");
    return readdirSync(folder).filter((name) => name.endsWith(".sock"));
  }

  flightDumps(): string[] {
    const folder = join(this.made("state/holdfast/flight"));
    return readdirSync(folder).map((name) => join(folder, name));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export type Ended = {
  /** Exit code; -1 when a signal ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** What `--json` prints, as far as tests read it. */
export type RunJson = {
  readonly ticks: number;
  readonly missed_ticks: number;
  readonly rate_asked_hz: number;
  readonly rate_achieved_hz: number;
  readonly wake_us: Percentiles;
  readonly work_us: Percentiles;
  readonly sample_age_us: Percentiles;
  readonly decision_us: Percentiles | null;
  readonly coverage_gap_ticks: number;
  readonly safe_entries: Readonly<Record<string, number>>;
  readonly safe_episodes: Readonly<Record<string, number>>;
  readonly safe_entries_control: Readonly<Record<string, number>>;
  readonly safe_entries_policy: Readonly<Record<string, number>>;
  readonly fault_ticks: Readonly<Record<string, number>>;
  readonly evidence: Readonly<Record<string, number>>;
  readonly supervisor_path: readonly string[];
  readonly parked: boolean | null;
  readonly task: Readonly<Record<"episodes" | "successes", number>> & {
    readonly name: string;
    readonly success: boolean;
  };
  readonly realtime_factor: number;
  readonly trace_hash: string | null;
  readonly warnings: readonly string[];
  readonly failure: string | null;
};
type Percentiles = { readonly p50: number; readonly p99: number; readonly max: number };

export type LaunchOptions = {
  readonly scratch: Scratch;
  readonly program?: readonly string[];
  readonly cwd?: string;
  /** Whether file descriptor 0 is closed altogether, instead of empty. */
  readonly stdinClosed?: boolean;
  /** When it counts as hung, where a case takes longer than a few seconds. */
  readonly hangMs?: number;
  /** What is typed into it; nothing unless given. */
  readonly stdin?: string;
};

export class ProgramRun {
  readonly pid: number;
  readonly end: Promise<Ended>;
  readonly #child: Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;
  readonly #scratch: Scratch;
  readonly #texts = { stdout: "", stderr: "" };
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(args: readonly string[], options: LaunchOptions) {
    const { scratch, program = FROM_SOURCE, cwd, stdin } = options;
    const command = [...program, ...args];
    const closed = ["/bin/sh", "-c", 'exec "$0" "$@" <&-'];
    this.#scratch = scratch;
    this.#child = Bun.spawn(options.stdinClosed === true ? [...closed, ...command] : command, {
      ...(cwd !== undefined && { cwd }),
      env: environmentOf(scratch),
      stdin: stdin === undefined ? "ignore" : new TextEncoder().encode(stdin),
      stdout: "pipe",
      stderr: "pipe",
      timeout: options.hangMs ?? HANG_MS,
      killSignal: "SIGKILL",
    });
    this.pid = this.#child.pid;
    this.end = this.#collect();
  }

  /** Waits until what it wrote fits; throws with all that it wrote when it ends before. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let found: RegExpExecArray | null = null;
    await this.#when(() => {
      found = pattern.exec(this.written);
      return found !== null;
    }, String(pattern));
    return found!;
  }

  get written(): string {
    return this.#texts.stderr + this.#texts.stdout;
  }

  /** Its threads as the kernel schedules them now; none once it has ended. */
  threads(): ThreadFacts[] {
    const root = this.#scratch.made(`proc-${this.pid}`);
    rmSync(join(root, "self"), { force: true });
    symlinkSync(`/proc/${this.pid}`, join(root, "self"));
    return this.#isOver ? [] : scanThreads(root);
  }

  /** Whether it has a file open now, as the kernel shows it. */
  hasOpen(path: string): boolean {
    const folder = `/proc/${this.pid}/fd`;
    return readdirSync(folder).some((fd) => {
      try {
        return readlinkSync(`${folder}/${fd}`) === path;
      } catch {
        return false; // closed since it was listed
      }
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async #collect(): Promise<Ended> {
    await Promise.all([this.#read("stdout"), this.#read("stderr"), this.#child.exited]);
    this.#isOver = true;
    this.#wake();
    const { exitCode, signalCode } = this.#child;
    return { code: exitCode ?? -1, signal: signalCode, ...this.#texts };
  }

  async #read(name: "stdout" | "stderr"): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child[name]) {
      this.#texts[name] += decoder.decode(bytes, { stream: true });
      this.#wake();
    }
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }

  #when(holds: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const isThere = holds();
        if (!isThere && !this.#isOver) return;
        this.#waiting.delete(look);
        if (isThere) resolve();
        else reject(new Error(`Cannot find ${what} in what the process wrote:\n${this.written}`));
      };
      this.#waiting.add(look);
      look();
    });
  }
}

/** Runs a command line to its end. */
export function runToEnd(args: readonly string[], options: LaunchOptions): Promise<Ended> {
  return new ProgramRun(args, options).end;
}

/** The report that `--json` printed, as the last line of standard output. */
export function reportOf({ stdout, stderr }: Pick<Ended, "stdout" | "stderr">): RunJson {
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as RunJson;
  } catch (cause) {
    throw new Error(`Cannot read the report "${line}": ${stderr}`, { cause });
  }
}

/** Nothing of the caller's own but where programs are and what a thread needs. */
function environmentOf(scratch: Scratch): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: scratch.folder,
    XDG_RUNTIME_DIR: scratch.runtimeFolder,
    XDG_STATE_HOME: scratch.stateFolder,
  };
}
