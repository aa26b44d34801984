// The folder that the tests of one `scripts/test` make their own folders in: every process below it
// is told so by TMPDIR. A test removes what it made, also when it fails; what is still there at the
// end is told by name, and goes with the folder.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How folders of tests begin. What other programs leave is not ours to judge. */
const OURS = /^(?:hf|holdfast)-/;
const NAME_COUNT_MAX = 5;

export class TemporaryFolder {
  /** Short, because sockets lie below it. */
  readonly path = mkdtempSync(join(tmpdir(), "hf-t-"));

  /** What tests left, in one line; undefined when that is nothing. */
  leftText(): string | undefined {
    const names = readdirSync(this.path).filter((name) => OURS.test(name));
    if (names.length === 0) return undefined;
    const shown = names.slice(0, NAME_COUNT_MAX).join(", ");
    const more = names.length > NAME_COUNT_MAX ? `, and ${names.length - NAME_COUNT_MAX} more` : "";
    return `tests left ${shown}${more}: scripts/test FILE says which file`;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
