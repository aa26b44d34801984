// What a chip hears of the bytes that came while its own time stood still: the newest frame alone,
// and that only where frames would not come closer together than a host sends them. A host paced by
// the wall then looks to a chip that runs late as a healthy host does: neither silent nor hurried.
//
// More frames than any healthy host sends in that time are a burst, and what is too much of it is
// passed on: lateness hides no fault.

/** A healthy host sends a frame each 5 ms; frames lie a little closer, for what rounds. */
const PERIOD_US = 5_000;
const FRAME_GAP_US = 4_500;
/** So many frames too many are no jitter. */
const BURST_FRAMES = 3;

export class LateLine {
  #keptUs = -FRAME_GAP_US;

  /** Of bytes that came in the `lateUs` of wall time until now, those that are passed on. */
  keep(bytes: Uint8Array, nowUs: number, lateUs: number): Uint8Array {
    const frames = frameStarts(bytes);
    const rest = bytes.subarray(bytes.lastIndexOf(0) + 1); // its end is still on its way
    const tooMany = frames.length - Math.floor(lateUs / PERIOD_US);
    const isDue = nowUs - this.#keptUs >= FRAME_GAP_US;
    const count = tooMany >= BURST_FRAMES ? tooMany : isDue ? 1 : 0;
    const from = frames.at(-count);
    if (count === 0 || from === undefined) return rest;
    this.#keptUs = nowUs;
    return bytes.subarray(from);
  }

  /** A frame was passed on in time. */
  note(nowUs: number): void {
    this.#keptUs = nowUs;
  }
}

/** Where each whole frame begins, with the zero before it. */
function frameStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  let zeroAt = -1;
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] !== 0) continue;
    if (zeroAt >= 0 && at - zeroAt > 1) starts.push(zeroAt);
    zeroAt = at;
  }
  return starts;
}
