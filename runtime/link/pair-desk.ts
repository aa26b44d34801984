// PairDesk: the host's judgement of a pairing, sans-IO. It holds one code, counts what is tried
// against it, and says yes at most once. It reads no clock and opens no socket. A try that is being
// judged counts as one, so that several at once are not more than several in a row.

import { assert } from "../contracts/assert.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { milliseconds } from "../contracts/units.ts";

/** Time to walk to the robot and type. */
export const CODE_NS_MAX: Duration = milliseconds(5 * 60_000);
/** Typing errors that are forgiven. Whoever guesses has 3 in 2^40. */
export const TRY_COUNT_MAX = 3;

/** Why a code is good no more. */
export type PairEnd = "void_code" | "used_code" | "expired_code";
/** Why a robot is not paired. */
export type PairRefusal = PairEnd | "wrong_code" | "malformed";

export class PairDesk {
  readonly #openedNs: Instant;
  #wrongCount = 0;
  #openCount = 0;
  #isUsed = false;

  constructor(openedNs: Instant) {
    this.#openedNs = openedNs;
  }

  get leftTryCount(): number {
    return TRY_COUNT_MAX - this.#wrongCount;
  }

  /** How long the code is still good for. */
  leftNs(nowNs: Instant): number {
    return Math.max(0, this.#openedNs + CODE_NS_MAX - nowNs);
  }

  /** Why no code is taken any more; undefined while one is. */
  closed(nowNs: Instant): PairEnd | undefined {
    if (this.#isUsed) return "used_code";
    if (this.leftNs(nowNs) === 0) return "expired_code";
    return this.leftTryCount === 0 ? "void_code" : undefined;
  }

  /** Begins a try: a refusal, or undefined when the proof may be judged. */
  begin(nowNs: Instant): PairEnd | undefined {
    const end = this.closed(nowNs);
    if (end !== undefined) return end;
    if (this.#openCount >= this.leftTryCount) return "void_code";
    this.#openCount += 1;
    return undefined;
  }

  /** Ends a try that has begun. Undefined means paired: the code is used up. */
  end(isRight: boolean, nowNs: Instant): PairRefusal | undefined {
    assert(this.#openCount > 0, "a try ends after it began");
    this.#openCount -= 1;
    if (!isRight) this.#wrongCount += 1;
    if (this.#isUsed) return "used_code";
    if (this.leftNs(nowNs) === 0) return "expired_code";
    if (!isRight) return this.leftTryCount === 0 ? "void_code" : "wrong_code";
    this.#isUsed = true;
    return undefined;
  }
}
