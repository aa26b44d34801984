// ThreadBreaker: does to one thread of a child process what no signal can, by ptrace: holds it, as
// a machine does that has no time for it; sends it into an endless loop; ends it without a word.
// The program knows nothing of it, so nothing of it ships. x86-64, where a parent may trace.
//
// It takes a thread only while that waits in a system call: one held in the middle of its work may
// hold a lock of the whole process, of the compiler for one, which then stops every other thread.
// A process that was traced goes on by itself when this one ends.

import { dlopen, ptr } from "bun:ffi";
import type { Pointer } from "bun:ffi";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

const { ptrace, waitpid } = dlopen("libc.so.6", {
  ptrace: { args: ["i64", "i32", "usize", "ptr"], returns: "i64" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
}).symbols;

const PTRACE_GETREGS = 12;
const PTRACE_SETREGS = 13;
const PTRACE_DETACH = 17;
const PTRACE_SEIZE = 0x4206;
const PTRACE_INTERRUPT = 0x4207;
const WAIT_ALL = 0x4000_0000;
/** Words of `struct user_regs_struct`, by name. */
const REGISTER_COUNT = 27;
const RAX = 10;
const RDI = 14;
const ORIGINAL_RAX = 15;
const RIP = 16;
const NO_SYSCALL = -1n;
const SYS_EXIT = 60n;
const LOOP = Buffer.from([0xeb, 0xfe]); // jmp to itself
const SYSCALL = Buffer.from([0x0f, 0x05]);

/** System calls in which a thread waits: polls and sleeps. */
const WAITS: readonly bigint[] = [7n, 35n, 230n, 232n, 271n, 281n, 441n];
const TRIES_MAX = 5_000;
const TRY_MS = 1;

const nothing = null as unknown as Pointer;

export class ThreadBreaker {
  readonly #pid: number;
  readonly #registers = new BigInt64Array(new ArrayBuffer(8 * REGISTER_COUNT));
  readonly #status = new Int32Array(new ArrayBuffer(64));

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Stops a thread until the function that it returns is called. */
  hold(name: string): () => void {
    const id = this.#seize(name);
    return () => this.#ask(PTRACE_DETACH, id, nothing);
  }

  /** From now on the thread runs one instruction for ever, at the priority that it has. */
  loop(name: string): void {
    this.#sendTo(name, LOOP, {});
  }

  /** The thread ends in the kernel: no code of its own runs any more. */
  end(name: string): void {
    this.#sendTo(name, SYSCALL, { [RAX]: SYS_EXIT, [RDI]: 0n });
  }

  #sendTo(name: string, code: Buffer, registers: Readonly<Record<number, bigint>>): void {
    const address = this.#find(code);
    const id = this.#seize(name);
    for (const [at, value] of Object.entries(registers)) this.#registers[Number(at)] = value;
    this.#registers[ORIGINAL_RAX] = NO_SYSCALL; // what it waits in is not begun anew
    this.#registers[RIP] = BigInt(address);
    this.#ask(PTRACE_SETREGS, id, ptr(this.#registers));
    this.#ask(PTRACE_DETACH, id, nothing);
  }

  /** Stops the thread in a wait, its registers read. */
  #seize(name: string): number {
    const id = this.#threadId(name);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      this.#ask(PTRACE_SEIZE, id, nothing);
      this.#ask(PTRACE_INTERRUPT, id, nothing);
      const found = waitpid(id, ptr(this.#status), WAIT_ALL);
      if (found !== id) throw new Error(`Cannot hold the thread ${name}: it did not stop`);
      this.#ask(PTRACE_GETREGS, id, ptr(this.#registers));
      if (WAITS.includes(this.#registers[ORIGINAL_RAX]!)) return id;
      this.#ask(PTRACE_DETACH, id, nothing);
      Bun.sleepSync(TRY_MS);
    }
    throw new Error(`Cannot hold the thread ${name}: it never waits`);
  }

  #ask(request: number, id: number, data: Pointer): void {
    if (ptrace(request, id, 0, data) === 0n) return;
    throw new Error(`Cannot trace thread ${id}: the kernel refuses request ${request}`);
  }

  #threadId(name: string): number {
    const folder = `/proc/${this.#pid}/task`;
    for (const id of readdirSync(folder)) {
      if (readFileSync(`${folder}/${id}/comm`, "utf8").trim() === name) return Number(id);
    }
    throw new Error(`Cannot find a thread ${name} in process ${this.#pid}`);
  }

  /** Where these bytes are executable. */
  #find(code: Buffer): number {
    const memory = openSync(`/proc/${this.#pid}/mem`, "r");
    try {
      for (const line of readFileSync(`/proc/${this.#pid}/maps`, "utf8").split("\n")) {
        const [, from, until] = /^(\w+)-(\w+) r-xp .* \/.*libc\.so/.exec(line) ?? [];
        if (from === undefined || until === undefined) continue;
        const start = Number.parseInt(from, 16);
        const text = Buffer.alloc(Number.parseInt(until, 16) - start);
        readSync(memory, text, 0, text.length, start);
        const at = text.indexOf(code);
        if (at >= 0) return start + at;
      }
    } finally {
      closeSync(memory);
    }
    throw new Error(`Cannot find ${code.toString("hex")} in the C library`);
  }
}
