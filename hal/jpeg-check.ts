// What is asked of a JPEG that came from elsewhere, before a codec is given it: the picture that
// was stated, in the one form that our own encoder writes. A file that claims another size, more
// scans or more bytes never reaches the codec, so decoding costs what one such picture costs.

/** What was expected and what was found. */
export type JpegFault = { readonly expected: string; readonly found: string };

const MARK = 0xff;
const START = 0xd8;
const END = 0xd9;
const SCAN = 0xda;
const BASELINE = 0xc0;
const PROGRESSIVE = 0xc2;
const BITS_PER_COLOUR = 8;
const COLOUR_COUNT = 3;

/** Tables, the restart interval, the sixteen kinds of application data, a comment. */
const SKIPPED: ReadonlySet<number> = new Set([
  0xdb,
  0xc4,
  0xdd,
  0xfe,
  ...Array.from({ length: 16 }, (_, index) => 0xe0 + index),
]);

/** Undefined for a baseline JPEG of this size in three colours, with one scan, whole. */
export function jpegFault(
  bytes: Uint8Array,
  widthPx: number,
  heightPx: number,
): JpegFault | undefined {
  const sizeBytesMax = widthPx * heightPx * COLOUR_COUNT;
  if (bytes.length > sizeBytesMax) {
    return fault(`at most ${sizeBytesMax} bytes, those of raw pixels`, `${bytes.length}`);
  }
  if (bytes[0] !== MARK || bytes[1] !== START) return fault("a JPEG", beginning(bytes));
  let frameCount = 0;
  for (let at = 2; ; at += 2 + word(bytes, at + 2)) {
    const marker = bytes[at] === MARK ? bytes[at + 1] : undefined;
    if (marker === SCAN && frameCount === 1) return scanFault(bytes, at + 2 + word(bytes, at + 2));
    if (marker === BASELINE && frameCount === 0) {
      const wrong = frameFault(bytes.subarray(at), widthPx, heightPx);
      if (wrong !== undefined) return wrong;
      frameCount += 1;
    } else if (marker === undefined || !SKIPPED.has(marker)) {
      return fault("a baseline JPEG", nameOf(marker, at >= bytes.length));
    }
  }
}

function frameFault(frame: Uint8Array, widthPx: number, heightPx: number): JpegFault | undefined {
  const words = (width: number, height: number, colours: number, bits: number): string =>
    `${width} x ${height} pixels, ${colours} colours of ${bits} bits`;
  const expected = words(widthPx, heightPx, COLOUR_COUNT, BITS_PER_COLOUR);
  const found = words(word(frame, 7), word(frame, 5), frame[9] ?? 0, frame[4] ?? 0);
  return found === expected ? undefined : fault(expected, found);
}

/** Only restarts may stand between a scan's beginning and the end, and nothing after it. */
function scanFault(bytes: Uint8Array, from: number): JpegFault | undefined {
  let at = bytes.indexOf(MARK, from);
  while (at >= 0 && isWithinScan(bytes[at + 1])) at = bytes.indexOf(MARK, at + 2);
  if (at < 0 || at + 1 >= bytes.length) return fault("a whole JPEG", "one that was cut off");
  const isEnd = bytes[at + 1] === END && at + 2 === bytes.length;
  return isEnd ? undefined : fault("one scan, and nothing after its end", "more");
}

/** A byte of the scan that looks like a mark is followed by 0, a restart by its number. */
const isWithinScan = (marker: number | undefined): boolean =>
  marker === 0 || (marker !== undefined && marker >= 0xd0 && marker <= 0xd7);

const word = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);

function nameOf(marker: number | undefined, isOver: boolean): string {
  if (isOver) return "one that was cut off";
  if (marker === PROGRESSIVE) return "a progressive one";
  return marker === undefined ? "other bytes in its header" : `marker 0x${marker.toString(16)}`;
}

function beginning(bytes: Uint8Array): string {
  const first = Buffer.from(bytes.subarray(0, 8)).toString("hex");
  return first === "" ? "no bytes" : `bytes that begin with ${first}`;
}

const fault = (expected: string, found: string): JpegFault => ({ expected, found });
