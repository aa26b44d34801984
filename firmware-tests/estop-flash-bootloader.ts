// A boot loader of Uno and Nano as optiboot behaves: it reads a request to its end, answers, keeps
// pages in its flash, and starts the program when it is told to, or when a request doesn't end as
// it must. Sans-IO: bytes in, bytes out. It breaks in the ways that a test asks for.

import { SIGNATURE_ATMEGA328P } from "../drivers/estop/stk500.ts";

const FLASH_SIZE_BYTES = 0x8000;
const PAGE_SIZE_BYTES = 128;
const END = 0x20;
const IN_SYNC = 0x14;
const OK = 0x10;
/** Bytes of arguments that a request has before its end; a page has its data too. */
const ARGUMENT_BYTES: Readonly<Record<string, number>> = { U: 2, d: 3, t: 3, B: 20, E: 5, V: 4 };

type Bytes = readonly number[];

export type BootloaderFaults = {
  readonly signature?: Bytes;
  /** A byte of flash with a bit that can't be written. */
  readonly wornIndex?: number;
  /** Answers so many requests, and no more. */
  readonly answerCount?: number;
  /** Bytes that come before the first reply. */
  readonly chatter?: Bytes;
};

export class Bootloader {
  readonly flash: Uint8Array = new Uint8Array(FLASH_SIZE_BYTES).fill(0xff);
  /** Whether it has left for the program. */
  isLeft = false;
  /** Names of the requests so far. */
  readonly heard: string[] = [];
  readonly #faults: BootloaderFaults;
  #bytes: number[] = [];
  #address = 0;

  constructor(faults: BootloaderFaults = {}) {
    this.#faults = faults;
  }

  /** Takes bytes of the line, and returns those that it sends. */
  take(bytes: Uint8Array): number[] {
    this.#bytes.push(...bytes);
    const replies: number[] = [];
    while (!this.isLeft && this.#bytes.length > 0) {
      const size = this.#sizeOfRequest();
      if (this.#bytes.length < size) break;
      const request = this.#bytes.splice(0, size);
      if (request.at(-1) !== END) this.isLeft = true;
      else replies.push(...this.#answer(request));
    }
    return replies;
  }

  #sizeOfRequest(): number {
    const [code, high = 0, low = 0] = this.#bytes as [number, number?, number?];
    const name = String.fromCharCode(code);
    const data = name === "d" ? high * 256 + low : 0;
    return 1 + (ARGUMENT_BYTES[name] ?? 0) + data + 1;
  }

  #answer(request: readonly number[]): number[] {
    const { chatter = [], answerCount = Number.POSITIVE_INFINITY } = this.#faults;
    const name = String.fromCharCode(request[0]!);
    this.heard.push(name);
    if (this.heard.length > answerCount) return [];
    const before = this.heard.length === 1 ? chatter : [];
    return [...before, IN_SYNC, ...this.#act(name, request), OK];
  }

  #act(name: string, request: readonly number[]): readonly number[] {
    const [, first = 0, second = 0] = request;
    if (name === "U") this.#address = (second * 256 + first) * 2;
    if (name === "u") return this.#faults.signature ?? SIGNATURE_ATMEGA328P;
    if (name === "d") this.#write(request.slice(4, -1));
    if (name === "t") {
      return [...this.flash.subarray(this.#address, this.#address + first * 256 + second)];
    }
    if (name === "Q") this.isLeft = true;
    return [];
  }

  /** Erases the page, then writes it. */
  #write(data: readonly number[]): void {
    const page = this.#address - (this.#address % PAGE_SIZE_BYTES);
    this.flash.fill(0xff, page, page + PAGE_SIZE_BYTES);
    this.flash.set(data, this.#address);
    const { wornIndex } = this.#faults;
    if (wornIndex === undefined) return;
    if (wornIndex >= page && wornIndex < page + PAGE_SIZE_BYTES) this.flash[wornIndex]! ^= 1;
  }
}
