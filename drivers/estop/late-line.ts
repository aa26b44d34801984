// What a chip hears of the bytes that came while its own time stood still: the newest frame alone,
// and that only where frames would not come closer together than a host sends them. A host paced by
// the wall then looks to a chip that runs late as a healthy host does: neither silent nor hurried.

/** Frames that a healthy host sends lie 5 ms apart; a little less, for what rounds. */
const FRAME_GAP_US = 4_500;

export class LateLine {
  #keptUs = -FRAME_GAP_US;

  /** Of bytes that came late, those that are passed on. `nowUs` is the chip's time. */
  keep(bytes: Uint8Array, nowUs: number): Uint8Array {
    let endIndex = bytes.lastIndexOf(0);
    const rest = bytes.subarray(endIndex + 1); // a frame whose end is still on its way
    if (nowUs - this.#keptUs < FRAME_GAP_US) return rest;
    while (endIndex > 0 && bytes[endIndex - 1] === 0) endIndex -= 1;
    const fromIndex = endIndex <= 0 ? -1 : bytes.lastIndexOf(0, endIndex - 1);
    if (fromIndex < 0) return rest;
    this.#keptUs = nowUs;
    return bytes.subarray(fromIndex);
  }

  /** A frame was passed on in time. */
  note(nowUs: number): void {
    this.#keptUs = nowUs;
  }
}
