// Reading JUnit: the counts of a text as `bun test` writes it, and the refusal of a text that
// stops in the middle.

import { expect, test } from "bun:test";
import { JunitError, readJunit } from "./junit.ts";

const TEXT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5" assertions="1" failures="1" skipped="2" time="0.1">
  <testsuite name="a.test.ts" file="a.test.ts" tests="4" failures="1" skipped="2" time="0.1">
    <testcase name="adds" classname="" time="0.1" file="a.test.ts" line="2" assertions="0" />
    <testcase name="a &lt; b" classname="" time="0.1" file="a.test.ts" line="3" assertions="0">
      <failure type="Error" message="boom">Error: boom&#10;  at a/b.ts&#10;</failure>
    </testcase>
    <testcase name="later" classname="" time="0" file="a.test.ts" line="4" assertions="0">
      <skipped />
    </testcase>
    <testcase name="some day" classname="" time="0" file="a.test.ts" line="5" assertions="0">
      <skipped message="TODO" />
    </testcase>
  </testsuite>
  <testsuite name="b.test.ts" file="b.test.ts" tests="1" failures="0" skipped="0" time="0.1">
    <testcase name="x" classname="" time="0.1" file="b.test.ts" line="1" assertions="1" />
  </testsuite>
</testsuites>
`;

test("each case counts once, by what is inside it", () => {
  expect(readJunit(TEXT)).toEqual({
    passed: 2,
    failed: 1,
    skipped: 2,
    files: new Set(["a.test.ts", "b.test.ts"]),
  });
});

test("a text that stops in the middle is refused", () => {
  expect(() => readJunit(TEXT.slice(0, -20))).toThrow(JunitError);
  expect(() => readJunit("")).toThrow(JunitError);
});
