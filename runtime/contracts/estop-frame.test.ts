// The e-stop codec against vectors that another program made from the protocol's text, and against
// broken frames. The C codec reads the same vectors in firmware-tests/.

import { expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/estop-frames.json";
import { foldStage, openAnswer } from "./estop-answer.ts";
import { EstopVerdict } from "./estop-codes.ts";
import {
  estopCauseNames,
  estopModeNames,
  estopProofNames,
  estopVerdictNames,
} from "./estop-codes.ts";
import { EstopCause, EstopMode, EstopProof } from "./estop-codes.ts";
import { AnswerReader, AnswerWriter, EstopAnswer, EstopStatus } from "./estop-frame.ts";
import { ANSWER_KIND, StatusReader, StatusWriter } from "./estop-frame.ts";
import { FrameTag } from "./estop-tag.ts";
import { crc32p4, FrameWriter } from "./estop-wire.ts";
import { SeededRandom } from "./seeded-random.ts";

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const key = bytesOf(vectors.key);

/** Every verdict that a stream of bytes gives. */
function verdictsOf(reader: StatusReader, wire: Uint8Array): EstopVerdict[] {
  const status = new EstopStatus();
  const verdicts: EstopVerdict[] = [];
  for (const byte of wire) {
    const verdict = reader.takeInto(status, byte);
    if (verdict !== EstopVerdict.Pending) verdicts.push(verdict);
  }
  return verdicts;
}

test.each(vectors.crc)("the CRC of $bytes is that of the vectors", ({ bytes, crc }) => {
  expect(crc32p4(bytesOf(bytes), bytes.length / 2)).toBe(crc);
});

test.each(vectors.tags)("the tag of $bytes is HalfSipHash-2-4", ({ bytes, tag }) => {
  const out = new Uint8Array(10);
  new FrameTag(key).writeInto(out, 1, bytesOf(`${bytes}ff`), bytes.length / 2);
  expect(hexOf(out)).toBe(`00${tag}00`);
});

test.each(vectors.folds)("stages in order answer question $question", (fold) => {
  let answer = openAnswer(fold.question, fold.tickIndex);
  for (const token of vectors.tokens) answer = foldStage(answer, token);
  expect(answer).toBe(fold.answer);
});

test("a stage skipped, repeated or exchanged with any other changes the answer", () => {
  const fold = (tokens: readonly number[]) => tokens.reduce(foldStage, openAnswer(0xdead_beef, 7));
  const { tokens } = vectors;
  const orders = [tokens];
  for (const [index, token] of tokens.entries()) {
    orders.push(tokens.toSpliced(index, 1), tokens.toSpliced(index, 0, token));
    for (let other = index + 1; other < tokens.length; other += 1) {
      orders.push(tokens.with(index, tokens[other]!).with(other, token));
    }
  }
  expect(new Set(orders.map(fold)).size).toBe(1 + 7 + 7 + 21);
});

for (const [name, keyed] of [
  ["wire", null],
  ["keyedWire", key],
] as const) {
  test.each(vectors.answers)(`an answer is written and read as ${name} %#`, (vector) => {
    const writer = new AnswerWriter(keyed);
    const wire = new Uint8Array(writer.wireSizeBytes);
    const answer = Object.assign(new EstopAnswer(), vector.fields);
    expect([writer.writeInto(wire, answer), hexOf(wire)]).toEqual([wire.length, vector[name]]);
    const reader = new AnswerReader(keyed);
    const read = new EstopAnswer();
    const verdicts = [...wire].map((byte) => reader.takeInto(read, byte));
    expect(verdicts.filter((verdict) => verdict !== EstopVerdict.Pending)).toEqual([0]);
    expect({ ...read }).toEqual(vector.fields);
  });

  test.each(vectors.statuses)(`a status is written and read as ${name} %#`, (vector) => {
    const writer = new StatusWriter(keyed);
    const wire = new Uint8Array(writer.wireSizeBytes);
    const status = Object.assign(new EstopStatus(), vector.fields);
    expect([writer.writeInto(wire, status), hexOf(wire)]).toEqual([wire.length, vector[name]]);
    const reader = new StatusReader(keyed);
    const read = new EstopStatus();
    const verdicts = [...wire].map((byte) => reader.takeInto(read, byte));
    expect(verdicts.filter((verdict) => verdict !== EstopVerdict.Pending)).toEqual([0]);
    expect({ ...read }).toEqual(vector.fields);
  });
}

test("a status takes over every field of another", () => {
  const from = new EstopStatus();
  for (const [index, name] of Object.keys(from).entries())
    Object.assign(from, { [name]: index + 1 });
  const status = new EstopStatus();
  status.set(from);
  expect(status).toEqual(from);
});

test("another key, a frame without a tag and one with a tag too many are refused by name", () => {
  const { wire, keyedWire } = vectors.statuses[0]!;
  const otherKey = key.map((byte) => byte ^ 1);
  expect([
    verdictsOf(new StatusReader(otherKey), bytesOf(keyedWire)),
    verdictsOf(new StatusReader(key), bytesOf(wire)),
    verdictsOf(new StatusReader(null), bytesOf(keyedWire)),
  ]).toEqual([[EstopVerdict.Forged], [EstopVerdict.Corrupt], [EstopVerdict.Corrupt]]);
});

test("a reader of statuses calls an answer foreign, and codes that do not exist malformed", () => {
  const foreign = new FrameWriter({ sizeBytes: 43, dataId: ANSWER_KIND.dataId }, null);
  const wire = new Uint8Array(foreign.wireSizeBytes);
  foreign.sealInto(wire, 0);
  expect(verdictsOf(new StatusReader(null), wire)).toEqual([EstopVerdict.Foreign]);
  const known = { mode: 6, cause: 17, lastBad: 10, inputs: 63, outputs: 15, proofStep: 10 };
  const writer = new StatusWriter(null);
  const verdictWith = (fields: Partial<EstopStatus>) => {
    writer.writeInto(wire, Object.assign(new EstopStatus(), known, fields));
    return verdictsOf(new StatusReader(null), wire);
  };
  expect(verdictWith({ build: 7, hostMode: 5 })).toEqual([EstopVerdict.Good]);
  for (const [name, code] of Object.entries({ ...known, build: 7, hostMode: 5 })) {
    expect([name, ...verdictWith({ [name]: code + 1 })]).toEqual([name, EstopVerdict.Malformed]);
  }
  const answers = new AnswerWriter(null);
  const reader = new AnswerReader(null);
  for (const fields of [{ hostMode: 6 }, { flags: 16 }]) {
    answers.writeInto(wire, Object.assign(new EstopAnswer(), fields));
    const read = [...wire.subarray(0, answers.wireSizeBytes)].map((byte) =>
      reader.takeInto(new EstopAnswer(), byte),
    );
    expect(read.at(-1)).toBe(EstopVerdict.Malformed);
  }
});

test("zeros are ignored, cut and long frames are corrupt, and the next whole frame is read", () => {
  const good = vectors.statuses[0]!.wire;
  const { Corrupt, Good, Ignored } = EstopVerdict;
  const cases: [string, EstopVerdict[]][] = [
    ["000000000000", []],
    ["0001", [Ignored]],
    [`00${"01".repeat(43)}00`, [Ignored]],
    ["0005aa", [Corrupt]],
    [good.slice(0, -8), [Corrupt]],
    [good.replace(/00$/, "0500"), [Corrupt]],
    [`${good.slice(2, -2)}0102030405`, [Corrupt]],
    ["ff".repeat(600), [Corrupt]],
  ];
  for (const [hex, verdicts] of cases) {
    const seen = verdictsOf(new StatusReader(null), bytesOf(hex + good));
    expect([hex, ...seen]).toEqual([hex, ...verdicts, Good]);
  }
});

test("no status with one or two flipped bits is read, nor any of 20,000 with three to five", () => {
  const wire = bytesOf(vectors.statuses[0]!.wire);
  const bits = wire.length * 8;
  const reader = new StatusReader(null);
  const flip = (bit: number) => (wire[bit >> 3]! ^= 1 << (bit & 7));
  let accepted = 0;
  const count = () => {
    const verdicts = verdictsOf(reader, wire).concat(verdictsOf(reader, new Uint8Array(1)));
    accepted += verdicts.filter((verdict) => verdict === EstopVerdict.Good).length;
  };
  for (let first = 0; first < bits; first += 1) {
    flip(first);
    count();
    for (let second = first + 1; second < bits; second += 1) {
      flip(second);
      count();
      flip(second);
    }
    flip(first);
  }
  expect(accepted).toBe(0);
  const random = new SeededRandom(1);
  for (let round = 0; round < 20_000; round += 1) {
    const flips = new Set(
      Array.from({ length: 3 + (round % 3) }, () => (bits * random.next()) >> 0),
    );
    for (const bit of flips) flip(bit);
    count();
    for (const bit of flips) flip(bit);
  }
  expect(accepted).toBe(0);
});

test("every code has a name at its place", () => {
  const named = (codes: Readonly<Record<string, number>>) =>
    Object.entries(codes)
      .filter(([, code]) => code !== EstopVerdict.Pending)
      .map(([name]) => name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase());
  expect([named(EstopMode), named(EstopCause), named(EstopVerdict), named(EstopProof)]).toEqual([
    estopModeNames.map((name) => name.toLowerCase()),
    [...estopCauseNames],
    [...estopVerdictNames],
    [...estopProofNames],
  ]);
});
