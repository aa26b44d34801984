// Keys of the terminal a run was started from. The terminal is raw while it listens and as it was
// before when it closes; the caller closes on every way out. Without a terminal nothing is made.
//
// A key acts by itself, in the order typed. Sequences of arrow and function keys are skipped whole.

/** The part of a terminal that is used; `process.stdin` is one. */
export interface KeyTerminal {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data" | "end" | "error", listener: (data: Uint8Array) => void): unknown;
  off(event: "data" | "end" | "error", listener: (data: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export const keyNames = ["stop", "reset", "start", "estop", "quit", "help", "interrupt"] as const;
export type KeyName = (typeof keyNames)[number];

const keys: Readonly<Record<string, KeyName>> = {
  " ": "stop",
  r: "reset",
  s: "start",
  e: "estop",
  q: "quit",
  "?": "help",
  // Ctrl-C and Ctrl-\, which a raw terminal does not turn into signals.
  "\u0003": "interrupt",
  "\u001c": "interrupt",
};

/** The line of keys; the e-stop's only where one can be pressed. */
export function keyHelp(hasButton: boolean): string {
  const button = hasButton ? "e e-stop, " : "";
  return `keys: space stop, r reset, s start, ${button}q quit, Ctrl-C quit (twice: at once)`;
}

// What a terminal sends for keys that are no letters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const SEQUENCES = /\u001b(?:\[[0-9;?]*[A-Za-z~]|O[A-Za-z])?/g;

/** The keys of this program in what was typed. */
export function keysIn(typed: string): KeyName[] {
  const letters = [...typed.replace(SEQUENCES, "").toLowerCase()];
  return letters.flatMap((letter) => (Object.hasOwn(keys, letter) ? [keys[letter]!] : []));
}

export class TerminalKeys {
  readonly #terminal: KeyTerminal;
  readonly #decoder = new TextDecoder();
  readonly #listen: (data: Uint8Array) => void;
  readonly #leave = () => this.close();
  #isOpen = true;

  constructor(terminal: KeyTerminal, onKey: (key: KeyName) => void) {
    this.#terminal = terminal;
    this.#listen = (data) => {
      for (const key of keysIn(this.#decoder.decode(data, { stream: true }))) act(key, onKey);
    };
    terminal.setRawMode(true);
    terminal.on("data", this.#listen);
    terminal.on("end", this.#leave);
    terminal.on("error", this.#leave);
    terminal.resume();
  }

  /** Gives the terminal back. May be called again. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#terminal.off("data", this.#listen);
    this.#terminal.off("end", this.#leave);
    try {
      this.#terminal.setRawMode(false);
    } catch (cause) {
      // The terminal is gone, and its mode with it.
      if (!(cause instanceof Error)) throw cause;
    }
    this.#terminal.pause();
  }
}

/** A listener that throws would break its stream, silently; our bugs are to be seen. */
function act(key: KeyName, onKey: (key: KeyName) => void): void {
  try {
    onKey(key);
  } catch (cause) {
    queueMicrotask(() => {
      throw cause;
    });
  }
}
