// Tests of the core and the order of its tick, over stages that tell when they were called: what
// enters, the one reason, the one command, what is published, and the record that says it all.

import { expect, test } from "bun:test";
import { Fault } from "../../safety/faults.ts";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { commandKindNames } from "../contracts/command.ts";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { TickSlot, TickView } from "../contracts/tick-record.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Pacer } from "./pacer.ts";
import { STOPPED, runLoop } from "./pacer.ts";

import { MS, Rig, profileOf, source } from "./core-rig.ts";

test("a tick takes arrivals, observes, sends one command and publishes, in this order", () => {
  const rig = new Rig();
  rig.decide(0.25);
  expect(rig.tick()).toBe("ok");
  expect(rig.diary).toEqual(["chunk", "no chunk", "observe", "send", "publish"]);
});

test("priming begins epoch 1, publishes tick -1 with what is measured, and sends nothing", () => {
  const rig = new Rig();
  expect(rig.diary).toEqual(["epoch 1", "observe", "publish"]);
  expect(rig.published).toEqual([{ tick: -1, epoch: 1, mode: "RUNNING", commandRad: 0.25 }]);
  expect([rig.sent.length, rig.core.tick, rig.core.epoch]).toEqual([0, 0, 1]);
});

test("what is published carries tick, epoch, mode and the command just sent", () => {
  const rig = new Rig();
  rig.decide(0.26);
  rig.tick();
  expect(rig.sent.map(({ kind }) => kind)).toEqual(["motion"]);
  expect(rig.published.at(-1)).toEqual({
    tick: 0,
    epoch: 1,
    mode: "RUNNING",
    commandRad: rig.sent[0]!.valueRad,
  });
});

test("at most four chunks enter in one tick, the rest in the next", () => {
  const rig = new Rig();
  for (let index = 0; index < 6; index += 1) rig.decide(0.25);
  rig.tick();
  expect(rig.diary.filter((entry) => entry === "chunk")).toHaveLength(4);
  expect(rig.fact("seq")).toBe(4);
  rig.tick();
  expect(rig.fact("seq")).toBe(6);
});

test("at most eight cues enter in one tick, and each that came shows in the record", () => {
  const rig = new Rig();
  for (let index = 0; index < 7; index += 1) rig.cues.push(OperatorCue.MainSlow);
  rig.cues.push(OperatorCue.Stop, OperatorCue.Start, OperatorCue.Start);
  rig.tick();
  expect(rig.fact("cues")).toBe((1 << OperatorCue.MainSlow) | (1 << OperatorCue.Stop));
  rig.tick();
  expect(rig.fact("cues")).toBe(1 << OperatorCue.Start);
  rig.tick();
  expect(rig.fact("cues")).toBe(0);
});

test("with nothing missing the reason is ok", () => {
  const rig = new Rig();
  rig.decide(0.25);
  expect(rig.reasons(3)).toEqual(["ok", "ok", "ok"]);
});

test("the reason is judged in order: stop, state, quality, action", () => {
  const rig = new Rig();
  expect(rig.tick()).toBe("no_action");
  // Quality falls when most samples are missing; the state itself is fresh when one comes.
  rig.isSilent = true;
  rig.reasons(12);
  rig.isSilent = false;
  expect(rig.tick()).toBe("low_quality");
  rig.isSilent = true;
  expect(rig.reasons(4)).toEqual(["low_quality", "low_quality", "stale_state", "stale_state"]);
  rig.cues.push(OperatorCue.Stop);
  expect(rig.tick()).toBe("stop");
});

test("the quality floor is the profile's", () => {
  const base = profileOf();
  const reasons = [0, 1].map((qualityRatioMin) => {
    const rig = new Rig({ ...base, state: { ...base.state, qualityRatioMin } });
    rig.tick();
    rig.isSilent = true;
    rig.tick();
    rig.isSilent = false;
    rig.decide(0.25);
    return rig.tick();
  });
  expect(reasons).toEqual(["ok", "low_quality"]);
});

test("each tick that may not move sends one hold, and says why", () => {
  const rig = new Rig();
  rig.tick();
  rig.isSilent = true;
  rig.reasons(3);
  expect(rig.sent.map(({ kind, reason }) => `${kind} ${reason}`)).toEqual([
    "hold no_action",
    "hold no_action",
    "hold no_action",
    "hold stale_state",
  ]);
});

test("reasons count by tick and by entry, and a gap only while motion is allowed", () => {
  const rig = new Rig();
  rig.reasons(2);
  rig.decide(0.25);
  rig.reasons(16);
  rig.reasons(3);
  rig.cues.push(OperatorCue.Stop);
  rig.reasons(2);
  const { safeTicks, safeEpisodes, coverageGapTicks } = rig.core;
  const told = [Reason.NoAction, Reason.Stop, Reason.Ok].map((reason) => [
    safeTicks[reason],
    safeEpisodes[reason],
  ]);
  expect(told).toEqual([
    [5, 2],
    [2, 1],
    [0, 0],
  ]);
  expect(coverageGapTicks).toBe(5);
});

