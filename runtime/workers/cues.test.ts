// Cues between main and the control tick: bits of a shared word, so that a stop is never refused or
// crowded out, however many other cues come before it.

import { expect, test } from "bun:test";
import { OperatorCue } from "../contracts/mode.ts";
import { createArena } from "../shm/arena.ts";
import { CONTROL_WORD_COUNT, ControlWords } from "../shm/control-words.ts";
import { WordCuePort } from "./ports.ts";

function bench() {
  const part = { kind: "words", name: "control", wordCount: CONTROL_WORD_COUNT } as const;
  const memory = createArena([part]).words("control");
  const main = new ControlWords(memory);
  const port = new WordCuePort(new ControlWords(memory));
  const take = (): OperatorCue[] => {
    const taken: OperatorCue[] = [];
    for (let cue = port.takeCue(); cue !== OperatorCue.None; cue = port.takeCue()) taken.push(cue);
    return taken;
  };
  return { main, take };
}

test("without a cue there is none, again and again", () => {
  const { take } = bench();
  expect([take(), take()]).toEqual([[], []]);
});

test("a stop arrives once, after ten thousand resets and starts that nobody took", () => {
  const { main, take } = bench();
  for (let count = 0; count < 10_000; count += 1) {
    main.raiseCue(count % 2 === 0 ? OperatorCue.Reset : OperatorCue.Start);
  }
  main.raiseCue(OperatorCue.Stop);
  expect(take()).toEqual([OperatorCue.Stop, OperatorCue.Reset, OperatorCue.Start]);
  expect(take()).toEqual([]);
});

test("every cue has a bit of its own", () => {
  const { main, take } = bench();
  const all = Object.values(OperatorCue).filter((cue) => cue !== OperatorCue.None);
  for (const cue of all) main.raiseCue(cue);
  expect(take()).toEqual(all);
});

test("no cue is no bit: an assertion of ours", () => {
  expect(() => bench().main.raiseCue(OperatorCue.None)).toThrow("a cue is a bit of a word");
});
