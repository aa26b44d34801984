// Scenarios of the supervisor: how it starts, how faults are counted, stop the robot and latch.
// Time is virtual, a tick every 5 ms; each limit is tested on both of its sides.

import { expect, test } from "bun:test";
import { AssertionError } from "../runtime/contracts/assert.ts";
import { Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { milliseconds } from "../runtime/contracts/units.ts";
import { Fault, FAULT_COUNT } from "./faults.ts";
import { PERIOD_NS, SupervisorRig, running } from "./supervisor-rig.ts";
import { PATH_LENGTH_MAX } from "./supervisor.ts";

test("a start in STARTING is remembered until nothing is missing, and then counts once", () => {
  const rig = new SupervisorRig().cue(OperatorCue.Start).last(1_000, Reason.StaleState);
  expect(rig.answers).toEqual({
    mode: "STARTING",
    allowsMotion: false,
    stopRequested: false,
    epochRaised: false,
    started: false,
    activeFaults: 1 << Fault.StaleState,
  });
  expect(rig.step(Reason.NoAction).answers.activeFaults).toBe(1 << Fault.NoAction);
  rig.step();
  expect(rig.answers).toEqual({ ...running, epochRaised: true, started: true });
  expect(rig.step().answers).toEqual(running);
});

test("a start that comes when all is there counts in that very step", () => {
  expect(new SupervisorRig().last(20).running().answers).toEqual({
    ...running,
    epochRaised: true,
    started: true,
  });
});

test("without a start, STARTING waits for a person for as long as it takes", () => {
  const rig = new SupervisorRig().last(60_000);
  expect([rig.path, rig.supervisor.activeFaults]).toEqual(["STARTING", 0]);
});

test("what is missing in STARTING is no fault until the start timeout, to the tick", () => {
  const rig = new SupervisorRig().cue(OperatorCue.Start).last(9_995, Reason.NoAction);
  expect(rig.path).toBe("STARTING");
  expect(rig.step(Reason.NoAction).path).toBe("STARTING SAFE_STOP");
  expect(rig.supervisor.epochRaised).toBe(true);
});

test("before the first step nothing moves, nothing was voided and nothing is active", () => {
  expect(new SupervisorRig().answers).toEqual({
    ...running,
    mode: "STARTING",
    allowsMotion: false,
  });
  expect(new SupervisorRig().supervisor.latchedBy).toBe(-1);
});

test("the start timeout counts from the first step, whenever that is", () => {
  const rig = new SupervisorRig();
  rig.nowNs = milliseconds(3_600_000);
  expect(rig.last(9_995, Reason.StaleState).mode).toBe("STARTING");
  expect(rig.step(Reason.StaleState).mode).toBe("SAFE_STOP");
});

test("the start timeout counts from when something went missing", () => {
  const rig = new SupervisorRig().last(60_000).last(9_990, Reason.StaleState);
  expect(rig.path).toBe("STARTING");
  expect(rig.last(10, Reason.StaleState).path).toBe("STARTING SAFE_STOP");
});

test("a fault of the runtime keeps STARTING waiting, though the reason is Ok", () => {
  const rig = new SupervisorRig().raise(Fault.ControlMissed).cue(OperatorCue.Start).step();
  expect(rig.mode).toBe("STARTING");
  expect(rig.step().mode).toBe("RUNNING");
});

test("a start is forgotten by a stop, by a timeout, and is no start after a reset", () => {
  const rig = new SupervisorRig()
    .cue(OperatorCue.Start)
    .step(Reason.NoAction)
    .cue(OperatorCue.Stop)
    .step();
  expect(rig.mode).toBe("SAFE_STOP");
  expect(rig.cue(OperatorCue.Reset).step().mode).toBe("RECOVER");
  expect(rig.last(1_000).mode).toBe("RECOVER");
  const late = new SupervisorRig().cue(OperatorCue.Start).last(10_000, Reason.NoAction);
  expect(late.cue(OperatorCue.Reset).last(1_000).mode).toBe("RECOVER");
});

test("a robot may begin in RUNNING, where nothing was voided and nothing re-arms", () => {
  expect(new SupervisorRig({ startsIn: "Running" }).step().answers).toEqual(running);
});

test("DEGRADED raises no epoch and ends in the first tick whose reason is Ok", () => {
  const rig = new SupervisorRig().running().step(Reason.NoAction);
  expect(rig.answers).toEqual({
    ...running,
    mode: "DEGRADED",
    allowsMotion: false,
    activeFaults: 1 << Fault.NoAction,
  });
  expect(rig.step().answers).toEqual(running);
});

test("a fault is held at its persistence, to the tick, and its stop voids what was decided", () => {
  const rig = new SupervisorRig().following().last(495, Reason.NoAction);
  expect(rig.mode).toBe("DEGRADED");
  rig.step(Reason.NoAction);
  expect(rig.answers).toEqual({
    mode: "SAFE_STOP",
    allowsMotion: false,
    stopRequested: false,
    epochRaised: true,
    started: false,
    activeFaults: 1 << Fault.NoAction,
  });
  expect(rig.step(Reason.NoAction).supervisor.epochRaised).toBe(false);
  expect(new SupervisorRig().running().last(195, Reason.StaleState).mode).toBe("DEGRADED");
  expect(new SupervisorRig().running().last(200, Reason.StaleState).mode).toBe("SAFE_STOP");
});

test("every reason counts by the persistence of its row", () => {
  const atMs = (reason: Reason) => {
    const rig = new SupervisorRig().running();
    const fromNs = rig.nowNs;
    while (rig.mode !== "SAFE_STOP") rig.step(reason);
    return (rig.nowNs - PERIOD_NS - fromNs) / 1e6;
  };
  expect(atMs(Reason.StampInFuture)).toBe(200);
  expect(atMs(Reason.LowQuality)).toBe(200);
  expect(atMs(Reason.SchemaMismatch)).toBe(500);
  expect(atMs(Reason.WidthMismatch)).toBe(500);
  expect(atMs(Reason.NotFinite)).toBe(500);
  expect(atMs(Reason.StartMismatch)).toBe(500);
});

test("of several faults that stop at once, a stop's is the cause, whatever its place", () => {
  const rig = new SupervisorRig().following();
  for (let stop = 0; stop < 3; stop += 1) {
    rig.last(495, Reason.NoAction).step(Reason.NoAction, 1 << Fault.FollowingError);
    expect(rig.mode).toBe(stop < 2 ? "SAFE_STOP" : "FAULT_LATCHED");
    if (stop < 2) rig.step().cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step().step();
  }
  expect(rig.supervisor.latchedBy).toBe(Fault.FollowingError);
});

test("after a start the first decision may take 1 s, each later one its persistence", () => {
  const rig = new SupervisorRig().running().last(995, Reason.NoAction);
  expect(rig.mode).toBe("DEGRADED");
  expect(rig.step(Reason.NoAction).path).toBe("STARTING RUNNING DEGRADED SAFE_STOP");
  const again = rig.cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step();
  expect(again.last(995, Reason.NoAction).mode).toBe("DEGRADED");
  expect(again.step().mode).toBe("RUNNING"); // that wait is forgiven
  expect(again.last(495, Reason.NoAction).mode).toBe("DEGRADED");
  expect(again.step(Reason.NoAction).mode).toBe("SAFE_STOP");
});

test("after a start only a missing decision is waited for, and only until another reason", () => {
  const started = (): SupervisorRig => new SupervisorRig().running();
  expect(started().last(200, Reason.StaleState).mode).toBe("SAFE_STOP");
  expect(started().last(500, Reason.NotFinite).mode).toBe("SAFE_STOP");
  const refused = started().last(400, Reason.NoAction).step(Reason.StaleState);
  expect(refused.last(200, Reason.NoAction).mode).toBe("SAFE_STOP");
  const lost = started().last(100, Reason.NoAction);
  for (let tick = 0; tick <= 100; tick += 1) lost.raise(Fault.PolicyLost).step(Reason.NoAction);
  expect(lost.mode).toBe("SAFE_STOP");
});

test("a robot that begins in RUNNING was started by nobody: no decision is waited for", () => {
  const rig = new SupervisorRig({ startsIn: "Running" }).last(495, Reason.NoAction);
  expect(rig.mode).toBe("DEGRADED");
  expect(rig.step(Reason.NoAction).mode).toBe("SAFE_STOP");
});

test("a pause in a fault is forgiven at half the speed at which it counts", () => {
  const rig = new SupervisorRig().following().last(300, Reason.NoAction); // 300 ms held
  rig.last(200); // 5 ms more until the first healthy tick, whose 40 successors forgive 100 ms
  const fromNs = rig.nowNs;
  while (rig.mode !== "SAFE_STOP") rig.step(Reason.NoAction);
  // 2.5 ms more are forgiven: 202.5 ms are held, and 297.5 ms are missing, which is 60 periods.
  expect((rig.nowNs - PERIOD_NS - fromNs) / 1e6).toBe(300);
});

test("a flickering fault stops the robot when it is there over a third of the time", () => {
  const modeAfter = (bad: number, good: number) => {
    const rig = new SupervisorRig().running();
    for (let tick = 0; tick < 10_000 && rig.mode !== "SAFE_STOP"; tick += 1) {
      rig.step(tick % (bad + good) < bad ? Reason.StaleState : Reason.Ok);
    }
    return rig.mode;
  };
  expect(modeAfter(1, 1)).toBe("SAFE_STOP");
  expect(modeAfter(2, 2)).toBe("SAFE_STOP");
  expect(modeAfter(3, 5)).toBe("SAFE_STOP");
  expect(modeAfter(1, 3)).toBe("RUNNING");
});

test("a fault that is long over is forgiven whole, and never more than whole", () => {
  const rig = new SupervisorRig()
    .following()
    .last(400, Reason.NoAction)
    .last(5_000)
    .last(495, Reason.NoAction);
  expect(rig.mode).toBe("DEGRADED");
  expect(rig.step(Reason.NoAction).mode).toBe("SAFE_STOP");
});

test("a gap in time before a fault does not count against it", () => {
  const rig = new SupervisorRig().running();
  rig.nowNs += milliseconds(2_000);
  expect(rig.step(Reason.NoAction).mode).toBe("DEGRADED");
});

test("a fault in STARTING does not shorten its patience in RUNNING", () => {
  const rig = new SupervisorRig().cue(OperatorCue.Start).last(400, Reason.StaleState).step();
  expect(rig.last(195, Reason.StaleState).mode).toBe("DEGRADED");
});

test("a fault of the robot in RECOVER takes the start back", () => {
  const rig = new SupervisorRig().stopped().cue(OperatorCue.Reset).step();
  rig.cue(OperatorCue.Start).step(Reason.StaleState);
  expect([rig.mode, rig.supervisor.refusedStarts]).toEqual(["SAFE_STOP", 1]);
  expect(rig.supervisor.epochRaised).toBe(true);
});

test("a sensor that stays dead latches after SAFE_STOP's own patience", () => {
  const rig = new SupervisorRig().running().last(200, Reason.StaleState);
  expect(rig.last(490, Reason.StaleState).mode).toBe("SAFE_STOP");
  rig.step(Reason.StaleState);
  expect([rig.mode, rig.supervisor.latchedBy]).toEqual(["FAULT_LATCHED", Fault.StaleState]);
  expect(rig.supervisor.epochRaised).toBe(false); // SAFE_STOP has raised it already
  expect(rig.cue(OperatorCue.Reset).step(Reason.StaleState).mode).toBe("FAULT_LATCHED");
  expect(rig.cue(OperatorCue.Reset).step().mode).toBe("RECOVER");
  expect(rig.supervisor.latchedBy).toBe(-1);
});

test("a long persistence in the profile is also SAFE_STOP's patience", () => {
  const rig = new SupervisorRig({ staleStatePersistNs: milliseconds(800) }).running();
  rig.last(800, Reason.StaleState);
  expect(rig.last(790, Reason.StaleState).mode).toBe("SAFE_STOP");
  expect(rig.step(Reason.StaleState).mode).toBe("FAULT_LATCHED");
});

test("three stops by faults within the window latch; the third one tells its fault", () => {
  const rig = new SupervisorRig().running();
  const fail = () => rig.last(200, Reason.StaleState);
  const rearm = () => rig.step().cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step();
  fail();
  rearm();
  fail();
  expect(rig.mode).toBe("SAFE_STOP");
  rearm();
  fail();
  expect([rig.mode, rig.supervisor.latchedBy]).toEqual(["FAULT_LATCHED", Fault.StaleState]);
  expect(rig.supervisor.epochRaised).toBe(true);
  expect(rig.path.endsWith("DEGRADED SAFE_STOP FAULT_LATCHED")).toBe(true);
  // A person has looked at it: counting begins anew.
  rearm();
  fail();
  expect(rig.mode).toBe("SAFE_STOP");
});

test("it tells how long a fault has lasted, and how often faults have stopped it", () => {
  const rig = new SupervisorRig().following().step(Reason.StaleState);
  const lasted = (): number => rig.supervisor.heldNs(Fault.StaleState) / 1e6;
  expect([lasted(), rig.supervisor.relapses]).toEqual([0, 0]);
  rig.step(Reason.StaleState).step(Reason.StaleState);
  expect(lasted()).toBe(10);
  rig.step().step();
  expect(lasted()).toBe(12.5); // the last bad tick counts, the good one is forgiven by half
  for (const stops of [1, 2, 3]) {
    rig.raise(Fault.Suspended).step();
    expect(rig.supervisor.relapses).toBe(stops);
    rig.step().cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step();
  }
  expect(rig.supervisor.relapses).toBe(0);
});

test("stops further apart than the window are no relapse, to the tick", () => {
  const stopAt = (lastGapNs: number) => {
    const rig = new SupervisorRig().running();
    for (const gapNs of [milliseconds(30_000), lastGapNs, 0]) {
      rig.raise(Fault.Suspended).step();
      const sinceNs = rig.nowNs - PERIOD_NS;
      rig.cue(OperatorCue.Reset).step().cue(OperatorCue.Start).step();
      if (gapNs > 0) rig.nowNs = sinceNs + gapNs;
    }
    return rig.path.includes("FAULT_LATCHED");
  };
  expect(stopAt(milliseconds(30_000))).toBe(false);
  expect(stopAt(milliseconds(30_000) - 1)).toBe(true);
});

test("a lost driver latches at once, from every mode, and no reset clears it", () => {
  const makers = [
    () => new SupervisorRig().step(),
    () => new SupervisorRig().running(),
    () => new SupervisorRig().running().step(Reason.NoAction),
    () => new SupervisorRig().stopped(),
    () => new SupervisorRig().stopped().cue(OperatorCue.Reset).step(),
  ];
  for (const make of makers) {
    const rig = make().cue(OperatorCue.DriverLost).step();
    expect([rig.mode, rig.supervisor.latchedBy]).toEqual(["FAULT_LATCHED", Fault.DriverLost]);
    expect(rig.last(1_000).cue(OperatorCue.Reset).step().mode).toBe("FAULT_LATCHED");
    expect(rig.supervisor.refusedResets).toBe(1);
  }
  const direct = new SupervisorRig().running().raise(Fault.DriverLost).step();
  expect(direct.path).toBe("STARTING RUNNING SAFE_STOP FAULT_LATCHED");
  expect(direct.supervisor.epochRaised).toBe(true);
  const recover = new SupervisorRig()
    .stopped()
    .cue(OperatorCue.Reset)
    .step()
    .raise(Fault.DriverLost)
    .step();
  expect(recover.supervisor.epochRaised).toBe(true);
});

test("a fault that persists at once stops in its own step, by the worst row of several", () => {
  for (const fault of [Fault.ControlMissed, Fault.Suspended]) {
    expect(new SupervisorRig().running().raise(fault).step().path).toBe(
      "STARTING RUNNING SAFE_STOP",
    );
  }
  const gate = new SupervisorRig().running().step(Reason.Ok, 1 << Fault.FollowingError);
  expect(gate.path).toBe("STARTING RUNNING SAFE_STOP");
  expect(gate.supervisor.activeFaults).toBe(1 << Fault.FollowingError);
  const worst = new SupervisorRig().following().last(495, Reason.NoAction).raise(Fault.DriverLost);
  expect(worst.step(Reason.NoAction).supervisor.latchedBy).toBe(Fault.DriverLost);
});

test("a suspend is one event: it does not latch, and a reset counts after it", () => {
  const rig = new SupervisorRig().running().raise(Fault.Suspended).step().last(5_000);
  expect(rig.mode).toBe("SAFE_STOP");
  expect(rig.cue(OperatorCue.Reset).step().mode).toBe("RECOVER");
});

test("a following error that stays while stopped latches", () => {
  const rig = new SupervisorRig().running().last(500, Reason.Ok, 1 << Fault.FollowingError);
  expect([rig.mode, rig.supervisor.latchedBy]).toEqual(["FAULT_LATCHED", Fault.FollowingError]);
});

test("when two faults are held at once, the worse one is the cause", () => {
  const rig = new SupervisorRig({ relapseCount: 1, noActionPersistNs: milliseconds(0) }).running();
  rig.raise(Fault.Suspended).step(Reason.NoAction);
  expect(rig.supervisor.latchedBy).toBe(Fault.Suspended);
});

test("a late tick and a lost policy degrade without taking motion, until they persist", () => {
  const late = new SupervisorRig().running().raise(Fault.ControlLate).step();
  expect(late.answers).toEqual({
    ...running,
    mode: "DEGRADED",
    activeFaults: 1 << Fault.ControlLate,
  });
  expect(late.step().answers).toEqual(running);
  for (let tick = 0; tick <= 40; tick += 1) late.raise(Fault.ControlLate).step();
  expect(late.mode).toBe("SAFE_STOP");
  const lost = new SupervisorRig().running().cue(OperatorCue.PolicyLost).step();
  expect([lost.mode, lost.supervisor.allowsMotion]).toEqual(["DEGRADED", true]);
});

test("a slow policy leaves reduced motion and never escalates by itself", () => {
  const rig = new SupervisorRig().running();
  for (let tick = 0; tick < 20_000; tick += 1) rig.raise(Fault.PolicySlow).step();
  expect([rig.mode, rig.supervisor.allowsMotion]).toEqual(["DEGRADED", true]);
});

test("a warning is shown and changes nothing", () => {
  const rig = new SupervisorRig().running().cue(OperatorCue.MainSlow).step();
  expect(rig.answers).toEqual({ ...running, activeFaults: 1 << Fault.MainSlow });
  const recover = new SupervisorRig().stopped().cue(OperatorCue.MainSlow, OperatorCue.Reset).step();
  expect(recover.cue(OperatorCue.MainSlow, OperatorCue.Start).step().mode).toBe("RUNNING");
});

test("the path keeps its first changes and counts the rest", () => {
  const rig = new SupervisorRig().running();
  for (let tick = 0; tick < PATH_LENGTH_MAX; tick += 1) {
    if (tick % 2 === 0) rig.raise(Fault.PolicySlow);
    rig.step();
  }
  const { path, pathDropped, pathLength } = rig.supervisor;
  expect({ pathLength, pathDropped }).toEqual({ pathLength: PATH_LENGTH_MAX, pathDropped: 2 });
  expect(path[pathLength - 1]).toBe(Mode.Running);
});

test("our own mistakes end the thread", () => {
  const rig = new SupervisorRig().step();
  rig.nowNs = 0;
  rig.step();
  rig.nowNs = -1;
  expect(() => rig.step()).toThrow(new AssertionError("Assertion failed: time never goes back"));
  expect(() => rig.cue(OperatorCue.Stop)).toThrow("a cue comes after the last step");
  rig.nowNs = 0;
  expect(() => rig.cue(10 as OperatorCue)).toThrow("the cue is known");
  expect(() => rig.raise(FAULT_COUNT as Fault)).toThrow("the fault has a row");
  expect(() => rig.step(Reason.Ok, 1 << FAULT_COUNT)).toThrow("every gate fault has a row");
  expect(() => new SupervisorRig({ relapseCount: 0 })).toThrow("relapses are counted from 1");
  expect(() => new SupervisorRig({ startTimeoutNs: milliseconds(0) })).toThrow("the start timeout");
});

const late = 1 << Fault.WorldLate;

test("a stale state that a late world explains holds while it lasts, and stops nothing", () => {
  const rig = new SupervisorRig().running().last(30_000, Reason.StaleState, late);
  expect(rig.answers).toEqual({
    ...running,
    mode: "DEGRADED",
    allowsMotion: false,
    activeFaults: late,
  });
  expect(rig.step().answers).toEqual(running);
});

test("a late world explains nothing but a stale state", () => {
  for (const reason of [Reason.LowQuality, Reason.StampInFuture]) {
    const rig = new SupervisorRig().running().last(200, reason, late);
    expect([rig.mode, rig.supervisor.activeFaults & ~late]).not.toEqual(["DEGRADED", 0]);
    expect(rig.mode).toBe("SAFE_STOP");
  }
});

test("a person may reset and start while the world is late; nothing moves before it is not", () => {
  const rig = new SupervisorRig().stopped().cue(OperatorCue.Reset).step(Reason.StaleState, late);
  expect(rig.last(1_000, Reason.StaleState, late).mode).toBe("RECOVER");
  rig.cue(OperatorCue.Start).step(Reason.StaleState, late);
  expect([rig.mode, rig.answers.allowsMotion]).toEqual(["DEGRADED", false]);
});

test("a lost world in STARTING or RECOVER needs a person, and voids a start given before", () => {
  for (const fault of [Fault.ControlAway, Fault.Suspended]) {
    const starting = new SupervisorRig().cue(OperatorCue.Start).step(Reason.StaleState);
    starting.raise(fault).step(Reason.StaleState).last(100);
    expect(starting.path).toBe("STARTING SAFE_STOP");
    const recovering = new SupervisorRig().stopped().cue(OperatorCue.Reset).step();
    recovering.raise(fault).cue(OperatorCue.Start).step();
    expect(recovering.mode).toBe("SAFE_STOP");
    const resetting = new SupervisorRig().stopped().raise(fault).cue(OperatorCue.Reset).step();
    expect([resetting.mode, resetting.supervisor.refusedResets]).toEqual(["SAFE_STOP", 1]);
  }
});
