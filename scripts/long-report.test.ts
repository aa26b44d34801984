// Tests of the long run's table: what is read, what is refused, and what the file looks like. The
// date and the machine are arguments here, so that the text is known.

import { expect, test } from "bun:test";
import { LongReportError, readFigures, renderTable } from "./long-report.ts";

const figure = {
  part: "gate holds",
  case: "so101-servo",
  measured: "0.0003 rad",
  limit: "below 0.02 rad",
  tries: "100 poses",
};

test("figures are read line by line", () => {
  const other = { ...figure, case: "ur5e" };
  const text = `${JSON.stringify(figure)}\n${JSON.stringify(other)}\n`;
  expect(readFigures(text)).toEqual([figure, other]);
});

test("a file without figures, or with a line that is none, is refused by its number", () => {
  expect(() => readFigures("\n")).toThrow(
    new LongReportError("Cannot render the long run: no figures"),
  );
  const text = `${JSON.stringify(figure)}\n{"part":"gate"}\n`;
  expect(() => readFigures(text)).toThrow(
    'Cannot read figure 2: expected part, case, measured, limit, tries: {"part":"gate"}',
  );
  expect(() => readFigures("gate")).toThrow("Cannot read figure 1: ");
});

test("the table has a title, the day, the machine and a row for each figure", () => {
  const odd = { ...figure, measured: "3 | 4\n5" };
  expect(renderTable([figure, odd], "2031-05-06", "2 cores").split("\n")).toEqual([
    "# The last long run",
    "",
    "Figures of `scripts/test --long`, which tries each case as often as stated and writes this.",
    "",
    "2031-05-06, 2 cores.",
    "",
    "| part | case | measured | limit | tries |",
    "| --- | --- | --- | --- | --- |",
    "| gate holds | so101-servo | 0.0003 rad | below 0.02 rad | 100 poses |",
    "| gate holds | so101-servo | 3 \\| 4 5 | below 0.02 rad | 100 poses |",
    "",
  ]);
});
