// The weather of a storm: which kinds of trouble a run has at all, drawn from its seed. Patterns
// beat rates: most kinds are off in a run and the others strike hard, so that they meet.

import type { RobotProfile } from "../contracts/profile.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";
import { duration, milliseconds } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { stormMoods } from "./storm-policy.ts";
import type { StormMood } from "./storm-policy.ts";

/** Noise of a noisy sensor, rad: 0.3° of a cheap potentiometer. */
const NOISE_RAD = 0.005;
/** Times at which the sensor is gone, and how much of the run they are spread over. */
const OUTAGE_COUNT = 8;
const OUTAGES_WITHIN_S = 9;
/** A normal number beyond this comes once in 10^9 draws. */
const SIGMAS = 6.2;

export type Weather = {
  readonly robot: RobotProfile;
  readonly faults: readonly string[];
  readonly moods: readonly StormMood[];
  /** How busy the operator is. */
  readonly operatorRatio: number;
  /** Share of the ticks that come late or after missed beats. */
  readonly lateRatio: number;
  readonly deadlineIsFault: boolean;
  readonly lagNs: Duration;
  /**
   * How far a first command may lie from the truth: a sample is up to a period old, and a held
   * robot may still creep. A flipped bit that makes a believable number is believed.
   */
  readonly readingRadMax: number;
};

export function weatherOf(base: RobotProfile, random: SeededRandom): Weather {
  const on = (ratio: number) => random.next() < ratio;
  const kinds = [
    ["freeze", "freeze:proprio%8"],
    ["drop", "drop:proprio%20"],
    ["delay", "delay:proprio=20ms%10"],
    ["noise", `noise:proprio=${NOISE_RAD}%50`],
    ["corrupt", "corrupt:proprio%2"],
    ["future", "future:proprio=40ms%1"],
  ] as const;
  const chosen = kinds.filter(() => on(0.4));
  const gone = Array.from({ length: OUTAGE_COUNT }, () => {
    const fromS = (0.5 + OUTAGES_WITHIN_S * random.next()).toFixed(2);
    const length = ["40ms", "100ms", "100ms", "900ms"][Math.floor(4 * random.next())]!;
    return `${on(0.5) ? "freeze" : "drop"}:proprio@${fromS}s+${length}`;
  });
  const has = (name: string) => chosen.some(([kind]) => kind === name);
  const robot: RobotProfile = {
    ...base,
    gate: { ...base.gate, startMismatch: on(0.5) ? "refuse" : "ramp" },
    policy: {
      ...base.policy,
      interpolation: on(0.7) ? "linear" : "hold",
      anchoring: on(0.5) ? "arrival" : "observation",
      blendNs: milliseconds(on(0.3) ? 40 : 0),
    },
    sources: base.sources.map((source) => ({ ...source, measuresVelocity: on(0.5) })),
  };
  return {
    robot,
    faults: [...chosen.map(([, text]) => text), ...gone],
    moods: ["sine", ...stormMoods.filter(() => on(0.65))],
    operatorRatio: on(0.8) ? 1 : 0.1,
    lateRatio: on(0.5) ? 0.01 : 0,
    deadlineIsFault: on(0.3),
    lagNs: duration(1e6 * (5 + 25 * random.next())),
    readingRadMax: has("corrupt") ? Infinity : 0.02 + (has("noise") ? SIGMAS * NOISE_RAD : 0),
  };
}
