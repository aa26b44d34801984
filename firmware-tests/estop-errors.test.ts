// What a line can do to a frame, against both codecs and both directions: flipped bits, bursts,
// noise. Nothing of it may be intact, so nothing has to be noticed later. Then the errors that
// leave a frame intact, against the chip's core: each is refused under its own name, 10^6 times.
//
// Bursts have every pattern up to 16 bits (12 on the slower codecs, 16 in the long run); the long
// run tries noise and random errors 10 to 100 times as often, on every vector.

import { expect, test } from "bun:test";
import type { EstopCore } from "../hal/ffi/estop-core.ts";
import { EstopView } from "../hal/ffi/estop-core.ts";
import { EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerReader, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { AnswerWriter, ANSWER_KIND, StatusReader } from "../runtime/contracts/estop-frame.ts";
import { STATUS_KIND } from "../runtime/contracts/estop-frame.ts";
import { FrameWriter } from "../runtime/contracts/estop-wire.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { asking, NONCE, noKey, vectorKey } from "./estop-asking.ts";
import { answerOf } from "./estop-host.ts";
import { isLong, noteFigure } from "./figures.ts";
import { hasHostCompiler } from "./firmware-build.ts";
import { burstAll, burstRandom, flipAll, flipRandom, noise } from "./line-errors.ts";
import type { IsIntact } from "./line-errors.ts";
import vectors from "./vectors/estop-frames.json";

/** Needs gcc, make and libc6-dev. */
const coreTest = test.skipIf(!hasHostCompiler);

/** Random errors of each kind, on the chip's codec and on the runtime's. */
const CHIP_COUNT = isLong ? 100_000_000 : 1_000_000;
const RUNTIME_COUNT = isLong ? 10_000_000 : 1_000_000;
const TRIALS = 1_000_000;
const CASE_MS_MAX = isLong ? 3_600_000 : 180_000;
/** Of a burst with every pattern; the runtime's codec and the keyed one have less time. */
const BURST_BITS = 16;
const BURST_BITS_BRIEF = isLong ? BURST_BITS : 12;

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

/** Every kind of error on frames of one direction, as one codec counts what it takes for intact. */
type Codec = {
  readonly name: string;
  readonly wires: readonly Uint8Array[];
  readonly randomCount: number;
  readonly flipAll: (wire: Uint8Array, flipCount: number) => number;
  readonly flipRandom: (wire: Uint8Array, seed: number) => number;
  readonly burstAll: (wire: Uint8Array) => number;
  readonly burstRandom: (wire: Uint8Array, seed: number) => number;
  readonly noise: (wire: Uint8Array, seed: number) => number;
};

function runtimeCodec(
  name: string,
  reader: AnswerReader | StatusReader,
  hexes: readonly string[],
): Codec {
  const out = new EstopStatus() as EstopStatus & EstopAnswer;
  const isIntact: IsIntact = (wire) => {
    let intact = false;
    for (let at = 0; at <= wire.length; at += 1) {
      const verdict = reader.takeInto(out, at < wire.length ? wire[at]! : 0);
      // A code that doesn't exist is only found in a frame whose CRC is right.
      intact ||= verdict === EstopVerdict.Good || verdict === EstopVerdict.Malformed;
    }
    return intact;
  };
  const seeded = (seed: number): SeededRandom => new SeededRandom(seed);
  return {
    name,
    wires: hexes.map(bytesOf),
    randomCount: RUNTIME_COUNT,
    flipAll: (wire, flipCount) => flipAll(wire, flipCount, isIntact),
    flipRandom: (wire, seed) => flipRandom(wire, RUNTIME_COUNT, seeded(seed), isIntact),
    burstAll: (wire) => burstAll(wire, BURST_BITS_BRIEF, isIntact),
    burstRandom: (wire, seed) => burstRandom(wire, RUNTIME_COUNT, seeded(seed), isIntact),
    noise: (wire, seed) => noise(wire.slice(), RUNTIME_COUNT, seeded(seed), isIntact),
  };
}

function chipCodec(name: string, keyed: boolean, hexes: readonly string[]): Codec {
  const withCore = (use: (core: EstopCore) => number): number => {
    const { core } = asking(keyed, keyed ? vectorKey : noKey);
    const count = use(core);
    core.free();
    return count;
  };
  return {
    name,
    wires: hexes.map(bytesOf),
    randomCount: CHIP_COUNT,
    flipAll: (wire, flipCount) => withCore((core) => core.flipAll(wire, flipCount)),
    flipRandom: (wire, seed) => withCore((core) => core.flipRandom(wire, CHIP_COUNT, seed)),
    burstAll: (wire) =>
      withCore((core) => core.burstAll(wire, keyed ? BURST_BITS_BRIEF : BURST_BITS)),
    burstRandom: (wire, seed) => withCore((core) => core.burstRandom(wire, CHIP_COUNT, seed)),
    noise: (_, seed) => withCore((core) => core.noise(CHIP_COUNT, seed)),
  };
}

const { answers, statuses } = vectors;
const plainAnswers = answers.map(({ wire }) => wire);
const keyedAnswers = answers.map(({ keyedWire }) => keyedWire);
const codecs: readonly (Codec & { readonly inC: boolean })[] = [
  { ...chipCodec("the chip, an answer", false, plainAnswers), inC: true },
  { ...chipCodec("the keyed chip, an answer", true, keyedAnswers), inC: true },
  {
    ...runtimeCodec("the runtime, an answer", new AnswerReader(null), plainAnswers),
    inC: false,
  },
  {
    ...runtimeCodec(
      "the runtime, a status",
      new StatusReader(null),
      statuses.map(({ wire }) => wire),
    ),
    inC: false,
  },
];

for (const codec of codecs) {
  const codecTest = codec.inC ? coreTest : test;
  const [first] = codec.wires as [Uint8Array];

  codecTest(
    `${codec.name}: none of all with 1, 2 or 3 flipped bits is intact`,
    () => {
      for (const wire of codec.wires) expect(codec.flipAll(wire, 0)).toBe(1);
      for (const wire of codec.wires) {
        expect([codec.flipAll(wire, 1), codec.flipAll(wire, 2)]).toEqual([0, 0]);
      }
      expect(codec.flipAll(first, 3)).toBe(0);
    },
    CASE_MS_MAX,
  );

  codecTest(
    `${codec.name}: none with a short burst, in any place and pattern, is intact`,
    () => expect(codec.burstAll(first)).toBe(0),
    CASE_MS_MAX,
  );

  codecTest(
    `${codec.name}: none of ${codec.randomCount} with up to 5 flips, bursts of up to 32, or noise`,
    () => {
      for (const [index, wire] of codec.wires.entries()) {
        if (index > 0 && !isLong) break;
        const seed = 1 + index;
        expect(codec.flipRandom(wire, seed)).toBe(0);
        expect(codec.burstRandom(wire, seed)).toBe(0);
        expect(codec.noise(wire, seed)).toBe(0);
      }
      noteFigure({
        part: "errors of a line",
        case: codec.name,
        measured: "0 taken for intact",
        limit: "0",
        tries: `${codec.randomCount} each of flips, bursts and noise`,
      });
    },
    CASE_MS_MAX,
  );
}

/** What one flipped bit changes in the sum of a frame, by bit, each worked out bit by bit. */
function syndromes(sizeBytes: number): number[] {
  const sum = (frame: Uint8Array): number => {
    let crc = 0;
    for (const [at, byte] of frame.entries()) {
      if (at >= 8 && at < 12) continue;
      crc ^= byte;
      for (let bit = 0; bit < 8; bit += 1)
        crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xc8df_352f : crc >>> 1;
    }
    return crc;
  };
  return Array.from({ length: sizeBytes * 8 }, (_, bit) => {
    const at = bit >> 3;
    if (at >= 8 && at < 12) return (1 << ((11 - at) * 8 + (bit & 7))) >>> 0;
    const frame = new Uint8Array(sizeBytes);
    frame[at] = 1 << (bit & 7);
    return sum(frame) >>> 0;
  });
}

test.each([28, 36, 43, 51])(
  "a frame of %d bytes has a Hamming distance of at least 6, whatever it says",
  (sizeBytes) => {
    // A sum is linear: an error of up to 5 bits passes only if up to 5 syndromes cancel out.
    const each = syndromes(sizeBytes);
    const pairs = new Set<number>();
    for (let first = 0; first < each.length; first += 1) {
      for (let second = first + 1; second < each.length; second += 1) {
        pairs.add((each[first]! ^ each[second]!) >>> 0);
      }
    }
    // No pair is zero, none is a third, and no two pairs are the same: distance 5.
    expect(pairs.size).toBe((each.length * (each.length - 1)) / 2);
    expect(pairs.has(0)).toBe(false);
    expect(each.some((syndrome) => pairs.has(syndrome))).toBe(false);
    // No three make a pair: distance 6.
    let cancelled = 0;
    for (let first = 0; first < each.length; first += 1) {
      for (let second = first + 1; second < each.length; second += 1) {
        const two = each[first]! ^ each[second]!;
        for (let third = second + 1; third < each.length; third += 1) {
          if (pairs.has((two ^ each[third]!) >>> 0)) cancelled += 1;
        }
      }
    }
    expect(cancelled).toBe(0);
  },
  60_000,
);

/** Makes one frame that the chip must refuse, and says under which names. */
type Forger = {
  readonly name: string;
  readonly verdicts: readonly EstopVerdict[];
  /** Changes a good answer to the newest question. */
  readonly spoil: (answer: EstopAnswer, random: SeededRandom) => void;
};

const { OtherBoot, Repeated, SameTick, Late, Wrong } = EstopVerdict;
const AHEAD = 1_000_000;
const below = (random: SeededRandom, limit: number): number => Math.floor(random.next() * limit);
const word = (random: SeededRandom): number => below(random, 2 ** 32);

/** The last good answer had this counter and tick; a good one now would have the next. */
const LAST = { counter: 40_000, tickIndex: 3_000_000_000 };

const forgers: readonly Forger[] = [
  {
    name: "repetition",
    verdicts: [Repeated],
    spoil: (answer) => Object.assign(answer, LAST),
  },
  {
    name: "repetition under a new counter",
    verdicts: [SameTick],
    spoil: (answer) => (answer.tickIndex = LAST.tickIndex),
  },
  {
    name: "wrong sequence",
    verdicts: [Repeated],
    spoil: (answer, random) => (answer.counter = (LAST.counter - below(random, 32_768)) & 0xffff),
  },
  {
    name: "wrong sequence of ticks",
    verdicts: [SameTick],
    spoil: (answer, random) => (answer.tickIndex = LAST.tickIndex - below(random, 2 ** 31)),
  },
  {
    name: "delay, by an older question",
    verdicts: [Late],
    spoil: (answer, random) =>
      (answer.questionId = (answer.questionId - 4 - below(random, 65_000)) & 0xffff),
  },
  {
    name: "insertion",
    verdicts: [Wrong],
    spoil: (answer, random) => (answer.answer = word(random)),
  },
  {
    name: "insertion, of an answer to another tick",
    verdicts: [Wrong],
    spoil: (answer, random) => (answer.tickIndex += 1 + below(random, AHEAD)),
  },
  {
    name: "insertion, of an answer to another question",
    verdicts: [Wrong],
    spoil: (answer, random) => (answer.answer = answerOf(word(random), answer.tickIndex)),
  },
  {
    name: "addressing, of another chip or boot",
    verdicts: [OtherBoot],
    spoil: (answer, random) => (answer.bootNonce = (NONCE + 1 + below(random, 2 ** 31)) >>> 0),
  },
  {
    name: "addressing, of a chip that asked something else",
    verdicts: [Late, Wrong],
    spoil: (answer, random) => {
      answer.questionId = below(random, 65_536);
      answer.answer = answerOf(word(random), answer.tickIndex);
    },
  },
];

/** A core whose last good answer is `LAST`, with four questions asked, the newest in `status`. */
function beating(): { core: EstopCore; status: EstopStatus; good: EstopAnswer } {
  const { core, status } = asking(false, noKey);
  const reader = new StatusReader(null);
  for (let period = 1; period < 6; period += 1) {
    const size = core.status(period * 5_000);
    for (let at = 0; at < size; at += 1) reader.takeInto(status, core.statusWire[at]!);
  }
  const good = Object.assign(new EstopAnswer(), {
    ...LAST,
    bootNonce: NONCE,
    questionId: status.counter,
    answer: answerOf(status.question, LAST.tickIndex),
  });
  return { core, status, good };
}

const NOW_US = 26_000;

coreTest.each(forgers)(
  `of ${TRIALS} frames of $name the chip takes none for good`,
  ({ name, verdicts, spoil }) => {
    const { core, status, good } = beating();
    const writer = new AnswerWriter(null);
    const wire = new Uint8Array(writer.wireSizeBytes);
    const send = (answer: EstopAnswer): Int32Array => {
      writer.writeInto(wire, answer);
      core.receive(wire, NOW_US);
      return core.refreshView();
    };
    expect(send(good)[EstopView.goodStreak]).toBe(1);
    const next = (): EstopAnswer => {
      const tickIndex = LAST.tickIndex + 16;
      const answer = answerOf(status.question, tickIndex);
      return Object.assign(new EstopAnswer(), good, { tickIndex, answer, counter: 40_001 });
    };
    const fresh = next();
    const answer = new EstopAnswer();
    const random = new SeededRandom(1);
    const seen = new Set<number>();
    let refused = 0;
    for (let trial = 0; trial < TRIALS; trial += 1) {
      Object.assign(answer, fresh);
      spoil(answer, random);
      const view = send(answer);
      seen.add(view[EstopView.lastBad]!);
      if (view[EstopView.goodStreak] === 0 && view[EstopView.badCount] === ((trial + 1) & 0xffff)) {
        refused += 1;
      }
    }
    expect(refused).toBe(TRIALS);
    noteFigure({
      part: "errors of a line",
      case: name,
      measured: "0 taken for good",
      limit: "0",
      tries: `${TRIALS} frames`,
    });
    expect([...seen].toSorted((a, b) => a - b)).toEqual([...verdicts]);
    expect(send(next())[EstopView.goodStreak]).toBe(1);
    core.free();
  },
  60_000,
);

coreTest("a good answer is late once its question is 25 ms old, and not before", () => {
  const { core, good } = beating();
  const at = (nowUs: number): number => {
    const { core: own, good: answer } = beating();
    const writer = new AnswerWriter(null);
    const wire = new Uint8Array(writer.wireSizeBytes);
    writer.writeInto(wire, answer);
    own.receive(wire, nowUs);
    const verdict = own.refreshView()[EstopView.lastBad]!;
    own.free();
    return verdict;
  };
  expect(good.questionId).toBe(5);
  expect([at(50_000), at(50_001)]).toEqual([EstopVerdict.Good, Late]);
  core.free();
});

const foreignIds = [STATUS_KIND.dataId, ANSWER_KIND.dataId + 1, 0, 0xffff_ffff];
coreTest.each(foreignIds)(
  "an answer under data id %d is foreign, however right it is",
  (dataId) => {
    const { core, status } = asking(false, noKey);
    const writer = new FrameWriter({ sizeBytes: ANSWER_KIND.sizeBytes, dataId }, null);
    const own = new AnswerWriter(null);
    const wire = new Uint8Array(writer.wireSizeBytes);
    const fields = { bootNonce: NONCE, tickIndex: 77, answer: answerOf(status.question, 77) };
    const answer = Object.assign(new EstopAnswer(), fields);
    writer.frame.set(payloadOf(own, answer), 12);
    writer.sealInto(wire, 1);
    core.receive(wire, 1_000);
    const view = core.refreshView();
    expect([view[EstopView.lastBad], view[EstopView.goodStreak]]).toEqual([
      EstopVerdict.Foreign,
      0,
    ]);
    own.writeInto(wire, Object.assign(answer, { counter: 2 }));
    core.receive(wire, 1_000);
    expect(core.refreshView()[EstopView.goodStreak]).toBe(1);
    core.free();
  },
);

/** The fields of an answer as bytes, by the codec's own reader of frames. */
function payloadOf(writer: AnswerWriter, answer: EstopAnswer): Uint8Array {
  const payload = new DataView(new ArrayBuffer(16));
  payload.setUint32(0, answer.bootNonce);
  payload.setUint32(4, answer.tickIndex);
  payload.setUint32(8, answer.answer);
  payload.setUint16(12, answer.questionId);
  expect(writer.wireSizeBytes).toBe(31);
  return new Uint8Array(payload.buffer);
}

coreTest("frames of zeros of any length count neither way", () => {
  const { core } = asking(false, noKey);
  for (let size = 1; size < 300; size += 1) {
    core.receive(Uint8Array.from([0, ...new Uint8Array(size).fill(1), 0]), 1_000);
  }
  core.receive(new Uint8Array(100_000), 1_000);
  const view = core.refreshView();
  expect([view[EstopView.badCount], view[EstopView.goodStreak]]).toEqual([0, 0]);
  core.free();
});
