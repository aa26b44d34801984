// Reads the key of a keyed e-stop line from its file. The file is the user's alone: one that others
// may read is refused, with what to type. The key itself is in no message.

import { readFileSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { KEY_SIZE_BYTES } from "../contracts/estop-tag.ts";
import { codeOf } from "./runtime-folder.ts";
import { UsageError } from "./usage.ts";

const PLACE = "--estop-key";
const DIGIT_COUNT = 2 * KEY_SIZE_BYTES;
const FILE_SIZE_BYTES_MAX = 64;
/** Bits by which others than the owner may read, write or run a file. */
const OTHERS = 0o077;

/** The key in a file of 16 hex digits, with or without an end of line. */
export function readEstopKey(path: string): Uint8Array {
  const status = statusOf(path);
  if (!status.isFile()) throw refused(path, "a file", "something else");
  if ((status.mode & OTHERS) !== 0) {
    const mode = (status.mode & 0o777).toString(8).padStart(4, "0");
    throw refused(path, "a file of mode 0600", `${mode}: chmod 600 ${path}`);
  }
  if (status.size > FILE_SIZE_BYTES_MAX) throw wrongText(path, `${status.size} bytes`);
  const text = textOf(path).replace(/\n$/, "");
  if (!/^[0-9a-f]*$/i.test(text)) throw wrongText(path, "other characters");
  if (text.length !== DIGIT_COUNT) throw wrongText(path, `${text.length} digits`);
  return Uint8Array.from(Buffer.from(text, "hex"));
}

function statusOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw refused(path, "a file", codeOf(cause));
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (cause) {
    throw refused(path, "a readable file", codeOf(cause));
  }
}

const refused = (path: string, expected: string, found: string): UsageError =>
  new UsageError(`${PLACE} ${path}`, expected, found);

const wrongText = (path: string, found: string): UsageError =>
  refused(path, `${DIGIT_COUNT} hex digits`, found);
