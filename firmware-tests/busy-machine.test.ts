// A machine that holds its threads up, sleeps, or stands still, in virtual time through the real
// core: a busy one never stops a simulation, the same lateness stops hardware, a broken sensor is
// no late world, and whatever lost the world waits for a person.

import { expect, test } from "bun:test";
import { AssertionError } from "../runtime/contracts/assert.ts";
import { Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { instant, milliseconds } from "../runtime/contracts/units.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { Fault } from "../safety/faults.ts";
import { BusyRun, coreAtRest, quiet } from "./busy-machine.ts";
import type { Pause, Script } from "./busy-machine.ts";

const S = 1e9;
const seeds = [1, 2, 3, 4, 5];
/** Busy from here to here. */
const BUSY_FROM_NS = 2 * S;
const BUSY_UNTIL_NS = 17 * S;
const OVER_NS = 19 * S;

/** Pauses up to so long with running in between up to so long, while the machine is busy. */
function bursts(random: SeededRandom, pauseMs: number, runMs: number): Pause[] {
  const pauses: Pause[] = [];
  for (let fromNs = BUSY_FROM_NS; fromNs < BUSY_UNTIL_NS; ) {
    const untilNs = fromNs + milliseconds(pauseMs * random.next());
    pauses.push({ fromNs, untilNs });
    fromNs = untilNs + milliseconds(runMs * random.next());
  }
  return pauses;
}

/** The driver mostly held up, control now and then; three pauses of 360 ms, as were measured. */
function busyScript(seed: number): Script {
  const random = new SeededRandom(seed);
  const worldPauses = bursts(random, 120, 40);
  const long = [5, 9, 13].map((s) => ({ fromNs: s * S, untilNs: (s + 0.36) * S }));
  return { ...quiet, worldPauses, controlPauses: [...long, ...bursts(random, 30, 200)] };
}

const has = (record: Float64Array, fault: Fault): boolean =>
  ((record[TickSlot.faults]! >>> fault) & 1) === 1;
const ticksWith = (run: BusyRun, fault: Fault): number =>
  run.records.filter((record) => has(record, fault)).length;

test.each(seeds)("a busy machine holds a simulation up and never stops it, seed %d", (seed) => {
  const run = new BusyRun(busyScript(seed), OVER_NS);
  expect(run.modes).toEqual(["DEGRADED", "RUNNING", "STARTING"]);
  expect(ticksWith(run, Fault.WorldLate)).toBeGreaterThan(200);
  expect(run.moves(BUSY_UNTIL_NS + S, OVER_NS)).toBe(true);
  expect(run.path.endsWith("RUNNING")).toBe(true);
});

test.each(seeds)("the same lateness stops hardware until a person acts, seed %d", (seed) => {
  const script = busyScript(seed);
  const run = new BusyRun({ ...script, isHardware: true }, OVER_NS);
  expect(["SAFE_STOP", "FAULT_LATCHED"]).toContain(run.path.split(" ").at(-1)!);
  expect(ticksWith(run, Fault.WorldLate)).toBe(0);
  expect(run.moves(BUSY_UNTIL_NS, OVER_NS)).toBe(false);
});

test("hardware whose driver alone is late latches as a dead bus does, a simulation goes on", () => {
  const worldPauses = [{ fromNs: 2 * S, untilNs: 3 * S }];
  const path = (isHardware: boolean) =>
    new BusyRun({ ...quiet, worldPauses, isHardware }, 5 * S).path;
  expect(path(true)).toBe("STARTING RUNNING DEGRADED SAFE_STOP FAULT_LATCHED");
  expect(path(false)).toBe("STARTING RUNNING DEGRADED RUNNING");
});

// As the README says of freezes: on a quiet machine and on a busy one alike.
const freezes: [string, string][] = [
  ["freeze:joints@3s+100ms", "RUNNING"],
  ["freeze:joints@3s+400ms", "SAFE_STOP"],
  ["freeze:joints@3s+2s", "FAULT_LATCHED"],
  ["drop:joints@3s+2s", "FAULT_LATCHED"],
  ["delay:joints=100ms@3s+2s", "FAULT_LATCHED"],
  ["future:joints=50ms@3s+2s", "FAULT_LATCHED"],
];
test.each(freezes)("%s ends in %s, however late the machine is", (fault, mode) => {
  const worldPauses = bursts(new SeededRandom(7), 12, 40);
  for (const script of [quiet, { ...quiet, worldPauses }]) {
    const run = new BusyRun({ ...script, faults: [fault] }, 7 * S);
    expect(run.path.split(" ").at(-1)).toBe(mode);
  }
});

test("a sensor that loses samples is of low quality, however late the machine is", () => {
  const worldPauses = bursts(new SeededRandom(7), 12, 40);
  const lowTicks = (script: Partial<Script>) =>
    ticksWith(new BusyRun({ ...quiet, ...script }, 7 * S), Fault.LowQuality);
  const faults = ["drop:joints@3s+2s%65"];
  expect(lowTicks({ faults })).toBeGreaterThan(20);
  expect(lowTicks({ faults, worldPauses })).toBeGreaterThan(20);
  expect(lowTicks({ worldPauses })).toBe(0);
});

const lost: [string, Partial<Script>, Fault][] = [
  [
    "stood still for 2 s",
    { controlPauses: [{ fromNs: 2 * S, untilNs: 4 * S }] },
    Fault.ControlAway,
  ],
  [
    "stood still as a whole, its world too",
    {
      controlPauses: [{ fromNs: 2 * S, untilNs: 4 * S }],
      worldPauses: [{ fromNs: 2 * S, untilNs: 4 * S + 7 }],
    },
    Fault.ControlAway,
  ],
  ["slept", { sleepsNs: [4 * S] }, Fault.Suspended],
];
const acts = [
  { atNs: 0, cue: OperatorCue.Start },
  { atNs: 5 * S, cue: OperatorCue.Start }, // before its reset: nothing
  { atNs: 6 * S, cue: OperatorCue.Reset },
  { atNs: 7 * S, cue: OperatorCue.Start },
];
for (const isHardware of [false, true]) {
  test.each(lost)(`a run that %s waits for a person, hardware ${isHardware}`, (_, parts, fault) => {
    const run = new BusyRun({ ...quiet, ...parts, isHardware, acts }, 8 * S);
    // Hardware counts the beats that a pause missed for another second, which latches.
    const stops =
      isHardware && fault === Fault.ControlAway ? "SAFE_STOP FAULT_LATCHED" : "SAFE_STOP";
    expect(run.path).toBe(`STARTING RUNNING ${stops} RECOVER RUNNING`);
    const stop = run.first(Mode.SafeStop)!;
    const before = run.records[stop[TickSlot.tick]! - 1]!;
    expect([has(stop, fault), stop[TickSlot.nowNs]]).toEqual([true, 4 * S]);
    expect(stop[TickSlot.epoch]).toBe(before[TickSlot.epoch]! + 1);
    const moves = [run.moves(0, 4 * S), run.moves(4 * S, 7 * S), run.moves(7 * S, 8 * S)];
    expect(moves).toEqual([true, false, true]);
    expect(run.replay()).toEqual(run.records as Float64Array[]);
  });

  test.each(lost)(`a start given before the run %s is void, hardware ${isHardware}`, (_, parts) => {
    // Without samples STARTING waits, and remembers the start; they are back before it is over.
    const faults = ["drop:joints@0s+4s"];
    const run = new BusyRun({ ...quiet, ...parts, isHardware, faults }, 8 * S);
    expect(run.modes).not.toContain("RUNNING");
    expect(run.path).toStartWith("STARTING SAFE_STOP");
  });
}

test("a pause that is not too long is no loss", () => {
  const controlPauses = [{ fromNs: 2 * S, untilNs: 2.9 * S }];
  expect(new BusyRun({ ...quiet, controlPauses }, 4 * S).path).not.toContain("SAFE_STOP");
});

test("time that goes back ends the tick before anything is sent", () => {
  const { core, sent } = coreAtRest();
  controlTick(core, instant(10));
  expect(() => controlTick(core, instant(9))).toThrow(AssertionError);
  expect(sent()).toBe(1);
});
