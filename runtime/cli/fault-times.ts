// When the injected faults of a run begin and end, told as the session gets there: a person who
// asked for a fault at three seconds wants to see those three seconds.

import { parseFaultSpec } from "../../hal/fault-spec.ts";
import { sourcesOf } from "../workers/plan.ts";
import type { RunPlan } from "../workers/plan.ts";

type Moment = { readonly atNs: number; readonly text: string };

export class FaultTimes {
  readonly #moments: readonly Moment[];
  #next = 0;

  constructor(plan: RunPlan) {
    const sources = sourcesOf(plan);
    this.#moments = plan.faults
      .flatMap((text) => {
        // One text may name several sources; its times are the same for each.
        const { fromNs, untilNs } = parseFaultSpec(text, sources)[0]!;
        return [momentOf(fromNs, `fault ${text} begins`), momentOf(untilNs, `fault ${text} ends`)];
      })
      .filter(({ atNs }) => atNs < Infinity)
      .toSorted((left, right) => left.atNs - right.atNs);
  }

  /** Tells what has become due by now, this long after the first tick. */
  tellUntil(sessionNs: number, tell: (text: string) => void): void {
    for (; this.#next < this.#moments.length; this.#next += 1) {
      const moment = this.#moments[this.#next]!;
      if (moment.atNs > sessionNs) return;
      tell(moment.text);
    }
  }
}

const momentOf = (atNs: number, what: string): Moment => ({
  atNs,
  text: `${(atNs / 1e9).toFixed(3)} s  ${what}`,
});
