// Tests of what watches the run: the deadline monitor, the alive monitor, and the three logs in
// fixed memory (flight recorder, evidence log, trace hash).

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { testProfile } from "../../safety/fixture.ts";
import { AssertionError } from "../contracts/assert.ts";
import { Evidence } from "../contracts/evidence.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { AliveMonitor } from "./alive.ts";
import type { AliveRow } from "./alive.ts";
import { EvidenceLog } from "./evidence-log.ts";
import { FlightRecorder } from "./flight-recorder.ts";
import { DeadlineMonitor } from "./timing.ts";
import { TraceHash } from "../record/trace-hash.ts";

const base = testProfile();
/** Late above 12 ms; more than 2 misses in 5 ticks are too many. */
const profile = {
  ...base,
  supervisor: {
    ...base.supervisor,
    lateNsMax: milliseconds(12),
    missCountMax: 2,
    missWindowTicks: 5,
  },
};

test("a tick is too late beyond late_max, not at it, and only where that is a fault", () => {
  const hardware = new DeadlineMonitor(profile, true);
  const simulation = new DeadlineMonitor(profile, false);
  const judged = [0, 12e6, 12e6 + 1, 5e6].map((lateNs) => {
    hardware.note(lateNs, 0, 100);
    simulation.note(lateNs, 0, 100);
    return [hardware.tooLate, simulation.tooLate];
  });
  expect(judged).toEqual([
    [false, false],
    [false, false],
    [true, false],
    [false, false],
  ]);
  expect([hardware.lateTotal, simulation.lateTotal]).toEqual([1, 1]);
  expect([hardware.isFault, simulation.isFault]).toEqual([true, false]);
});

test("misses count within their window: one that leaves it is forgiven", () => {
  const monitor = new DeadlineMonitor(profile, true);
  const judged = [1, 1, 0, 1, 0, 0, 0, 0, 3, 0].map((missed) => {
    monitor.note(0, missed, 0);
    return monitor.tooManyMissed;
  });
  expect(judged).toEqual([false, false, false, true, true, false, false, false, true, true]);
  expect(monitor.missedTotal).toBe(6);
  const simulation = new DeadlineMonitor(profile, false);
  simulation.note(0, 99, 0);
  expect(simulation.tooManyMissed).toBe(false);
});

test("the monitor keeps the pacer's word on the tick at hand", () => {
  const monitor = new DeadlineMonitor(profile, false);
  monitor.note(3, 2, 1);
  const { lateNs, missedTicks, previousWorkNs } = monitor;
  expect({ lateNs, missedTicks, previousWorkNs }).toEqual({
    lateNs: 3,
    missedTicks: 2,
    previousWorkNs: 1,
  });
});

test("a miss window of no ticks is refused", () => {
  const { supervisor } = profile;
  const broken = { ...profile, supervisor: { ...supervisor, missWindowTicks: 0 } };
  expect(() => new DeadlineMonitor(broken, true)).toThrow(AssertionError);
});

const rows: AliveRow[] = [
  { thread: "robot", counterIndex: 1, checkCountMax: 2, faultBit: 4, reportMask: 0 },
  { thread: "policy", counterIndex: 3, checkCountMax: 3, faultBit: 16, reportMask: 32 },
];

function aliveSetup() {
  const counters = new Float64Array(4);
  const reports = new Float64Array(4);
  const monitor = new AliveMonitor(rows, {
    read: (index) => counters[index]!,
    reported: (index) => reports[index]!,
  });
  /** The faults after another 20 ticks. */
  const check = () => {
    let faults = 0;
    for (let tick = 0; tick < 20; tick += 1) faults = monitor.check();
    return faults;
  };
  return { counters, reports, monitor, check };
}

test("a thread that stands still is told after its own number of checks, until it moves", () => {
  const { counters, check } = aliveSetup();
  counters.fill(1);
  const faults = [check(), check(), check(), check(), check()];
  expect(faults).toEqual([0, 0, 4, 4 | 16, 4 | 16]);
  counters[1]! += 1;
  expect([check(), check()]).toEqual([16, 16]);
  counters[3]! += 1;
  expect(check()).toBe(4);
});

test("a thread that moves now and then within its patience is never told", () => {
  const { counters, check } = aliveSetup();
  for (let round = 1; round <= 6; round += 1) {
    counters.fill(round);
    expect([check(), check()]).toEqual([0, 0]);
  }
});

test("a thread that has never moved is not judged: it may still be starting", () => {
  const { counters, check } = aliveSetup();
  counters[3] = 1;
  const faults = [check(), check(), check(), check()];
  expect(faults).toEqual([0, 0, 0, 16]);
});

