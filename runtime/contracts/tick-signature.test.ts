// TickSignature against the vectors of the e-stop's protocol: the right order gives the chip's
// word, and leaving out, repeating or exchanging any stage does not.

import { expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/estop-frames.json";
import { ANSWERS_PER_TICK, NO_ESTOP, TickSignature } from "./tick-signature.ts";

/** The word that `tokens` make of a question under a tick index. */
function folded(question: number, tickIndex: number, tokens: readonly number[]): number {
  const signature = new TickSignature();
  const within = tickIndex % ANSWERS_PER_TICK;
  signature.begin(question, (tickIndex - within) / ANSWERS_PER_TICK, within + 1);
  for (const token of tokens) signature.fold(token);
  return signature.earnedAnswer(within);
}

test("all stages in order give the word of every vector", () => {
  expect(vectors.folds.length).toBeGreaterThanOrEqual(6);
  for (const { question, tickIndex, answer } of vectors.folds) {
    expect(folded(question, tickIndex, vectors.tokens)).toBe(answer);
  }
});

test("a stage left out, repeated or exchanged with the next gives another word", () => {
  const { tokens } = vectors;
  const right = folded(7, 160, tokens);
  const wrong = tokens.flatMap((token, at) => [
    tokens.toSpliced(at, 1),
    tokens.toSpliced(at, 0, token),
    at === 0 ? [] : tokens.toSpliced(at - 1, 2, token, tokens[at - 1]!),
  ]);
  const words = wrong.map((order) => folded(7, 160, order));
  expect(words.filter((word) => word === right)).toEqual([]);
  expect(words.length).toBe(3 * tokens.length);
});

test("further answers of a tick go under the numbers behind its own, and wrap", () => {
  const signature = new TickSignature();
  signature.begin(3_735_928_559, 2 ** 28, 3);
  for (const token of vectors.tokens) signature.fold(token);
  expect(signature.tickIndex(0)).toBe(0);
  expect(signature.tickIndex(2)).toBe(2);
  const one = vectors.folds.find(({ question }) => question === 3_735_928_559);
  expect(one?.tickIndex).toBe(1);
  expect(signature.earnedAnswer(1)).toBe(one!.answer);
  expect(() => signature.earnedAnswer(3)).toThrow("the tick earned that many answers");
});

test("a run without an e-stop earns nothing", () => {
  const signature = new TickSignature();
  NO_ESTOP.beginInto(signature, 5);
  signature.fold(1);
  expect(signature.answerCount).toBe(0);
  expect(() => signature.earnedAnswer(0)).toThrow("the tick earned that many answers");
  expect(() => signature.begin(0, 0, ANSWERS_PER_TICK + 1)).toThrow("up to 16 answers");
});
