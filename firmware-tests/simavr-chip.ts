// An ATmega328P in simavr, in a process of its own: `simavr/board.c` takes a line a command, and
// tells what happened when it has run. Everything here waits for the answer, so that a test reads
// the same with either emulator. Two named pipes carry the lines: reading one blocks this thread
// only while the emulator works.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import type { Chip, ChipListener, Hang, PortName } from "../drivers/estop/chip.ts";

const READ_BYTES = 65_536;

export class SimavrChip implements Chip {
  cycleCount = 0;
  watchdogCount = 0;
  readonly #listener: ChipListener;
  readonly #folder: string;
  readonly #process: Subprocess;
  readonly #commandFd: number;
  readonly #answerFd: number;
  readonly #buffer = Buffer.alloc(READ_BYTES);
  #commands: string[] = [];
  #rest = "";

  /** `program` is the built board.c, `image` the path of an Intel HEX file. */
  constructor(program: string, image: string, listener: ChipListener) {
    this.#listener = listener;
    this.#folder = mkdtempSync(join(tmpdir(), "holdfast-simavr-"));
    const pipes = ["commands", "answers"].map((name) => join(this.#folder, name));
    const made = Bun.spawnSync(["mkfifo", ...pipes]);
    if (made.exitCode !== 0) throw new Error(`Cannot make pipes: ${made.stderr.toString().trim()}`);
    // Opened for both ways, so that opening does not wait for the other end.
    this.#commandFd = openSync(pipes[0]!, "r+");
    this.#answerFd = openSync(pipes[1]!, "r+");
    this.#process = Bun.spawn([program, image], {
      stdin: this.#commandFd,
      stdout: this.#answerFd,
      stderr: "ignore",
    });
  }

  runUntil(cycles: number): void {
    if (cycles <= this.cycleCount) return;
    this.#commands.push(`u ${cycles}`);
    writeSync(this.#commandFd, `${this.#commands.join("\n")}\n`);
    this.#commands = [];
    while (!this.#take(this.#readLine()));
  }

  ground(port: PortName, pin: number, isTied: boolean): void {
    this.#commands.push(`g ${port} ${pin} ${isTied ? 1 : 0}`);
  }

  receiveAt(byte: number, cycles: number): void {
    this.#commands.push(`b ${cycles} ${byte}`);
  }

  reset(flags: number): void {
    this.#commands.push(`r ${flags}`);
    this.runUntil(this.cycleCount + 1);
  }

  hang(kind: Hang): void {
    this.#commands.push(`h ${kind}`);
  }

  cure(): void {
    this.#commands.push("c");
  }

  close(): void {
    this.#process.kill();
    closeSync(this.#commandFd);
    closeSync(this.#answerFd);
    rmSync(this.#folder, { recursive: true });
  }

  #readLine(): string {
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line;
      }
      const count = readSync(this.#answerFd, this.#buffer);
      this.#rest += this.#buffer.toString("latin1", 0, count);
    }
  }

  /** True when the run is over. */
  #take(line: string): boolean {
    const [kind, cycleText, valueText] = line.split(" ");
    const cycles = Number(cycleText);
    const value = Number(valueText);
    if (kind === "o") this.#listener.outputsChanged(value, cycles);
    else if (kind === "t") this.#listener.byteSent(value, cycles);
    else if (kind === "w") this.watchdogCount += 1;
    else if (kind === "d") this.cycleCount = cycles;
    else throw new Error(`Cannot read the emulator's line "${line}"`);
    return kind === "d";
  }
}
