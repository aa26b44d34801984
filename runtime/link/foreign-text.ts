// Foreign text: what the other side of a link said, made fit for a person's terminal. What steers
// one is for `contracts/steering-text.ts` to know.

import { STEERING } from "../contracts/steering-text.ts";
import { TEXT_CHARACTERS_MAX } from "./limits.ts";

/** Short, on one line, and without anything that steers. */
export const cut = (text: string): string =>
  text.replace(STEERING, "?").slice(0, TEXT_CHARACTERS_MAX);
