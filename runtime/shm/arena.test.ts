// The arena's cut, its two attached sides, image slots and control words. Overlap is looked for by
// filling every view with its own number, not by asking the offsets.

import { expect, test } from "bun:test";
import { AssertionError } from "../contracts/assert.ts";
import { instant } from "../contracts/units.ts";
import { Arena, createArena } from "./arena.ts";
import type { ArenaPart } from "./arena.ts";
import {
  CONTROL_WORD_COUNT,
  ControlWords,
  GRID_UNSET,
  StopLevel,
  ThreadSlot,
  ThreadState,
} from "./control-words.ts";
import { ImageReader, ImageWriter } from "./image-slots.ts";

const parts: readonly ArenaPart[] = [
  { kind: "words", name: "control", wordCount: 5 },
  { kind: "cell", name: "state", slotCount: 11 },
  { kind: "ring", name: "chunks", slotCount: 3, recordCount: 4 },
  { kind: "images", name: "camera", imageCount: 3, imageSizeBytes: 100 },
  { kind: "words", name: "last", wordCount: 1 },
];

function views(arena: Arena): (Int32Array | Float64Array | Uint8Array)[] {
  const { middle, records } = arena.cell("state");
  const ring = arena.ring("chunks");
  const images = arena.images("camera");
  return [
    arena.words("control"),
    middle,
    ...records,
    ring.words,
    ...ring.records,
    images.sequences,
    ...images.pixels,
    arena.words("last"),
  ];
}

test("Arena cuts parts that do not overlap, and the other side sees the very same memory", () => {
  const arena = createArena(parts);
  const cut = views(arena);
  for (const [index, view] of cut.entries()) view.fill(index + 1);
  const attached = views(new Arena(structuredClone(arena.handle)));
  expect(attached.map((view) => [view.length, new Set<number>(view)])).toEqual(
    [5, 1, 11, 11, 11, 48, 3, 3, 3, 3, 3, 100, 100, 100, 1].map((length, index) => [
      length,
      new Set([index + 1]),
    ]),
  );
  expect(cut.map((view) => view.byteOffset % 64)).toEqual(cut.map(() => 0));
});

test("Arena refuses duplicates, impossible sizes, unknown names and wrong kinds, by name", () => {
  const first = parts[0]!;
  expect(() => createArena([first, first])).toThrow('the arena names "control" once');
  for (const wordCount of [0, -1, 1.5, Number.NaN, Infinity]) {
    expect(() => createArena([{ kind: "words", name: "bad", wordCount }])).toThrow(
      'sizes of "bad" are positive integers',
    );
  }
  const arena = createArena(parts);
  expect(() => arena.words("nobody")).toThrow('the arena has a part "nobody"');
  expect(() => arena.ring("state")).toThrow('"state" is a ring');
  expect(() => arena.cell("chunks")).toThrow('"chunks" is a cell');
  expect(() => arena.words("camera")).toThrow('"camera" holds words');
  expect(() => arena.images("control")).toThrow('"control" holds images');
});

test("an image stays borrowed until the writer has gone once round the slots", () => {
  const arena = createArena(parts);
  const writer = new ImageWriter(arena.images("camera"));
  const reader = new ImageReader(arena.images("camera"));
  const publish = (value: number) => {
    writer.begin().fill(value);
    writer.publish();
    return { slot: writer.slot, sequence: writer.sequence };
  };
  const image = publish(7);
  publish(8);
  publish(9);
  expect([
    reader.isUnchanged(image.slot, image.sequence),
    ...new Set(reader.pixels(image.slot)),
  ]).toEqual([true, 7]);
  writer.begin(); // the same slot again: void before a pixel is written, and while it is written
  expect(reader.isUnchanged(image.slot, image.sequence)).toBe(false);
  writer.publish();
  expect([
    reader.isUnchanged(image.slot, image.sequence),
    reader.isUnchanged(writer.slot, writer.sequence),
    writer.slot,
  ]).toEqual([false, true, image.slot]);
});

test("image slots refuse a publish without a begin, an unknown slot and an odd sequence", () => {
  const arena = createArena(parts);
  expect(() => new ImageWriter(arena.images("camera")).publish()).toThrow(AssertionError);
  const reader = new ImageReader(arena.images("camera"));
  expect(() => reader.pixels(3)).toThrow(AssertionError);
  expect(() => reader.isUnchanged(0, 1)).toThrow(AssertionError);
});

function control() {
  const words = new Int32Array(CONTROL_WORD_COUNT);
  return { mine: new ControlWords(words), theirs: new ControlWords(words) };
}

test("a stop only rises", () => {
  const { mine, theirs } = control();
  const levels: (number | boolean)[] = [theirs.stopLevel, theirs.stopped];
  for (const level of [StopLevel.motion, StopLevel.records, StopLevel.motion, StopLevel.none]) {
    mine.requestStop(level);
    levels.push(theirs.stopLevel, theirs.stopped);
  }
  expect(levels).toEqual([0, false, 1, true, 2, true, 2, true, 2, true]);
});

test("each thread has its own state and counter", () => {
  const { mine, theirs } = control();
  const slots = Object.values(ThreadSlot);
  for (const slot of slots) {
    mine.setState(slot, slot === ThreadSlot.policy ? ThreadState.crashed : ThreadState.running);
    for (let beat = 0; beat <= slot; beat += 1) mine.beat(slot);
  }
  mine.publishTick(4711);
  expect({
    states: slots.map((slot) => theirs.state(slot)),
    counts: slots.map((slot) => theirs.aliveCount(slot)),
    tick: theirs.tick,
    stop: theirs.stopLevel,
  }).toEqual({ states: [2, 2, 2, 2, 2, 4, 2], counts: [1, 2, 3, 4, 5, 6, 7], tick: 4711, stop: 0 });
});

test("the beat that the simulated world has reached crosses, and is 0 before its first", () => {
  const { mine, theirs } = control();
  const before = theirs.worldBeat;
  mine.publishWorldBeat(4711);
  expect([before, theirs.worldBeat, theirs.tick, theirs.stopLevel]).toEqual([0, 4711, 0, 0]);
});

test("the grid's origin crosses exactly, over the whole range of an Instant", () => {
  expect(control().theirs.gridOriginNs).toBe(GRID_UNSET);
  for (const originNs of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 123_456_789_012_345, 2 ** 53 - 1]) {
    const { mine, theirs } = control();
    mine.publishGridOrigin(instant(originNs));
    expect(theirs.gridOriginNs).toBe(instant(originNs));
  }
});
