// The host's link against the chip's own core, in virtual time: the proof test from both ends, what
// the supervisor is told, and every way in which the line or the chip can fail.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EstopCause, EstopProof } from "../runtime/contracts/estop-codes.ts";
import { StatusReader, StatusWriter, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { EstopProblem } from "../safety/estop-link.ts";
import { Fault } from "../safety/faults.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { hasHostCompiler } from "./firmware-build.ts";

setDefaultTimeout(30_000); // the first of them compiles the core

const OPEN = 1 << Fault.EstopOpen;
const STOP = 1 << Fault.EstopStop;
const NOT_ARMED = 1 << Fault.EstopNotArmed;

/** A rig whose chip's statuses pass through `change` on their way to the host. */
function lyingRig(change: (status: EstopStatus) => void): LinkRig {
  const reader = new StatusReader(null);
  const writer = new StatusWriter(null);
  const status = new EstopStatus();
  const rig = new LinkRig();
  rig.hears = (bytes) => {
    const out: number[] = [];
    for (const byte of bytes) {
      if (reader.takeInto(status, byte) !== EstopVerdict.Good) continue;
      change(status);
      const wire = new Uint8Array(writer.wireSizeBytes);
      writer.writeInto(wire, status);
      out.push(...wire);
    }
    return Uint8Array.from(out);
  };
  return rig;
}

const chipTest = test.skipIf(!hasHostCompiler);

chipTest("from tripped through the proof test to armed, and no further without a person", () => {
  const rig = new LinkRig();
  rig.until(({ mode }) => mode === "WAIT_RESET");
  expect(rig.link.faultBits).toBe(NOT_ARMED);
  rig.run(400);
  expect(rig.mode).toBe("WAIT_RESET");
  rig.arm();
  expect(rig.modes).toEqual(["TRIPPED", "PROOF", "WAIT_RESET", "ARMED"]);
  expect(rig.link.faultBits).toBe(0);
  expect(rig.bench.outputBits).toBe(3);
  expect(rig.link).toMatchObject({ armedCount: 1, tripCount: 0, problem: EstopProblem.None });
  rig.run(2_000);
  expect(rig.mode).toBe("ARMED");
  expect(rig.link.status).toMatchObject({ failCount: 0, cause: EstopCause.None });
});

chipTest("the proof test never closes both outputs, and works with the long T_wd too", () => {
  const rig = new LinkRig(new CoreBench({ ...SHIPPED, silenceMs: 100 }));
  rig.until(({ mode }) => mode === "WAIT_RESET");
  expect(rig.bench.edges.map(({ outputBits }) => outputBits)).toEqual([1, 0, 2, 0]);
});

chipTest("a hung control: the chip cuts within T_wd + 1 ms, and the host says open", () => {
  const rig = new LinkRig().started().run(10);
  const lastUs = rig.nowUs + 500 + (rig.link.wireSizeBytesMax / 16) * 20;
  rig.isHung = true;
  rig.run(20);
  const edge = rig.bench.edges.at(-1)!;
  expect(edge.outputBits).toBe(0);
  expect(edge.atUs - lastUs).toBeGreaterThan(24_000);
  expect(edge.atUs - lastUs).toBeLessThanOrEqual(26_000);
  expect(rig.link.faultBits).toBe(OPEN);
  expect(rig.link).toMatchObject({ openCause: EstopCause.Silence, tripCount: 1 });
});

chipTest("after a cut only the proof test and a person close it again, and the cause stays", () => {
  const rig = new LinkRig().started();
  rig.isHung = true;
  rig.run(20);
  rig.isHung = false;
  rig.until(({ mode }) => mode === "WAIT_RESET");
  expect(rig.link).toMatchObject({ openCause: EstopCause.Silence, faultBits: OPEN });
  rig.arm();
  expect(rig.link).toMatchObject({ openCause: EstopCause.None, armedCount: 2, faultBits: 0 });
});

chipTest("the button stops at once for the host, and cuts after SS1-t", () => {
  const rig = new LinkRig().started();
  const pressedUs = rig.nowUs;
  rig.bench.switchBits = SWITCHES_AT_REST & ~3;
  rig.until(({ mode }) => mode !== "ARMED");
  expect(rig.nowUs - pressedUs).toBeLessThanOrEqual(15_000);
  expect(rig.mode).toBe("STOPPING");
  expect(rig.link.faultBits).toBe(STOP); // there is power to brake with
  expect(rig.bench.outputBits).toBe(3);
  rig.until(({ mode }) => mode === "TRIPPED");
  expect(rig.link).toMatchObject({ openCause: EstopCause.Button, faultBits: OPEN });
  expect(rig.nowUs - pressedUs).toBeLessThanOrEqual(320_000);
  expect(rig.nowUs - pressedUs).toBeGreaterThan(300_000);
});

chipTest(
  "a latched fault of a robot that doesn't obey asks for SS1-t once, where a cut is safe",
  () => {
    const rig = new LinkRig().started();
    rig.hostMode = Mode.FaultLatched;
    rig.wantsCut = true;
    rig.until(({ mode }) => mode === "STOPPING");
    expect([rig.bench.outputBits, rig.link.faultBits]).toEqual([3, STOP]);
    rig.until(({ mode }) => mode === "TRIPPED");
    expect(rig.link.openCause).toBe(EstopCause.StopRequest);
    // The latch lasts, and a person closes the e-stop again before it is reset.
    rig.arm().run(200);
    expect([rig.mode, rig.link.faultBits]).toEqual(["ARMED", 0]);
    rig.wantsCut = false;
    rig.run(2).wantsCut = true;
    rig.until(({ mode }) => mode === "STOPPING");

    const falling = new LinkRig(new CoreBench(), 300, { cutsOnFault: false }).started();
    falling.wantsCut = true;
    falling.run(200);
    expect(falling.mode).toBe("ARMED");
  },
);

chipTest("what trips before the run has left STARTING is armed again: not yet, no fault", () => {
  const rig = new LinkRig().arm();
  rig.isHung = true;
  rig.until(({ mode }) => mode === "TRIPPED");
  expect(rig.link).toMatchObject({ openCause: EstopCause.Silence, faultBits: NOT_ARMED });
  rig.isHung = false;
  rig.arm();
  expect(rig.link.faultBits).toBe(0);
  rig.isDeaf = true;
  rig.run(12);
  expect(rig.link).toMatchObject({ problem: EstopProblem.Silent, faultBits: NOT_ARMED });
  rig.run(600); // the start timeout
  expect(rig.link.faultBits).toBe(STOP);
});

chipTest("armed, but with its outputs open by bad answers, it is open for the host", () => {
  const rig = new LinkRig(new CoreBench({ ...SHIPPED, silenceMs: 100 })).started();
  rig.garbles = 6;
  rig.until(({ link }) => link.status.failCount === 6);
  expect([rig.bench.outputBits, rig.mode, rig.link.faultBits]).toEqual([0, "ARMED", OPEN]);
  rig.run(10);
  expect([rig.bench.outputBits, rig.link.faultBits]).toEqual([3, 0]);
});

chipTest("goodbye: disarmed, host_closed, no fault, no trip", () => {
  const rig = new LinkRig().started();
  expect(rig.mode).toBe("ARMED");
  rig.link.leave();
  rig.until(({ mode }) => mode === "DISARMED");
  expect(rig.link.status.cause).toBe(EstopCause.HostClosed);
  expect(rig.link).toMatchObject({ tripCount: 0, faultBits: 0 });
  rig.isHung = true;
  rig.run(100);
  expect(rig.modes.at(-1)).toBe("DISARMED");
  expect(rig.bench.outputBits).toBe(0);
});

chipTest(
  "a line that goes silent is a stop for the host within 50 ms, and heals when it speaks",
  () => {
    const rig = new LinkRig().started();
    rig.isDeaf = true;
    rig.run(10);
    expect(rig.link.faultBits).toBe(0);
    rig.run(1);
    expect(rig.link).toMatchObject({ problem: EstopProblem.Silent, faultBits: STOP });
    rig.run(10);
    rig.isDeaf = false;
    rig.run(2);
    expect(rig.link.problem).toBe(EstopProblem.None);
    expect(rig.link.faultBits).toBe(OPEN); // no fresh question, no good answer: the chip has cut
  },
);

chipTest("a chip that never spoke is not yet there, and open after three seconds", () => {
  const rig = new LinkRig();
  rig.isDeaf = true;
  rig.run(599);
  expect(rig.link).toMatchObject({ faultBits: NOT_ARMED, answersWanted: 0 });
  rig.run(2);
  expect(rig.link).toMatchObject({ faultBits: OPEN, problem: EstopProblem.Silent });
});

chipTest("a chip that starts anew is tripped, whatever it was", () => {
  const rig = new LinkRig().started();
  rig.bench.reset("watchdog");
  rig.run(3);
  expect(rig.link).toMatchObject({ rebootCount: 1, faultBits: OPEN, tripCount: 1 });
  expect(rig.link.openCause).toBe(EstopCause.Watchdog);
});

chipTest("a chip whose SS1-t is too short for the robot is never armed", () => {
  const rig = new LinkRig(new CoreBench(), 301).run(200);
  expect(rig.link).toMatchObject({ problem: EstopProblem.StopTooShort, faultBits: OPEN });
  expect(rig.mode).toBe("TRIPPED");
});

chipTest("a frame of the proof test that the line loses is sent again", () => {
  for (const step of [EstopProof.Wrong, EstopProof.Corrupt, EstopProof.Five]) {
    const rig = new LinkRig();
    rig.until(({ mode, link }) => mode === "PROOF" && link.status.proofStep === step);
    if (step === EstopProof.Five) rig.run(11); // until its wrong answers begin
    const before = rig.link.beatCount;
    rig.isCut = true;
    rig.run(2);
    rig.isCut = false;
    expect(rig.link.beatCount).toBeGreaterThan(before);
    rig.until(({ mode }) => mode === "WAIT_RESET");
    expect(rig.modes).toEqual(["TRIPPED", "PROOF", "WAIT_RESET"]); // in one go
  }
});

const lies: Readonly<Record<string, (status: EstopStatus) => void>> = {
  "another verdict": (status) => {
    if (status.lastBad === EstopVerdict.Wrong) status.lastBad = EstopVerdict.Late;
  },
  "bad answers it never counted": (status) => {
    if (status.proofStep >= EstopProof.Burst) status.badCount += 1;
  },
  "a step that it left out": (status) => {
    if (status.proofStep === EstopProof.Corrupt) status.proofStep = EstopProof.Burst;
  },
  "a trip that it doesn't show": (status) => {
    status.outputs &= 3;
  },
};
for (const [name, change] of Object.entries(lies)) {
  chipTest(`a chip that echoes ${name} fails the proof test, and the third time for good`, () => {
    const rig = lyingRig(change).run(300);
    expect(rig.link).toMatchObject({ problem: EstopProblem.None, faultBits: NOT_ARMED });
    rig.run(1_700);
    expect(rig.link).toMatchObject({ problem: EstopProblem.ProofEcho, faultBits: OPEN });
  });
}

chipTest(
  "a proof test that times out three times is given up, until a person wants it again",
  () => {
    const rig = lyingRig((status) => {
      status.proofStep = EstopProof.Wrong;
    });
    rig.run(1_900);
    expect(rig.modes.filter((mode) => mode === "PROOF").length).toBe(3);
    expect(rig.link).toMatchObject({ problem: EstopProblem.ProofFailed, faultBits: OPEN });
    rig.link.proveAgain();
    rig.run(20);
    expect(rig.mode).toBe("PROOF");
  },
);

chipTest("a contact that doesn't follow trips the chip in the proof test, and is named", () => {
  const rig = new LinkRig();
  rig.bench.relays.stuckOpen = 2;
  rig.until(({ mode }) => mode === "PROOF");
  rig.until(({ mode }) => mode === "TRIPPED");
  expect(rig.link.openCause).toBe(EstopCause.StuckOpenB);
});

chipTest(
  "a line that is gone stops the robot in the next tick, and no proof test brings it back",
  () => {
    const rig = new LinkRig().started();
    rig.link.lineGone();
    expect(rig.link.faultBits).toBe(STOP); // the last status said that there is power to brake with
    rig.link.proveAgain();
    expect([rig.link.problem, rig.link.faultBits]).toEqual([EstopProblem.Gone, STOP]);
    const early = new LinkRig().run(20);
    early.link.lineGone();
    expect(early.link.faultBits).toBe(OPEN); // not "not yet": it never comes
  },
);
