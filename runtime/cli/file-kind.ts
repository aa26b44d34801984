// What stands at a path that somebody typed, in words for a message. It is asked before the path is
// opened: a pipe that nobody writes to is waited for without end.

import { statSync } from "node:fs";
import type { Stats } from "node:fs";
import { codeOf } from "./runtime-folder.ts";

export const NOTHING = "nothing";
export const REGULAR_FILE = "a regular file";
export const CHARACTER_DEVICE = "a character device";

/** One of the words below, or the system's name of why it cannot be known. Follows links. */
export function fileKind(path: string): string {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return NOTHING;
    return kinds.find(([is]) => is(status))?.[1] ?? "something else";
  } catch (cause) {
    return codeOf(cause);
  }
}

const kinds: readonly (readonly [(status: Stats) => boolean, string])[] = [
  [(status) => status.isFile(), REGULAR_FILE],
  [(status) => status.isDirectory(), "a folder"],
  [(status) => status.isFIFO(), "a named pipe"],
  [(status) => status.isSocket(), "a socket"],
  [(status) => status.isCharacterDevice(), CHARACTER_DEVICE],
  [(status) => status.isBlockDevice(), "a block device"],
];
