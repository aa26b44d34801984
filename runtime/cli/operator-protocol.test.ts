// The lines of the operator socket, word for word, and everything that is none of them. A refused
// request must leave the run untouched.

import { expect, test } from "bun:test";
import { exampleStatus, FakeRun } from "./fixture.ts";
import { answerLine, operatorMethods, readAnswer, requestLine } from "./operator-protocol.ts";

test("each method does one thing and is answered", () => {
  const run = new FakeRun();
  const answers = operatorMethods.map((method) => readAnswer(answerLine(requestLine(method), run)));
  expect(run.asked).toEqual(["stop", "park", "reset", "start", "arm", "prooftest"]);
  expect(answers).toEqual([
    { kind: "cue", cue: { accepted: true, text: "stop heard" } },
    { kind: "cue", cue: { accepted: true, text: "park heard" } },
    { kind: "cue", cue: { accepted: true, text: "reset heard" } },
    { kind: "cue", cue: { accepted: true, text: "start heard" } },
    { kind: "cue", cue: { accepted: true, text: "arm heard" } },
    { kind: "cue", cue: { accepted: true, text: "prooftest heard" } },
    { kind: "status", status: exampleStatus },
  ]);
});

const refused: readonly (readonly [string, string, string])[] = [
  ["", "bad_json", "Cannot read the request: "],
  ["{", "bad_json", "Cannot read the request: "],
  ["[]", "bad_request", "Cannot read the request: expected an object, found something else"],
  ["null", "bad_request", "Cannot read the request: expected an object, found something else"],
  ['"stop"', "bad_request", "Cannot read the request: expected an object, found something else"],
  [
    "{}",
    "unknown_method",
    "Cannot do the method: expected stop, park, reset, start, arm, prooftest, status, " +
      "found nothing",
  ],
  [
    '{"method":"go"}',
    "unknown_method",
    "Cannot do the method: expected stop, park, reset, start, arm, prooftest, status, " +
      'found "go"',
  ],
  [
    '{"method":["stop"]}',
    "unknown_method",
    "Cannot do the method: expected stop, park, reset, start, arm, prooftest, status, " +
      'found ["stop"]',
  ],
  [
    '{"method":"quit"}',
    "unknown_method",
    "Cannot do the method: expected stop, park, reset, start, arm, prooftest, status, " +
      'found "quit"',
  ],
  [
    '{"method":"constructor"}',
    "unknown_method",
    'stop, park, reset, start, arm, prooftest, status, found "constructor"',
  ],
  [
    '{"method":"start","force":true}',
    "unknown_key",
    'Cannot read the request: unknown key "force"',
  ],
  [
    '{"__proto__":{"method":"stop"}}',
    "unknown_key",
    'Cannot read the request: unknown key "__proto__"',
  ],
  [
    '{"method":"stop","method":"start"}',
    "bad_request",
    'Cannot read the request: "method" is given twice',
  ],
];

test.each(refused)("%p is refused and does nothing", (request, code, message) => {
  const run = new FakeRun();
  const answer = readAnswer(answerLine(request, run));
  expect(answer).toEqual({ kind: "refused", code, message: expect.stringContaining(message) });
  expect(run.asked).toEqual([]);
});

test("figures that are not there yet survive the way", () => {
  const run = new FakeRun({ rateHz: Number.NaN, measuredRad: [Number.NaN, 1] });
  expect(readAnswer(answerLine('{ "method": "status" }\r', run))).toEqual({
    kind: "status",
    status: { ...exampleStatus, rateHz: Number.NaN, measuredRad: [Number.NaN, 1] },
  });
});

const withField = (field: string, value: unknown): string =>
  JSON.stringify({ status: { ...exampleStatus, [field]: value } });

test.each([
  "",
  "x",
  "[]",
  "{}",
  '{"accepted":1,"text":"a"}',
  '{"error":{"code":1}}',
  '{"status":{}}',
  withField("mode", 1),
  withField("rateHz", "fast"),
  withField("jointNames", [1]),
  withField("measuredRad", ["far"]),
  withField("taskSuccess", null),
])("%p is no answer", (line) => {
  expect(readAnswer(line)).toBeUndefined();
});

test("an answer keeps no field that it should not have", () => {
  const line = JSON.stringify({ status: { ...exampleStatus, extra: 1 }, more: 2 });
  expect(readAnswer(line)).toEqual({ kind: "status", status: exampleStatus });
});
