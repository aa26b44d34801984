// What a chip hears whose own time stands still now and then, while its host goes on by the wall:
// for each period that did not pass for the chip, the oldest frame that came is left out. So frames
// reach it as often, in its own time, as a healthy host sends them: neither a silence nor a burst
// is made up, and a burst of the host's own stays one.

/** A healthy host sends a frame each 5 ms. */
const PERIOD_US = 5_000;
/** Nothing for so long: the host is silent on purpose, or stands still too. */
const QUIET_US = 8_000;

export class LateLine {
  /** Time of the wall that did not pass for the chip and for which no frame was left out yet. */
  #owedUs = 0;
  #quietUs = 0;

  /** The chip's time stood still for so long. */
  slip(us: number): void {
    this.#owedUs += us;
    this.#quietUs += us;
  }

  /** Of the bytes that came in the last `us` of the chip's time, those that reach it. */
  pass(bytes: Uint8Array, us: number): Uint8Array {
    const starts = frameStarts(bytes);
    let from = 0;
    for (const start of starts) {
      from = start;
      if (this.#owedUs < PERIOD_US) break;
      this.#owedUs -= PERIOD_US;
      from = bytes.indexOf(0, start + 1) + 1;
    }
    this.#quietUs = starts.length > 0 ? 0 : this.#quietUs + us;
    // What was never sent can't be left out.
    this.#owedUs = this.#quietUs > QUIET_US ? 0 : Math.min(this.#owedUs, PERIOD_US);
    return bytes.subarray(from);
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
