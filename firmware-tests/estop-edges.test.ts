// Limits of the firmware's core to the microsecond and to the byte: one before and one on it. The
// core is stepped at chosen times, as no timer of a chip would.

import { afterEach, expect, test } from "bun:test";
import { EstopCore, EstopView } from "../hal/ffi/estop-core.ts";
import type { EstopConfig } from "../hal/ffi/estop-core.ts";
import { EstopCause, EstopInput, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { StatusReader } from "../runtime/contracts/estop-frame.ts";
import { answerFrame, NONCE, noKey, stuffed } from "./estop-asking.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { SHIPPED } from "./estop-core-bench.ts";
import { answerOf } from "./estop-host.ts";
import { hasHostCompiler, hostLibrary } from "./firmware-build.ts";

/** Needs gcc, make and libc6-dev. */
const coreTest = test.skipIf(!hasHostCompiler);

const { ButtonAClosed, ReadBackA, ReadBackB, ResetPressed } = EstopInput;
const FILTER_US = 3_000;

/** A core with its clock in the test's hand. */
class Hand {
  readonly core: EstopCore;
  readonly #reader = new StatusReader(null);
  readonly #writer = new AnswerWriter(null);
  readonly #status = new EstopStatus();
  #counter = 0;

  constructor(changes: Partial<EstopConfig> = {}) {
    const config = { ...SHIPPED, ...changes };
    this.core = new EstopCore(hostLibrary(false), config, noKey, NONCE, EstopCause.PowerOn, 0);
    cores.push(this.core);
  }

  view(name: keyof typeof EstopView): number {
    return this.core.refreshView()[EstopView[name]]!;
  }

  step(nowUs: number, sample: number = SWITCHES_AT_REST): this {
    this.core.step(nowUs, sample);
    return this;
  }

  /** Whether a status was due. */
  asks(nowUs: number): boolean {
    const size = this.core.status(nowUs);
    for (let at = 0; at < size; at += 1)
      this.#reader.takeInto(this.#status, this.core.statusWire[at]!);
    return size > 0;
  }

  /** A good answer to the newest question, and what the core made of it. */
  answer(nowUs: number, fields: Partial<EstopAnswer> = {}): number {
    const wire = new Uint8Array(this.#writer.wireSizeBytes);
    this.#counter += 1;
    const answer = Object.assign(new EstopAnswer(), {
      counter: this.#counter,
      bootNonce: NONCE,
      tickIndex: this.#counter,
      answer: answerOf(this.#status.question, this.#counter),
      questionId: this.#status.counter,
      ...fields,
    });
    this.#writer.writeInto(wire, answer);
    const before = this.view("badCount");
    this.core.receive(wire, nowUs);
    return this.view("badCount") === before ? EstopVerdict.Good : this.view("lastBad");
  }
}

const cores: EstopCore[] = [];
afterEach(() => {
  for (const core of cores.splice(0)) core.free();
});

coreTest("a level counts when it has lasted 3 ms, and not a microsecond sooner", () => {
  for (const [us, levels] of [
    [FILTER_US - 1, ResetPressed | ReadBackA | ReadBackB],
    [FILTER_US, SWITCHES_AT_REST],
  ] as const) {
    const hand = new Hand().step(100).step(100 + us);
    expect([us, hand.view("levels")]).toEqual([us, levels]);
  }
});

coreTest("a pulse that ends before 3 ms starts the next one anew", () => {
  const hand = new Hand()
    .step(0)
    .step(2_999, ResetPressed | ReadBackA | ReadBackB)
    .step(3_000);
  expect(hand.step(5_999).view("levels")).toBe(ResetPressed | ReadBackA | ReadBackB);
  expect(hand.step(6_000).view("levels")).toBe(SWITCHES_AT_REST);
});

coreTest("channels that differ are a discrepancy at their limit, contacts astray at theirs", () => {
  const oneOpen = SWITCHES_AT_REST & ~ButtonAClosed;
  for (const [us, cause] of [
    [99_999, EstopCause.PowerOn],
    [100_000, EstopCause.Discrepancy],
  ] as const) {
    const hand = new Hand().step(0, oneOpen).step(FILTER_US, oneOpen);
    expect([us, hand.step(FILTER_US + us, oneOpen).view("cause")]).toEqual([us, cause]);
  }
  const welded = SWITCHES_AT_REST | ReadBackA;
  for (const [us, cause] of [
    [49_999, EstopCause.PowerOn],
    [50_000, EstopCause.WeldedA],
  ] as const) {
    const hand = new Hand().step(0, welded).step(FILTER_US, welded).step(us, welded);
    expect([us, hand.view("cause")]).toEqual([us, cause]);
  }
});

coreTest("silence is T_wd after the last good answer, to the microsecond", () => {
  for (const [us, beating] of [
    [24_999, 1],
    [25_000, 0],
  ] as const) {
    const hand = new Hand();
    hand.asks(0);
    expect(hand.answer(1_000)).toBe(EstopVerdict.Good);
    expect([us, hand.step(1_000 + us).view("beating")]).toEqual([us, beating]);
  }
});

coreTest("a question may be 25 ms old, and no older; four are remembered, and no more", () => {
  for (const [us, verdict] of [
    [25_000, EstopVerdict.Good],
    [25_001, EstopVerdict.Late],
  ] as const) {
    const hand = new Hand();
    hand.asks(0);
    expect([us, hand.answer(us)]).toEqual([us, verdict]);
  }
  const first = { questionId: 0 };
  for (const [more, verdict] of [
    [3, EstopVerdict.Wrong],
    [4, EstopVerdict.Late],
  ] as const) {
    const hand = new Hand();
    for (let index = 0; index <= more; index += 1) hand.asks(index * 5_000);
    expect([more, hand.answer(more * 5_000, first)]).toEqual([more, verdict]);
  }
});

coreTest("before the first question no answer is in time", () => {
  const hand = new Hand();
  for (const questionId of [0, 1, 65_535]) {
    expect(hand.answer(0, { questionId, answer: answerOf(0, 1) })).toBe(EstopVerdict.Late);
  }
  hand.asks(0);
  expect(hand.answer(0, { questionId: 65_535 })).toBe(EstopVerdict.Late);
  expect(hand.answer(0)).toBe(EstopVerdict.Good);
});

coreTest("eight good answers in 25 ms are many enough; the ninth waits to the microsecond", () => {
  for (const [us, verdict] of [
    [24_999, EstopVerdict.Early],
    [25_000, EstopVerdict.Good],
  ] as const) {
    const hand = new Hand();
    hand.asks(0);
    for (let index = 0; index < 8; index += 1) expect(hand.answer(index)).toBe(EstopVerdict.Good);
    expect([us, hand.answer(us)]).toEqual([us, verdict]);
  }
});

coreTest("after a silence the count of good answers begins anew", () => {
  const hand = new Hand({ silenceMs: 10 });
  hand.asks(0);
  expect(hand.answer(0)).toBe(EstopVerdict.Good);
  hand.step(10_000);
  const verdicts = Array.from({ length: 9 }, (_, index) => hand.answer(10_001 + index));
  expect(verdicts).toEqual([...Array<number>(8).fill(EstopVerdict.Good), EstopVerdict.Early]);
});

coreTest("a status is 46 bytes on the line, from one zero to the next", () => {
  const { core } = new Hand();
  core.statusWire.fill(0xaa);
  expect(core.status(0)).toBe(46);
  const zeros = [...core.statusWire.entries()].filter(([, byte]) => byte === 0);
  expect(zeros).toEqual([
    [0, 0],
    [45, 0],
  ]);
});

coreTest("a status comes each 5 ms on its grid, and one that was missed is not made up for", () => {
  const hand = new Hand();
  const due = [0, 4_999, 5_000, 11_000, 14_999, 15_000, 25_000, 29_999, 30_000].map((us) =>
    hand.asks(us),
  );
  // From 11 ms on its grid is still that of 5 ms; at 25 ms a whole one was missed: a grid anew.
  expect(due).toEqual([true, false, true, true, false, true, true, false, true]);
  const late = new Hand();
  expect([0, 12_000, 15_000, 16_999, 17_000].map((us) => late.asks(us))).toEqual([
    true,
    true,
    false,
    false,
    true,
  ]);
});

coreTest("ticks may rise by half of their range between good answers, and by no more", () => {
  for (const [rise, verdict] of [
    [2 ** 31 - 1, EstopVerdict.Good],
    [2 ** 31, EstopVerdict.SameTick],
  ] as const) {
    const hand = new Hand();
    hand.asks(0);
    hand.answer(0);
    const tickIndex = 1 + rise;
    const answer = answerOf(questionOf(hand), tickIndex);
    expect([rise, hand.answer(0, { tickIndex, answer })]).toEqual([rise, verdict]);
  }
});

/** The question that a status at rest carries, read by a reader of its own. */
function questionOf(hand: Hand): number {
  const status = new EstopStatus();
  const reader = new StatusReader(null);
  for (const byte of hand.core.statusWire) reader.takeInto(status, byte);
  return status.question;
}

coreTest("a good frame with any byte behind it, or without its last, is corrupt", () => {
  const hand = new Hand();
  hand.asks(0);
  const answer = answerOf(questionOf(hand), 9);
  const frame = answerFrame({ counter: 1, bootNonce: NONCE, tickIndex: 9, answer }, null);
  for (let byte = 0; byte < 256; byte += 1) {
    hand.core.receive(stuffed([...frame, byte]), 0);
    const seen = [byte, hand.view("goodStreak"), hand.view("lastBad")];
    expect(seen).toEqual([byte, 0, EstopVerdict.Corrupt]);
  }
  hand.core.receive(stuffed([...frame.subarray(0, -1)]), 0);
  expect(hand.view("badCount")).toBe(257);
  hand.core.receive(stuffed([...frame]), 0);
  expect(hand.view("goodStreak")).toBe(1);
});
