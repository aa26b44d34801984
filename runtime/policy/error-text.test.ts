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

test.each([
  ["boom", "boom"],
  [undefined, "undefined"],
  [{ toString: () => Reflect.get({}, "x").y as string }, "a thrown value that has no text"],
  [Object.assign(new Error("bare"), { stack: undefined }), "bare"],
])("what carries no place is told by its words alone: %#", (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});
