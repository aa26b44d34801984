// Draws what is data in the code into the documents: the supervisor's diagram, the fault table, the
// loss table and the count of assertions of safety/README.md. Each drawing stands between two
// marks; nothing outside them is touched.
//
//   bun scripts/diagrams.ts          writes the drawings
//   bun scripts/diagrams.ts --check  changes nothing and fails when a drawing is out of date

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lossTable } from "../firmware-tests/scenarios/loss-table.ts";
import { Mode, modeNames } from "../runtime/contracts/mode.ts";
import { faultRows } from "../safety/faults.ts";
import type { FaultRow } from "../safety/faults.ts";
import { Cue, transitions } from "../safety/supervisor-table.ts";
import { ASSERTED_FILES, assertedIn } from "./tidy/assertion-rules.ts";
import { sourceFile } from "./tidy/repository.ts";

const ROOT = join(import.meta.dir, "..");
const DOCUMENT = join(ROOT, "safety/README.md");

export class DiagramError extends Error {
  override readonly name = "DiagramError";
  readonly mark: string;

  constructor(mark: string, document: string) {
    super(`Cannot draw "${mark}": ${document} has no pair of marks for it`);
    this.mark = mark;
  }
}

/** A Mermaid state diagram: an arrow for each pair of modes, with the cues that lead along it. */
export function supervisorDiagram(): string {
  const lines = ["```mermaid", "stateDiagram-v2", "  [*] --> STARTING"];
  for (const from of Object.values(Mode)) {
    for (const to of Object.values(Mode)) {
      const names = Object.keys(Cue).filter((_, cue) => transitions[from][cue] === to);
      if (from === to || names.length === 0) continue;
      lines.push(`  ${modeNames[from]} --> ${modeNames[to]}: ${names.join(", ")}`);
    }
  }
  return [...lines, "```"].join("\n");
}

const persistTexts: Readonly<Record<FaultRow["persist"], string>> = {
  at_once: "at once",
  no_action: "`no_action` persist",
  stale: "`stale_state` persist",
  never: "never",
};
const clearTexts: Readonly<Record<FaultRow["clear"], string>> = {
  whenClear: "its condition",
  onOperator: "a reset",
  onPowerCycle: "a new process",
};

function rearmText(row: FaultRow): string {
  if (row.persist === "never") return "nobody: it never stops the robot";
  return row.clear === "onPowerCycle" ? "a person, after a restart" : "a person, once it stopped";
}

/** A Markdown table of every fault row. */
export function faultTable(): string {
  const lines = [
    "| fault | severity | motion left | stops the robot after | ended by | who re-arms |",
    "|---|---|---|---|---|---|",
  ];
  for (const row of faultRows) {
    const { clear, motion, name, persist, severity } = row;
    const ends = [persistTexts[persist], clearTexts[clear], rearmText(row)].join(" | ");
    lines.push(`| \`${name}\` | ${severity} | ${motion} | ${ends} |`);
  }
  return lines.join("\n");
}

/** A Markdown table of what the files that decide about motion assert. */
export function assertionTable(): string {
  const lines = [
    "| file | assertions | exported functions | each runs at least | on average |",
    "|---|---|---|---|---|",
  ];
  for (const path of ASSERTED_FILES) {
    const { count, functions } = assertedIn(
      sourceFile(path, readFileSync(join(ROOT, path), "utf8")),
    );
    const reached = functions.map(({ reachedCount }) => reachedCount);
    const average = reached.reduce((sum, each) => sum + each, 0) / reached.length;
    const figures = [count, functions.length, Math.min(...reached), average.toFixed(1)];
    lines.push(`| \`${path}\` | ${figures.join(" | ")} |`);
  }
  return lines.join("\n");
}

const drawings: Readonly<Record<string, () => string>> = {
  supervisor: supervisorDiagram,
  faults: faultTable,
  losses: lossTable,
  assertions: assertionTable,
};

/** The document with every drawing up to date. */
export function redraw(text: string): string {
  let drawn = text;
  for (const [mark, draw] of Object.entries(drawings)) {
    const from = `<!-- drawn: ${mark} -->\n`;
    const until = `\n<!-- end: ${mark} -->`;
    const start = drawn.indexOf(from);
    const end = drawn.indexOf(until, start);
    if (start === -1 || end === -1) throw new DiagramError(mark, DOCUMENT);
    drawn = drawn.slice(0, start + from.length) + draw() + drawn.slice(end);
  }
  return drawn;
}

if (import.meta.main) {
  const text = await Bun.file(DOCUMENT).text();
  const drawn = redraw(text);
  if (!process.argv.includes("--check")) {
    await Bun.write(DOCUMENT, drawn);
  } else if (drawn !== text) {
    console.error("safety/README.md is out of date: run bun scripts/diagrams.ts");
    process.exit(1);
  }
}
