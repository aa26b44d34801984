// A bench over the e-stop's core on this machine: no chip, no pins, the same decisions. Steps come
// as the chip's timer gives them, bytes at the speed of the line.

import { EstopCause } from "../runtime/contracts/estop-codes.ts";
import { EstopCore } from "../hal/ffi/estop-core.ts";
import type { EstopConfig } from "../hal/ffi/estop-core.ts";
import type { BenchReset, EstopBench, OutputEdge } from "./estop-bench.ts";
import { BYTE_US, RelayPair, SWITCHES_AT_REST } from "./estop-bench.ts";
import { hostLibrary } from "./firmware-build.ts";

export const STEP_US = 256;

/** The constants of a board as shipped. */
export const SHIPPED: EstopConfig = {
  silenceMs: 25,
  stopMs: 300,
  cutDelayMs: 0,
  discrepancyMs: 100,
  settleMs: 50,
  buildBits: 4,
};

const NO_KEY = new Uint8Array(8);
const causes: Readonly<Record<BenchReset, number>> = {
  power_on: EstopCause.PowerOn,
  reset_pin: EstopCause.ResetPin,
  brown_out: EstopCause.BrownOut,
  watchdog: EstopCause.Watchdog,
};

type TimedByte = { readonly atUs: number; readonly byte: number };

export class CoreBench implements EstopBench {
  readonly name = "core";
  readonly edges: OutputEdge[] = [];
  readonly relays = new RelayPair();
  switchBits = SWITCHES_AT_REST;
  readonly #config: EstopConfig;
  readonly #key: Uint8Array | null;
  readonly #startUs: number;
  readonly #library: string;
  #core: EstopCore;
  #boots = 1;
  #nowUs = 0;
  #stepUs = 0;
  #outputs = 0;
  #toChip: TimedByte[] = [];
  #toHost: TimedByte[] = [];

  /**
   * `startUs` is what the chip's 32-bit counter shows at boot; with a key it is a keyed build.
   * `library` is another build of the core, for tests of broken ones.
   */
  constructor(
    config: EstopConfig = SHIPPED,
    startUs = 0,
    key: Uint8Array | null = null,
    library = hostLibrary(key !== null),
  ) {
    this.#library = library;
    this.#config = config;
    this.#startUs = startUs;
    this.#key = key;
    this.#core = this.#boot("power_on");
  }

  get nowUs(): number {
    return this.#nowUs;
  }

  get outputBits(): number {
    return this.#outputs;
  }

  runUntil(untilUs: number): void {
    while (this.#stepUs <= untilUs) {
      this.#nowUs = this.#stepUs;
      this.#deliver();
      this.#step();
      this.#stepUs += STEP_US;
    }
    this.#nowUs = untilUs;
  }

  send(bytes: Uint8Array): void {
    let atUs = Math.max(this.#nowUs, this.#toChip.at(-1)?.atUs ?? 0);
    for (const byte of bytes) {
      atUs += BYTE_US;
      this.#toChip.push({ atUs, byte });
    }
  }

  takeReceived(): Uint8Array {
    const arrived = this.#toHost.filter(({ atUs }) => atUs <= this.#nowUs);
    this.#toHost = this.#toHost.slice(arrived.length);
    return Uint8Array.from(arrived, ({ byte }) => byte);
  }

  reset(cause: BenchReset): void {
    this.#boots += 1;
    this.#core.free();
    this.#core = this.#boot(cause);
    this.#drive(0);
  }

  /** From armed on, a healthy host for so many ticks; returns how many passed while armed. */
  soak(beatCount: number, seed: number, lostOf: number, jitterUs: number): number {
    return this.#core.soak(beatCount, seed, lostOf, jitterUs, this.#chipUs());
  }

  close(): void {
    this.#core.free();
  }

  #boot(cause: BenchReset): EstopCore {
    const nonce = Math.imul(this.#boots, 0x9e37_79b1) >>> 0;
    const key = this.#key ?? NO_KEY;
    return new EstopCore(this.#library, this.#config, key, nonce, causes[cause], this.#chipUs());
  }

  #chipUs(): number {
    return (this.#startUs + this.#nowUs) % 2 ** 32;
  }

  #deliver(): void {
    const due = this.#toChip.filter(({ atUs }) => atUs <= this.#nowUs);
    this.#toChip = this.#toChip.slice(due.length);
    if (due.length === 0) return;
    this.#core.receive(
      Uint8Array.from(due, ({ byte }) => byte),
      this.#chipUs(),
    );
  }

  #step(): void {
    const sample = this.switchBits | this.relays.inputsAt(this.#nowUs, this.#outputs);
    this.#drive(this.#core.step(this.#chipUs(), sample));
    const count = this.#core.status(this.#chipUs());
    for (let at = 0; at < count; at += 1) {
      const atUs = this.#nowUs + (at + 1) * BYTE_US;
      this.#toHost.push({ atUs, byte: this.#core.statusWire[at]! });
    }
  }

  #drive(outputs: number): void {
    if (outputs === this.#outputs) return;
    this.#outputs = outputs;
    this.edges.push({ atUs: this.#nowUs, outputBits: outputs });
  }
}
