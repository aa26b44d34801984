// The status of a run as text. On a terminal it is one line, rewritten in place and cut to the
// width; elsewhere a line appears only when mode or reason changed, so that a log stays readable.
// Notes and answers go above the line. Pure but for the writing: the caller decides when to look.

import { printable } from "./output.ts";
import type { TextOut } from "./output.ts";
import type { RunStatus } from "./run-handle.ts";

const CLEAR_LINE = "\r\u001b[2K";
const GAP = "  ";
// A rest of a hint shorter than this tells nobody anything.
const HINT_COLUMN_COUNT_MIN = 8;

const colours: Readonly<Record<string, string>> = {
  RUNNING: "\u001b[32m",
  DEGRADED: "\u001b[33m",
  STARTING: "\u001b[36m",
  RECOVER: "\u001b[36m",
  SAFE_STOP: "\u001b[31m",
  FAULT_LATCHED: "\u001b[31m",
};
const COLOUR_END = "\u001b[0m";

export class StatusLine {
  readonly #out: TextOut;
  #shown = "";
  #change = "";
  readonly #noted = new Set<string>();

  constructor(out: TextOut) {
    this.#out = out;
  }

  /** Shows the status. A warning that nobody noted yet is written once, in full. */
  show(status: RunStatus): void {
    for (const warning of status.warnings) if (!this.#noted.has(warning)) this.note(warning);
    if (!this.#out.isTerminal) {
      this.#showChange(status);
      return;
    }
    const line = statusText(status, this.#out.columnCount - 1);
    this.#shown = this.#out.hasColour ? coloured(line, status.mode) : line;
    this.#out.write(CLEAR_LINE + this.#shown);
  }

  /** Writes lines for a person above the status. */
  note(text: string): void {
    this.#noted.add(text);
    this.#write(text);
  }

  /** Takes the line away: what follows starts in the first column. */
  end(): void {
    if (this.#shown !== "") this.#out.write(CLEAR_LINE);
    this.#shown = "";
  }

  #write(text: string): void {
    const lines = text.replace(/[^\P{Cc}\n]/gu, " ");
    this.#out.write(this.#shown === "" ? `${lines}\n` : `${CLEAR_LINE}${lines}\n${this.#shown}`);
  }

  #showChange(status: RunStatus): void {
    const change = `${status.mode} ${status.reason}`;
    if (change === this.#change) return;
    this.#change = change;
    this.#write(`${status.sessionS.toFixed(1)} s  ${change}${GAP}${status.hint}`);
  }
}

/** The line, at most `columnCount` cells wide. What matters least is left out first. */
export function statusText(status: RunStatus, columnCount: number): string {
  const parts = [
    `${status.mode} ${status.reason}`,
    `${status.rateHz.toFixed(1)} Hz`,
    `late ${status.lateTicks} missed ${status.missedTicks}`,
    status.task === "none" ? "" : `${status.task} ${status.successCount}/${status.episodeCount}`,
    status.warnings.length === 0 ? "" : `warnings ${status.warnings.length}`,
  ];
  let line = "";
  for (const part of parts.map(printable).filter((each) => each !== "")) {
    const longer = line === "" ? part : line + GAP + part;
    if (Bun.stringWidth(longer) > columnCount) return cut(line === "" ? part : line, columnCount);
    line = longer;
  }
  const room = columnCount - Bun.stringWidth(line) - GAP.length;
  const hint = printable(status.hint);
  if (hint === "" || room < HINT_COLUMN_COUNT_MIN) return line;
  return line + GAP + cut(hint, room);
}

/** The status for a person who asked for it, several lines. */
export function statusReport(status: RunStatus, pid: number): string {
  const figure = (value: number | undefined) => (value ?? Number.NaN).toFixed(3).padStart(9);
  const joints = status.jointNames.map(
    (name, joint) =>
      `  ${name.padEnd(24)}${figure(status.measuredRad[joint])}${figure(status.commandRad[joint])}`,
  );
  const lines = [
    `run ${pid}: ${status.profile}, policy ${status.policy}, ${status.timeModel}`,
    `  mode      ${status.mode}, reason ${status.reason}, epoch ${status.epoch}`,
    `  time      ${status.sessionS.toFixed(1)} s, tick ${status.tick}`,
    `  rate      ${status.rateHz.toFixed(1)} Hz of ${status.rateAskedHz} asked, ` +
      `${status.lateTicks} late, ${status.missedTicks} missed`,
    `  wake-up   p50 ${status.wakeUsP50.toFixed(0)} us, p99 ${status.wakeUsP99.toFixed(0)} us; ` +
      `work p99 ${status.workUsP99.toFixed(0)} us; ` +
      `sample age p50 ${status.sampleAgeMsP50.toFixed(1)} ms`,
    `  task      ${status.task}, ${status.successCount} of ${status.episodeCount} episodes`,
    `  faults    ${status.faults.length === 0 ? "none" : status.faults.join(", ")}`,
    ...status.warnings.map((warning) => `  warning   ${warning}`),
    `  ${"joint".padEnd(24)} measured  command  rad`,
    ...joints,
    status.hint,
  ];
  return lines.map((line) => line.replace(/\p{Cc}/gu, " ")).join("\n");
}

function cut(text: string, columnCount: number): string {
  if (Bun.stringWidth(text) <= columnCount) return text;
  let kept = "";
  for (const letter of text) {
    if (Bun.stringWidth(kept + letter) > columnCount - 1) break;
    kept += letter;
  }
  return columnCount < 1 ? "" : `${kept}…`;
}

function coloured(line: string, mode: string): string {
  const colour = colours[mode];
  if (colour === undefined || !line.startsWith(mode)) return line;
  return colour + mode + COLOUR_END + line.slice(mode.length);
}
