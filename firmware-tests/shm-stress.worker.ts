// The writing side of the shared-memory stress: it fills a cell, a ring or image slots as fast as
// it can, each record with one repeated number, so that the reader can tell a torn one.

import { parentPort, workerData } from "node:worker_threads";
import { Arena } from "../runtime/shm/arena.ts";
import type { ArenaHandle } from "../runtime/shm/arena.ts";
import { ControlWords, ThreadSlot, ThreadState } from "../runtime/shm/control-words.ts";
import { ImageWriter } from "../runtime/shm/image-slots.ts";
import { LatestWriter } from "../runtime/shm/latest-cell.ts";
import { RingWriter } from "../runtime/shm/spsc-ring.ts";

export type StressPlan = {
  readonly handle: ArenaHandle;
  readonly kind: "cell" | "ring" | "images";
  readonly recordCount: number;
};

const { handle, kind, recordCount } = workerData as StressPlan;
const arena = new Arena(handle);

function writeCell(): number {
  const writer = new LatestWriter(arena.cell("cell"));
  for (let value = 1; value <= recordCount; value += 1) {
    writer.record.fill(value);
    writer.publish();
  }
  return 0;
}

/** Every value goes in, however often it is refused; the answer is how often that was. */
function writeRing(): number {
  const writer = new RingWriter(arena.ring("ring"));
  const record = new Float64Array(arena.ring("ring").records[0]!.length);
  let refusedCount = 0;
  for (let value = 1; value <= recordCount; value += 1) {
    record.fill(value);
    while (!writer.put(record)) refusedCount += 1;
  }
  return refusedCount;
}

/** The number of an image also travels in a cell, with its slot and sequence, as live images do. */
function writeImages(): number {
  const writer = new ImageWriter(arena.images("images"));
  const announcement = new LatestWriter(arena.cell("announcement"));
  for (let value = 1; value <= recordCount; value += 1) {
    writer.begin().fill(value & 255);
    writer.publish();
    announcement.record[0] = value;
    announcement.record[1] = writer.slot;
    announcement.record[2] = writer.sequence;
    announcement.publish();
  }
  return 0;
}

const write = { cell: writeCell, ring: writeRing, images: writeImages }[kind];
parentPort!.postMessage("ready");
parentPort!.on("message", () => {
  try {
    parentPort!.postMessage(write());
  } finally {
    new ControlWords(arena.words("control")).setState(ThreadSlot.camera, ThreadState.stopped);
  }
  parentPort!.close();
});
