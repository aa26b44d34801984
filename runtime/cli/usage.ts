// What a person may type: exit codes, the error of a bad option, and the readers of option values.
// A reader takes plain notation only and refuses everything else with what it expected and found;
// no value is rounded, clipped or guessed. An option that takes one value is refused a second one.

import { oneOf } from "../profile/problem.ts";
import { duration, NS_PER_US } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";

export const ExitCode = {
  Done: 0,
  /** The run ended in a latched fault, or there was nothing to talk to. */
  Failed: 1,
  BadInput: 2,
  /** Our own bug. */
  Bug: 70,
  /** Left at once on a second interrupt. */
  Interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Something typed that cannot be used. Nothing was started. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "usage";
  /** The option or argument as it is written. */
  readonly place: string;
  readonly expected: string;
  readonly found: string;

  constructor(place: string, expected: string, found: string) {
    super(`Cannot use ${place}: expected ${expected}, found ${found}`);
    this.place = place;
    this.expected = expected;
    this.found = found;
  }
}

// Whole nanoseconds stay exact for 104 days; nobody runs longer without a new session.
const DURATION_S_MAX = 100 * 86_400;
/** A longer spin would take a core away from everything else. */
const SPIN_TAIL_US_MAX = 200;
const LENGTH_NS_MAX = 3_600 * 1e9;
const UNIT_NS: Readonly<Record<string, number>> = { us: 1e3, ms: 1e6, s: 1e9 };
const PORT_MAX = 65_535;
const PID_MAX = 2 ** 22; // the kernel's own limit
const SIDE_PX_MIN = 16;
const SIDE_PX_MAX = 4_096;
const DECIMAL = /^\d+(?:\.\d+)?$/;
const WHOLE = /^\d+$/;

/** A reader as commander calls it: the text, and what an earlier use of the option gave. */
type Reader<Value> = (text: string, previous: Value | undefined) => Value;

/** Wraps a reader so that a second use of its option is refused. */
function once<Value>(option: string, read: (text: string) => Value): Reader<Value> {
  return (text, previous) => {
    if (previous !== undefined) throw new UsageError(option, "it once", "it twice");
    if (text === "") throw new UsageError(option, "a value", "nothing");
    return read(text);
  };
}

/** Any text that is not empty. */
export const textOf = (option: string): Reader<string> => once(option, (text) => text);

/** Collects an option that may be repeated. */
export function listOf(option: string): Reader<readonly string[]> {
  return (text, previous = []) => {
    if (text === "") throw new UsageError(option, "a value", "nothing");
    return [...previous, text];
  };
}

export function choiceOf<Choice extends string>(
  option: string,
  choices: readonly Choice[],
): Reader<Choice> {
  return once(option, (text) => {
    const choice = choices.find((each) => each === text);
    if (choice !== undefined) return choice;
    throw new UsageError(option, oneOf(choices, text), quoted(text));
  });
}

/** Seconds above zero. */
export const secondsOf = (option: string): Reader<number> =>
  once(option, (text) => {
    const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (value > 0 && value <= DURATION_S_MAX) return value;
    const expected = `seconds above 0 and up to ${DURATION_S_MAX}, such as 10 or 0.5`;
    throw new UsageError(option, expected, quoted(text));
  });

export const seedOf = (option: string): Reader<number> =>
  once(option, (text) => wholeNumber(option, text, 0, Number.MAX_SAFE_INTEGER));

export const portOf = (option: string): Reader<number> =>
  once(option, (text) => wholeNumber(option, text, 1, PORT_MAX));

export const pidOf = (option: string): Reader<number> =>
  once(option, (text) => wholeNumber(option, text, 1, PID_MAX));

export const countOf = (option: string, countMax: number): Reader<number> =>
  once(option, (text) => wholeNumber(option, text, 1, countMax));

export const spinTailOf = (option: string): Reader<Duration> =>
  once(option, (text) => {
    const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (value <= SPIN_TAIL_US_MAX) return duration(Math.round(value * NS_PER_US));
    throw new UsageError(option, `microseconds from 0 to ${SPIN_TAIL_US_MAX}`, quoted(text));
  });

/** A length of time with its unit, from 0. */
export const lengthOf = (option: string): Reader<Duration> =>
  once(option, (text) => {
    const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)(us|ms|s)$/.exec(text) ?? [];
    const value = Number(digits) * (UNIT_NS[unit] ?? Number.NaN);
    if (digits !== "" && value <= LENGTH_NS_MAX) return duration(Math.round(value));
    throw new UsageError(option, "a length such as 150ms or 2s, at most an hour", quoted(text));
  });

/** A share from 0 to 1. */
export const ratioOf = (option: string): Reader<number> =>
  once(option, (text) => {
    const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (value <= 1) return value;
    throw new UsageError(option, "a share from 0 to 1, such as 0.1", quoted(text));
  });

export type PictureSize = { readonly widthPx: number; readonly heightPx: number };

/** WIDTHxHEIGHT in pixels. */
export const sizeOf = (option: string): Reader<PictureSize> =>
  once(option, (text) => {
    const [, width = "", height = ""] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? [];
    const size = { widthPx: Number(width), heightPx: Number(height) };
    const fits = Object.values(size).every((side) => side >= SIDE_PX_MIN && side <= SIDE_PX_MAX);
    if (fits) return size;
    const expected = `WIDTHxHEIGHT, each ${SIDE_PX_MIN} to ${SIDE_PX_MAX}, such as 640x480`;
    throw new UsageError(option, expected, quoted(text));
  });

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = WHOLE.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(option, `a whole number from ${min} to ${max}`, quoted(text));
}

/** A typed value as a message shows it. */
export function quoted(typed: string): string {
  // What stands before an @ in an address may be a password.
  const text = typed.replace(/\/\/[^/@\s]*@/, "//…@");
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
