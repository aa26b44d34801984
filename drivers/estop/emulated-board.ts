// The e-stop's board without a board: its committed image on an emulated ATmega328P, a relay with a
// read-back contact on each output, a two-channel button, a closed limit chain and a reset input.
// Time is the chip's own, given by the caller; bytes take their time on the line of 500 kbaud.

import { EstopInput } from "../../runtime/contracts/estop-codes.ts";
import { AvrChip } from "./avr-chip.ts";
import { CYCLES_PER_US } from "./chip.ts";
import { buildIn } from "./build-constants.ts";
import type { BuildConstants } from "./build-constants.ts";
import { readIntelHex } from "./intel-hex.ts";

const FLASH_SIZE_BYTES = 0x8000;
const READ_BACK_PINS = [6, 7];
/** Pins of port B, by bit of `EstopInput`; each switch ties its pin to ground when closed. */
const SWITCH_PINS = [0, 1, 2, 3];
/** How often contacts and switches are looked at. */
const SLICE_US = 500;
const RELAY_US = 5_000;
const BYTE_US = 20;
/** How long a key of a person holds a button. */
const PRESS_US = 300_000;
const AT_REST = EstopInput.ButtonAClosed | EstopInput.ButtonBClosed | EstopInput.ChainClosed;
const BOTH_CHANNELS = EstopInput.ButtonAClosed | EstopInput.ButtonBClosed;

export type BoardKey = "button" | "reset";

export class EmulatedBoard {
  /** Outputs that are high: bit 0 is A, bit 1 is B. */
  outputBits = 0;
  /** When the last byte for the chip has passed. */
  lastByteUs = 0;
  readonly #chip: AvrChip;
  readonly #onOutputs: (atUs: number) => void;
  readonly #sent: number[] = [];
  readonly #releaseUs = { button: 0, reset: 0 };
  readonly #movedUs = [-RELAY_US, -RELAY_US];
  /** The contacts of the relays; undefined before the first look. */
  readonly #contacts: (boolean | undefined)[] = [undefined, undefined];
  #closed = -1;

  /** `image` is the text of an Intel HEX file; `constants` are built into it. */
  constructor(image: string, onOutputs: (atUs: number) => void, constants?: BuildConstants) {
    const flash = new Uint8Array(FLASH_SIZE_BYTES).fill(0xff);
    readIntelHex(image, flash);
    if (constants !== undefined) buildIn(flash, constants);
    this.#onOutputs = onOutputs;
    this.#chip = new AvrChip(flash, {
      outputsChanged: (bits, cycles) => this.#setOutputs(bits, cycles / CYCLES_PER_US),
      byteSent: (byte) => this.#sent.push(byte),
    });
  }

  get nowUs(): number {
    return this.#chip.cycleCount / CYCLES_PER_US;
  }

  /** Presses a key of the board now, for a third of a second. */
  press(key: BoardKey): void {
    this.#releaseUs[key] = this.nowUs + PRESS_US;
  }

  /** Puts bytes on the line to the chip. */
  send(bytes: Uint8Array): void {
    for (const byte of bytes) {
      this.lastByteUs = Math.max(this.lastByteUs, this.nowUs) + BYTE_US;
      this.#chip.receiveAt(byte, this.lastByteUs * CYCLES_PER_US);
    }
  }

  /** Bytes of the chip since the last call. */
  takeSent(): Uint8Array {
    return Uint8Array.from(this.#sent.splice(0));
  }

  runUntil(untilUs: number): void {
    while (this.nowUs < untilUs) {
      this.#moveSwitches();
      this.#chip.runUntil(Math.min(this.nowUs + SLICE_US, untilUs) * CYCLES_PER_US);
    }
  }

  #setOutputs(outputBits: number, atUs: number): void {
    if (outputBits === this.outputBits) return;
    for (let at = 0; at < 2; at += 1) {
      if (((outputBits ^ this.outputBits) & (1 << at)) !== 0) this.#movedUs[at] = atUs;
    }
    this.outputBits = outputBits;
    this.#onOutputs(atUs);
  }

  #moveSwitches(): void {
    const nowUs = this.nowUs;
    const isPressed = nowUs < this.#releaseUs.button;
    const isReset = nowUs < this.#releaseUs.reset;
    const closed =
      (isPressed ? AT_REST & ~BOTH_CHANNELS : AT_REST) | (isReset ? EstopInput.ResetPressed : 0);
    if (closed !== this.#closed) {
      this.#closed = closed;
      for (const [at, pin] of SWITCH_PINS.entries()) {
        this.#chip.ground("B", pin, (closed & (1 << at)) !== 0);
      }
    }
    for (let at = 0; at < READ_BACK_PINS.length; at += 1) {
      const isClosed = (this.outputBits & (1 << at)) !== 0;
      if (isClosed === this.#contacts[at] || nowUs - this.#movedUs[at]! < RELAY_US) continue;
      this.#contacts[at] = isClosed;
      // The contact that is read back is open while its output's contact is closed.
      this.#chip.ground("D", READ_BACK_PINS[at]!, !isClosed);
    }
  }
}