test("without motion a missing decision is no gap in coverage", () => {
  const base = profileOf();
  const rig = new Rig({ ...base, supervisor: { ...base.supervisor, startsIn: "Starting" } });
  expect(rig.reasons(3)).toEqual(["no_action", "no_action", "no_action"]);
  expect(rig.core.coverageGapTicks).toBe(0);
  expect(rig.core.safeTicks[Reason.NoAction]).toBe(3);
});

test("a stop voids every decision: a new epoch, told to the policy and to the buffer", () => {
  const rig = new Rig();
  rig.decide(0.25);
  rig.tick();
  rig.cues.push(OperatorCue.Stop);
  rig.tick();
  expect(rig.mode).toBe("SAFE_STOP");
  expect(rig.diary).toEqual(["no chunk", "observe", "epoch 2", "send", "publish"]);
  expect(rig.events()).toEqual(["accepted 1", "activated 1", "voided 1"]);
  expect(rig.published.at(-1)!.epoch).toBe(2);
  rig.cues.push(OperatorCue.Reset);
  rig.tick();
  rig.cues.push(OperatorCue.Start);
  rig.tick();
  expect([rig.mode, rig.core.epoch]).toEqual(["DEGRADED", 3]);
  expect(rig.sent.at(-1)!.kind).toBe("hold");
});

test("a start in which a decision is ready still moves only in the tick after", () => {
  const rig = new Rig();
  rig.cues.push(OperatorCue.Stop);
  rig.tick();
  rig.cues.push(OperatorCue.Reset);
  rig.tick();
  rig.decide(0.25);
  rig.cues.push(OperatorCue.Start);
  rig.tick();
  expect(rig.sent.at(-1)!.kind).toBe("hold");
  rig.decide(0.25);
  rig.tick();
  expect(rig.sent.at(-1)!.kind).toBe("motion");
});

test("a start re-arms the gate: a robot that was moved meanwhile is held where it is", () => {
  const rig = new Rig();
  rig.tick();
  rig.cues.push(OperatorCue.Stop);
  rig.tick();
  rig.positionRad = 1;
  rig.cues.push(OperatorCue.Reset);
  rig.tick();
  expect(rig.sent.at(-1)!.valueRad).toBe(0.25);
  rig.cues.push(OperatorCue.Start);
  rig.tick();
  expect(rig.sent.at(-1)).toEqual({ kind: "hold", reason: "no_action", valueRad: 1 });
});

test("one wrong reading in the tick of a start never becomes a command", () => {
  const rig = new Rig(testProfile([testJoint()], { sources: [source] }));
  rig.cues.push(OperatorCue.Start);
  for (let tick = 0; tick < 10 && rig.mode !== "RUNNING"; tick += 1) {
    rig.decide(0.25);
    rig.tick();
  }
  rig.cues.push(OperatorCue.Stop);
  rig.reasons(5);
  rig.cues.push(OperatorCue.Reset);
  rig.reasons(5);
  rig.cues.push(OperatorCue.Start);
  rig.positionRad = -1;
  rig.tick();
  expect(rig.sent.at(-1)!.valueRad).toBe(0.25);
  rig.positionRad = 0.25;
  // The start waits for three samples that agree, and says what it lacks.
  rig.decide(0.3);
  expect(rig.reasons(3)).toEqual(["low_quality", "low_quality", "ok"]);
  expect(rig.sent.slice(-3).every(({ valueRad }) => valueRad >= 0.25)).toBe(true);
  expect(rig.sent.at(-1)!.kind).toBe("motion");
});

test("a start on samples that never agree ends in SAFE_STOP, where it was held", () => {
  const rig = new Rig(testProfile([testJoint()], { sources: [source] }));
  rig.cues.push(OperatorCue.Start);
  for (let tick = 0; tick < 10 && rig.mode !== "RUNNING"; tick += 1) {
    rig.decide(0.25);
    rig.tick();
  }
  for (const cue of [OperatorCue.Stop, OperatorCue.Reset, OperatorCue.Start]) {
    rig.cues.push(cue);
    rig.positionRad = cue === OperatorCue.Start ? -1 : 0.25;
    rig.tick();
  }
  for (let tick = 0; tick < 60; tick += 1) {
    rig.positionRad = tick % 2 === 0 ? 0.9 : -1;
    if (tick % 10 === 0) rig.decide(0.3);
    rig.tick();
  }
  expect(rig.mode).toBe("SAFE_STOP");
  expect(rig.sent.slice(-60).every(({ valueRad }) => valueRad === 0.25)).toBe(true);
});

test("a chunk that begins too far away is voided by name, and the robot holds", () => {
  const rig = new Rig();
  rig.decide(1.5);
  expect(rig.tick()).toBe("start_mismatch");
  expect(rig.sent.at(-1)!.kind).toBe("hold");
  expect(rig.events()).toEqual(["accepted 1", "activated 1", "rejected_start_mismatch 1"]);
  expect(rig.tick()).toBe("no_action");
});

