// Two threads at full speed over one arena: no record is ever torn, out of order or lost, and every
// refusal is counted. The amount of work is fixed; on a 2-core x64 machine each takes about 0.3 s.

import { expect, test } from "bun:test";
import { Worker } from "node:worker_threads";
import { createArena } from "../runtime/shm/arena.ts";
import type { ArenaPart } from "../runtime/shm/arena.ts";
import {
  CONTROL_WORD_COUNT,
  ControlWords,
  ThreadSlot,
  ThreadState,
} from "../runtime/shm/control-words.ts";
import { ImageReader } from "../runtime/shm/image-slots.ts";
import { LatestReader } from "../runtime/shm/latest-cell.ts";
import { RingReader } from "../runtime/shm/spsc-ring.ts";
import type { StressPlan } from "./shm-stress.worker.ts";

/** An arena with the part under test and the word by which the writer says that it has ended. */
function stressArena(...parts: ArenaPart[]) {
  const arena = createArena([
    { kind: "words", name: "control", wordCount: CONTROL_WORD_COUNT },
    ...parts,
  ]);
  const control = new ControlWords(arena.words("control"));
  return { arena, isOver: () => control.state(ThreadSlot.camera) === ThreadState.stopped };
}

/** Runs the writer in a Worker and `read` here, at once. Returns the writer's own count. */
async function race(plan: StressPlan, read: () => void): Promise<unknown> {
  const writer = new Worker(new URL("./shm-stress.worker.ts", import.meta.url), {
    workerData: plan,
  });
  const failed = new Promise<never>((_, reject) => writer.once("error", reject));
  const next = () =>
    Promise.race([failed, new Promise((resolve) => writer.once("message", resolve))]);
  await next();
  const written = next();
  writer.postMessage("go");
  read();
  return written;
}

/** True when every element is the same. Written as a loop: the race needs speed on both sides. */
function isWhole(record: Float64Array | Uint8Array): boolean {
  const first = record[0]!;
  for (let index = 1; index < record.length; index += 1) {
    if (record[index] !== first) return false;
  }
  return true;
}

test.each([16, 350])(
  "LatestCell of %d slots is never torn and never goes back",
  async (slotCount) => {
    const recordCount = slotCount === 16 ? 5_000_000 : 1_000_000;
    const { arena, isOver } = stressArena({ kind: "cell", name: "cell", slotCount });
    const reader = new LatestReader(arena.cell("cell"));
    const faults = { torn: 0, notRising: 0 };
    let last = 0;
    await race({ handle: arena.handle, kind: "cell", recordCount }, () => {
      for (let over = false; last < recordCount && !over; ) {
        const ended = isOver();
        if (!reader.take()) {
          over = ended;
          continue;
        }
        if (!isWhole(reader.record)) faults.torn += 1;
        if (reader.record[0]! <= last) faults.notRising += 1;
        last = reader.record[0]!;
      }
    });
    expect({ ...faults, last }).toEqual({ torn: 0, notRising: 0, last: recordCount });
  },
);

test.each([16, 350])(
  "SpscRing of %d slots loses nothing and counts refusals",
  async (slotCount) => {
    const recordCount = slotCount === 16 ? 400_000 : 100_000;
    const { arena, isOver } = stressArena({
      kind: "ring",
      name: "ring",
      slotCount,
      recordCount: 64,
    });
    const reader = new RingReader(arena.ring("ring"));
    const out = new Float64Array(slotCount);
    const faults = { torn: 0, outOfOrder: 0 };
    let last = 0;
    const refusedCount = await race({ handle: arena.handle, kind: "ring", recordCount }, () => {
      for (let over = false; last < recordCount && !over; ) {
        const ended = isOver();
        if (!reader.takeInto(out)) {
          over = ended;
          continue;
        }
        if (!isWhole(out)) faults.torn += 1;
        if (out[0]! !== last + 1) faults.outOfOrder += 1;
        last = out[0]!;
      }
    });
    expect({ ...faults, last, pending: reader.pendingCount, refused: reader.refusedCount }).toEqual(
      {
        torn: 0,
        outOfOrder: 0,
        last: recordCount,
        pending: 0,
        refused: refusedCount as number,
      },
    );
  },
);

test("an image that isUnchanged vouches for is whole and the one announced", async () => {
  const recordCount = 600_000;
  const { arena, isOver } = stressArena(
    { kind: "images", name: "images", imageCount: 3, imageSizeBytes: 256 },
    { kind: "cell", name: "announcement", slotCount: 3 },
  );
  const announcement = new LatestReader(arena.cell("announcement"));
  const images = new ImageReader(arena.images("images"));
  const counts = { wrong: 0, good: 0, overtaken: 0 };
  const copy = new Uint8Array(256);
  let last = 0;
  await race({ handle: arena.handle, kind: "images", recordCount }, () => {
    for (let over = false; last < recordCount && !over; ) {
      const ended = isOver();
      if (!announcement.take()) {
        over = ended;
        continue;
      }
      last = announcement.record[0]!;
      const slot = announcement.record[1]!;
      const sequence = announcement.record[2]!;
      copy.set(images.pixels(slot));
      if (!images.isUnchanged(slot, sequence)) counts.overtaken += 1;
      else if (isWhole(copy) && copy[0] === (last & 255)) counts.good += 1;
      else counts.wrong += 1;
    }
  });
  expect([counts.wrong, counts.good > 0]).toEqual([0, true]);
});
