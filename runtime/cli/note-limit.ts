// Holds back notes that come too often: one a second is shown, the rest are counted, and the count
// is told with the last of them, with the next one or a second later. A policy that throws at every
// tick is one line a second, not two hundred; how things stand now is never held back for good.

const PERIOD_NS = 1e9;

export class NoteLimit {
  readonly #show: (text: string) => void;
  #nextNs = 0;
  #heldCount = 0;
  #held = "";

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  note(text: string, nowNs: number): void {
    this.tell(nowNs);
    if (nowNs < this.#nextNs) {
      this.#heldCount += 1;
      this.#held = text;
      return;
    }
    this.#nextNs = nowNs + PERIOD_NS;
    this.#show(text);
  }

  /** Tells how many were held back, and the last of them, once it is time. */
  tell(nowNs: number): void {
    if (this.#heldCount === 0 || nowNs < this.#nextNs) return;
    const count = this.#heldCount;
    this.#heldCount = 0;
    this.#show(count === 1 ? this.#held : `… ${count} more such notes, the last: ${this.#held}`);
  }
}
