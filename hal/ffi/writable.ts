// Whether a descriptor takes bytes now. A terminal that nobody reads blocks whoever writes to it.
// A yes is for some bytes, not for any number: who must never wait also opens it non-blocking.

import { assert } from "../../runtime/contracts/assert.ts";
import { cBuffer, libc } from "./libc.ts";

const POLLOUT = 4;
/** No call into C may block for longer. */
const WAIT_MS_MAX = 100;

// struct pollfd: the descriptor, then what is asked and what is so in 16 bits each.
const question = cBuffer(8);

/**
 * True when there is some room, or a write would fail at once: the other end may be gone. Waits
 * up to `waitMs` for it.
 */
export function canWrite(fd: number, waitMs = 0): boolean {
  assert(waitMs <= WAIT_MS_MAX, "a wait inside C is short");
  question.words[0] = fd;
  question.words[1] = POLLOUT;
  return libc.poll(question.address, 1, waitMs) > 0;
}
