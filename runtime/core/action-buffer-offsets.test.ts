// Chunks of offsets in the ActionBuffer: integrated velocities count from the command at takeover,
// go on without a stumble from chunk to chunk, and never catch up what they came too late for.

import { expect, test } from "bun:test";
import { testJoint } from "../../safety/fixture.ts";
import { ChunkBase, ChunkSlot } from "../contracts/action.ts";
import { instant } from "../contracts/units.ts";
import { bufferOf, chunkOf } from "./action-buffer-rig.ts";

test("offsets of position joints count from the command at takeover, velocities stay", () => {
  const joints = [
    testJoint({ name: "a" }),
    testJoint({ name: "b", command: "velocity" }),
    testJoint({ name: "c" }),
  ];
  const { buffer, put, at, sample, command } = bufferOf({}, joints);
  const offsets = { width: 3, rows: (row: number, joint: number) => row / 4 + joint };
  put({ ...offsets, fromMs: 20, slots: { base: ChunkBase.TakeoverCommand } }, 0);
  command.set([3, 1, 5]);
  at(20);
  expect([...sample.values]).toEqual([3, 1, 7]);
  expect(buffer.active.record[ChunkSlot.base]).toBe(ChunkBase.Absolute);
  command.set([9, 9, 9]);
  at(60);
  expect([...sample.values]).toEqual([3.5, 1.5, 7.5]);
});

test("linear offsets that arrive late go on from the command, one period on", () => {
  const { put, at, command } = bufferOf({ interpolation: "linear" });
  command[0] = 3;
  put({ rows: (row) => row, slots: { base: ChunkBase.TakeoverCommand } }, 30);
  expect([30, 40, 50, 60, 75].map(at)).toEqual([3.25, 3.75, 4.25, 4.75, 4.75]);
});

test("a late chunk of held offsets keeps the motion of the row under way", () => {
  const { put, at, command } = bufferOf({});
  command.set([3]);
  const slots = { base: ChunkBase.TakeoverCommand };
  put({ fromMs: 0, rows: (row) => row + 1, slots }, 25);
  expect([25, 45].map(at)).toEqual([4, 5]);
});

test("a velocity that goes on from chunk to chunk goes on without a stumble", () => {
  const { put, at, command } = bufferOf({ interpolation: "linear" });
  const slots = { base: ChunkBase.TakeoverCommand };
  const sent: number[] = [];
  for (let tick = 0; tick < 24; tick += 1) {
    // A chunk of constant speed every 20 ms, a quarter of a row late, one row of 20 ms being 1.
    if (tick % 4 === 0)
      put({ seq: tick + 1, fromMs: 5 * tick - 5, rows: (row) => row, slots }, 5 * tick);
    const value = Number(at(5 * tick));
    command[0] = value;
    sent.push(value);
  }
  expect(sent).toEqual(sent.map((_, tick) => (tick + 1) / 4));
});

test("held offsets that take over behind their last row begin with that row's own motion", () => {
  const { put, at, command } = bufferOf({});
  command.set([3]);
  const slots = { base: ChunkBase.TakeoverCommand };
  put({ horizon: 3, untilMs: 200, rows: (row) => row * row, slots }, 130);
  // The last row of 0, 1, 4 moves by 3, however long ago the row began.
  expect([130, 190].map(at)).toEqual([6, 6]);
});

test("linear offsets behind their last row stay: the command does not go back", () => {
  const slots = { base: ChunkBase.TakeoverCommand };
  // Rows 0, 1, 2, 3 at 0, 20, 40 and 60 ms: 5 ms are a quarter until 60 ms, then nothing.
  const starts = [55, 60, 62, 64, 65, 66, 79, 150].map((nowMs) => {
    const { put, at, command } = bufferOf({ interpolation: "linear" });
    command[0] = 8;
    put({ untilMs: 200, slots }, nowMs);
    return Number(at(nowMs)) - 8;
  });
  expect(starts).toEqual(
    [0.25, 0.25, 0.15, 0.05, 0, 0, 0, 0].map((step) => expect.closeTo(step, 9)),
  );
});

test("each joint goes on from its own row, and from nothing behind the rows", () => {
  const joints = ["a", "b", "c"].map((name) => testJoint({ name }));
  const rows = (row: number, joint: number) => (joint + 1) * row;
  const late = { width: 3, rows, slots: { base: ChunkBase.TakeoverCommand } };
  for (const [interpolation, moves] of [
    ["linear", 0.25],
    ["hold", 1],
  ] as const) {
    const { put, at, command, sample } = bufferOf({ interpolation }, joints);
    command.set([10, 20, 30]);
    put(late, 50);
    at(50);
    expect([...sample.values]).toEqual([10 + moves, 20 + 2 * moves, 30 + 3 * moves]);
  }
  const { buffer, at, command } = bufferOf({ interpolation: "linear" });
  command[0] = 3;
  const chunk = chunkOf({ horizon: 1, slots: { base: ChunkBase.TakeoverCommand } });
  chunk.values.fill(99, 1);
  buffer.put(chunk, instant(0));
  expect(at(0)).toBe(3);
});
