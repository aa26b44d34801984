// Figures of the long tests: what a case measured, how often, and the limit it was held to. Each is
// printed; `scripts/test --long` names a file in HOLDFAST_LONG_REPORT that collects them, one JSON
// line each, and `scripts/long-report.ts` makes the table of that.

import { appendFileSync } from "node:fs";

/** Whether the stated counts run, or a few repetitions. */
export const isLong: boolean = process.env["HOLDFAST_LONG"] === "1";

export type Figure = {
  readonly part: string;
  readonly case: string;
  /** With its unit, ready to read. */
  readonly measured: string;
  readonly limit: string;
  /** How often it was tried. */
  readonly tries: string;
};

export function noteFigure(figure: Figure): void {
  console.log(
    `${figure.part}, ${figure.case}: ${figure.measured} (${figure.limit}; ${figure.tries})`,
  );
  const file = process.env["HOLDFAST_LONG_REPORT"];
  if (file !== undefined && file !== "") appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
