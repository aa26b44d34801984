// The status of a run as text. On a terminal it is one line, rewritten in place and cut to the
// width; elsewhere a line appears only when a person is waited for and the hint changed, so that a
// log stays readable. Notes and answers go above the line. Pure but for the writing: the caller
// decides when to look.

import { commandWords, worded } from "./hint.ts";
import type { ActName } from "./hint.ts";
import { printable, printableLines } from "./output.ts";
import type { TextOut } from "./output.ts";
import { episodesText } from "./report.ts";
import type { RunStatus } from "./run-handle.ts";

const CLEAR_LINE = "\r\u001b[2K";
const GAP = "  ";
/** First notes kept, to know a warning again that was one of them. */
const NOTED_COUNT_MAX = 64;

/** A surface's own words for what a person may do. */
type Words = Readonly<Record<ActName, string>>;

/** Modes that go on by themselves; in the others a person is waited for. */
const selfGoing: readonly string[] = ["RUNNING", "DEGRADED"];

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
  readonly #words: Words;
  #shown = "";
  #shownColumnCount = 0;
  #told = "";
  readonly #noted = new Set<string>();
  #warned: readonly string[] = [];

  constructor(out: TextOut, words: Words) {
    this.#out = out;
    this.#words = words;
  }

  /** Shows the status. A warning that nobody noted yet is written once, in full. */
  show(status: RunStatus): void {
    for (const warning of status.warnings) {
      if (!this.#noted.has(warning) && !this.#warned.includes(warning)) this.note(warning);
    }
    this.#warned = status.warnings;
    if (!this.#out.isTerminal) {
      this.#tellHint(status);
      return;
    }
    const line = statusText(status, this.#words, this.#out.columnCount - 1);
    const clear = this.#clear();
    this.#shown = this.#out.hasColour ? coloured(line, status.mode) : line;
    this.#shownColumnCount = Bun.stringWidth(line);
    this.#out.writeIfRoom(clear + this.#shown);
  }

  /** Writes a line for a person above the status. */
  note(text: string): void {
    if (this.#noted.size < NOTED_COUNT_MAX) this.#noted.add(text);
    this.#write(text);
  }

  /** Takes the line away: what follows starts in the first column. */
  end(): void {
    if (this.#shown !== "") this.#out.writeIfRoom(this.#clear());
    this.#shown = "";
  }

  #write(text: string): void {
    const line = printable(text);
    if (this.#shown === "") this.#out.writeIfRoom(`${line}\n`);
    else this.#out.writeIfRoom(`${this.#clear()}${line}\n${this.#shown}`);
  }

  /** Takes the shown line away. A terminal made narrower has broken it into several rows. */
  #clear(): string {
    const above = Math.ceil(this.#shownColumnCount / Math.max(1, this.#out.columnCount)) - 1;
    return above > 0 ? `\u001b[${above}A\r\u001b[J` : CLEAR_LINE;
  }

  #tellHint(status: RunStatus): void {
    const { mode, sessionS } = status;
    const line = `${mode}${GAP}${worded({ text: status.hint, acts: status.acts }, this.#words)}`;
    if (line === this.#told) return;
    this.#told = line;
    const isPersonNext = status.acts.length > 0 && !selfGoing.includes(mode);
    if (isPersonNext || mode === "STARTING") this.#write(`${sessionS.toFixed(3)} s${GAP}${line}`);
  }
}

/** The line, at most `columnCount` cells wide. What matters least is left out first. */
export function statusText(status: RunStatus, words: Words, columnCount: number): string {
  const parts = [
    status.mode,
    worded({ text: status.hint, acts: status.acts }, words),
    status.task === "none" ? "" : `${status.task} ${status.successCount}/${status.episodeCount}`,
    `${status.rateHz.toFixed(1)} Hz`,
    `late ${status.lateTicks} missed ${status.missedTicks}`,
    status.warnings.length === 0 ? "" : `warnings ${status.warnings.length}`,
  ];
  let line = "";
  for (const part of parts.map(printable).filter((each) => each !== "")) {
    const longer = line === "" ? part : line + GAP + part;
    if (Bun.stringWidth(longer) > columnCount) {
      // Mode and hint are cut where the terminal ends; a counter is whole or not there.
      const isCounter = line.startsWith(`${printable(status.mode)}${GAP}`);
      return isCounter ? line : cut(longer, columnCount);
    }
    line = longer;
  }
  return line;
}

/** The status for a person who asked for it, several lines; `program` is what they type. */
export function statusReport(status: RunStatus, pid: number, program: string): string {
  // A joint at rest is at 0.000, on whichever side.
  const figure = (value: number | undefined) =>
    (value ?? Number.NaN).toFixed(3).replace("-0.000", "0.000").padStart(9);
  const joints = status.jointNames.map(
    (name, joint) =>
      `  ${name.padEnd(24)}${figure(status.measuredRad[joint])}${figure(status.commandRad[joint])}`,
  );
  const lines = [
    `run ${pid}: ${status.profile}, policy ${status.policy}, ${status.timeModel}`,
    `  mode      ${status.mode}, reason ${status.reason}, epoch ${status.epoch}`,
    ...(status.cause === ""
      ? []
      : [`  stopped   by ${status.cause}, at ${status.causeS.toFixed(2)} s`]),
    `  time      ${status.sessionS.toFixed(1)} s, tick ${status.tick}`,
    `  rate      ${status.rateHz.toFixed(1)} Hz of ${status.rateAskedHz} asked, ` +
      `${status.lateTicks} ticks late, ${status.missedTicks} beats missed`,
    `  wake-up   p50 ${status.wakeUsP50.toFixed(0)} µs, p99 ${status.wakeUsP99.toFixed(0)} µs; ` +
      `work p99 ${status.workUsP99.toFixed(0)} µs; ` +
      `sample age p50 ${status.sampleAgeMsP50.toFixed(1)} ms`,
    ...(status.policyHost === "" ? [] : [`  host      ${status.policyHost}`]),
    `  task      ${status.task === "none" ? "none" : `${status.task}, ${episodesText(status)}`}`,
    `  faults    ${status.faults.length === 0 ? "none" : status.faults.join(", ")}`,
    `  e-stop    ${status.estop}`,
    ...(status.cutTime === "" ? [] : [`            ${status.cutTime}`]),
    ...status.warnings.map((warning) => `  warning   ${warning}`),
    `  ${"joint".padEnd(24)} measured  command  rad`,
    ...joints,
    worded({ text: status.hint, acts: status.acts }, commandWords(program, pid)),
  ];
  return lines.map((line) => printableLines(line.replaceAll("\n", " "))).join("\n");
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
