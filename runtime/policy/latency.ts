// LatencyModel: how long a decision takes, in the time of the run, when `--policy-latency` asks for
// it. Draws come from a seed, so the same run has the same delays. Text that names no distribution
// is refused with what was expected; a drawn delay is never below zero.

import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { PolicyError } from "./policy-error.ts";

/** `first` and `second` are: a constant; from and to; mean and deviation; a mean. */
export type LatencyDistribution = {
  readonly kind: "constant" | "uniform" | "normal" | "exponential";
  readonly firstNs: Duration;
  readonly secondNs: Duration;
};

const EXPECTED =
  "150ms, uniform:50ms..250ms, normal:150ms,40ms or exp:150ms (units us, ms, s; at most 60 s)";
// A decision older than a minute is no decision.
const LATENCY_NS_MAX = 60_000_000_000;
const UNIT_NS: Readonly<Record<string, number>> = { us: 1_000, ms: 1_000_000, s: 1_000_000_000 };

/** Reads the text of `--policy-latency`. Throws PolicyError. */
export function parseLatency(text: string): LatencyDistribution {
  const [, prefix, rest] = /^(?:([a-z]+):)?(.*)$/.exec(text.trim()) ?? [];
  const body = rest ?? "";
  if (prefix === undefined) return distribution(text, "constant", [body]);
  if (prefix === "uniform") return distribution(text, "uniform", body.split(".."), 2);
  if (prefix === "normal") return distribution(text, "normal", body.split(/,|±/), 2);
  if (prefix === "exp") return distribution(text, "exponential", [body]);
  throw refusal(text);
}

export class LatencyModel {
  readonly #random: SeededRandom;
  readonly #distribution: LatencyDistribution;

  constructor(distribution: LatencyDistribution, seed: number) {
    this.#distribution = distribution;
    this.#random = new SeededRandom(seed);
  }

  /** The delay of the next decision, in whole ns. */
  drawNs(): Duration {
    const { kind, firstNs, secondNs } = this.#distribution;
    const random = this.#random;
    let ns: number = firstNs;
    if (kind === "uniform") ns = firstNs + (secondNs - firstNs) * random.next();
    else if (kind === "normal") ns = firstNs + secondNs * random.normal();
    else if (kind === "exponential") ns = firstNs * random.exponential();
    return duration(Math.round(Math.min(Math.max(ns, 0), LATENCY_NS_MAX)));
  }
}

function distribution(
  text: string,
  kind: LatencyDistribution["kind"],
  parts: readonly string[],
  count = 1,
): LatencyDistribution {
  const values = parts.map(lengthNs);
  const [firstNs = Number.NaN, secondNs = 0] = values;
  const inOrder = kind !== "uniform" || firstNs <= secondNs;
  // Negated, so that NaN fails too.
  const good = values.length === count && values.every((ns) => ns <= LATENCY_NS_MAX) && inOrder;
  if (!good) throw refusal(text);
  return { kind, firstNs: duration(firstNs), secondNs: duration(secondNs) };
}

/** NaN for text that is no length of time. */
function lengthNs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(us|ms|s)$/.exec(text.trim());
  if (match === null) return Number.NaN;
  return Math.round(Number(match[1]) * UNIT_NS[match[2]!]!);
}

function refusal(text: string): PolicyError {
  return new PolicyError("bad_latency", "Cannot read the policy latency", {
    place: "--policy-latency",
    expected: EXPECTED,
    found: JSON.stringify(text),
  });
}
