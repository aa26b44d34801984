// What is wrong with a profile: one problem per place, all problems of a file in one error. The
// message has a line per problem that an editor can jump to; the facts are fields beside it.

import { STEERING } from "../contracts/steering-text.ts";

export type ProfileProblem = {
  readonly file: string;
  /** Counted from one; zero when the problem is with the whole file. */
  readonly line: number;
  /** Counted from one; zero when the problem is with the whole file. */
  readonly column: number;
  /** Such as `joints[2].stop.jerk_rad_per_s3`; empty when the problem is with the whole file. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
};

// A file that is no profile at all can break every rule on every line.
const SHOWN_COUNT_MAX = 40;

/** A profile that cannot be used. Nothing may be started from it. */
export class ProfileError extends Error {
  override readonly name = "ProfileError";
  readonly code = "profile_invalid";
  readonly problems: readonly ProfileProblem[];

  constructor(problems: readonly ProfileProblem[]) {
    const lines = problems.slice(0, SHOWN_COUNT_MAX).map(describe);
    const restCount = problems.length - lines.length;
    if (restCount > 0) lines.push(`and ${restCount} more problems`);
    // What a file says may not steer the terminal of whoever reads why it was refused.
    super(lines.map((line) => line.replace(STEERING, codesOf)).join("\n"));
    this.problems = problems;
  }
}

/** Written out, such as `\u001b`. */
const codesOf = (run: string): string =>
  Array.from(run, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** The error of a file that cannot even be looked into. */
export function fileError(file: string, expected: string, found: string): ProfileError {
  return new ProfileError([{ file, line: 0, column: 0, field: "", expected, found }]);
}

function describe(problem: ProfileProblem): string {
  const place = problem.line === 0 ? problem.file : placeOf(problem);
  return `${place}: expected ${problem.expected}, found ${problem.found}`;
}

function placeOf({ file, line, column, field }: ProfileProblem): string {
  const place = `${file}:${line}:${column}`;
  return field === "" ? place : `${place}: ${field}`;
}

/** A value as a message shows it: short, on one line. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value))
    return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "a mapping";
  if (typeof value === "number") return String(value);
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}

/** The known word nearest to `word`, if it is near enough to be meant. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.slice(0, 80), candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** One of these words, or the nearest when the one found looks like it. */
export function oneOf(known: readonly string[], found: string): string {
  const meant = nearest(found, known);
  const list = known.length === 1 ? `"${known[0]}"` : `one of ${known.join(", ")}`;
  return meant === undefined ? list : `${list} (did you mean "${meant}"?)`;
}

/** Levenshtein distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[to.length]!;
}
