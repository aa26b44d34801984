// Scenarios of a person at the supervisor: stop, reset and start in every mode and in every order.
// No order of acts but reset, then start, may end in motion after a stop.

import { expect, test } from "bun:test";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { Fault } from "./faults.ts";
import { SupervisorRig, running } from "./supervisor-rig.ts";

test("a stop is known at once, stops in its step from every moving or waiting mode", () => {
  for (const cue of [OperatorCue.Stop, OperatorCue.Shutdown]) {
    const rig = new SupervisorRig().running().cue(cue);
    expect(rig.supervisor.stopRequested).toBe(true);
    expect(rig.step().answers).toEqual({
      mode: "SAFE_STOP",
      allowsMotion: false,
      stopRequested: true,
      epochRaised: true,
      started: false,
      activeFaults: 1 << Fault.OperatorStop,
    });
    expect(rig.path).toBe("STARTING RUNNING SAFE_STOP");
  }
  expect(new SupervisorRig().cue(OperatorCue.Stop).step().path).toBe("STARTING SAFE_STOP");
  const degraded = new SupervisorRig().running().step(Reason.NoAction).cue(OperatorCue.Stop).step();
  expect(degraded.path).toBe("STARTING RUNNING DEGRADED SAFE_STOP");
  const recover = new SupervisorRig()
    .stopped()
    .cue(OperatorCue.Reset)
    .step()
    .cue(OperatorCue.Stop)
    .step();
  expect(recover.path).toBe("STARTING RUNNING SAFE_STOP RECOVER SAFE_STOP");
  expect(recover.supervisor.epochRaised).toBe(true);
});

test("a stop stays and never latches, however long nobody comes", () => {
  const rig = new SupervisorRig().stopped().last(3_600_000);
  expect(rig.mode).toBe("SAFE_STOP");
  expect(rig.supervisor.stopRequested).toBe(true);
  expect(rig.cue(OperatorCue.Stop).step().mode).toBe("SAFE_STOP");
});

test("a person may stop as often as they like: their stops are no relapse", () => {
  const rig = new SupervisorRig().running();
  for (let round = 0; round < 10; round += 1) {
    rig.cue(OperatorCue.Stop).step().cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step();
  }
  expect(rig.mode).toBe("RUNNING");
});

test("a reset leads to RECOVER and never moves; a start leads on and voids what was", () => {
  const rig = new SupervisorRig().stopped().cue(OperatorCue.Reset).step();
  expect(rig.answers).toEqual({ ...running, mode: "RECOVER", allowsMotion: false });
  expect(rig.last(60_000).mode).toBe("RECOVER");
  expect(rig.running().answers).toEqual({ ...running, epochRaised: true, started: true });
});

test("a reset and a start in one step never add up to motion, whichever came first", () => {
  for (const cues of [
    [OperatorCue.Reset, OperatorCue.Start],
    [OperatorCue.Start, OperatorCue.Reset],
  ] as const) {
    const rig = new SupervisorRig()
      .stopped()
      .cue(...cues)
      .step();
    expect(rig.mode).toBe("RECOVER");
    expect(rig.supervisor.refusedStarts).toBe(1);
    expect(rig.last(1_000).mode).toBe("RECOVER");
  }
});

test("a stop in the step of a reset wins, whichever came first, also over an older stop", () => {
  for (const cues of [
    [OperatorCue.Reset, OperatorCue.Stop],
    [OperatorCue.Stop, OperatorCue.Reset],
  ] as const) {
    const rig = new SupervisorRig()
      .stopped()
      .cue(...cues)
      .step();
    expect(rig.answers.mode).toBe("SAFE_STOP");
    expect(rig.supervisor.stopRequested).toBe(true);
    expect(rig.supervisor.refusedResets).toBe(1);
    expect(rig.cue(OperatorCue.Reset).step().mode).toBe("RECOVER");
  }
});

test("a stop in the step in which a fault is held is the person's: no relapse", () => {
  const rig = new SupervisorRig({ relapseCount: 1 }).running().raise(Fault.Suspended);
  expect(rig.cue(OperatorCue.Stop).step().mode).toBe("SAFE_STOP");
});

test("a stop in the step of a start wins", () => {
  const rig = new SupervisorRig().stopped().cue(OperatorCue.Reset).step();
  expect(rig.cue(OperatorCue.Start, OperatorCue.Stop).step().mode).toBe("SAFE_STOP");
});

