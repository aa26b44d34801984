// Keys on a made-up terminal: what each does, what is skipped, and that the terminal is always
// given back.

import { expect, test } from "bun:test";
import { FakeTerminal } from "./fixture.ts";
import { keysIn, TerminalKeys } from "./keys.ts";
import type { KeyName } from "./keys.ts";

const typed: readonly (readonly [string, readonly KeyName[]])[] = [
  [" ", ["stop"]],
  ["rseq?", ["reset", "start", "estop", "quit", "help"]],
  ["RSQ", ["reset", "start", "quit"]],
  ["\u0003", ["interrupt"]],
  ["xyz\r\n\t1", []],
  ["\u001b[A\u001b[B\u001bOS\u001b[1;5s\u001b[24~", []], // arrows and function keys
  ["\u001b[A ", ["stop"]],
  ["\u001b ", ["stop"]], // Escape, then space
  ["é ü", ["stop"]],
];

test.each(typed)("%j means %j", (text, keys) => {
  expect(keysIn(text)).toEqual([...keys]);
});

test("a terminal is raw while keys are listened to, and as before afterwards", () => {
  const terminal = new FakeTerminal();
  const seen: KeyName[] = [];
  const keys = new TerminalKeys(terminal, (key) => seen.push(key));
  expect({ modes: terminal.modes, isPaused: terminal.isPaused }).toEqual({
    modes: [true],
    isPaused: false,
  });
  terminal.type("s");
  keys.close();
  keys.close();
  terminal.type(" ");
  expect({ seen, modes: terminal.modes, isPaused: terminal.isPaused }).toEqual({
    seen: ["start"],
    modes: [true, false],
    isPaused: true,
  });
});

test.each(["end", "error"])(
  "a terminal that goes away with %p is let go without a failure",
  (event) => {
    const terminal = new FakeTerminal();
    new TerminalKeys(terminal, () => undefined);
    terminal.setRawMode = () => {
      throw new Error("EIO");
    };
    terminal.emit(event, new Error("EIO"));
    terminal.emit("error", new Error("EIO"));
    expect(terminal.isPaused).toBe(true);
  },
);
