// Tests of the drawings: the committed document is up to date, and a drawing says what its table
// says. A document without its marks is refused by name.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { estopLosses } from "../firmware-tests/scenarios/estop-losses.ts";
import { lossRows, lossTable } from "../firmware-tests/scenarios/loss-table.ts";
import { losses } from "../firmware-tests/scenarios/losses.ts";
import { faultNames } from "../safety/faults.ts";
import { DiagramError, faultTable, redraw, supervisorDiagram } from "./diagrams.ts";

const documentPath = join(import.meta.dir, "../safety/README.md");

test("safety/README.md shows the tables of today", async () => {
  const text = await Bun.file(documentPath).text();
  expect(redraw(text)).toBe(text);
});

test("an outdated drawing is replaced, and nothing around it", async () => {
  const text = await Bun.file(documentPath).text();
  const old = text.replace(supervisorDiagram(), "an old drawing").replace(faultTable(), "");
  expect(old).not.toBe(text);
  expect(redraw(old)).toBe(text);
});

test("the diagram has one arrow for each pair of modes that a cue connects", () => {
  const arrows = supervisorDiagram()
    .split("\n")
    .filter((line) => line.includes("-->"));
  expect(arrows.length).toBe(new Set(arrows.map((arrow) => arrow.split(":")[0])).size);
  expect(arrows).toContain("  FAULT_LATCHED --> RECOVER: OperatorReset");
  expect(arrows).toContain("  RECOVER --> RUNNING: OperatorStart");
  expect(arrows).toContain("  RUNNING --> DEGRADED: Fault");
  expect(arrows.filter((arrow) => arrow.startsWith("  FAULT_LATCHED -->")).length).toBe(1);
});

test("the fault table has a row for each fault, in order", () => {
  const rows = faultTable().split("\n").slice(2);
  expect(rows.map((row) => row.split("`")[1]!)).toEqual([...faultNames]);
});

test("the loss table has a line for each row that a scenario runs, and names it once", () => {
  const rows = lossTable().split("\n").slice(2);
  expect(rows.length).toBe(lossRows.length);
  const ids = lossRows.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([...losses, ...estopLosses].map(({ id }) => id)));
  expect(new Set(ids).size).toBe(ids.length);
  expect(rows.every((row) => row.split(" | ").length === 6)).toBe(true);
});

test("a document without its marks is refused by name", () => {
  expect(() => redraw("no marks")).toThrow(DiagramError);
  expect(() => redraw("no marks")).toThrow('Cannot draw "supervisor"');
});
