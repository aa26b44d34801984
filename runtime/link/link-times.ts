// LinkTimes: how long answers take and how far the host's clock is from ours, for metrics and for
// real-time chunking. No decision about freshness is made from it: that is the stamps' business.

import { duration } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { DELAY_COUNT, PING_COUNT } from "./limits.ts";

type Exchange = { readonly roundTripNs: number; readonly offsetNs: number };

export class LinkTimes {
  readonly #delays: number[] = [];
  readonly #exchanges: Exchange[] = [];

  /** An answer that was used: stamp of its observation to its arrival. */
  answered(delayNs: Duration): void {
    keep(this.#delays, delayNs, DELAY_COUNT);
  }

  /**
   * Median of the last answers; 0 before the first. Answers that came too late, those of a warm-up
   * among them, are in no estimate: they would inflate it for as long as it remembers.
   */
  get delayNs(): Duration {
    const sorted = this.#delays.toSorted((a, b) => a - b);
    return duration(sorted[Math.floor(sorted.length / 2)] ?? 0);
  }

  /** How many answers the median is of. */
  get delayCount(): number {
    return this.#delays.length;
  }

  /** Four stamps of a ping: sent and received here, received and sent there. */
  pong(sentNs: number, hostReceivedNs: number, hostSentNs: number, receivedNs: number): void {
    const roundTripNs = receivedNs - sentNs - (hostSentNs - hostReceivedNs);
    const offsetNs = (hostReceivedNs - sentNs + (hostSentNs - receivedNs)) / 2;
    if (roundTripNs >= 0) keep(this.#exchanges, { roundTripNs, offsetNs }, PING_COUNT);
  }

  /** Host clock minus ours, from the quickest of the last pings; undefined before the first. */
  get offsetNs(): number | undefined {
    return this.#quickest?.offsetNs;
  }
  get roundTripNs(): number | undefined {
    return this.#quickest?.roundTripNs;
  }

  /** A new session may be with another host. */
  clear(): void {
    this.#exchanges.length = 0;
    this.#delays.length = 0;
  }

  get #quickest(): Exchange | undefined {
    return this.#exchanges.toSorted((a, b) => a.roundTripNs - b.roundTripNs)[0];
  }
}

function keep<T>(list: T[], item: T, countMax: number): void {
  list.push(item);
  if (list.length > countMax) list.shift();
}
