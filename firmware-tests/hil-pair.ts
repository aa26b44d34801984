// Two emulated Nanos on one bench, wired pin to pin as firmware-tests/hil-probe/README.md says: the
// e-stop's image on one, the probe's on the other, each behind a pseudo-terminal that a bench opens
// like a board's port. Lockstep: time passes when it is asked to, so a run is the same each time.

import { join } from "node:path";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { CYCLES_PER_US, ResetFlag } from "../drivers/estop/chip.ts";
import type { PortName } from "../drivers/estop/chip.ts";
import { assert } from "../runtime/contracts/assert.ts";
import { Pty } from "../hal/ffi/pty.ts";
import { imageAt } from "./chip-board.ts";
import { BYTE_US } from "./estop-bench.ts";
import type { HilClock, PortName as HilPort } from "./hil-bench.ts";

/** How often levels cross from one board to the other, and bytes to and from the terminals. */
const WIRE_US = 20;
const PORT_US = 200;
const OUTPUT_PINS = [4, 5];
const READ_BACK_PINS = [6, 7];
const SWITCH_PINS = [0, 1, 2, 3];
const BOARD_RESET_PIN = 4;
const LINE_PIN = 3;
const WAIT_MS = 100;

/** A wire from one board to the other. */
type Wire = {
  readonly isTied: () => boolean;
  readonly tie: (isTied: boolean) => void;
  wasTied: boolean;
};

/** A chip and its terminal; bytes take their time on the line. */
class Side {
  readonly pty = new Pty();
  readonly chip: AvrChip;
  outputBits = 0;
  /** When each byte that is on its way will have passed. */
  readonly dueUs: number[] = [];
  /** Bytes that the bench has written, and those of the chip that are on the terminal. */
  awaitedCount = 0;
  sentCount = 0;
  #heardCount = 0;
  readonly #sent: number[] = [];
  #lineFreeUs = 0;

  constructor(image: Uint8Array) {
    this.chip = new AvrChip(image, {
      outputsChanged: (bits) => {
        this.outputBits = bits;
      },
      byteSent: (byte) => this.#sent.push(byte),
    });
  }

  exchange(nowUs: number): void {
    const { device } = this.pty;
    do {
      if (this.#heardCount < this.awaitedCount) device.waitReadable(WAIT_MS);
      const count = device.read();
      for (let at = 0; at < count; at += 1) this.#hear(device.received[at]!, nowUs);
      this.#heardCount += count;
    } while (this.#heardCount < this.awaitedCount);
    const sent = Uint8Array.from(this.#sent.splice(0));
    if (sent.length === 0) return;
    assert(device.write(sent, sent.length) === sent.length, "a terminal has room");
    this.sentCount += sent.length;
  }

  #hear(byte: number, nowUs: number): void {
    this.#lineFreeUs = Math.max(nowUs, this.#lineFreeUs) + BYTE_US;
    this.chip.receiveAt(byte, this.#lineFreeUs * CYCLES_PER_US);
    this.dueUs.push(this.#lineFreeUs);
  }

  /** True when a byte has passed since it was last asked. */
  takePassed(nowUs: number): boolean {
    const count = this.dueUs.filter((dueUs) => dueUs <= nowUs).length;
    this.dueUs.splice(0, count);
    return count > 0;
  }
}

export class HilPair implements HilClock {
  readonly #board: Side;
  readonly #probe: Side;
  readonly #sides: Readonly<Record<HilPort, Side>>;
  readonly #wires: Wire[];
  #nowUs = 0;

  constructor(boardImage: Uint8Array, probeHex: string) {
    this.#board = new Side(boardImage);
    this.#probe = new Side(imageAt(probeHex));
    this.#probe.chip.lift("D", LINE_PIN, true);
    this.#sides = { board: this.#board, probe: this.#probe };
    this.#wires = this.#join();
  }

  get boardPath(): string {
    return this.#board.pty.path;
  }

  get probePath(): string {
    return this.#probe.pty.path;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  passUntil(untilUs: number): void {
    while (this.#nowUs < untilUs) {
      if (this.#nowUs % PORT_US === 0) {
        this.#board.exchange(this.#nowUs);
        this.#probe.exchange(this.#nowUs);
      }
      this.#joinPins();
      this.#nowUs += WIRE_US;
      for (const { chip } of [this.#board, this.#probe]) {
        chip.runUntil(this.#nowUs * CYCLES_PER_US);
      }
    }
  }

  noteWritten(port: HilPort, count: number): void {
    this.#sides[port].awaitedCount += count;
  }

  sentCount(port: HilPort): number {
    return this.#sides[port].sentCount;
  }

  close(): void {
    this.#board.pty.close();
    this.#probe.pty.close();
  }

  #joinPins(): void {
    for (const wire of this.#wires) {
      const isTied = wire.isTied();
      if (isTied === wire.wasTied) continue;
      wire.wasTied = isTied;
      wire.tie(isTied);
    }
    if (!this.#board.takePassed(this.#nowUs)) return;
    this.#probe.chip.lift("D", LINE_PIN, false);
    this.#probe.chip.lift("D", LINE_PIN, true);
  }

  #join(): Wire[] {
    const [board, probe] = [this.#board.chip, this.#probe.chip];
    const toBoard = (port: PortName) => (pin: number) => ({
      isTied: () => probe.isPulledLow(port, pin),
      tie: (isTied: boolean) => board.ground(port, pin, isTied),
    });
    const toProbe = (pin: number, at: number) => ({
      isTied: () => (this.#board.outputBits & (1 << at)) !== 0,
      tie: (isTied: boolean) => probe.lift("D", pin, isTied),
    });
    return [
      ...OUTPUT_PINS.map(toProbe),
      ...READ_BACK_PINS.map(toBoard("D")),
      ...SWITCH_PINS.map(toBoard("B")),
      {
        isTied: () => probe.isPulledLow("B", BOARD_RESET_PIN),
        tie: () => board.reset(ResetFlag.Pin),
      },
    ].map((wire) => ({ ...wire, wasTied: false }));
  }
}

/** The probe's committed image. */
export const PROBE_HEX = join(import.meta.dir, "hil-probe/hil_probe.hex");
