// Text output of the command line. A closed pipe, a vanished terminal or a full disk is nobody's
// failure: such a write is dropped, because a run must not end when its reader does.
//
// Text from files and other processes passes through `printable`: it cannot steer a terminal.

import type { WriteStream } from "node:tty";

/** Where a command writes. */
export interface TextOut {
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
  /** Width of the terminal in character cells, as it is now. */
  readonly columnCount: number;
  /** Never throws, whatever became of the other end. */
  write(text: string): void;
  /** Resolves once all that was written is out, or cannot go out any more. */
  flush(): Promise<void>;
}

/** The usual width where none is known. */
const COLUMN_COUNT_DEFAULT = 80;

export class StreamOut implements TextOut {
  readonly #stream: WriteStream;
  readonly #wantsColour: boolean;
  #isGone = false;

  constructor(stream: WriteStream, environment: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    // The convention of no-color.org: any value that is not empty.
    this.#wantsColour = (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
    stream.on("error", () => {
      this.#isGone = true;
    });
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY && !this.#isGone;
  }
  get hasColour(): boolean {
    return this.isTerminal && this.#wantsColour;
  }
  get columnCount(): number {
    return this.#stream.columns || COLUMN_COUNT_DEFAULT;
  }

  write(text: string): void {
    if (!this.#isGone) this.#stream.write(text);
  }

  flush(): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("error", () => resolve());
      this.#stream.write("", () => resolve());
    });
  }
}

/** The text on one line and without control characters. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").trim();
}
