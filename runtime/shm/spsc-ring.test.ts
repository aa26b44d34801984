// SpscRing against an ordinary array as its model, with the counters started just below their wrap.
// Two threads at once are the business of `firmware-tests/shm-stress.test.ts`.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { AssertionError } from "../contracts/assert.ts";
import { createArena } from "./arena.ts";
import { RingReader, RingWord, RingWriter } from "./spsc-ring.ts";

function ring(recordCount: number, startCount = 0) {
  const memory = createArena([{ kind: "ring", name: "cues", slotCount: 2, recordCount }]).ring(
    "cues",
  );
  memory.words[RingWord.written] = startCount;
  memory.words[RingWord.read] = startCount;
  return { writer: new RingWriter(memory), reader: new RingReader(memory) };
}

test("SpscRing refuses and counts what it cannot hold, and keeps what it took", () => {
  const { writer, reader } = ring(2);
  const answers = [1, 2, 3, 4].map((value) => writer.put(Float64Array.of(value, -value)));
  const out = new Float64Array(2);
  const taken: number[][] = [];
  while (reader.takeInto(out)) taken.push([...out]);
  expect({
    answers,
    taken,
    refused: [writer.refusedCount, reader.refusedCount],
    left: [...out],
  }).toEqual({
    answers: [true, true, false, false],
    taken: [
      [1, -1],
      [2, -2],
    ],
    refused: [2, 2],
    left: [2, -2],
  });
});

test("SpscRing lends its oldest record until it is released", () => {
  const { writer, reader } = ring(2);
  writer.put(Float64Array.of(1, 1));
  writer.put(Float64Array.of(2, 2));
  const borrowed = reader.borrow();
  expect([writer.put(Float64Array.of(3, 3)), ...borrowed]).toEqual([false, 1, 1]);
  reader.release();
  expect([writer.put(Float64Array.of(3, 3)), ...reader.borrow()]).toEqual([true, 2, 2]);
  reader.release();
  reader.release();
  expect(() => reader.borrow()).toThrow(AssertionError);
  expect(() => reader.release()).toThrow(AssertionError);
});

test("SpscRing refuses a capacity that is not a power of two", () => {
  expect(() => ring(3)).toThrow(AssertionError);
});

test("SpscRing equals a bounded queue under any order of steps, across the counters' wrap", () => {
  const steps = fc.array(fc.constantFrom("put", "take"), { maxLength: 80 });
  fc.assert(
    fc.property(steps, fc.constantFrom(0, 0x7fffffff, -1, -7), (actions, startCount) => {
      const { writer, reader } = ring(4, startCount);
      const model: number[] = [];
      const out = new Float64Array(2);
      let refusedCount = 0;
      for (const [value, action] of actions.entries()) {
        if (action === "put") {
          const fits = model.length < 4;
          if (fits) model.push(value);
          else refusedCount += 1;
          expect(writer.put(Float64Array.of(value, value * 2))).toBe(fits);
        } else {
          const expected = model.shift();
          expect(reader.takeInto(out)).toBe(expected !== undefined);
          if (expected !== undefined) expect([...out]).toEqual([expected, expected * 2]);
        }
        expect([reader.pendingCount, reader.refusedCount]).toEqual([model.length, refusedCount]);
      }
    }),
    { numRuns: 200 },
  );
});
