// What a code is good for, in virtual time: once, for five minutes, with two errors forgiven,
// however the tries lie beside each other.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { instant } from "../contracts/units.ts";
import { PairDesk } from "./pair-desk.ts";
import type { PairRefusal } from "./pair-desk.ts";

const OPENED_NS = 7e9;
const MINUTES_5_NS = 300e9;
const at = (ns: number) => instant(OPENED_NS + ns);
const opened = (): PairDesk => new PairDesk(at(0));

/** One try that is judged at once. */
function tried(desk: PairDesk, isRight: boolean, ns: number): PairRefusal | "paired" {
  return desk.begin(at(ns)) ?? desk.end(isRight, at(ns)) ?? "paired";
}

test("the right code pairs once; again it is used", () => {
  const desk = opened();
  expect(tried(desk, true, 1)).toBe("paired");
  expect(tried(desk, true, 2)).toBe("used_code");
  expect(tried(desk, false, MINUTES_5_NS)).toBe("used_code");
});

test("the third wrong code voids it, and the right one comes too late", () => {
  const desk = opened();
  const tries = [false, false, false, true].map((isRight) => tried(desk, isRight, 1));
  expect(tries).toEqual(["wrong_code", "wrong_code", "void_code", "void_code"]);
  expect(desk.closed(at(2))).toBe("void_code");
});

test("the right code is taken at the third try", () => {
  const desk = opened();
  expect([false, false, true].map((isRight) => tried(desk, isRight, 1)).at(-1)).toBe("paired");
});

test("a code is good until just before five minutes, also when the proof takes its time", () => {
  expect(tried(opened(), true, MINUTES_5_NS - 1)).toBe("paired");
  expect(tried(opened(), true, MINUTES_5_NS)).toBe("expired_code");
  const desk = opened();
  expect(desk.begin(at(MINUTES_5_NS - 1))).toBeUndefined();
  expect(desk.end(true, at(MINUTES_5_NS))).toBe("expired_code");
  expect(desk.leftNs(at(1))).toBe(MINUTES_5_NS - 1);
});

test("of two right ones at once, one is paired", () => {
  const desk = opened();
  expect([desk.begin(at(1)), desk.begin(at(1))]).toEqual([undefined, undefined]);
  expect([desk.end(true, at(2)), desk.end(true, at(2))]).toEqual([undefined, "used_code"]);
});

test("a code is not void while its last try is being judged", () => {
  const desk = opened();
  tried(desk, false, 1);
  tried(desk, false, 1);
  expect(desk.begin(at(2))).toBeUndefined();
  expect(desk.closed(at(2))).toBeUndefined();
  expect(desk.end(true, at(3))).toBeUndefined();
});

test("however tries overlap, three are judged at most and one is paired at most", () => {
  const steps = fc.array(fc.constantFrom("begin", "right", "wrong"), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (all) => {
      const desk = opened();
      let openCount = 0;
      let judgedCount = 0;
      let pairedCount = 0;
      for (const step of all) {
        if (step === "begin") openCount += desk.begin(at(1)) === undefined ? 1 : 0;
        else if (openCount > 0) {
          openCount -= 1;
          judgedCount += 1;
          pairedCount += desk.end(step === "right", at(1)) === undefined ? 1 : 0;
        }
      }
      expect(pairedCount).toBeLessThanOrEqual(1);
      expect(judgedCount + openCount).toBeLessThanOrEqual(pairedCount === 0 ? 3 : 4);
    }),
  );
});
