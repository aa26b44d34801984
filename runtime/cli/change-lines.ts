// The lines in which a person is told of changes of mode, or of requests from elsewhere: each one
// while they are few; when they come in a flood, only the first ones of each period, those that
// stop or free the robot, and how many more there were.

/** A reader follows five lines a second; a flicker at 100 Hz would hide everything else. */
export const LINES_PER_PERIOD_MAX = 5;

export class ChangeLines {
  #lineCount = 0;
  #moreCount = 0;
  readonly #noun: string;

  constructor(noun: string) {
    this.#noun = noun;
  }

  /** What to write now; nothing when the line is only counted, which an important one never is. */
  add(line: string, isImportant: boolean): readonly string[] {
    if (isImportant) return [...this.#more(), line];
    if (this.#lineCount === LINES_PER_PERIOD_MAX) {
      this.#moreCount += 1;
      return [];
    }
    this.#lineCount += 1;
    return [line];
  }

  /** Ends a period: what to write about the lines that were only counted. */
  endPeriod(): readonly string[] {
    this.#lineCount = 0;
    return this.#more();
  }

  #more(): readonly string[] {
    const count = this.#moreCount;
    this.#moreCount = 0;
    if (count === 0) return [];
    return [`… ${count} more ${this.#noun}${count === 1 ? "" : "s"}`];
  }
}