test("the table is judged every 20 ticks, and the verdict holds in between", () => {
  const { counters, monitor } = aliveSetup();
  counters.fill(1);
  const first = Array.from({ length: 100 }, () => monitor.check()).indexOf(4);
  expect(first + 1).toBe(60);
  expect(monitor.check()).toBe(4 | 16);
});

test("what a thread reports of itself counts as far as its row lets it", () => {
  const { reports, check } = aliveSetup();
  reports[1] = 32; // a driver may report nothing
  reports[3] = 32 | 64; // the policy may report 32
  expect(check()).toBe(32);
  reports.fill(0);
  expect(check()).toBe(0);
});

test("what a thread reports counts in the next tick, and no longer than it reports it", () => {
  const { reports, monitor } = aliveSetup();
  expect(monitor.check()).toBe(0);
  reports[3] = 32;
  expect(monitor.check()).toBe(32);
  reports[3] = 0;
  expect(monitor.check()).toBe(0);
});

test("a row without patience is refused", () => {
  const row = { thread: "robot", counterIndex: 0, checkCountMax: 0, faultBit: 1, reportMask: 0 };
  expect(() => new AliveMonitor([row], { read: () => 0, reported: () => 0 })).toThrow(
    AssertionError,
  );
});

test("the flight recorder keeps copies of the last ticks, oldest first", () => {
  const recorder = new FlightRecorder(3, 2);
  const record = new Float64Array(2);
  expect([recorder.count, recorder.dump().length]).toEqual([0, 0]);
  const dumps: number[][][] = [];
  for (let tick = 0; tick < 5; tick += 1) {
    record.set([tick, -tick]);
    recorder.write(record);
    dumps.push(recorder.dump().map((kept) => [...kept]));
  }
  expect(dumps[1]).toEqual([
    [0, -0],
    [1, -1],
  ]);
  expect(dumps[4]).toEqual([
    [2, -2],
    [3, -3],
    [4, -4],
  ]);
  expect(recorder.count).toBe(3);
  expect(() => new FlightRecorder(0, 2)).toThrow(AssertionError);
  expect(() => new FlightRecorder(2, 0)).toThrow(AssertionError);
});

test("the evidence log keeps the last 256 entries and counts them all by code", () => {
  const log = new EvidenceLog();
  log.note(Evidence.Expired, 3, 9, instant(50));
  expect(log.dump().map((entry) => [...entry])).toEqual([[Evidence.Expired, 3, 9, 50]]);
  for (let seq = 0; seq < 300; seq += 1) log.note(Evidence.Accepted, 1, seq, instant(seq));
  const kept = log.dump();
  expect(kept.map((entry) => entry[2])).toEqual(Array.from({ length: 256 }, (_, i) => i + 44));
  expect([log.written, log.counts[Evidence.Accepted], log.counts[Evidence.Expired]]).toEqual([
    301, 300, 1,
  ]);
});

/** The same hash written down a second time, tick by tick. */
function expectedHash(records: readonly Float64Array[], jointCount: number): string {
  const hash = createHash("sha256");
  for (const record of records) {
    const head = ["tick", "nowNs", "reason", "mode", "kind"] as const;
    const joints = TickSlot.joints + jointCount;
    const values = [
      ...head.map((name) => record[TickSlot[name]]!),
      ...record.slice(joints, joints + jointCount),
    ];
    const bytes = Buffer.alloc(8 * values.length);
    for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, 8 * index);
    hash.update(bytes);
  }
  return hash.digest("hex");
}

test.each([0, 1, 255, 256, 257, 600])(
  "a trace hash of %d ticks is the SHA-256 of its facts",
  (n) => {
    const random = new SeededRandom(n);
    const records = Array.from({ length: n }, (_, tick) => {
      const record = Float64Array.from({ length: tickSlotCount(2) }, () => random.normal());
      record[TickSlot.tick] = tick;
      return record;
    });
    const trace = new TraceHash(2);
    for (const record of records) trace.write(record);
    expect(trace.digest()).toBe(expectedHash(records, 2));
  },
);

test("a trace hash sees the command and not the lateness", () => {
  const hashOf = (slot: number) => {
    const record = new Float64Array(tickSlotCount(2));
    record[slot] = 1;
    const trace = new TraceHash(2);
    trace.write(record);
    return trace.digest();
  };
  const nothing = hashOf(TickSlot.lateNs);
  const { joints } = TickSlot;
  // Asked, commanded and measured, of two joints each: only the commanded ones count.
  const differs = [0, 1, 2, 3, 4, 5].map((offset) => hashOf(joints + offset) !== nothing);
  expect(differs).toEqual([false, false, true, true, false, false]);
});
