// Renders the figures that the long tests collected as firmware-tests/LONG-RUN.md: one table, with
// the date and the machine they were measured on. Without figures it refuses, so that a run that
// measured nothing never replaces one that did.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import { ROOT } from "./child-process.ts";

/** Where `scripts/test --long` collects, one JSON line a figure. */
export const LONG_FIGURES = join(ROOT, ".cache/test/long-figures.jsonl");
const LONG_TABLE = join(ROOT, "firmware-tests/LONG-RUN.md");
const columns = ["part", "case", "measured", "limit", "tries"] as const;

export type LongFigure = Readonly<Record<(typeof columns)[number], string>>;

export class LongReportError extends Error {
  override readonly name = "LongReportError";
}

/** Reads one figure a line. Throws LongReportError with the line that is none. */
export function readFigures(text: string): LongFigure[] {
  const lines = text.split("\n").filter((line) => line !== "");
  if (lines.length === 0) throw new LongReportError("Cannot render the long run: no figures");
  return lines.map((line, index) => {
    const figure = asFigure(line);
    if (figure !== undefined) return figure;
    const expected = columns.join(", ");
    throw new LongReportError(`Cannot read figure ${index + 1}: expected ${expected}: ${line}`);
  });
}

function asFigure(line: string): LongFigure | undefined {
  try {
    const value = JSON.parse(line) as Record<string, unknown>;
    const isWhole = columns.every((column) => typeof value[column] === "string");
    return isWhole ? (value as LongFigure) : undefined;
  } catch {
    return undefined; // no JSON
  }
}

/** The whole file: title, when and where, and one row a figure. */
export function renderTable(figures: readonly LongFigure[], when: string, machine: string): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  return [
    "# The last long run",
    "",
    "Figures of `scripts/test --long`, which tries each case as often as stated and writes this.",
    "",
    `${when}, ${machine}.`,
    "",
    row(columns),
    row(columns.map(() => "---")),
    ...figures.map((figure) => row(columns.map((column) => cell(figure[column])))),
    "",
  ].join("\n");
}

function machineText(): string {
  const cores = cpus();
  const model = cores[0]?.model ?? "unknown processor";
  return `${cores.length} cores of ${model}, Linux ${release().split("-")[0]}, Bun ${Bun.version}`;
}

if (import.meta.main) {
  try {
    const figures = readFigures(readFileSync(process.argv[2] ?? LONG_FIGURES, "utf8"));
    const day = new Date().toISOString().slice(0, 10);
    writeFileSync(LONG_TABLE, renderTable(figures, day, machineText()));
    console.log(`${figures.length} figures in firmware-tests/LONG-RUN.md`);
  } catch (error) {
    if (!(error instanceof LongReportError) && (error as NodeJS.ErrnoException).code !== "ENOENT")
      throw error;
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
}
