// What a policy author needs of an error that their code threw: its words, and the place in their
// file, on one line of bounded length. Anything may be thrown, and looking at it may throw in turn:
// nothing leaves here but text.

import { STEERING } from "../contracts/steering-text.ts";

/** A line that a terminal and a report still show whole. */
export const ERROR_TEXT_LENGTH_MAX = 300;
// Of that, so that a long path leaves room for the words.
const PLACE_LENGTH_MAX = 200;
const NO_TEXT = "a thrown value that has no text";
/** More of a text than this is not even looked at: it may be of any size. */
const READ_LENGTH_MAX = 10_000;

/** "message (file:line:column)", or the words alone where no place is known. Never throws. */
export function errorText(error: unknown): string {
  try {
    const told = firstOf(error);
    const words = oneLine(told instanceof Error ? told.message : told);
    const place = oneLine(placeOf(told)).slice(-PLACE_LENGTH_MAX);
    if (place === "") return clipped(words, ERROR_TEXT_LENGTH_MAX);
    const end = ` (${place})`;
    return clipped(words, ERROR_TEXT_LENGTH_MAX - end.length) + end;
  } catch {
    return NO_TEXT;
  }
}

/**
 * The words of what ended a thread, which a policy may throw there at any time: those of an error
 * say already where it was.
 */
export function errorWords(error: unknown): string {
  return error instanceof Error ? boundedText(error.message) : errorText(error);
}

/** Foreign text as a message may carry it: one line, of a bounded length. */
export function boundedText(text: string): string {
  return clipped(oneLine(text), ERROR_TEXT_LENGTH_MAX);
}

/** Several errors in one, as of a file that does not parse: the first one has the place. */
function firstOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return error;
  const { errors } = error as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : error;
}

function oneLine(value: unknown): string {
  return String(value)
    .slice(0, READ_LENGTH_MAX)
    .replace(STEERING, " ")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

function clipped(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** A syntax error says where it is; a thrown one is found in its stack. */
function placeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { position, stack, message } = error as Record<"position" | "stack" | "message", unknown>;
  if (typeof position === "object" && position !== null) {
    const { file, line, column } = position as Record<string, unknown>;
    return `${String(file)}:${String(line)}:${String(column)}`;
  }
  if (typeof stack !== "string") return "";
  // A stack begins with the words, which may be longer than all that is looked at.
  const wordsAt = typeof message === "string" ? stack.indexOf(message) : -1;
  const from = wordsAt < 0 ? 0 : wordsAt + String(message).length;
  const frames = stack.slice(from, from + READ_LENGTH_MAX);
  return /\(?((?:file:\/\/)?\/[^()\s]+:\d+:\d+)\)?/.exec(frames)?.[1] ?? "";
}
