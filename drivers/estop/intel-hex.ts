// Intel HEX: the form in which firmware images are committed. Reads data and end records of an
// image below 64 KiB, which is all that an AVR needs; anything else is refused with its line.

export class IntelHexError extends Error {
  override readonly name = "IntelHexError";
  readonly line: number;
  readonly reason: string;

  constructor(line: number, why: string) {
    super(`Cannot read the image at line ${line}: ${why}`);
    this.line = line;
    this.reason = why;
  }
}

const DATA = 0;
const END = 1;

/** Fills the image's bytes into `flash`. */
export function readIntelHex(text: string, flash: Uint8Array): void {
  const lines = text.trimEnd().split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const fail = (why: string) => new IntelHexError(index + 1, why);
    if (!/^:([0-9A-F]{2}){5,}$/i.test(line)) throw fail("expected a colon and pairs of hex digits");
    const bytes = Uint8Array.from(Buffer.from(line.slice(1), "hex"));
    const sum = bytes.reduce((total, byte) => (total + byte) & 0xff, 0);
    if (sum !== 0) throw fail("the checksum is wrong");
    const [size, high, low, type] = bytes as unknown as [number, number, number, number];
    if (size !== bytes.length - 5)
      throw fail(`expected ${size} data bytes, found ${bytes.length - 5}`);
    if (type === END) {
      if (index !== lines.length - 1) throw fail("records after the end");
      return;
    }
    if (type !== DATA) throw fail(`expected a data or end record, found type ${type}`);
    const address = high * 256 + low;
    if (address + size > flash.length) throw fail("the flash ends before");
    flash.set(bytes.subarray(4, -1), address);
  }
  throw new IntelHexError(lines.length, "no end record");
}
