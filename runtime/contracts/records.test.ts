// Tests of the fixed records: sample, command and tick. Every view must be a window into its
// record at the stated place, and a record of another size must be refused.

import { expect, test } from "bun:test";
import { AssertionError } from "./assert.ts";
import { CommandSlot, CommandView, commandSlotCount } from "./command.ts";
import type { SourceProfile } from "./profile.ts";
import { SampleSlot, SampleView, SensorSnapshot, payloadCount, sampleSlotCount } from "./sample.ts";
import { TickView, tickSlotCount } from "./tick-record.ts";
import { milliseconds } from "./units.ts";

const proprio: SourceProfile = {
  id: "arm",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["a", "b"],
  measuresVelocity: true,
  measuresEffort: true,
  frame: "joint",
};
const cube: SourceProfile = { ...proprio, id: "cube", kind: "localization", joints: [] };
const camera: SourceProfile = { ...cube, id: "front", kind: "image" };

/** A record whose every slot holds its own number. */
const counted = (length: number) => Float64Array.from({ length }, (_, slot) => slot);

test("a payload is three values per joint, a pose of 7, or the 4 facts of an arena slot", () => {
  expect([proprio, cube, camera].map(payloadCount)).toEqual([6, 7, 4]);
  expect([proprio, cube, camera].map(sampleSlotCount)).toEqual([14, 15, 12]);
});

test("a sample reads its slots and its payload in place", () => {
  const sample = new SampleView(counted(14), proprio);
  expect([sample.sensorStampNs, sample.receiveNs, sample.seq] as number[]).toEqual([1, 3, 4]);
  expect([...sample.payload]).toEqual([8, 9, 10, 11, 12, 13]);
  expect(sample.jointCount).toBe(2);
  sample.payload[0] = -1;
  expect(sample.record[SampleSlot.payload]).toBe(-1);
});

test("a snapshot has one sample per source, in order, and forgets on clear which are new", () => {
  const snapshot = new SensorSnapshot([proprio, cube]);
  expect(snapshot.samples.map(({ record }) => record.length)).toEqual([14, 15]);
  snapshot.arrived.fill(1);
  snapshot.samples[1]!.payload[0] = 5;
  snapshot.clear();
  expect([...snapshot.arrived]).toEqual([0, 0]);
  expect(snapshot.samples[1]!.payload[0]).toBe(5);
});

test("a command reads its slots and its values in place, and copies whole", () => {
  const command = new CommandView(counted(commandSlotCount(2)), 2);
  expect([command.tick, command.stampNs, command.expiresNs, command.kind] as number[]).toEqual([
    0, 1, 2, 3,
  ]);
  expect([...command.values]).toEqual([16, 17]);
  const copy = new CommandView(new Float64Array(commandSlotCount(2)), 2);
  copy.copyFrom(command);
  command.record[CommandSlot.values] = 0;
  expect(copy.record).toEqual(counted(18));
});

test("a tick record holds asked, commanded and measured joints one after the other", () => {
  const tick = new TickView(counted(tickSlotCount(2)), 2);
  expect([tick.asked, tick.command, tick.measured].map((joints) => [...joints])).toEqual([
    [32, 33],
    [34, 35],
    [36, 37],
  ]);
});

test("a record of another size is refused", () => {
  expect(() => new SampleView(new Float64Array(13), proprio)).toThrow(AssertionError);
  expect(() => new CommandView(new Float64Array(17), 2)).toThrow(AssertionError);
  expect(() => new TickView(new Float64Array(37), 2)).toThrow(AssertionError);
});