test("a reset is an edge: one that came too early does not wait for the fault to end", () => {
  const rig = new SupervisorRig().running().last(200, Reason.StaleState);
  rig.cue(OperatorCue.Reset).step(Reason.StaleState);
  expect([rig.mode, rig.supervisor.refusedResets]).toEqual(["SAFE_STOP", 1]);
  expect(rig.last(100).mode).toBe("SAFE_STOP");
  expect(rig.cue(OperatorCue.Reset).step().mode).toBe("RECOVER");
});

test("a reset where there is nothing to reset changes nothing and is not refused", () => {
  const rig = new SupervisorRig()
    .cue(OperatorCue.Reset)
    .step()
    .running()
    .cue(OperatorCue.Reset)
    .step();
  expect(rig.path).toBe("STARTING RUNNING");
  expect(rig.supervisor.refusedResets).toBe(0);
});

test("a start in SAFE_STOP and in the latch is refused, counted and not remembered", () => {
  const rig = new SupervisorRig().stopped().cue(OperatorCue.Start).step();
  expect([rig.mode, rig.supervisor.refusedStarts]).toEqual(["SAFE_STOP", 1]);
  expect(rig.cue(OperatorCue.Reset).last(1_000).mode).toBe("RECOVER");
  const latched = new SupervisorRig()
    .running()
    .raise(Fault.DriverLost)
    .step()
    .cue(OperatorCue.Start)
    .step();
  expect([latched.mode, latched.supervisor.refusedStarts]).toEqual(["FAULT_LATCHED", 1]);
});

test("a start while running is no second start", () => {
  const rig = new SupervisorRig().running().cue(OperatorCue.Start).step();
  expect(rig.answers).toEqual(running);
  expect(rig.supervisor.refusedStarts).toBe(0);
});

test("at rest a missing decision is no fault, and a dead policy stops the robot again", () => {
  const rig = new SupervisorRig().following().last(500, Reason.NoAction);
  expect(rig.last(5_000, Reason.NoAction).mode).toBe("SAFE_STOP");
  expect(rig.cue(OperatorCue.Reset).step(Reason.NoAction).mode).toBe("RECOVER");
  expect(rig.last(5_000, Reason.NoAction).mode).toBe("RECOVER");
  rig.cue(OperatorCue.Start).step(Reason.NoAction);
  expect(rig.answers).toEqual({
    mode: "DEGRADED",
    allowsMotion: false,
    stopRequested: false,
    epochRaised: true,
    started: true,
    activeFaults: 1 << Fault.NoAction,
  });
  expect(rig.last(990, Reason.NoAction).mode).toBe("DEGRADED");
  expect(rig.step(Reason.NoAction).mode).toBe("SAFE_STOP");
});

test("in any history, motion after a stop took a reset and then a start, each a new act", () => {
  const random = new SeededRandom(11);
  const acts = [OperatorCue.Stop, OperatorCue.Reset, OperatorCue.Start, OperatorCue.PolicyLost];
  const reasons = [Reason.Ok, Reason.Ok, Reason.Ok, Reason.NoAction, Reason.StaleState];
  let restarts = 0;
  for (let life = 0; life < 200; life += 1) {
    const rig = new SupervisorRig();
    let acted = ""; // what a person has done since the robot was stopped
    for (let tick = 0; tick < 300; tick += 1) {
      const given = acts.filter(() => random.next() < 0.05);
      const reason = reasons[Math.floor(random.next() * reasons.length)]!;
      const before = rig.mode;
      rig.cue(...given).step(reason);
      if (given.includes(OperatorCue.Start)) acted += " start";
      if (given.includes(OperatorCue.Reset)) acted += " reset";
      const restarted = rig.supervisor.started && before !== "STARTING";
      if (restarted) {
        expect(acted).toMatch(/ reset.* start/);
        restarts += 1;
      }
      const stopped = rig.mode === "SAFE_STOP" || rig.mode === "FAULT_LATCHED";
      if (stopped && before !== rig.mode) acted = "";
      if (rig.supervisor.allowsMotion) expect(["RUNNING", "DEGRADED"]).toContain(rig.mode);
    }
  }
  expect(restarts).toBeGreaterThan(100);
});

test("a start is remembered in STARTING alone, until nothing is missing", () => {
  const rig = new SupervisorRig().step(Reason.StaleState);
  expect(rig.supervisor.remembersStart).toBe(false);
  rig.cue(OperatorCue.Start).step(Reason.StaleState);
  expect([rig.mode, rig.supervisor.remembersStart]).toEqual(["STARTING", true]);
  rig.step();
  expect([rig.mode, rig.supervisor.remembersStart]).toEqual(["RUNNING", false]);
});
