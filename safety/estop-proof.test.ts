// The host's part of the proof test, by itself: what it sends in each step, and which echoes it
// takes for the step. The chip is written out here, by the protocol's text; the same against the
// chip's own core is in `firmware-tests/`.

import { expect, test } from "bun:test";
import {
  EstopInput,
  EstopOutput,
  EstopProof,
  EstopVerdict,
} from "../runtime/contracts/estop-codes.ts";
import { EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { instant } from "../runtime/contracts/units.ts";
import { EstopProofCheck } from "./estop-proof.ts";

const { Early, Late, Wrong, Corrupt } = EstopVerdict;
const { ReadBackA, ReadBackB } = EstopInput;
const TICK_NS = 5_000_000;
const SILENCE_MS = 100;

/** One proof test and a clock; control earns what was wanted a tick ago. */
class Bench {
  readonly check = new EstopProofCheck();
  readonly status = Object.assign(new EstopStatus(), { badCount: 40, silenceMs: SILENCE_MS });
  nowNs = 0;
  #earnedCount = 1;

  constructor() {
    this.check.begin();
    this.hear({});
  }

  /** What each of so many ticks sent: a letter an answer, good, wrong or corrupt; `-` for none. */
  ticks(count: number): string {
    let sent = "";
    for (let index = 0; index < count; index += 1) {
      const { check } = this;
      const answers = check.sendCount(this.#earnedCount);
      const letter = check.sendsCorrupt ? "c" : "g";
      sent += answers === 0 ? "-" : (check.sendsWrong ? "w" : letter).repeat(answers);
      this.#earnedCount = check.answersWanted;
      check.noteSent(answers, instant(this.nowNs));
      this.nowNs += TICK_NS;
    }
    return sent;
  }

  /** A status with these fields; what it said before stays. False when it isn't what was sent. */
  hear(fields: Partial<EstopStatus>): boolean {
    return this.check.take(Object.assign(this.status, fields), instant(this.nowNs));
  }

  /** The chip goes on to this step and has counted so many bad answers more. */
  echo(proofStep: number, lastBad: number, bad: number): boolean {
    return this.hear({ proofStep, lastBad, badCount: (this.status.badCount + bad) & 0xffff });
  }

  /** Everything as it should be, up to this step. */
  upTo(step: number): this {
    const all: readonly (() => boolean)[] = [
      () => this.ticks(1) === "w" && this.echo(EstopProof.Corrupt, Wrong, 1),
      () => this.ticks(1) === "c" && this.echo(EstopProof.Burst, Corrupt, 1),
      () => this.ticks(4) === "-ggggggggg" && this.echo(EstopProof.Five, Early, 3),
      () => this.settled().ticks(6) === "wwwww-" && this.echo(EstopProof.Silence, Wrong, 5),
      () => this.ticks(20) === "-".repeat(20) && this.hear(recovered),
      () => this.hear({ proofStep: EstopProof.CloseA, outputs: EstopOutput.A }),
      () => this.hear({ proofStep: EstopProof.OpenA, inputs: ReadBackA, outputs: 0 }),
      () => this.hear({ proofStep: EstopProof.CloseB, outputs: EstopOutput.B }),
    ];
    for (const [index, isTaken] of all.slice(0, step).entries()) {
      if (!isTaken()) throw new Error(`Cannot prove: step ${index} failed`);
    }
    return this;
  }

  /** In the step of the five: the burst is out of the chip's window. */
  settled(): this {
    if (this.ticks(9) !== "-------gg") throw new Error("Cannot prove: no silence after the burst");
    this.hear({});
    return this;
  }
}

const recovered = { proofStep: EstopProof.Recover, outputs: EstopOutput.TripShown };

test("a proof test as the protocol has it passes, and is whole at its end", () => {
  const bench = new Bench().upTo(EstopProof.CloseB);
  expect(bench.check.isWhole).toBe(false);
  expect(bench.hear({ inputs: ReadBackB })).toBe(true);
  expect(bench.check.isWhole).toBe(true);
  bench.check.begin();
  expect(bench.check.isWhole).toBe(false);
});

const echoes: readonly (readonly [string, number, number, number, boolean])[] = [
  ["no wrong answer", EstopProof.Wrong, Wrong, 0, false],
  ["one wrong answer", EstopProof.Wrong, Wrong, 1, true],
  ["two wrong answers", EstopProof.Wrong, Wrong, 2, false],
  ["a late answer", EstopProof.Wrong, Late, 1, false],
  ["no corrupt answer", EstopProof.Corrupt, Corrupt, 0, false],
  ["one corrupt answer", EstopProof.Corrupt, Corrupt, 1, true],
  ["two corrupt answers", EstopProof.Corrupt, Corrupt, 2, false],
  ["a wrong answer for a corrupt one", EstopProof.Corrupt, Wrong, 1, false],
  ["no early answer", EstopProof.Burst, Early, 0, false],
  ["one early answer", EstopProof.Burst, Early, 1, true],
  ["all nine of the burst early", EstopProof.Burst, Early, 9, true],
  ["more early answers than were sent", EstopProof.Burst, Early, 10, false],
  ["a wrong answer for an early one", EstopProof.Burst, Wrong, 1, false],
  ["four of five", EstopProof.Five, Wrong, 4, false],
  ["all five", EstopProof.Five, Wrong, 5, true],
  ["six of five", EstopProof.Five, Wrong, 6, false],
  ["five that were late", EstopProof.Five, Late, 5, false],
];
test.each(echoes)("%s", (_name, step, lastBad, bad, isShown) => {
  const bench = new Bench().upTo(step);
  if (step === EstopProof.Five) bench.settled();
  bench.ticks(step === EstopProof.Burst ? 4 : 6);
  expect(bench.echo(step + 1, lastBad, bad)).toBe(isShown);
});

test("a silence is as long as the chip's T_wd, by ten milliseconds at most, and quiet", () => {
  const lastNs = (bench: Bench): number => bench.nowNs - TICK_NS * 2; // the sixth tick sent none
  const cases: readonly (readonly [number, Partial<EstopStatus>, boolean])[] = [
    [(SILENCE_MS - 10) * 1e6, recovered, true],
    [(SILENCE_MS - 10) * 1e6 - 1, recovered, false],
    [SILENCE_MS * 1e6, { ...recovered, outputs: 0 }, false],
    [SILENCE_MS * 1e6, { ...recovered, outputs: EstopOutput.Both }, false],
    [SILENCE_MS * 1e6, { ...recovered, badCount: 0 }, false],
  ];
  for (const [silentNs, fields, isShown] of cases) {
    const bench = new Bench().upTo(EstopProof.Silence);
    bench.nowNs = lastNs(bench) + silentNs;
    expect([silentNs, fields, bench.hear(fields)]).toEqual([silentNs, fields, isShown]);
  }
});

test("a step left out, or come again, fails; contacts may be quicker than statuses", () => {
  expect(new Bench().echo(EstopProof.Burst, Wrong, 1)).toBe(false);
  expect(new Bench().upTo(EstopProof.Corrupt).echo(EstopProof.Wrong, Corrupt, 1)).toBe(false);
  const recovering = new Bench().upTo(EstopProof.Recover);
  expect(recovering.hear({ proofStep: EstopProof.OpenA, outputs: 0 })).toBe(false);
  const closing = new Bench().upTo(EstopProof.CloseA);
  expect(closing.hear({ proofStep: EstopProof.CloseB, outputs: 0 })).toBe(true);
  expect(closing.hear({ proofStep: EstopProof.OpenA, outputs: 0 })).toBe(false);
});

test("a contact's step with both outputs closed fails", () => {
  const bench = new Bench().upTo(EstopProof.CloseA);
  expect(bench.hear({ proofStep: EstopProof.OpenA, outputs: EstopOutput.Both })).toBe(false);
});

test("a test is whole when each contact was seen closed without the other, once it began", () => {
  const cases: readonly (readonly [readonly number[], boolean])[] = [
    [[ReadBackA, ReadBackB], true],
    [[ReadBackB, ReadBackA], true],
    [[ReadBackA, 0], false],
    [[ReadBackB, 0], false],
    [[ReadBackA | ReadBackB], false],
    [[ReadBackA, ReadBackA | ReadBackB], false],
  ];
  for (const [inputs, isWhole] of cases) {
    // What is seen before does not count.
    const bench = new Bench().upTo(EstopProof.Recover);
    bench.hear({ inputs: ReadBackA });
    bench.hear({ inputs: ReadBackB });
    bench.hear({ proofStep: EstopProof.CloseA, inputs: 0, outputs: 0 });
    for (const bits of inputs) bench.hear({ inputs: bits });
    expect(bench.check.isWhole).toBe(false);
    bench.hear({ proofStep: EstopProof.CloseB, inputs: 0 });
    expect([inputs, bench.check.isWhole]).toEqual([inputs, isWhole]);
  }
});

test("a test that begins anew knows nothing of the one before", () => {
  const bench = new Bench();
  expect(bench.ticks(2)).toBe("wg");
  bench.check.begin();
  expect(bench.ticks(2)).toBe("wg");
  const whole = new Bench().upTo(EstopProof.CloseB);
  whole.hear({ inputs: ReadBackB });
  whole.check.begin();
  // Other bad answers came meanwhile; the count wraps.
  expect(whole.hear({ proofStep: EstopProof.Wrong, badCount: 0xffff, inputs: 0 })).toBe(true);
  whole.upTo(EstopProof.CloseB);
  expect([whole.status.badCount, whole.check.isWhole]).toEqual([9, false]);
});

test("what the chip still counts of the burst is none of the five", () => {
  const bench = new Bench().upTo(EstopProof.Five);
  expect(bench.echo(EstopProof.Five, Early, 2)).toBe(true);
  bench.settled().ticks(6);
  expect(bench.echo(EstopProof.Silence, Wrong, 5)).toBe(true);
});

test("one wrong answer, or a corrupt one, and again after 61 ticks", () => {
  expect(new Bench().ticks(122)).toBe(`w${"g".repeat(60)}`.repeat(2));
  const bench = new Bench().upTo(EstopProof.Corrupt);
  expect(bench.ticks(122)).toBe(`c${"g".repeat(60)}`.repeat(2));
});

test("the burst is nine answers in three ticks once control earns four, then ten of none", () => {
  const bench = new Bench().upTo(EstopProof.Burst);
  const burst = "ggggggggg";
  const pause = "-".repeat(10);
  // Control hears of it a tick later.
  expect(bench.ticks(40)).toBe(`-${burst}${pause}-${burst}${pause}-${burst}${pause}`.slice(0, 58));
});

test("five wrong answers come after silence and one good, and what got lost is sent again", () => {
  const bench = new Bench().upTo(EstopProof.Five);
  expect(bench.ticks(7)).toBe("-------");
  bench.hear({});
  expect(bench.ticks(1)).toBe("g"); // not settled: no good answer was heard since
  bench.hear({ failCount: 1 });
  expect(bench.ticks(3)).toBe("ggg");
  bench.hear({ failCount: 0 });
  expect(bench.ticks(5)).toBe("wwwww");
  bench.echo(EstopProof.Five, Wrong, 3);
  expect(bench.ticks(14)).toBe("------------ww");
  bench.echo(EstopProof.Five, Wrong, 1);
  expect(bench.ticks(13)).toBe("------------w");
});

test("silence lasts until the chip goes on, and after it each tick sends one good answer", () => {
  expect(new Bench().upTo(EstopProof.Silence).ticks(200)).toBe("-".repeat(200));
  expect(new Bench().upTo(EstopProof.Recover).ticks(200)).toBe("g".repeat(200));
});
