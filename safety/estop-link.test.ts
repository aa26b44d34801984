// The host's end of the e-stop line, by itself: which statuses it believes, what it answers, and
// what the supervisor is told. What it does with a chip is in `firmware-tests/`.

import { expect, test } from "bun:test";
import { EstopCause, EstopFlag, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import type { EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { instant } from "../runtime/contracts/units.ts";
import { Line, NONCE } from "./estop-link-bench.ts";
import { EstopProblem } from "./estop-link.ts";
import { Fault } from "./faults.ts";

const { Armed, Cutting, Disarmed, Proof, Stopping, Tripped, WaitReset } = EstopMode;
const { Button } = EstopCause;
const OPEN = 1 << Fault.EstopOpen;
const STOP = 1 << Fault.EstopStop;
const NOT_ARMED = 1 << Fault.EstopNotArmed;

test("before the first status nothing is answered", () => {
  const { link } = new Line();
  expect(link).toMatchObject({ answersWanted: 0, faultBits: NOT_ARMED });
  expect(link).toMatchObject({ statusCount: 0, openCause: EstopCause.None });
});

test("a status is heard with its last byte, and replaces the one before", () => {
  const line = new Line();
  expect(line.hear({ question: 5, mode: WaitReset })).toBe(true);
  expect(line.hear({ question: 6 })).toBe(true);
  expect(line.link).toMatchObject({ statusCount: 2, brokenCount: 0, rebootCount: 0 });
  expect(line.link).toMatchObject({ answersWanted: 1 });
  expect({ ...line.link.status }).toEqual({ ...line.status });
});

test("a broken frame is counted and tells nothing; zeros are no frame", () => {
  const line = new Line();
  line.hear({ question: 5 });
  const bytes = line.statusBytes({ question: 6, counter: 2 });
  // Beyond the lengths that stuffing puts between the zeros.
  const place = bytes.findIndex((byte) => byte > 64);
  bytes[place] = bytes[place]! ^ 2;
  expect(line.hearBytes(bytes)).not.toContain(true);
  expect(line.link).toMatchObject({ statusCount: 1, brokenCount: 1 });
  expect(line.link.status.question).toBe(5);
  expect(line.hearBytes(new Uint8Array(100))).not.toContain(true);
  expect(line.link).toMatchObject({ brokenCount: 1, problem: EstopProblem.None });
});

test("a status that is not newer is broken, unless so long went by that nobody knows", () => {
  const line = new Line();
  expect(line.replay({ counter: 100 })).toBe(true);
  expect([100, 99, 100 + 32_768].map((counter) => line.replay({ counter }))).not.toContain(true);
  expect(line.link).toMatchObject({ statusCount: 1, brokenCount: 3 });
  expect(line.replay({ counter: 100 + 32_767 })).toBe(true);
  expect(line.replay({ counter: (100 + 2 * 32_767) & 0xffff })).toBe(true);
  line.nowMs += 32_767 * 5 - 1;
  expect(line.replay()).toBe(false);
  line.nowMs += 1;
  expect(line.replay()).toBe(true);
});

test("another boot of the chip may begin anywhere, and is counted", () => {
  const line = new Line();
  line.replay({ counter: 100 });
  expect(line.replay({ counter: 7, bootNonce: NONCE + 1 })).toBe(true);
  expect(line.link.rebootCount).toBe(1);
});

test("an answer is what the tick earned, for its question, one for each tick", () => {
  const line = new Line();
  line.hear({ mode: WaitReset });
  line.beat[EstopBeatSlot.questionId] = 0xfedc;
  line.beat[EstopBeatSlot.bootNonce] = 0x8000_0001;
  line.beat[EstopBeatSlot.hostMode] = Mode.SafeStop;
  line.beat[EstopBeatSlot.tickIndex] = 0xffff_ffff;
  line.beat[EstopBeatSlot.answerCount] = 4;
  line.beat[EstopBeatSlot.answers] = 0xdead_beef;
  expect(line.send()).toEqual([
    {
      verdict: EstopVerdict.Good,
      counter: 1,
      bootNonce: 0x8000_0001,
      tickIndex: 0xffff_ffff,
      answer: 0xdead_beef,
      questionId: 0xfedc,
      hostMode: Mode.SafeStop,
      flags: 0,
    },
  ]);
  line.beat[EstopBeatSlot.answerCount] = 0;
  expect(line.send()).toEqual([]);
  line.beat[EstopBeatSlot.answerCount] = 1;
  expect([line.send()[0]!.counter, line.link.beatCount]).toEqual([2, 2]);
  const sink = new Uint8Array(line.link.wireSizeBytesMax);
  for (let count = 2; count < 0xffff; count += 1) line.link.writeInto(sink, line.beat, instant(0));
  expect(line.send()[0]!.counter).toBe(0);
});

test("open and well it asks for the proof test, and nowhere for the reset", () => {
  for (const mode of Object.values(EstopMode)) {
    const line = new Line();
    line.hear({ mode });
    const asks = mode === Tripped || mode === Disarmed;
    expect([mode, line.flags]).toEqual([mode, asks ? EstopFlag.Proof : 0]);
  }
  const failing = new Line();
  failing.hear({ failCount: 1 });
  expect(failing.flags).toBe(0);
  const short = new Line();
  short.hear({ stopMs: 299 });
  expect(short.flags).toBe(0);
});

test("a goodbye is said in every answer, and is no fault and no trip", () => {
  const line = new Line().armed().begun();
  line.link.leave();
  expect(line.flags).toBe(EstopFlag.Goodbye);
  for (const mode of [Armed, Stopping, Cutting, Tripped, Proof, Disarmed]) {
    line.hear({ mode });
    expect([mode, line.flags, line.link.faultBits]).toEqual([mode, EstopFlag.Goodbye, 0]);
  }
  expect(line.flags).toBe(EstopFlag.Goodbye);
  expect(line.link).toMatchObject({ faultBits: 0, tripCount: 0 });
  line.hear({ mode: Armed });
  expect(line.wait(51).link.faultBits).toBe(0);
});

test("a stop is asked for while armed, until the chip has cut", () => {
  const line = new Line().trip(Button).wish(true);
  expect(line.flags).toBe(EstopFlag.Proof);
  expect(line.armed().flags).toBe(0);
  line.wish(false).wish(true);
  expect(line.flags).toBe(EstopFlag.Stop);
  line.armed();
  expect(line.flags).toBe(EstopFlag.Stop);
  line.hear({ mode: Stopping });
  expect(line.flags).toBe(EstopFlag.Stop);
  line.hear({ mode: Cutting });
  expect(line.flags).toBe(0);
  expect(line.armed().flags).toBe(0);
});

test("the supervisor's wish for a cut asks once, where a cut is safe", () => {
  const line = new Line().armed().wish(true);
  expect(line.flags).toBe(EstopFlag.Stop);
  line.trip(EstopCause.StopRequest).armed();
  expect(line.flags).toBe(0);
  line.wish(false).wish(true);
  expect(line.flags).toBe(EstopFlag.Stop);
  const falling = new Line({ cutsOnFault: false }).armed().wish(true);
  expect(falling.flags).toBe(0);
});

const cases: readonly (readonly [string, (line: Line) => Line, number])[] = [
  ["armed", (line) => line.armed(), 0],
  ["armed in a run", (line) => line.armed().begun(), 0],
  ["never armed", (line) => line.trip(Button), NOT_ARMED],
  ["never armed in a run", (line) => line.trip(Button).begun(), NOT_ARMED],
  ["tripped before the run began", (line) => line.armed().trip(Button), NOT_ARMED],
  ["tripped in a run", (line) => line.armed().begun().trip(Button), OPEN],
  ["stopping in a run", (line) => hears(line.armed().begun(), { mode: Stopping }), STOP],
  ["armed with one output", (line) => hears(line.armed().begun(), { outputs: 1 }), OPEN],
  ["armed with the other", (line) => hears(line.armed().begun(), { outputs: 2 }), OPEN],
  ["silent before the run began", (line) => line.armed().wait(51), NOT_ARMED],
  ["silent for longer than a start takes", (line) => line.armed().wait(3_001), STOP],
  ["silent for as long as a start takes", (line) => line.armed().wait(3_000), NOT_ARMED],
  ["silent in a run, with power", (line) => line.armed().begun().wait(51), STOP],
  ["silent in a run, without", (line) => line.armed().begun().trip(Button).wait(51), OPEN],
  ["not there yet", (line) => line.wait(3_000), NOT_ARMED],
  ["not there", (line) => line.wait(3_001), OPEN],
  ["with an SS1-t too short", (line) => hears(line, { stopMs: 299 }), OPEN],
  ["with an SS1-t too short, armed", (line) => hears(line.armed(), { stopMs: 299 }), STOP],
];

function hears(line: Line, fields: Partial<EstopStatus>): Line {
  line.hear(fields);
  return line;
}

test.each(cases)("for the supervisor: %s", (_name, make, bits) => {
  expect(make(new Line()).link.faultBits).toBe(bits);
});

test("a line is silent after its limit, heals when it speaks, and hides no other problem", () => {
  const line = new Line().armed();
  expect(line.wait(50).link.problem).toBe(EstopProblem.None);
  expect(line.wait(1).link.problem).toBe(EstopProblem.Silent);
  expect(line.armed().link.problem).toBe(EstopProblem.None);
  line.hear({ stopMs: 299 });
  expect(line.wait(51).link.problem).toBe(EstopProblem.StopTooShort);
  line.hear({ stopMs: 300 });
  expect(line.link.problem).toBe(EstopProblem.StopTooShort);
});

test("closings and openings are counted, and why it was open is kept until it closes", () => {
  const line = new Line().trip(EstopCause.PowerOn);
  expect(line.link).toMatchObject({ armedCount: 0, tripCount: 0, openCause: EstopCause.PowerOn });
  for (const mode of [Proof, WaitReset]) {
    line.hear({ mode, cause: EstopCause.None });
    expect(line.link.openCause).toBe(EstopCause.PowerOn);
  }
  line.armed().armed();
  expect(line.link).toMatchObject({ armedCount: 1, tripCount: 0, openCause: EstopCause.None });
  line.hear({ mode: Stopping, cause: Button });
  expect(line.link).toMatchObject({ tripCount: 1, openCause: Button });
  line.trip(Button);
  expect(line.link).toMatchObject({ armedCount: 1, tripCount: 1, openCause: Button });
});

const key = Uint8Array.from({ length: 8 }, (_, index) => index);
const otherKey = key.map((byte) => byte ^ 1);
const strangers: readonly (readonly [string, Uint8Array | null, Uint8Array | null])[] = [
  ["a tag where this line has none", null, key],
  ["no tag", key, null],
  ["the tag of another key", key, otherKey],
];
test.each(strangers)("a status with %s is not heard, and is named", (_name, own, chip) => {
  const line = new Line({ key: own }, chip);
  expect(line.hear()).toBe(false);
  expect(line.link).toMatchObject({ statusCount: 0, problem: EstopProblem.OtherKey });
  const silent = new Line({ key: own }, chip).wait(3_001);
  silent.hear();
  expect(silent.link.problem).toBe(EstopProblem.OtherKey);
});
