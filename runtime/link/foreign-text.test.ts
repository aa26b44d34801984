// Text from the other side, made harmless for a terminal: whatever steers is a question mark, and
// what is long is cut.

import { expect, test } from "bun:test";
import { cut } from "./foreign-text.ts";

test.each([
  ["escapes, line ends and bells", "a\u001b[2Jb\n\u202ec\u0007", "a?[2Jb?c?"],
  ["line ends of Unicode's own", "a\u2028b\u2029c", "a?b?c"],
  ["marks of direction", "\u200frm -rf\u2066", "?rm -rf?"],
  ["a length that would hide the rest", "x".repeat(1_000), "x".repeat(300)],
])("foreign text is one line, short and without what steers: %s", (_what, text, expected) => {
  expect(cut(text)).toBe(expected);
});
