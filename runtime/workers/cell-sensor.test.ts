// The control side of the samples: each new one once, and one that came after the tick's own time
// in the next tick, so that a tick held up after its clock read sees nothing from the future.

import { expect, test } from "bun:test";
import { SampleSlot, SensorSnapshot, sampleSlotCount } from "../contracts/sample.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot } from "../profile/load.ts";
import { createArena } from "../shm/arena.ts";
import { LatestWriter } from "../shm/latest-cell.ts";
import { sampleCell } from "./plan.ts";
import { CellSensor } from "./ports.ts";

function bench() {
  const { sources } = loadRobot("document-one");
  const [source] = sources;
  const name = sampleCell(source!);
  const arena = createArena([{ kind: "cell", name, slotCount: sampleSlotCount(source!) }]);
  const writer = new LatestWriter(arena.cell(name));
  const sensor = new CellSensor(arena, sources);
  const snapshot = new SensorSnapshot(sources);
  return {
    publish: (seq: number, receiveNs: number) => {
      writer.record.fill(0);
      writer.record[SampleSlot.seq] = seq;
      writer.record[SampleSlot.receiveNs] = receiveNs;
      writer.publish();
    },
    /** The sequence id that a tick at this time gets, or none. */
    look: (nowNs: number) => {
      sensor.observeInto(snapshot, instant(nowNs));
      return snapshot.arrived[0] === 1 ? snapshot.samples[0]!.seq : undefined;
    },
  };
}

test("a sample is new once", () => {
  const { publish, look } = bench();
  publish(1, 50);
  expect([look(100), look(105)]).toEqual([1, undefined]);
});

test("a sample that came after the tick's time waits for the next tick", () => {
  const { publish, look } = bench();
  publish(1, 101);
  expect([look(100), look(105), look(110)]).toEqual([undefined, 1, undefined]);
});

test("a newer sample takes the place of the one that waits", () => {
  const { publish, look } = bench();
  publish(1, 101);
  expect(look(100)).toBe(undefined);
  publish(2, 104);
  expect([look(105), look(110)]).toEqual([2, undefined]);
});
