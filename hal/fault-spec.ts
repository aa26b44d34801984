// Fault specifications: what a `--fault` option says, as text and as data.
//
//   KIND:SOURCE[=VALUE][@FROM[+DURATION]][%PROBABILITY]
//
// SOURCE is a source id, or a kind of source, which means every source of that kind. FROM counts
// from the first observation. Whatever does not fit is refused with its column.

import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { duration } from "../runtime/contracts/units.ts";
import type { Duration } from "../runtime/contracts/units.ts";

export const faultKinds = ["freeze", "drop", "delay", "noise", "corrupt", "future"] as const;
export type FaultKind = (typeof faultKinds)[number];

/** One fault on one source. */
export type FaultSpec = {
  readonly text: string;
  readonly kind: FaultKind;
  readonly sourceIndex: number;
  /** `delay`: how much later a sample comes. `future`: how far ahead of now it is stamped. */
  readonly shiftNs: Duration;
  /** `noise`: what a standard normal number is multiplied with, in each payload value's unit. */
  readonly noiseFactor: number;
  /** The fault acts in [fromNs, untilNs) after the first observation. */
  readonly fromNs: Duration;
  readonly untilNs: Duration;
  /** Share of the samples that it strikes. */
  readonly probabilityRatio: number;
};

export class FaultSpecError extends Error {
  override readonly name = "FaultSpecError";
  readonly code = "fault_spec";
  readonly text: string;
  /** Where in the text, from 1. */
  readonly column: number;
  readonly expected: string;
  readonly found: string;

  constructor(text: string, column: number, expected: string, found: string, hint = "") {
    const facts = `expected ${expected}, found ${found}${hint}`;
    super(`Cannot read fault "${text}": column ${column}: ${facts}`);
    this.text = text;
    this.column = column;
    this.expected = expected;
    this.found = found;
  }
}

// What stands after `=`: a length of time, a number, or nothing.
const valueForms: Readonly<Record<FaultKind, "time" | "number" | "none">> = {
  freeze: "none",
  drop: "none",
  delay: "time",
  noise: "number",
  corrupt: "none",
  future: "time",
};

const SHAPE = /^([^:]*)(:?)([^=@+%]*)(?:=([^@+%]*))?(?:@([^+%=@]*)(?:\+([^%=@+]*))?)?(?:%(.*))?/;
const TIME = /^(\d+(?:\.\d+)?)(ns|us|ms|s)$/;
const NUMBER = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/;
const NS_PER_UNIT: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
/** Longer shifts are another fault: a source that is gone. Bounds the memory of a delay. */
export const SHIFT_NS_MAX = duration(10_000_000_000);

/** Reads one option. Throws FaultSpecError. The result has one entry per source that it names. */
export function parseFaultSpec(
  text: string,
  sources: readonly SourceProfile[],
): readonly FaultSpec[] {
  const match = SHAPE.exec(text);
  const [whole = "", kindText = "", colon = "", sourceText = "", ...rest] = match ?? [];
  const [valueText, fromText, durationText, percentText] = rest;
  const kind = faultKinds.find((known) => known === kindText);
  if (kind === undefined) {
    refuse(text, 1, `one of ${faultKinds.join(", ")}`, kindText, faultKinds);
  }
  if (colon === "") refuse(text, kindText.length + 1, "a colon and a source", "");
  const sourceColumn = kindText.length + 2;
  const sourceIndexes = findSources(text, sourceColumn, sourceText, kind, sources);
  let column = sourceColumn + sourceText.length;
  const value = readValue(text, column, kind, valueText);
  column += sizeOf(valueText);
  const fromNs = fromText === undefined ? 0 : readTime(text, column + 1, fromText);
  column += sizeOf(fromText);
  const lengthNs = durationText === undefined ? Infinity : readTime(text, column + 1, durationText);
  column += sizeOf(durationText);
  const probabilityRatio =
    percentText === undefined ? 1 : readNumber(text, column + 1, percentText, 100) / 100;
  if (whole.length < text.length) {
    const expected = "the end, or =VALUE @FROM +DURATION %PROBABILITY in this order";
    refuse(text, whole.length + 1, expected, text.slice(whole.length));
  }
  return sourceIndexes.map((sourceIndex) => ({
    text,
    kind,
    sourceIndex,
    shiftNs: duration(valueForms[kind] === "time" ? value : 0),
    noiseFactor: valueForms[kind] === "number" ? value : 0,
    fromNs: duration(fromNs),
    untilNs: duration(fromNs + lengthNs),
    probabilityRatio,
  }));
}

