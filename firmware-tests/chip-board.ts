// The board around an emulated ATmega328P with the e-stop's committed image: relays on the two
// outputs, switches on the inputs, the line at 500 kbaud. Lockstep: the test owns the clock, and
// each run gives the same figures.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EstopInput } from "../runtime/contracts/estop-codes.ts";
import { CYCLES_PER_US, ResetFlag } from "../drivers/estop/chip.ts";
import type { Chip, MakeChip } from "../drivers/estop/chip.ts";
import type { BenchReset, EstopBench, OutputEdge } from "./estop-bench.ts";
import { BYTE_US, RelayPair, SWITCHES_AT_REST } from "./estop-bench.ts";
import { FIRMWARE } from "./firmware-build.ts";
import { readIntelHex } from "../drivers/estop/intel-hex.ts";

const READ_BACK_PINS = [6, 7];
/** Pins of port B, by bit of `EstopInput`; each switch ties its pin to ground when closed. */
const SWITCH_PINS = [0, 1, 2, 3];
/** How often contacts and switches are looked at. */
const SLICE_US = 128;
const FLASH_SIZE_BYTES = 0x8000;
const BYTE_CYCLES = BYTE_US * CYCLES_PER_US;

const flags: Readonly<Record<BenchReset, number>> = {
  power_on: ResetFlag.PowerOn,
  reset_pin: ResetFlag.Pin,
  brown_out: ResetFlag.BrownOut,
  watchdog: ResetFlag.Watchdog,
};

/** The bytes of a committed image. */
export function committedImage(name: string): Uint8Array {
  return imageAt(join(FIRMWARE, name));
}

/** The bytes of an image that may have been built just now. */
export function imageAt(path: string): Uint8Array {
  const flash = new Uint8Array(FLASH_SIZE_BYTES).fill(0xff);
  readIntelHex(readFileSync(path, "utf8"), flash);
  return flash;
}

export class ChipBoard implements EstopBench {
  readonly name: string;
  readonly edges: OutputEdge[] = [];
  readonly relays = new RelayPair();
  readonly chip: Chip;
  switchBits: number = SWITCHES_AT_REST;
  #outputs = 0;
  #lineFreeCycles = 0;
  /** What each pin was last tied to; undefined before the first time. */
  readonly #tied = new Map<string, boolean>();
  #toHost: { readonly atUs: number; readonly byte: number }[] = [];

  constructor(name: string, makeChip: MakeChip) {
    this.name = name;
    this.chip = makeChip({
      outputsChanged: (bits, cycles) => this.#setOutputs(bits, cycles),
      byteSent: (byte, cycles) =>
        this.#toHost.push({ atUs: (cycles + BYTE_CYCLES) / CYCLES_PER_US, byte }),
    });
  }

  get nowUs(): number {
    return this.chip.cycleCount / CYCLES_PER_US;
  }

  get outputBits(): number {
    return this.#outputs;
  }

  runUntil(untilUs: number): void {
    while (this.nowUs < untilUs) {
      this.#moveContacts();
      this.chip.runUntil(Math.ceil(Math.min(this.nowUs + SLICE_US, untilUs) * CYCLES_PER_US));
    }
  }

  send(bytes: Uint8Array): void {
    let atCycles = Math.max(this.chip.cycleCount, this.#lineFreeCycles);
    for (const byte of bytes) {
      atCycles += BYTE_CYCLES;
      this.chip.receiveAt(byte, atCycles);
    }
    this.#lineFreeCycles = atCycles;
  }

  takeReceived(): Uint8Array {
    const arrived = this.#toHost.filter(({ atUs }) => atUs <= this.nowUs);
    this.#toHost = this.#toHost.slice(arrived.length);
    return Uint8Array.from(arrived, ({ byte }) => byte);
  }

  reset(cause: BenchReset): void {
    this.chip.reset(flags[cause]);
  }

  close(): void {
    this.chip.close();
  }

  #setOutputs(bits: number, cycles: number): void {
    if (bits === this.#outputs) return;
    this.#outputs = bits;
    this.edges.push({ atUs: cycles / CYCLES_PER_US, outputBits: bits });
  }

  #moveContacts(): void {
    for (const [at, pin] of SWITCH_PINS.entries()) {
      this.#tie("B", pin, (this.switchBits & (1 << at)) !== 0);
    }
    // The contact that is read back is open while its output's contact is closed.
    const closed = this.relays.inputsAt(this.nowUs, this.#outputs);
    for (const [at, pin] of READ_BACK_PINS.entries()) {
      this.#tie("D", pin, (closed & (EstopInput.ReadBackA << at)) === 0);
    }
  }

  #tie(port: "B" | "D", pin: number, isTied: boolean): void {
    const name = `${port}${pin}`;
    if (this.#tied.get(name) === isTied) return;
    this.#tied.set(name, isTied);
    this.chip.ground(port, pin, isTied);
  }
}
