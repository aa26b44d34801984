// Tests of the bell within one thread: what counts as rung. That it wakes another thread is what
// every lockstep run does.

import { expect, test } from "bun:test";
import { Bell } from "./bell.ts";

test("a wait is over at once where the bell was rung before, and in time where it is not", () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  const ringer = new Bell(words);
  const waiter = new Bell(words);
  expect(waiter.waitPast(0, 1)).toBe(false);
  ringer.ring();
  expect(waiter.waitPast(0, 1e9)).toBe(true);
  expect(waiter.waitPast(waiter.count, 1)).toBe(false);
  ringer.ring();
  ringer.ring();
  expect([waiter.waitPast(1, 1e9), waiter.count]).toEqual([true, 3]);
});

test("the count wraps, and a wait sees it", () => {
  const words = new Int32Array(new SharedArrayBuffer(4)).fill(0x7fffffff);
  const bell = new Bell(words);
  const seenCount = bell.count;
  bell.ring();
  expect([bell.waitPast(seenCount, 1e9), bell.count]).toEqual([true, -0x80000000]);
});
