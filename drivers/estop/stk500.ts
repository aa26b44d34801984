// STK500 version 1, as far as the boot loaders of Uno and Nano speak it (Atmel's AVR061): sans-IO.
// A session is a list of exchanges, each a request and the size of the data in its reply; whoever
// has a line sends, reads the reply with `ReplyReader`, and hands its data back.

const Request = {
  GetSync: 0x30,
  EnterProgramming: 0x50,
  LeaveProgramming: 0x51,
  LoadAddress: 0x55,
  WritePage: 0x64,
  ReadPage: 0x74,
  ReadSignature: 0x75,
} as const;
const END_OF_REQUEST = 0x20;
const IN_SYNC = 0x14;
const OK = 0x10;
const FLASH_MEMORY = 0x46; // "F"
const ERASED = 0xff;

export const SIGNATURE_ATMEGA328P: readonly number[] = [0x1e, 0x95, 0x0f];
export const PAGE_SIZE_BYTES = 128;
/** Flash below the largest boot loader, that of older Nanos. */
export const FLASH_SIZE_BYTES_MAX = 0x7800;

export type Exchange = {
  readonly request: Uint8Array;
  /** Data between the two bytes that frame every reply. */
  readonly replySizeBytes: number;
  /** What it is for, as in `Cannot …`. */
  readonly act: string;
};

/** Why a chip is not flashed: it is another, or it keeps other bytes than were written. */
export class Stk500Error extends Error {
  override readonly name = "Stk500Error";
  readonly code: "wrong_signature" | "wrong_byte";

  constructor(code: Stk500Error["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Asked again and again until the boot loader answers. */
export const getSync: Exchange = exchange("find the boot loader", 0, Request.GetSync);

function exchange(act: string, replySizeBytes: number, ...request: number[]): Exchange {
  return { request: Uint8Array.of(...request, END_OF_REQUEST), replySizeBytes, act };
}

/**
 * Everything after the sync: signature, each page written, each page read back, and the start of
 * what was written. Throws Stk500Error at the reply that shows it. `image` begins at address 0.
 */
export function* flashSession(image: Uint8Array): Generator<Exchange, void, Uint8Array> {
  yield exchange("enter programming", 0, Request.EnterProgramming);
  checkSignature(yield exchange("read the signature", 3, Request.ReadSignature));
  for (const [address, page] of pagesOf(image)) {
    yield loadAddress(address);
    const head = [Request.WritePage, 0, page.length, FLASH_MEMORY];
    yield exchange(`write the page at ${hex(address, 4)}`, 0, ...head, ...page);
  }
  for (const [address, page] of pagesOf(image)) {
    yield loadAddress(address);
    const request = [Request.ReadPage, 0, page.length, FLASH_MEMORY];
    const act = `read the page at ${hex(address, 4)} back`;
    checkPage(address, page, yield exchange(act, page.length, ...request));
  }
  yield exchange("leave programming", 0, Request.LeaveProgramming);
}

/** Addresses go over the line in words of two bytes. */
function loadAddress(address: number): Exchange {
  const word = address / 2;
  const act = `load the address ${hex(address, 4)}`;
  return exchange(act, 0, Request.LoadAddress, word & 0xff, word >> 8);
}

function* pagesOf(image: Uint8Array): Generator<readonly [number, Uint8Array]> {
  for (let from = 0; from < image.length; from += PAGE_SIZE_BYTES) {
    const page = new Uint8Array(PAGE_SIZE_BYTES).fill(ERASED);
    page.set(image.subarray(from, from + PAGE_SIZE_BYTES));
    yield [from, page];
  }
}

function checkSignature(found: Uint8Array): void {
  if (SIGNATURE_ATMEGA328P.every((byte, at) => byte === found[at])) return;
  const [expected, other] = [SIGNATURE_ATMEGA328P, [...found]].map(signatureText);
  throw new Stk500Error(
    "wrong_signature",
    `Cannot flash this chip: expected signature ${expected} of an ATmega328P, found ${other}`,
  );
}

function checkPage(address: number, written: Uint8Array, found: Uint8Array): void {
  const at = written.findIndex((byte, place) => byte !== found[place]);
  if (at < 0) return;
  throw new Stk500Error(
    "wrong_byte",
    `Cannot verify the flash at ${hex(address + at, 4)}: ` +
      `expected ${hex(written[at]!, 2)}, found ${hex(found[at]!, 2)}`,
  );
}

const signatureText = (bytes: readonly number[]): string =>
  bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");

const hex = (value: number, digits: number): string =>
  `0x${value.toString(16).padStart(digits, "0")}`;

/** Reads the reply of one exchange, whatever pieces it comes in. */
export class ReplyReader {
  readonly #reply: Uint8Array;
  #count = 0;

  constructor({ replySizeBytes }: Exchange) {
    this.#reply = new Uint8Array(replySizeBytes + 2);
  }

  /** Its data once it is whole; undefined before. Throws a RangeError when it is no reply. */
  take(bytes: Uint8Array): Uint8Array | undefined {
    for (const byte of bytes) {
      const { length } = this.#reply;
      if (this.#count === length) throw new RangeError(`a byte behind the reply: ${hex(byte, 2)}`);
      const frame = { 0: IN_SYNC, [length - 1]: OK }[this.#count];
      if (frame !== undefined && byte !== frame) {
        throw new RangeError(`expected ${hex(frame, 2)}, found ${hex(byte, 2)}`);
      }
      this.#reply[this.#count] = byte;
      this.#count += 1;
    }
    return this.#count === this.#reply.length ? this.#reply.slice(1, -1) : undefined;
  }
}

/** Whether a boot loader has answered a sync, among whatever else was on the line before. */
export function holdsSync(bytes: readonly number[]): boolean {
  return bytes.some((byte, at) => byte === IN_SYNC && bytes[at + 1] === OK);
}
