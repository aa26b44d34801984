// KillRun: the whole program beside its emulated e-stop, and what that board's own record says of
// its outputs, in the chip's time. The record outlives the program by some seconds; the longest
// time in which the machine let the board or the control thread stand is known too, so that a
// machine that was away is told from a program that failed.

import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import type { EmulatorEvent } from "../drivers/estop/emulator.ts";
import type { RunStatus } from "../runtime/cli/run-handle.ts";
import { FROM_SOURCE, ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";
import type { Ended } from "./process.ts";

export const T_WD_US = 100_000;
/** A start and all that is done to it, on a machine that does ten other things. */
const HANG_MS = 180_000;
const BOTH = 3;
const POLL_MS = 10;
const POLLS_MAX = 3_000;
/** Each is a process of its own; the proof test takes a second. */
const RESETS_MAX = 100;

export type KillPlace = {
  readonly port: number;
  /** The command before `run`; absent: the program from source. */
  readonly program?: (scratch: Scratch) => readonly string[];
};

export class KillRun {
  readonly scratch = new Scratch();
  readonly program: ProgramRun;
  #record = -1;

  /** The first port for its page; `more` are arguments of `run`. */
  constructor(where: number | KillPlace, ...more: readonly string[]) {
    const { port, program = () => FROM_SOURCE } =
      typeof where === "number" ? { port: where } : where;
    const args = ["run", "--estop", "emulated", "--task", "none", "--port", `${port}`, ...more];
    const { scratch } = this;
    this.program = new ProgramRun(args, { scratch, hangMs: HANG_MS, program: program(scratch) });
  }

  /** Waits until the outputs are closed, the drives have power and the run moves. */
  async moving(): Promise<this> {
    await this.program.until(/drives have power/);
    await this.program.until(/→ RUNNING: start/);
    this.#open();
    return this;
  }

  /** What the outputs did since the program came; kept open, so that it outlives its folder. */
  events(): readonly EmulatorEvent[] {
    this.#open();
    if (this.#record < 0) return [];
    const bytes = Buffer.alloc(fstatSync(this.#record).size);
    readSync(this.#record, bytes, 0, bytes.length, 0);
    const lines = bytes.toString("utf8").split("\n").slice(0, -1); // the last ends with a newline
    return lines.map((line) => JSON.parse(line) as EmulatorEvent);
  }

  /** Both outputs are closed, and were since they closed first. */
  get isUncut(): boolean {
    const all = this.events();
    const closed = all.findIndex((event) => event.output_bits === BOTH);
    return closed >= 0 && closed === all.length - 1;
  }

  /** The change that opened both outputs after they were first closed. */
  async cut(): Promise<EmulatorEvent> {
    for (let poll = 0; poll < POLLS_MAX; poll += 1) {
      const all = this.events();
      const closed = all.findIndex((event) => event.output_bits === BOTH);
      const open = all.find((event, at) => at > closed && event.output_bits === 0);
      if (closed >= 0 && open !== undefined) return open;
      await Bun.sleep(POLL_MS);
    }
    throw new Error(`Cannot find the cut in ${JSON.stringify(this.events())}`);
  }

  /**
   * A person's way back from a cut: reset, which arms the chip first once its proof test is over,
   * and then a start. Throws unless the resets move nothing, and the start does.
   */
  async rearm(): Promise<void> {
    const { program } = this;
    for (let tries = 0; !/→ RECOVER/.test(program.written); tries += 1) {
      if (tries === RESETS_MAX) throw new Error(`Cannot reset the run: ${program.written}`);
      await this.#person("reset");
    }
    if (program.written.split("drives have power").length !== 3) {
      throw new Error(`Cannot find the power of the second arming: ${program.written}`);
    }
    const heldRad = await this.#commandRad();
    if ((await this.#commandRad()) !== heldRad) throw new Error("A reset moved the robot");
    await this.#person("start");
    await program.until(/RECOVER → RUNNING: start/);
    for (let polls = 0; (await this.#commandRad()) === heldRad; polls += 1) {
      if (polls === RESETS_MAX) throw new Error("A start moved nothing");
    }
  }

  #person(...words: readonly string[]): Promise<Ended> {
    return runToEnd([...words, "--pid", `${this.program.pid}`], { scratch: this.scratch });
  }

  async #commandRad(): Promise<string> {
    const { stdout } = await this.#person("status", "--json");
    return JSON.stringify((JSON.parse(stdout) as Pick<RunStatus, "commandRad">).commandRad);
  }

  /** Ends the run: the longest that the machine let its board or its control thread stand. */
  async awayUsMax(): Promise<number> {
    const slips = this.events().map((event) => event.slip_us_max);
    this.program.signal("SIGTERM");
    const { wake_us: wake } = reportOf(await this.program.end);
    return Math.max(wake.max, ...slips);
  }

  /** Ends what is left of it. */
  async close(): Promise<Ended> {
    this.program.signal("SIGKILL"); // nothing to one that has ended
    const ended = await this.program.end;
    if (this.#record >= 0) closeSync(this.#record);
    this.scratch[Symbol.dispose]();
    return ended;
  }

  /** The pipe by which the board's outputs reach the simulated drives. */
  get enablePath(): string {
    return join(this.#boardFolder, "enable");
  }

  /** Pulls the board's adapter, as far as one can that is a process: its line and its pipe end. */
  unplug(): void {
    const folder = this.#boardFolder;
    const own = readdirSync("/proc").find((id) => {
      const path = `/proc/${id}/cmdline`;
      return existsSync(path) && readFileSync(path, "utf8").split("\0").includes(folder);
    });
    if (own === undefined) throw new Error(`Cannot find the board of ${folder}`);
    process.kill(Number(own), "SIGKILL");
  }

  get #boardFolder(): string {
    const folder = join(this.scratch.runtimeFolder, "holdfast");
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return join(folder, names.find((name) => name.startsWith("estop-")) ?? "none");
  }

  #open(): void {
    if (this.#record >= 0) return;
    const path = join(this.#boardFolder, "events.jsonl");
    if (existsSync(path)) this.#record = openSync(path, "r");
  }
}
