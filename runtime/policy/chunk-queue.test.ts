// Tests of the queue of decisions under way: order, stamps, and what gives way when it is full.
// Expected orders are written out by hand.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { duration, instant } from "../contracts/units.ts";
import { ChunkQueue, QUEUE_PLACES } from "./chunk-queue.ts";

function add(queue: ChunkQueue, seq: number, readyNs: number): void {
  queue.add(instant(readyNs)).begin(1, seq, 1, 1, duration(1));
}

function takeAll(queue: ChunkQueue, nowNs: number): number[] {
  const out = new ChunkView();
  const seqs: number[] = [];
  while (queue.takeInto(out, instant(nowNs))) seqs.push(out.seq);
  return seqs;
}

test("decisions come out in the order they become ready, ties in the order they were begun", () => {
  const queue = new ChunkQueue();
  add(queue, 1, 300);
  add(queue, 2, 100);
  add(queue, 3, 200);
  add(queue, 4, 200);
  expect(takeAll(queue, 99)).toEqual([]);
  expect(takeAll(queue, 100)).toEqual([2]);
  expect(takeAll(queue, 1000)).toEqual([3, 4, 1]);
  expect(takeAll(queue, 1000)).toEqual([]);
});

test("a full queue drops the oldest decision and counts it", () => {
  const queue = new ChunkQueue();
  for (let seq = 1; seq <= QUEUE_PLACES + 2; seq += 1) add(queue, seq, 1000 - seq);
  expect(queue.droppedCount).toBe(2);
  expect(takeAll(queue, 1000)).toEqual([10, 9, 8, 7, 6, 5, 4, 3]);
});

test("the first look after an act stamps its end, a named latency a later one", () => {
  const queue = new ChunkQueue();
  const out = new ChunkView();
  add(queue, 1, 100);
  add(queue, 2, 500);
  queue.takeInto(out, instant(120));
  expect([out.record[ChunkSlot.actEndNs], out.generatedNs]).toEqual([120, instant(120)]);
  queue.takeInto(out, instant(700));
  expect([out.record[ChunkSlot.actEndNs], out.generatedNs]).toEqual([500, instant(500)]);
});

test("a moment of generation that the policy named stays", () => {
  const queue = new ChunkQueue();
  const out = new ChunkView();
  add(queue, 1, 100);
  queue.add(instant(200)).record.set([0, 1, 1, 2, 1, 1, 1, 999]);
  queue.takeInto(out, instant(200));
  queue.takeInto(out, instant(200));
  expect(out.generatedNs).toBe(instant(999));
});

test("clearing leaves nothing", () => {
  const queue = new ChunkQueue();
  add(queue, 1, 0);
  queue.clear();
  expect(takeAll(queue, 1000)).toEqual([]);
});

test("the next look is at once after an act, then when a decision is ready, else never", () => {
  const queue = new ChunkQueue();
  expect(queue.nextLookNs).toBe(Infinity);
  add(queue, 1, 300);
  add(queue, 2, 200);
  expect(queue.nextLookNs).toBe(-Infinity); // the end of the acts is to be stamped
  expect(takeAll(queue, 100)).toEqual([]);
  expect(queue.nextLookNs).toBe(200);
  expect(takeAll(queue, 200)).toEqual([2]);
  expect(queue.nextLookNs).toBe(300);
  queue.clear();
  expect(queue.nextLookNs).toBe(Infinity);
});