/** Length of an optional part with the sign before it. */
function sizeOf(part: string | undefined): number {
  return part === undefined ? 0 : part.length + 1;
}

function findSources(
  text: string,
  column: number,
  name: string,
  kind: FaultKind,
  sources: readonly SourceProfile[],
): readonly number[] {
  const ids = sources.map((source) => source.id);
  const kinds = [...new Set<string>(sources.map((source) => source.kind))];
  let found = ids.flatMap((id, index) => (id === name ? [index] : []));
  if (found.length === 0) {
    found = sources.flatMap((source, index) => (source.kind === name ? [index] : []));
  }
  const names = [...new Set([...ids, ...kinds])];
  if (found.length === 0) refuse(text, column, `a source: ${names.join(", ")}`, name, names);
  const changesPayload = kind === "noise" || kind === "corrupt";
  if (changesPayload && found.some((index) => sources[index]?.kind === "image")) {
    refuse(text, column, `a source without images for ${kind}`, name);
  }
  return found;
}

function readValue(
  text: string,
  column: number,
  kind: FaultKind,
  valueText: string | undefined,
): number {
  const wanted = valueForms[kind];
  if (wanted === "none") {
    if (valueText === undefined) return 0;
    return refuse(text, column, `no value for ${kind}`, `=${valueText}`);
  }
  if (valueText === undefined) {
    const example = wanted === "time" ? "=80ms" : "=0.01";
    return refuse(text, column, `a value for ${kind}, such as ${example}`, "");
  }
  if (wanted === "number") return readNumber(text, column + 1, valueText, 1e6);
  const timeNs = readTime(text, column + 1, valueText);
  if (timeNs > 0 && timeNs <= SHIFT_NS_MAX) return timeNs;
  return refuse(text, column + 1, "more than 0 and at most 10s", valueText);
}

/** A length of time in ns: a number and one of ns, us, ms, s. */
function readTime(text: string, column: number, part: string): number {
  const match = TIME.exec(part);
  const timeNs = Math.round(Number(match?.[1]) * (NS_PER_UNIT[match?.[2] ?? ""] ?? Number.NaN));
  if (Number.isSafeInteger(timeNs)) return timeNs;
  return refuse(text, column, "a time such as 500ms or 1.5s", part);
}

function readNumber(text: string, column: number, part: string, max: number): number {
  const value = NUMBER.test(part) ? Number(part) : Number.NaN;
  if (value > 0 && value <= max) return value;
  return refuse(text, column, `a number above 0 and up to ${max}`, part);
}

function refuse(
  text: string,
  column: number,
  expected: string,
  part: string,
  known: readonly string[] = [],
): never {
  const nearest = nearestOf(part, known);
  const hint = nearest === undefined ? "" : ` (did you mean "${nearest}"?)`;
  const found = part === "" ? "nothing" : `"${part}"`;
  throw new FaultSpecError(text, column, expected, found, hint);
}

/** The known word with the fewest edits, if fewer than half of its letters must change. */
function nearestOf(word: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Infinity;
  for (const candidate of known) {
    const edits = editCount(word, candidate);
    if (edits < fewest && edits * 2 < candidate.length) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Letters to insert, delete or replace to turn one word into the other. */
function editCount(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (row[column] ?? 0) + (from[index] === to[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
