// The e-stop firmware's core, compiled for this machine and loaded as a library: the very code of
// the chip, stepped in virtual time. For tests and for tools that ask what the chip would do;
// nothing of the runtime's own safety uses it. The library is opened once per file name.
//
// Memory for C is made once per core and kept, so a step allocates nothing.

import { dlopen, ptr } from "bun:ffi";
import type { Pointer } from "bun:ffi";
import { assert } from "../../runtime/contracts/assert.ts";

const symbols = {
  host_new: { args: ["ptr", "u8", "ptr", "u32", "u32", "u32"], returns: "ptr" },
  host_free: { args: ["ptr"], returns: "void" },
  host_step: { args: ["ptr", "u32", "u8"], returns: "u8" },
  host_receive: { args: ["ptr", "ptr", "u32", "u32"], returns: "void" },
  host_status: { args: ["ptr", "u32", "ptr"], returns: "u8" },
  host_view: { args: ["ptr", "ptr"], returns: "void" },
  host_crc: { args: ["ptr", "u8"], returns: "u32" },
  host_fold: { args: ["u32", "u32"], returns: "u32" },
  host_flip_all: { args: ["ptr", "ptr", "u8", "u8"], returns: "u32" },
  host_flip_random: { args: ["ptr", "ptr", "u8", "u32", "u32"], returns: "u32" },
  host_burst_all: { args: ["ptr", "ptr", "u8", "u8"], returns: "u32" },
  host_burst_random: { args: ["ptr", "ptr", "u8", "u32", "u32"], returns: "u32" },
  host_noise: { args: ["ptr", "u32", "u32"], returns: "u32" },
  host_forge: { args: ["ptr", "ptr", "u8", "u32", "u32"], returns: "u32" },
  host_soak: { args: ["ptr", "u32", "u32", "u32", "u32", "u32"], returns: "u32" },
} as const;

type Library = ReturnType<typeof dlopen<typeof symbols>>;

const libraries = new Map<string, Library>();

function openLibrary(path: string): Library {
  const opened = libraries.get(path) ?? dlopen(path, symbols);
  libraries.set(path, opened);
  return opened;
}

/** Constants of a build; the chip has them in flash. */
export type EstopConfig = {
  readonly silenceMs: number;
  readonly stopMs: number;
  readonly cutDelayMs: number;
  readonly discrepancyMs: number;
  readonly settleMs: number;
  /** `EstopBuild.ResetFromLink` and `EstopBuild.ChainFitted`. */
  readonly buildBits: number;
};

/** Words of `EstopCore.view`, by place. */
export const EstopView = {
  mode: 0,
  cause: 1,
  outputs: 2,
  failCount: 3,
  badCount: 4,
  lastBad: 5,
  proofStep: 6,
  levels: 7,
  goodStreak: 8,
  beating: 9,
  bothOpenDue: 10,
  hostMode: 11,
} as const;

const VIEW_COUNT = 12;
const WIRE_BYTES_MAX = 64;
const KEY_BYTES = 8;

export class EstopCore {
  /** Inner state after `refreshView`, by `EstopView`. */
  readonly view = new Int32Array(new ArrayBuffer(4 * VIEW_COUNT));
  /** What `status` wrote. */
  readonly statusWire = new Uint8Array(new ArrayBuffer(WIRE_BYTES_MAX));
  readonly #received = new Uint8Array(new ArrayBuffer(WIRE_BYTES_MAX));
  readonly #library: Library;
  readonly #handle: Pointer | bigint;
  readonly #viewAddress = ptr(this.view);
  readonly #statusAddress = ptr(this.statusWire);
  readonly #receivedAddress = ptr(this.#received);

  /** Boots a chip at `nowUs`. `key` counts only in a keyed library. */
  constructor(
    libraryPath: string,
    config: EstopConfig,
    key: Uint8Array,
    bootNonce: number,
    cause: number,
    nowUs: number,
  ) {
    assert(key.length === KEY_BYTES, "a key has 8 bytes");
    this.#library = openLibrary(libraryPath);
    const { silenceMs, stopMs, cutDelayMs, discrepancyMs, settleMs } = config;
    const timesMs = new Uint16Array(new ArrayBuffer(64));
    timesMs.set([silenceMs, stopMs, cutDelayMs, discrepancyMs, settleMs]);
    const ownKey = new Uint8Array(new ArrayBuffer(64));
    ownKey.set(key);
    const { symbols: c } = this.#library;
    const { buildBits } = config;
    const handle = c.host_new(ptr(timesMs), buildBits, ptr(ownKey), bootNonce, cause, nowUs);
    assert(handle !== null, "the C heap has room for a core");
    this.#handle = handle;
  }

