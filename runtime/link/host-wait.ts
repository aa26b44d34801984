// HostWait: how long a run that has not begun waits for its policy host, and what a person hears
// meanwhile. It is told the time and how the link stands; it reads no clock.

import type { LinkPhase } from "./edge-link.ts";
import { HOST_LOAD_NS_MAX } from "./limits.ts";

/** A host that cannot be reached for so long is not there: the run does not start. */
const REACH_NS_MAX = 10e9;
/** A person hears of a change at most this often, and first after so long. */
const TELL_NS_MIN = 2e9;
/** Without a change a person hears that it still waits; `thread-start.ts` listens for it too. */
const TELL_NS_MAX = 10e9;

/** The phases in which a host has answered and is not ready. */
const THERE: ReadonlySet<LinkPhase> = new Set(["loading", "warming"]);

/** Nobody is `missing` for 10 s, or a host that is there takes longer than any may. */
export type WaitEnd = "missing" | "tooLong";

export class HostWait {
  #thereNs = 0;
  #toldNs = 0;
  #told = "";

  /** Why the wait is over, `waitedNs` after it began; undefined while it goes on. */
  end(phase: LinkPhase, waitedNs: number): WaitEnd | undefined {
    if (THERE.has(phase)) this.#thereNs = waitedNs;
    if (waitedNs - this.#thereNs >= REACH_NS_MAX) return "missing";
    return waitedNs >= HOST_LOAD_NS_MAX ? "tooLong" : undefined;
  }

  /** The line that a person gets now; undefined for none. */
  line(target: string, text: string, waitedNs: number): string | undefined {
    const silentNs = waitedNs - this.#toldNs;
    if (silentNs < (text === this.#told ? TELL_NS_MAX : TELL_NS_MIN)) return undefined;
    this.#toldNs = waitedNs;
    this.#told = text;
    const waited = `${Math.floor(waitedNs / 1e9)} s so far, Ctrl-C or q ends the run`;
    return `waiting for the policy host ${target}: ${text} (${waited})`;
  }
}
