// The emulated e-stop as a process of its own, paced to wall time: the chip's line on a
// pseudo-terminal, its outputs as bytes in a named pipe, its keys from standard input. It lives on
// when the runtime is killed or stopped, as a board would, and ends some seconds after its input.
//
// When the machine runs it late it lets its own time slip instead of hurrying after: neither a
// silence nor a burst is made up. It writes each change of the outputs, in the chip's time, and how
// late it was, to `events.jsonl` in its folder.

import { appendFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { FileDescriptor, GONE, makeFifo } from "../../hal/ffi/file-descriptor.ts";
import { MonotonicClock, sessionOrigin } from "../../hal/ffi/monotonic-clock.ts";
import { Pty } from "../../hal/ffi/pty.ts";
import { nameThread, setFifo } from "../../hal/ffi/scheduling.ts";
import { duration, instant, NS_PER_MS, NS_PER_US } from "../../runtime/contracts/units.ts";
import { EmulatedBoard } from "./emulated-board.ts";
import { enableByte } from "./enable-line.ts";
import { LateLine } from "./late-line.ts";

const PRIORITY = 60;
const SLICE_NS = NS_PER_MS;
const SLIP_NS_MAX = 2 * NS_PER_MS;
/** How long the chip lives on without anybody: longer than any of its timers. */
const LINGER_US = 3_000_000;
/**
 * Cold, an emulated chip is many times slower than a real one, and a busy machine compiles late. So
 * another chip runs first, until so many pieces of its time have taken less than half of it.
 */
const WARM_PIECE_US = 10_000;
const WARM_PIECES = 10;
const WARM_UP_NS_MAX = 10_000 * NS_PER_MS;
/** What it hears meanwhile: a frame of the usual length that means nothing. */
const NOISE = Uint8Array.from({ length: 31 }, (_, at) => (at === 0 || at === 30 ? 0 : at));
const STANDARD_INPUT = 0;
const STANDARD_OUTPUT = 1;
const KEYS: Readonly<Record<number, "button" | "reset">> = { 98: "button", 114: "reset" };

/** What the process says once, as a line of JSON, when it can be opened. */
export type EmulatorReady = { readonly path: string; readonly enablePath: string };

/** A change of the outputs, as a line of `events.jsonl`. All times are the chip's. */
export type EmulatorEvent = {
  readonly at_us: number;
  readonly output_bits: number;
  readonly last_byte_us: number;
  /** Wall time that did not pass for the chip: all, and the longest piece since the last event. */
  readonly slip_us: number;
  readonly slip_us_max: number;
};

/**
 * Runs until standard input ends, and a while longer. `folder` is removed at the end. `stopMs` is
 * the SS1-t with which the firmware was built.
 */
export function runEmulator(image: string, folder: string, stopMs: number): void {
  new Emulator(image, folder, stopMs).run();
}

class Emulator {
  readonly #folder: string;
  readonly #board: EmulatedBoard;
  readonly #pty = new Pty();
  readonly #enable: FileDescriptor;
  readonly #keys = new FileDescriptor("standard input", STANDARD_INPUT);
  readonly #clock = new MonotonicClock(sessionOrigin(), duration(0));
  readonly #level = new Uint8Array(1);
  readonly #line = new LateLine();
  #slipUs = 0;
  #slipUsMax = 0;
  #leftUs = Number.POSITIVE_INFINITY;

  constructor(image: string, folder: string, stopMs: number) {
    this.#folder = folder;
    const enablePath = join(folder, "enable");
    makeFifo(enablePath);
    this.#enable = FileDescriptor.open(enablePath);
    this.#board = new EmulatedBoard(image, (atUs) => this.#tellOutputs(atUs), { stopMs });
    const ready: EmulatorReady = { path: this.#pty.path, enablePath };
    writeSync(STANDARD_OUTPUT, `${JSON.stringify(ready)}\n`);
    this.#warmUp(image); // while the run loads
  }

  run(): void {
    nameThread("hf-estop-board");
    setFifo(PRIORITY); // where it is not granted the chip's time slips more often
    let dueNs = this.#clock.nowNs() + SLICE_NS;
    while (this.#board.nowUs - this.#leftUs < LINGER_US) {
      while (!this.#clock.sleepSliceUntil(instant(dueNs)));
      // Before the clock is read: what comes in between is then taken for the next slice's.
      const bytes = this.#readLine();
      const lateNs = this.#clock.nowNs() - dueNs;
      if (lateNs > SLIP_NS_MAX) {
        const lateUs = lateNs / NS_PER_US;
        this.#slipUs += lateUs;
        this.#slipUsMax = Math.max(this.#slipUsMax, lateUs);
        this.#line.slip(lateUs);
        dueNs += lateNs;
      }
      dueNs += SLICE_NS;
      this.#slice(bytes);
    }
    rmSync(this.#folder, { recursive: true, force: true });
    this.#pty.close();
  }

  #warmUp(image: string): void {
    const other = new EmulatedBoard(image, () => undefined);
    const untilNs = this.#clock.nowNs() + WARM_UP_NS_MAX;
    let fastCount = 0;
    while (fastCount < WARM_PIECES && this.#clock.nowNs() < untilNs) {
      const begunNs = this.#clock.nowNs();
      other.send(NOISE);
      other.runUntil(other.nowUs + WARM_PIECE_US);
      other.takeSent();
      if (this.#clock.nowNs() - begunNs < (WARM_PIECE_US * NS_PER_US) / 2) fastCount += 1;
    }
  }

  #readLine(): Uint8Array {
    const { device } = this.#pty;
    const parts: Uint8Array[] = [];
    for (let count = device.read(); count > 0; count = device.read()) {
      parts.push(device.received.slice(0, count));
    }
    return Buffer.concat(parts);
  }

  #slice(bytes: Uint8Array): void {
    const { device } = this.#pty;
    this.#readKeys();
    const sliceUs = SLICE_NS / NS_PER_US;
    this.#board.send(this.#line.pass(bytes, sliceUs));
    this.#board.runUntil(this.#board.nowUs + sliceUs);
    const sent = this.#board.takeSent();
    if (sent.length > 0) device.write(sent, sent.length);
  }

  #readKeys(): void {
    if (this.#leftUs !== Number.POSITIVE_INFINITY || !this.#keys.waitReadable(0)) return;
    const count = this.#keys.read();
    if (count === GONE) this.#leftUs = this.#board.nowUs;
    for (let at = 0; at < count; at += 1) {
      const key = KEYS[this.#keys.received[at]!];
      if (key !== undefined) this.#board.press(key);
    }
  }

  #tellOutputs(atUs: number): void {
    const { outputBits, lastByteUs } = this.#board;
    this.#level[0] = enableByte(outputBits);
    this.#enable.write(this.#level, 1);
    const event: EmulatorEvent = {
      at_us: Math.round(atUs),
      output_bits: outputBits,
      last_byte_us: lastByteUs,
      slip_us: Math.round(this.#slipUs),
      slip_us_max: Math.round(this.#slipUsMax),
    };
    this.#slipUsMax = 0;
    appendFileSync(join(this.#folder, "events.jsonl"), `${JSON.stringify(event)}\n`);
  }
}