  free(): void {
    this.#library.symbols.host_free(this.#handle);
  }

  /** One step at a time in whole us, modulo 2^32; returns the outputs to close until the next. */
  step(nowUs: number, sample: number): number {
    return this.#library.symbols.host_step(this.#handle, nowUs, sample);
  }

  /** Bytes from the line, all at the same time. */
  receive(bytes: Uint8Array, nowUs: number): void {
    for (let from = 0; from < bytes.length; from += WIRE_BYTES_MAX) {
      const part = bytes.subarray(from, from + WIRE_BYTES_MAX);
      this.#received.set(part);
      const { symbols: c } = this.#library;
      c.host_receive(this.#handle, this.#receivedAddress, part.length, nowUs);
    }
  }

  /** How many bytes of `statusWire` are a status that is due now; 0 when none is. */
  status(nowUs: number): number {
    return this.#library.symbols.host_status(this.#handle, nowUs, this.#statusAddress);
  }

  refreshView(): Int32Array {
    this.#library.symbols.host_view(this.#handle, this.#viewAddress);
    return this.view;
  }

  /** How many of all frames with exactly `flipCount` bits of `wire` flipped count as intact. */
  flipAll(wire: Uint8Array, flipCount: number): number {
    this.#received.set(wire);
    const { symbols: c } = this.#library;
    return c.host_flip_all(this.#handle, this.#receivedAddress, wire.length, flipCount);
  }

  /** How many of `roundCount` frames with one to five random bits flipped count as intact. */
  flipRandom(wire: Uint8Array, roundCount: number, seed: number): number {
    this.#received.set(wire);
    const { symbols: c } = this.#library;
    const address = this.#receivedAddress;
    return c.host_flip_random(this.#handle, address, wire.length, roundCount, seed);
  }

  /** How many of all frames with one burst of up to `bitCountMax` bits count as intact. */
  burstAll(wire: Uint8Array, bitCountMax: number): number {
    this.#received.set(wire);
    const { symbols: c } = this.#library;
    return c.host_burst_all(this.#handle, this.#receivedAddress, wire.length, bitCountMax);
  }

  /** How many of `roundCount` frames with one random burst of up to 32 bits count as intact. */
  burstRandom(wire: Uint8Array, roundCount: number, seed: number): number {
    this.#received.set(wire);
    const { symbols: c } = this.#library;
    const address = this.#receivedAddress;
    return c.host_burst_random(this.#handle, address, wire.length, roundCount, seed);
  }

  /** How many of `roundCount` frames of random bytes count as intact. */
  noise(roundCount: number, seed: number): number {
    return this.#library.symbols.host_noise(this.#handle, roundCount, seed);
  }

  /** How many of `roundCount` copies of a keyed answer, with random tags, aren't forged by name. */
  forge(wire: Uint8Array, roundCount: number, seed: number): number {
    this.#received.set(wire);
    const { symbols: c } = this.#library;
    return c.host_forge(this.#handle, this.#receivedAddress, wire.length, roundCount, seed);
  }

  /**
   * A healthy host for `beatCount` ticks of 5 ms from an armed core on, each up to `jitterUs` late
   * and one in `lostOf` lost, never two in a row. Returns the beats that passed while armed.
   */
  soak(beatCount: number, seed: number, lostOf: number, jitterUs: number, nowUs: number): number {
    const { symbols: c } = this.#library;
    return c.host_soak(this.#handle, beatCount, seed, lostOf, jitterUs, nowUs);
  }

  /** The answer that the chip expects from tick `tickIndex`. */
  fold(question: number, tickIndex: number): number {
    return this.#library.symbols.host_fold(question, tickIndex);
  }

  /** The chip's CRC-32P4. */
  crc(bytes: Uint8Array): number {
    assert(bytes.length <= WIRE_BYTES_MAX, "the bytes fit the memory for C");
    this.#received.set(bytes);
    return this.#library.symbols.host_crc(this.#receivedAddress, bytes.length);
  }
}
