// The question that a viewer leaves behind: it lasts some rounds of the thread that serves, starts
// anew when asked again, and is then forgotten.

import { expect, test } from "bun:test";
import { AskWord } from "./ask-word.ts";

const rounds = (word: AskWord): number => {
  let count = 0;
  while (word.isAsked && count < 1_000) {
    word.decay();
    count += 1;
  }
  return count;
};

test("nothing is asked at first, and serving nobody changes nothing", () => {
  const word = new AskWord(new Int32Array(1));
  word.decay();
  expect([word.isAsked, rounds(word)]).toEqual([false, 0]);
});

test("a question lasts forty rounds, and a second one as long again", () => {
  const shared = new Int32Array(1);
  const [viewer, server] = [new AskWord(shared), new AskWord(shared)];
  viewer.ask();
  server.decay();
  viewer.ask();
  expect(rounds(server)).toBe(40);
  expect(viewer.isAsked).toBe(false);
});

test("a question needs a word", () => {
  expect(() => new AskWord(new Int32Array(0))).toThrow("a question needs one word");
});
