// Text output of the command line to files and pipes, and what any output can do. A closed pipe or
// a full disk is nobody's failure: such a write is dropped, because a run must not end when its
// reader does; whoever must know asks `flush`.
//
// Text from files and other processes passes through `printable`: it cannot steer a terminal.

import type { WriteStream } from "node:tty";
import { STEERING } from "../contracts/steering-text.ts";

/** Where a command writes. */
export interface TextOut {
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
  /** Width of the terminal in character cells, as it is now. */
  readonly columnCount: number;
  /** Never throws, whatever became of the other end. May wait a little for a terminal. */
  write(text: string): void;
  /** The same without waiting, for what is told while a run is live. */
  writeIfRoom(text: string): void;
  /** Resolves once all that was written is out or cannot go out any more: true when it is out. */
  flush(): Promise<boolean>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The usual width where none is known. */
export const COLUMN_COUNT_DEFAULT = 80;
/** A longer text of others would push everything else off the screen. */
const PRINTABLE_LENGTH_MAX = 300;

/** The convention of no-color.org: any value that is not empty. */
export const wantsColour = (environment: Environment): boolean =>
  (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";

export class StreamOut implements TextOut {
  readonly isTerminal = false;
  readonly hasColour = false;
  readonly columnCount = COLUMN_COUNT_DEFAULT;
  readonly #stream: WriteStream;
  #isGone = false;

  constructor(stream: WriteStream) {
    this.#stream = stream;
    stream.on("error", () => {
      this.#isGone = true;
    });
  }

  write(text: string): void {
    if (!this.#isGone) this.#stream.write(text);
  }

  writeIfRoom(text: string): void {
    this.write(text);
  }

  async flush(): Promise<boolean> {
    if (this.#isGone) return false;
    await new Promise<void>((resolve) => {
      this.#stream.once("error", () => resolve());
      // An error is told a turn after the write that met it.
      this.#stream.write("", () => setImmediate(resolve));
    });
    return !this.#isGone;
  }
}

/** The text on one line, without anything that steers, and cut when it is long. */
export function printable(text: string): string {
  const line = text
    .slice(0, 4 * PRINTABLE_LENGTH_MAX)
    .replace(STEERING, " ")
    .trim();
  return line.length <= PRINTABLE_LENGTH_MAX ? line : `${line.slice(0, PRINTABLE_LENGTH_MAX)}…`;
}

/** Several lines, each of them printable but for its indent. */
export function printableLines(text: string): string {
  const line = (each: string) => /^ */.exec(each)![0] + printable(each);
  return text.split("\n").map(line).join("\n");
}