test("a chunk the buffer refuses is no decision", () => {
  const rig = new Rig();
  rig.decide(0.25, { epoch: 9 });
  expect(rig.tick()).toBe("no_action");
  expect(rig.events()).toEqual(["rejected_stale_epoch 1"]);
});

test("another thread's silence is the fault of its bit", () => {
  const rig = new Rig();
  rig.decide(0.25);
  rig.silentFaults = (1 << Fault.MainSlow) | (1 << Fault.PolicyLost);
  rig.tick();
  expect(rig.fact("faults")).toBe(rig.silentFaults);
  rig.silentFaults = 1 << Fault.DriverLost;
  rig.tick();
  expect(rig.mode).toBe("FAULT_LATCHED");
});

/** A pacer that plays back lateness and misses, a tick each. */
function pacerOf(rig: Rig, ticks: readonly { lateMs: number; missed: number }[]): Pacer {
  let index = -1;
  const current = () => ticks[index]!;
  return {
    next: () => {
      index += 1;
      if (index === ticks.length) return STOPPED;
      rig.nowMs += 5;
      return instant(rig.nowMs * MS);
    },
    get lateNs() {
      return milliseconds(current().lateMs);
    },
    get missedTicks() {
      return current().missed;
    },
    workNs: milliseconds(0.25),
  };
}

test("the loop runs to the pacer's end, and tells each tick its lateness before it runs", () => {
  const rig = new Rig();
  runLoop(
    rig.core,
    pacerOf(rig, [
      { lateMs: 0, missed: 0 },
      { lateMs: 2, missed: 3 },
    ]),
  );
  expect(rig.core.tick).toBe(2);
  expect([rig.fact("lateNs"), rig.fact("missedTicks"), rig.fact("previousWorkNs")]).toEqual([
    2 * MS,
    3,
    0.25 * MS,
  ]);
});

test("lateness and misses are faults on hardware and only counts in simulation", () => {
  const faults = [true, false].map((isFault) => {
    const rig = new Rig(profileOf(), isFault);
    runLoop(rig.core, pacerOf(rig, [{ lateMs: 13, missed: 0 }]));
    const late = rig.fact("faults") & (1 << Fault.ControlLate);
    runLoop(rig.core, pacerOf(rig, [{ lateMs: 0, missed: 11 }]));
    return [late !== 0, (rig.fact("faults") & (1 << Fault.ControlMissed)) !== 0];
  });
  expect(faults).toEqual([
    [true, true],
    [false, false],
  ]);
});

test("the record of a tick says what came in, what was asked, what left, and every stamp", () => {
  const rig = new Rig();
  rig.decide(0.25);
  rig.tick();
  const stamps = {
    stateStampNs: 0.5 * MS,
    actStartNs: 1 * MS,
    actEndNs: 2 * MS,
    arrivedNs: 3 * MS,
  };
  rig.decide(0.27, stamps);
  rig.tick();
  const record = rig.ticks.dump().at(-1)!;
  const { asked, command, measured } = new TickView(record, 1);
  expect([asked[0], command[0], measured[0]]).toEqual([0.27, rig.sent.at(-1)!.valueRad, 0.25]);
  const names = Object.keys(TickSlot).filter((name) => name !== "reserved" && name !== "joints");
  const facts = names.map((name) => [name, record[TickSlot[name as keyof typeof TickSlot]]]);
  expect(Object.fromEntries(facts)).toEqual({
    tick: 1,
    nowNs: 5 * MS,
    reason: Reason.Ok,
    mode: Mode.Running,
    kind: commandKindNames.indexOf("motion"),
    epoch: 1,
    seq: 2,
    row: 0,
    repairs: record[TickSlot.repairs]!,
    faults: 0,
    missedTicks: 0,
    lateNs: 0,
    sampledNs: 3 * MS,
    receivedNs: 4 * MS,
    estimatedNs: 5 * MS,
    actStartNs: 1 * MS,
    actEndNs: 2 * MS,
    arrivedNs: 3 * MS,
    activatedNs: 5 * MS,
    sentNs: 5 * MS,
    cues: 0,
    stateQualityRatio: 1,
    previousWorkNs: 0,
    chunkStateStampNs: 0.5 * MS,
  });
  // 0.02 rad in 5 ms is 4 rad/s: more than the joint's 3, and more than it can gain at once.
  expect(record[TickSlot.repairs]! & 6).toBe(6);
});

test("the record names the row that applied, and the reason when none did", () => {
  const rig = new Rig();
  rig.decide(0.25);
  rig.reasons(9);
  expect([rig.fact("row"), rig.fact("reason")]).toEqual([2, Reason.Ok]);
  rig.reasons(8);
  expect([rig.fact("seq"), rig.fact("reason")]).toEqual([0, Reason.NoAction]);
});

test("with nothing asked the record shows the command in its place", () => {
  const rig = new Rig();
  rig.tick();
  const { asked, command } = new TickView(rig.ticks.dump().at(-1)!, 1);
  expect([asked[0], command[0]]).toEqual([0.25, 0.25]);
});
