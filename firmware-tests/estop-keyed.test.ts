// A keyed e-stop line: both ends with the same key arm as without one; with another key, or a key
// on one side only, neither end takes a frame of the other, and the host says why. The chip is its
// core on this machine, in virtual time.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EstopBuild, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerReader, EstopAnswer } from "../runtime/contracts/estop-frame.ts";
import { EstopView } from "../hal/ffi/estop-core.ts";
import { EstopProblem, estopProblemNames } from "../safety/estop-link.ts";
import { Fault } from "../safety/faults.ts";
import { answerFrame, asking, goodWire, stuffed, vectorKey } from "./estop-asking.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";
import { answerOf } from "./estop-host.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { hasHostCompiler } from "./firmware-build.ts";
import vectors from "./vectors/estop-frames.json";

setDefaultTimeout(30_000); // the first of them compiles the core

const chipTest = test.skipIf(!hasHostCompiler);
const OPEN = 1 << Fault.EstopOpen;
const STOP = 1 << Fault.EstopStop;
const otherKey = vectorKey.map((byte) => byte ^ 0x80);

const keyedRig = (chipKey: Uint8Array | null, hostKey: Uint8Array | null): LinkRig =>
  new LinkRig(new CoreBench(SHIPPED, 0, chipKey), 300, { key: hostKey });

chipTest("with one key on both ends the proof test passes, the outputs close, and stay so", () => {
  const rig = keyedRig(vectorKey, vectorKey).arm().run(2_000);
  expect([rig.mode, rig.bench.outputBits, rig.link.faultBits]).toEqual(["ARMED", 3, 0]);
  expect(rig.link.status).toMatchObject({ failCount: 0 });
  expect(rig.link.status.build & EstopBuild.Keyed).toBe(EstopBuild.Keyed);
});

const strangers: readonly [string, Uint8Array | null, Uint8Array | null][] = [
  ["another key", otherKey, vectorKey],
  ["no key", null, vectorKey],
  ["a key that the host has not", vectorKey, null],
];
for (const [name, chipKey, hostKey] of strangers) {
  chipTest(`a chip with ${name} is open for the host by name, and closes nothing`, () => {
    const rig = keyedRig(chipKey, hostKey).run(4);
    expect(estopProblemNames[rig.link.problem]).toBe("other_key");
    rig.run(1_000);
    expect(rig.link).toMatchObject({ statusCount: 0, faultBits: OPEN, beatCount: 0 });
    expect(rig.link.problem).toBe(EstopProblem.OtherKey);
    expect(rig.bench.edges).toEqual([]);
  });
}

chipTest("a line that was silent and then speaks without tags has another key", () => {
  const rig = keyedRig(vectorKey, vectorKey).arm();
  rig.isDeaf = true;
  rig.run(12);
  expect(rig.link.problem).toBe(EstopProblem.Silent);
  rig.isDeaf = false;
  rig.hears = () => Uint8Array.from(Buffer.from(vectors.statuses[0]!.wire, "hex"));
  rig.run(1);
  expect(rig.link.problem).toBe(EstopProblem.OtherKey);
});

chipTest("noise and broken frames don't look like another key", () => {
  const rig = keyedRig(vectorKey, vectorKey).arm();
  rig.hears = (bytes) => bytes.map((byte, at) => (at === 20 && byte > 1 ? byte ^ 1 : byte));
  rig.run(5);
  expect(rig.link.brokenCount).toBeGreaterThan(0);
  expect(rig.link.problem).toBe(EstopProblem.None);
});

chipTest("a frame without a tag in between is told, and does not count", () => {
  const rig = keyedRig(vectorKey, vectorKey).started();
  const plain = Uint8Array.from(Buffer.from(vectors.statuses[0]!.wire, "hex"));
  rig.hears = (bytes) => Uint8Array.from([...bytes, ...plain]);
  rig.run(1);
  // The outputs are still closed: there is power to brake with.
  expect(rig.link).toMatchObject({ problem: EstopProblem.OtherKey, faultBits: STOP });
  expect(rig.mode).toBe("ARMED");
  rig.hears = (bytes) => bytes;
  rig.link.proveAgain();
  expect(rig.link.faultBits).toBe(0);
});

chipTest("the keyed vectors are what the chip reads and writes", () => {
  for (const { keyedWire } of vectors.answers) {
    const { core } = asking(true, vectorKey);
    core.receive(Uint8Array.from(Buffer.from(keyedWire, "hex")), 1_000);
    // All of another boot: the tag was right, and only that could tell.
    expect(core.refreshView()[EstopView.lastBad]).not.toBe(EstopVerdict.Forged);
    expect(core.refreshView()[EstopView.lastBad]).not.toBe(EstopVerdict.Corrupt);
    core.free();
  }
});

chipTest("each bit of the tag counts: one that is wrong, under a right CRC, is forged", () => {
  const { core, status } = asking(true, vectorKey);
  const { bootNonce, counter: questionId } = status;
  const answer = answerOf(status.question, 9);
  const fields = { bootNonce, questionId, tickIndex: 9, counter: 5, answer };
  const reader = new AnswerReader(vectorKey);
  const read = (wire: Uint8Array): EstopVerdict =>
    [...wire].map((byte) => reader.takeInto(new EstopAnswer(), byte)).at(-1)!;
  for (let bit = 0; bit < 64; bit += 1) {
    const spoilTag = (tag: Uint8Array): void => {
      tag[bit >> 3]! ^= 1 << (bit & 7);
    };
    const wire = stuffed(answerFrame(fields, vectorKey, spoilTag));
    core.receive(wire, 1_000);
    const view = core.refreshView();
    const seen = [bit, read(wire), view[EstopView.lastBad], view[EstopView.goodStreak]];
    expect(seen).toEqual([bit, EstopVerdict.Forged, EstopVerdict.Forged, 0]);
  }
  const good = stuffed(answerFrame(fields, vectorKey));
  core.receive(good, 1_000);
  expect([read(good), core.refreshView()[EstopView.goodStreak]]).toEqual([EstopVerdict.Good, 1]);
  core.free();
});

const TRIALS = 1_000_000;
chipTest(`of ${TRIALS} answers with a random tag none is taken`, () => {
  const { core, status } = asking(true, vectorKey);
  const wire = goodWire(status, vectorKey);
  expect([core.flipAll(wire, 0), core.forge(wire, TRIALS, 1)]).toEqual([1, 0]);
  core.free();
});
