// Clock: what a pacer and a driver need of time. Nothing else may ask; everything else is told.
// Must hold: one origin for all threads, and time never goes back.

import type { Instant } from "../contracts/units.ts";

export interface Clock {
  /** ns since the session origin, the same origin in every thread. Never goes back. */
  nowNs(): Instant;
  /** Blocks until `dueNs`, or returns early when the owner asked to stop. */
  sleepUntil(dueNs: Instant): void;
}
