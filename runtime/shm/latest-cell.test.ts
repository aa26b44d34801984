// LatestCell against the plain model "the reader sees the newest published value", over
// interleavings.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { createArena } from "./arena.ts";
import { LatestReader, LatestWriter } from "./latest-cell.ts";

function cell() {
  const arena = createArena([{ kind: "cell", name: "state", slotCount: 2 }]);
  return {
    writer: new LatestWriter(arena.cell("state")),
    reader: new LatestReader(arena.cell("state")),
  };
}

test("LatestCell gives nothing before the first publish, and each value only once", () => {
  const { writer, reader } = cell();
  const seen = [reader.take()];
  writer.record.set([1, 10]);
  seen.push(reader.take()); // filled, but not handed over
  writer.publish();
  seen.push(reader.take(), reader.take());
  expect({ seen, record: [...reader.record] }).toEqual({
    seen: [false, false, true, false],
    record: [1, 10],
  });
});

test("LatestCell skips what was overtaken and keeps the taken record while newer ones come", () => {
  const { writer, reader } = cell();
  for (let value = 1; value <= 3; value += 1) {
    writer.record.set([value, value]);
    writer.publish();
  }
  expect([reader.take(), ...reader.record]).toEqual([true, 3, 3]);
  const held = reader.record;
  for (let value = 4; value <= 9; value += 1) {
    writer.record.set([value, value]);
    writer.publish();
  }
  writer.record.set([-1, -1]); // half a record that nobody may see
  expect([...held]).toEqual([3, 3]);
  expect([reader.take(), ...reader.record]).toEqual([true, 9, 9]);
});

test("LatestCell equals its model under any order of publishing and taking", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (steps) => {
      const { writer, reader } = cell();
      let published = 0;
      let taken = 0;
      for (const isPublish of steps) {
        if (isPublish) {
          published += 1;
          writer.record.set([published, -published]);
          writer.publish();
        } else {
          expect(reader.take()).toBe(published !== taken);
          taken = published;
          expect([...reader.record]).toEqual([taken, taken === 0 ? 0 : -taken]);
        }
      }
    }),
    { numRuns: 200 },
  );
});
