// Backoff: what both kinds of link do once a session is lost. The pause before the next dial
// doubles up to its most, drawn a fifth shorter at times, so that many robots do not knock
// together.

import type { SeededRandom } from "../contracts/seeded-random.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { BACKOFF_NS_MAX, BACKOFF_NS_MIN } from "./limits.ts";

export class Backoff {
  readonly #random: SeededRandom;
  #pauseNs = BACKOFF_NS_MIN;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** When to dial after a loss now. The next pause is twice as long. */
  dueNs(nowNs: Instant): Instant {
    const pauseNs = this.#pauseNs * (0.8 + 0.2 * this.#random.next());
    this.#pauseNs = duration(Math.min(2 * this.#pauseNs, BACKOFF_NS_MAX));
    return instant(nowNs + Math.floor(pauseNs));
  }

  /** It works, or has waited already: after the next loss at once. */
  begin(): void {
    this.#pauseNs = BACKOFF_NS_MIN;
  }

  /** Only a person mends what is wrong: the longest pause from here on. */
  slow(): void {
    this.#pauseNs = BACKOFF_NS_MAX;
  }
}
