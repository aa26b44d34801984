// What a bench for the e-stop chip gives to a test, whatever runs behind it: the core on this
// machine, the image in an emulator, a board on a cable. Time is the chip's own and never a wall
// clock. The relays of a bench follow their outputs after a while, and may be welded or stuck.

import { EstopInput } from "../runtime/contracts/estop-codes.ts";

/** At 500 kbaud a byte takes ten bits. */
export const BYTE_US = 20;
/** A relay of the usual kind. */
export const RELAY_US = 5_000;

export type OutputEdge = { readonly atUs: number; readonly outputBits: number };

/** Switches on the bench: bits of `EstopInput` for the buttons, the chain and the reset. */
export const SWITCHES_AT_REST =
  EstopInput.ButtonAClosed | EstopInput.ButtonBClosed | EstopInput.ChainClosed;

export interface EstopBench {
  readonly name: string;
  readonly nowUs: number;
  /** Enable outputs that are high now: bit 0 is A, bit 1 is B. */
  readonly outputBits: number;
  /** Each change of the outputs since the bench was made. */
  readonly edges: readonly OutputEdge[];
  readonly relays: RelayPair;
  /** Buttons, chain and reset as they stand; a test sets it, and it acts from now on. */
  switchBits: number;
  runUntil(untilUs: number): void;
  /** Queues bytes for the chip; they take their time on the line. */
  send(bytes: Uint8Array): void;
  /** Bytes of the chip whose stop bit has passed, since the last call. */
  takeReceived(): Uint8Array;
  /** Starts the chip anew, as this reset would. */
  reset(cause: BenchReset): void;
  close(): void;
}

export type BenchReset = "power_on" | "reset_pin" | "brown_out" | "watchdog";

/** Two relays with a contact each that is read back. */
export class RelayPair {
  /** Bits of outputs whose contact stays closed, or open, whatever the coil does. */
  welded = 0;
  stuckOpen = 0;
  #coils = 0;
  #contacts = 0;
  readonly #movedUs = [0, 0];

  /** Bits of the contacts that are closed at a time not before the last one asked for. */
  contactsAt(nowUs: number, outputs: number): number {
    for (let at = 0; at < 2; at += 1) {
      const bit = 1 << at;
      if ((this.#coils & bit) !== (outputs & bit)) {
        this.#coils ^= bit;
        this.#movedUs[at] = nowUs;
      }
      if (nowUs - this.#movedUs[at]! < RELAY_US) continue;
      this.#contacts = (this.#contacts & ~bit) | (this.#coils & bit);
    }
    return (this.#contacts | this.welded) & ~this.stuckOpen;
  }

  /** The same as bits of `EstopInput`. */
  inputsAt(nowUs: number, outputs: number): number {
    return this.contactsAt(nowUs, outputs) * EstopInput.ReadBackA;
  }
}
