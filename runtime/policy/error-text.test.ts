// Where a policy's own errors are said to be: thrown ones, syntax errors, and what is no error at
// all but was thrown all the same.

import { expect, test } from "bun:test";
import { errorText } from "./error-text.ts";

test("a thrown error is told with the place it was thrown at", () => {
  const text = errorText(new Error("no model"));
  expect(text).toMatch(/^no model \(\/.*error-text\.test\.ts:\d+:\d+\)$/);
});

test("a syntax error is told with the place the parser names", () => {
  const error = Object.assign(new Error("Expected }"), {
    position: { file: "/policies/wave.ts", line: 3, column: 7 },
  });
  expect(errorText(error)).toBe("Expected } (/policies/wave.ts:3:7)");
});

test("of several syntax errors in one the first is told, with its place", () => {
  const first = { message: "Unexpected }", position: { file: "/p.ts", line: 2, column: 4 } };
  const error = new AggregateError(
    [Object.assign(new Error(), first), new Error("2nd")],
    "2 errors",
  );
  expect(errorText(error)).toBe("Unexpected } (/p.ts:2:4)");
  expect(errorText(Object.assign(new AggregateError([], "none"), { stack: "" }))).toBe("none");
});

test("however long and on however many lines, it is one line of 300 characters at most", () => {
  const bare = Object.assign(new Error("a\n\tb\u0000c\u001b[2J "), { stack: "" });
  expect(errorText(bare)).toBe("a b c [2J");
  const long = errorText(Object.assign(new Error("x".repeat(1e5)), { stack: "" }));
  expect([long.length, long.slice(-2)]).toEqual([300, "x…"]);
  const file = `/${"d".repeat(500)}/p.ts`;
  const placed = errorText(
    Object.assign(new Error("y".repeat(1e5)), { position: { file, line: 3, column: 7 } }),
  );
  expect([placed.length, placed.slice(0, 9)]).toEqual([300, "yyyyyyyyy"]);
  expect(placed).toEndWith("d/p.ts:3:7)");
});

test("what reorders a line is left out, and megabytes are not looked at", () => {
  const bare = (words: string): Error => Object.assign(new Error(words), { stack: "" });
  expect(errorText(bare("rm\u202e -rf\u2028 x\u200f"))).toBe("rm -rf x");
  const hostileStack = Object.assign(new Error("x"), { stack: "/".repeat(10 << 20) });
  expect(errorText(hostileStack)).toBe("x");
  const long = errorText(new Error("/a:1:1 ".repeat(1 << 20)));
  expect([long.length, long]).toEqual([
    300,
    expect.stringMatching(/error-text\.test\.ts:\d+:\d+\)$/),
  ]);
});

const hostile = () => {
  throw new Error("hands off");
};
const nothingReadable = new Proxy(new Error("x"), { get: hostile, getPrototypeOf: hostile });

test.each([
  ["an object without a prototype", Object.create(null)],
  ["a message that throws", Object.defineProperty(new Error("x"), "message", { get: hostile })],
  ["a stack that throws", Object.defineProperty(new Error("x"), "stack", { get: hostile })],
  ["a place that throws", { position: Object.defineProperty({}, "file", { get: hostile }) }],
  ["a list of errors that throws", Object.defineProperty({}, "errors", { get: hostile })],
  ["a message without text", Object.assign(new Error("x"), { message: Object.create(null) })],
  ["a proxy that refuses everything", nothingReadable],
])("what cannot be looked at is told to have no text: %s", (_what, thrown) => {
  expect(errorText(thrown)).toBe("a thrown value that has no text");
});

test.each([
  ["boom", "boom"],
  [undefined, "undefined"],
  [{ toString: () => Reflect.get({}, "x").y as string }, "a thrown value that has no text"],
  [Object.assign(new Error("bare"), { stack: undefined }), "bare"],
])("what carries no place is told by its words alone: %#", (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});
