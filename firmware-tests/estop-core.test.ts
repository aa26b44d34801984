// The firmware's core on this machine, where it is quick: the vectors of the codec, false trips
// over many beats, and the constants that no shipped board has.

import { expect, test } from "bun:test";
import { EstopCore, EstopView } from "../hal/ffi/estop-core.ts";
import type { EstopConfig } from "../hal/ffi/estop-core.ts";
import { EstopBuild, EstopFlag, EstopInput, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { estopCauseNames, estopModeNames } from "../runtime/contracts/estop-codes.ts";
import { EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { StatusReader } from "../runtime/contracts/estop-frame.ts";
import { answerWire, asking, goodWire, NONCE, noKey, vectorKey } from "./estop-asking.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";
import { answerOf, EstopHost } from "./estop-host.ts";
import { isLong, noteFigure } from "./figures.ts";
import { hasHostCompiler, hostLibrary } from "./firmware-build.ts";
import vectors from "./vectors/estop-frames.json";

/** Needs gcc, make and libc6-dev. */
const coreTest = test.skipIf(!hasHostCompiler);

const MS = 1_000;
const { ButtonAClosed, ButtonBClosed } = EstopInput;
const BUTTON = ButtonAClosed | ButtonBClosed;

function told(bench: CoreBench, host: EstopHost): string {
  const { mode, cause } = host.status;
  return `${estopModeNames[mode]} ${estopCauseNames[cause]} ${bench.outputBits}`;
}

function rig(changes: Partial<EstopConfig>): { bench: CoreBench; host: EstopHost } {
  const bench = new CoreBench({ ...SHIPPED, ...changes });
  return { bench, host: new EstopHost(bench) };
}

coreTest("the core's CRC and answers are those of the vectors", () => {
  const { core } = asking(false, noKey);
  const crcs = vectors.crc.map(({ bytes }) => core.crc(Uint8Array.from(Buffer.from(bytes, "hex"))));
  expect(crcs).toEqual(vectors.crc.map(({ crc }) => crc));
  const answers = vectors.folds.map(({ question, tickIndex }) => core.fold(question, tickIndex));
  expect(answers).toEqual(vectors.folds.map(({ answer }) => answer));
  core.free();
});

coreTest("the first status says power_on, the constants, a nonce and a question", () => {
  const { core, status } = asking(false, noKey);
  const { question, ...rest } = status;
  expect(question).toBeGreaterThan(0);
  expect(rest).toEqual({
    counter: 0,
    bootNonce: NONCE,
    tickIndex: 0,
    badCount: 0,
    silenceMs: 25,
    stopMs: 300,
    cutDelayMs: 0,
    discrepancyMs: 100,
    build: EstopBuild.ChainFitted,
    mode: EstopMode.Tripped,
    cause: 1,
    lastBad: 0,
    failCount: 5,
    inputs: EstopInput.ResetPressed | EstopInput.ReadBackA | EstopInput.ReadBackB,
    outputs: 0,
    proofStep: 0,
    hostMode: 0,
  });
  core.free();
});

for (const keyed of [false, true]) {
  coreTest(
    `the core reads an answer ${keyed ? "with" : "without"} a tag, and no other key's`,
    () => {
      const { core, status } = asking(keyed, vectorKey);
      const verdictOf = (wire: Uint8Array) => {
        core.receive(wire, 1_000);
        const view = core.refreshView();
        return [view[EstopView.failCount], view[EstopView.lastBad]];
      };
      const otherKey = keyed ? noKey : null;
      const refused = keyed ? EstopVerdict.Forged : EstopVerdict.Corrupt;
      const other = keyed ? goodWire(status, otherKey) : goodWire(status, vectorKey);
      expect(verdictOf(other)).toEqual([6, refused]);
      expect(verdictOf(goodWire(status, keyed ? vectorKey : null))).toEqual([5, refused]);
      core.free();
    },
  );
}

coreTest("questions never repeat within a boot, and another boot asks others", () => {
  const count = 70_000;
  const words = [1, 2].map((nonce) => {
    const core = new EstopCore(hostLibrary(false), SHIPPED, noKey, nonce, 1, 0);
    const reader = new StatusReader(null);
    const status = new EstopStatus();
    const asked = new Set<number>();
    for (let index = 0; index < count; index += 1) {
      const size = core.status(index * 5_000);
      for (let at = 0; at < size; at += 1) reader.takeInto(status, core.statusWire[at]!);
      asked.add(status.question);
    }
    core.free();
    return asked;
  });
  expect(words.map(({ size }) => size)).toEqual([count, count]);
  // By chance about one in 60,000 is the same.
  expect(words[0]!.intersection(words[1]!).size).toBeLessThan(20);
});

const beats = isLong ? 10_000_000 : 500_000;
coreTest(
  `${beats} beats, up to 2 ms late and one in a thousand lost, never trip`,
  () => {
    const soak = (count: number, lostOf: number, jitterUs: number) => {
      const { bench, host } = rig({});
      host.arm();
      const survived = bench.soak(count, 2_463_534_242, lostOf, jitterUs);
      bench.close();
      return survived;
    };
    expect(soak(beats, 1_000, 2_000)).toBe(beats);
    // Every second frame lost, and a lag that makes the gap too long, must trip.
    expect(soak(1_000, 1, 18_000)).toBeLessThan(1_000);
    noteFigure({
      part: "false trips",
      case: "up to 2 ms late, one frame in a thousand lost, never two in a row",
      measured: "0 trips",
      limit: "0 at a T_wd of 25 ms",
      tries: `${beats} beats`,
    });
  },
  600_000,
);

const wrong: [keyof EstopConfig, number, number][] = [
  ["silenceMs", 9, 10],
  ["silenceMs", 1_001, 1_000],
  ["stopMs", 9, 10],
  ["stopMs", 10_001, 10_000],
  ["cutDelayMs", 501, 500],
  ["discrepancyMs", 19, 20],
  ["discrepancyMs", 201, 200],
  ["settleMs", 4, 9],
  ["settleMs", 201, 200],
];
coreTest.each(wrong)("a build with %s of %d never arms, one with %d may", (name, bad, good) => {
  const never = rig({ [name]: bad });
  never.host.beats(10);
  never.host.flags = EstopFlag.Proof;
  never.host.beats(10);
  expect(told(never.bench, never.host)).toBe("TRIPPED bad_config 0");
  const may = rig({ [name]: good });
  may.host.arm();
  expect(told(may.bench, may.host)).toBe("ARMED none 3");
});

coreTest("with a cut delay, silence is latched at once and cuts when the delay is over", () => {
  const { bench, host } = rig({ cutDelayMs: 200 });
  host.arm();
  const fromUs = host.lastBeatUs;
  host.pause(30 * MS);
  expect(told(bench, host)).toBe("CUTTING silence 3");
  host.beats(16);
  host.flags = EstopFlag.Goodbye;
  host.beats(4);
  host.flags = 0;
  host.pressReset();
  expect(told(bench, host)).toBe("CUTTING silence 3");
  host.beats(12);
  expect(told(bench, host)).toBe("TRIPPED silence 0");
  const lateMs = (bench.edges.at(-1)!.atUs - fromUs) / MS - 225;
  expect([lateMs >= 0, lateMs <= 1]).toEqual([true, true]);
});

coreTest(
  "a stop within a cut delay, and a silence within SS1-t, end with the earlier of the two",
  () => {
    const ends = (changes: Partial<EstopConfig>, first: "button" | "silence") => {
      const { bench, host } = rig(changes);
      host.arm();
      const fromUs = bench.nowUs;
      if (first === "silence") host.pause(30 * MS);
      bench.switchBits &= ~BUTTON;
      if (first === "button") host.beats(4);
      host.pause(600 * MS);
      return Math.round((bench.edges.at(-1)!.atUs - fromUs) / MS);
    };
    // The last beat comes one period before, or with four beats after.
    expect(ends({ cutDelayMs: 500, stopMs: 100 }, "silence")).toBe(30 + 3 + 100);
    expect(ends({ cutDelayMs: 50, stopMs: 300 }, "silence")).toBe(25 - 4 + 50);
    expect(ends({ cutDelayMs: 500, stopMs: 300 }, "button")).toBe(3 + 300);
    expect(ends({ cutDelayMs: 50, stopMs: 300 }, "button")).toBe(15 + 1 + 25 + 50);
  },
);

coreTest("the discrepancy limit is a constant of the build", () => {
  for (const discrepancyMs of [20, 200]) {
    const { bench, host } = rig({ discrepancyMs, stopMs: 1_000 });
    host.arm();
    const fromUs = bench.nowUs;
    bench.switchBits &= ~ButtonBClosed;
    host.beats(60);
    expect(told(bench, host)).toBe("TRIPPED discrepancy 0");
    const lateMs = (bench.edges.at(-1)!.atUs - fromUs) / MS - discrepancyMs;
    expect([lateMs >= 3, lateMs <= 4]).toEqual([true, true]);
  }
});

coreTest("a proof test that is asked for while the cut delay runs doesn't end it", () => {
  const { bench, host } = rig({ cutDelayMs: 200 });
  host.arm();
  host.pause(30 * MS);
  bench.relays.stuckOpen = EstopOutput.Both;
  host.flags = EstopFlag.Proof;
  host.beats(8);
  expect(told(bench, host)).toBe("CUTTING silence 3");
});

coreTest("a counter may rise by 32767 between good answers, and by no more", () => {
  for (const [rise, lastBad] of [
    [32_767, 0],
    [32_768, EstopVerdict.Repeated],
  ] as const) {
    const { core, status } = asking(false, noKey);
    for (const counter of [1, 1 + rise]) {
      const tickIndex = counter;
      const fields = { counter, tickIndex, answer: answerOf(status.question, tickIndex) };
      core.receive(answerWire({ ...fields, bootNonce: NONCE, questionId: 0 }, null), 1_000);
    }
    expect([rise, core.refreshView()[EstopView.lastBad]]).toEqual([rise, lastBad]);
    core.free();
  }
});

coreTest("without a chain fitted its input means nothing", () => {
  const { bench, host } = rig({ buildBits: 0 });
  bench.switchBits = BUTTON;
  host.arm();
  expect([told(bench, host), host.status.build]).toEqual(["ARMED none 3", 0]);
});

coreTest("the link's reset counts only in a bench build, and only as an edge", () => {
  for (const [buildBits, ends] of [
    [EstopBuild.ChainFitted, "WAIT_RESET none 0"],
    [EstopBuild.ChainFitted | EstopBuild.ResetFromLink, "ARMED none 3"],
  ] as const) {
    const { bench, host } = rig({ buildBits });
    host.flags = EstopFlag.Reset;
    host.prove();
    host.flags = EstopFlag.Reset;
    host.beats(20);
    expect(told(bench, host)).toBe("WAIT_RESET none 0");
    host.flags = 0;
    host.beats(4);
    host.flags = EstopFlag.Reset;
    host.beats(4);
    expect([told(bench, host), host.status.build]).toEqual([ends, buildBits]);
  }
});

coreTest("the switches at rest are the ones that allow arming", () => {
  const { bench, host } = rig({});
  expect(bench.switchBits).toBe(SWITCHES_AT_REST);
  host.arm();
  expect(bench.outputBits).toBe(EstopOutput.Both);
});
