// GateTally against tick records written out by hand: what counts as a decision, as changed, as a
// refusal and as a fault, and that tallies add up.

import { expect, test } from "bun:test";
import { CommandKind, RepairBit } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { TickSlot, TickView, tickSlotCount } from "../contracts/tick-record.ts";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { Fault } from "../../safety/faults.ts";
import { GateTally } from "./gate-tally.ts";

const robot = testProfile([testJoint({ name: "joint" }), testJoint({ name: "tip" })]);

type Parts = {
  readonly reason?: number;
  readonly mode?: number;
  readonly kind?: number;
  readonly repairs?: number;
  readonly faults?: number;
  readonly asked?: readonly number[];
  readonly sent?: readonly number[];
};

function tallyOf(...ticks: readonly Parts[]): GateTally {
  const tally = new GateTally(robot);
  const view = new TickView(new Float64Array(tickSlotCount(2)), 2);
  for (const tick of ticks) {
    view.record[TickSlot.reason] = tick.reason ?? Reason.Ok;
    view.record[TickSlot.mode] = tick.mode ?? Mode.Running;
    view.record[TickSlot.kind] = tick.kind ?? CommandKind.Motion;
    view.record[TickSlot.repairs] = tick.repairs ?? 0;
    view.record[TickSlot.faults] = tick.faults ?? 0;
    view.asked.set(tick.asked ?? [0, 0]);
    view.command.set(tick.sent ?? [0, 0]);
    tally.write(view.record);
  }
  return tally;
}

const counts = (tally: GateTally) => [
  tally.tickCount,
  tally.decidedCount,
  tally.changedCount,
  tally.earnestCount,
];

test("a tick is decided when a decision moved it, and changed by its worst joint", () => {
  const tally = tallyOf(
    { asked: [1, 1], sent: [1, 1] },
    { asked: [1, 1], sent: [1, 0.995], repairs: RepairBit.Jerk },
    { asked: [1, 1], sent: [1, 0.98], repairs: RepairBit.Jerk | RepairBit.Lead },
    { asked: [2, 1], sent: [1, 1], kind: CommandKind.Brake },
    { asked: [1, 1], sent: [0, 0], kind: CommandKind.Hold },
    { asked: [1, 1], sent: [0, 0], reason: Reason.NoAction },
  );
  expect(counts(tally)).toEqual([6, 4, 3, 2]);
  expect([...tally.repairTicks]).toEqual([0, 0, 0, 1, 2, 0, 0, 0, 0]);
});

test("corrections have their quantiles and their largest per joint", () => {
  const tally = tallyOf(
    ...Array.from({ length: 98 }, () => ({ asked: [0.5, 0], sent: [0.5, 0.0005] })),
    { asked: [0.5, 0.1], sent: [0.25, 0] },
    { asked: [0.5, 0], sent: [0.25, 0] },
  );
  expect([0.5, 0.98, 1].map((ratio) => tally.correctionRad(0, ratio))).toEqual([0, 0, 0.25]);
  expect(tally.correctionRad(1, 0.5)).toBeCloseTo(0.0005, 5);
  expect(tally.correctionRad(1, 1)).toBeCloseTo(0.1, 9);
});

test("refusals and faults count when they begin; a missing decision is no refusal", () => {
  const bit = (fault: Fault): number => 1 << fault;
  const tally = tallyOf(
    { reason: Reason.NotFinite },
    { reason: Reason.NotFinite },
    {},
    { reason: Reason.NotFinite },
    { reason: Reason.NoAction, faults: bit(Fault.NoAction) },
    { faults: bit(Fault.NoAction) | bit(Fault.FollowingError), mode: Mode.Degraded },
    { faults: bit(Fault.FollowingError), mode: Mode.SafeStop },
  );
  expect([tally.refusals[Reason.NotFinite], tally.refusalCount]).toEqual([2, 2]);
  expect([tally.faults[Fault.NoAction], tally.gateFaultCount, tally.stopCount]).toEqual([1, 1, 1]);
});

test("a person's stop is no alarm", () => {
  const tally = tallyOf({}, { mode: Mode.SafeStop, faults: 1 << Fault.OperatorStop });
  expect(tally.stopCount).toBe(0);
});

test("two tallies add up to the tally of both", () => {
  const first = [{ asked: [1, 0], sent: [0.5, 0], repairs: RepairBit.Velocity }, {}];
  const second = [{ reason: Reason.NotFinite }, { asked: [0, 2], sent: [0, 0] }];
  const sum = tallyOf(...first);
  sum.add(tallyOf(...second));
  const both = tallyOf(...first, ...second);
  expect(counts(sum)).toEqual(counts(both));
  expect([...sum.refusals]).toEqual([...both.refusals]);
  expect(sum.corrections).toEqual(both.corrections);
});
