// Holds back notes that come too often: one a second is shown, the rest are counted, and the count
// is told with the last of them, with the next one or once it is time. While they keep coming the
// pause doubles, up to a minute: a policy that throws something new at every tick for hours is a
// line or two a minute. How things stand now is never held back for good.

const PERIOD_NS_MIN = 1e9;
const PERIOD_NS_MAX = 60e9;
/** After a silence of so many periods they have stopped coming. */
const QUIET_PERIODS = 2;

export class NoteLimit {
  readonly #show: (text: string) => void;
  #periodNs = PERIOD_NS_MIN;
  #nextNs = 0;
  #lastNs = -Infinity;
  #heldCount = 0;
  #held = "";

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  note(text: string, nowNs: number): void {
    this.tell(nowNs);
    const silentNs = nowNs - this.#lastNs;
    this.#lastNs = nowNs;
    if (nowNs < this.#nextNs) {
      this.#heldCount += 1;
      this.#held = text;
      return;
    }
    const keepsComing = silentNs < QUIET_PERIODS * this.#periodNs;
    this.#periodNs = keepsComing ? Math.min(2 * this.#periodNs, PERIOD_NS_MAX) : PERIOD_NS_MIN;
    this.#nextNs = nowNs + this.#periodNs;
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
