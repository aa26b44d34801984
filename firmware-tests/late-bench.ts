// LateBench: a chip that the machine runs late, as the emulator's process is run: in slices of a
// millisecond that begin late by chance or take long. It keeps the emulator's rule: beyond 2 ms the
// chip's time stands still, and frames are left out for it.
//
// Its own time is the wall's, drawn from a seed, so that a storm of lateness repeats.

import { LateLine } from "../drivers/estop/late-line.ts";
import type { RelayPair } from "./estop-bench.ts";
import { BYTE_US } from "./estop-bench.ts";
import type { EstopBench, OutputEdge } from "./estop-bench.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";

const SLICE_US = 1_000;
const SLIP_US_MAX = 2_000;

export type Lateness = {
  /** How many of the slices begin late. */
  readonly lateRatio: number;
  /** Up to how late. */
  readonly lateUsMax: number;
  /** What each slice takes at least. */
  readonly sliceUs: number;
};

export class LateBench implements EstopBench {
  readonly name = "late";
  readonly relays: RelayPair;
  readonly chip = new CoreBench({ ...SHIPPED, silenceMs: 100 });
  slipUs = 0;
  /** When the last byte for the chip passed, in the chip's time. */
  lastByteUs = 0;
  readonly #lateness: Lateness;
  readonly #line = new LateLine();
  #pending: number[] = [];
  #seed: number;
  #wallUs: number;
  #dueUs: number;
  #freeUs: number;

  constructor(lateness: Lateness, seed: number) {
    this.#lateness = lateness;
    this.#seed = seed;
    this.relays = this.chip.relays;
    this.#wallUs = this.chip.nowUs;
    this.#dueUs = this.#wallUs + SLICE_US;
    this.#freeUs = this.#startUs(this.#dueUs);
  }

  get nowUs(): number {
    return this.#wallUs;
  }
  get outputBits(): number {
    return this.chip.outputBits;
  }
  get edges(): readonly OutputEdge[] {
    return this.chip.edges;
  }
  get switchBits(): number {
    return this.chip.switchBits;
  }
  set switchBits(bits: number) {
    this.chip.switchBits = bits;
  }

  send(bytes: Uint8Array): void {
    this.#pending.push(...bytes);
  }

  takeReceived(): Uint8Array {
    return this.chip.takeReceived();
  }

  runUntil(wallUs: number): void {
    while (this.#freeUs <= wallUs) this.#slice();
    this.#wallUs = wallUs;
  }

  reset(cause: Parameters<EstopBench["reset"]>[0]): void {
    this.chip.reset(cause);
  }

  close(): void {
    this.chip.close();
  }

  #slice(): void {
    const lateUs = this.#freeUs - this.#dueUs;
    if (lateUs > SLIP_US_MAX) {
      this.slipUs += lateUs;
      this.#line.slip(lateUs);
      this.#dueUs += lateUs;
    }
    const { chip } = this;
    const passed = this.#line.pass(Uint8Array.from(this.#pending), SLICE_US);
    this.#pending = [];
    const fromUs = Math.max(this.lastByteUs, chip.nowUs);
    if (passed.length > 0) this.lastByteUs = fromUs + passed.length * BYTE_US;
    chip.send(passed);
    chip.runUntil(chip.nowUs + SLICE_US);
    this.#dueUs += SLICE_US;
    this.#freeUs = this.#startUs(this.#freeUs + this.#lateness.sliceUs);
  }

  /** When the next slice begins: on time or as soon as the last is over, and by chance later. */
  #startUs(overUs: number): number {
    const { lateRatio, lateUsMax } = this.#lateness;
    const begunUs = Math.max(this.#dueUs, overUs);
    return this.#draw(1_000) < lateRatio * 1_000 ? begunUs + this.#draw(lateUsMax) : begunUs;
  }

  #draw(limit: number): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * limit);
  }
}
