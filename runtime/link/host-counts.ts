// HostCounts: what has happened on a host's streams to one robot, as numbers, and `HostTally`: the
// same by robot, over streams that live and streams that ended. What a robot says is never trusted
// to be few: names and words are kept up to a limit, and the rest counts under one name.

/** Different words that are told apart; what comes later is `other`. */
const WORD_COUNT_MAX = 64;
const WORD_SIZE_MAX = 64;
const OTHER = "other";
/** Inference times that quantiles are taken over: 50 s of a policy at 20 Hz. */
const TIME_COUNT = 1_024;

export class HostCounts {
  observationCount = 0;
  /** Observations that a newer one replaced before their turn came. */
  forgottenCount = 0;
  decisionCount = 0;
  /** Acts in which the policy decided nothing. */
  idleCount = 0;
  /** Sessions that the host refused, by field. */
  readonly refusals = new Map<string, number>();
  /** What the edge said of our chunks, by word. */
  readonly receipts = new Map<string, number>();
  #inferenceTotalNs = 0;
  #times: number[] = [];

  get inferenceTotalNs(): number {
    return this.#inferenceTotalNs;
  }

  decided(inferenceNs: number): void {
    this.decisionCount += 1;
    this.#inferenceTotalNs += inferenceNs;
    this.#times[this.decisionCount % TIME_COUNT] = inferenceNs;
  }

  /** Over the newest decisions, by rank; NaN before the first. */
  inferenceNs(quantileRatio: number): number {
    const sorted = this.#times.filter((each) => each !== undefined).sort((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil(quantileRatio * sorted.length) - 1)] ?? Number.NaN;
  }

  add(other: HostCounts): void {
    this.observationCount += other.observationCount;
    this.forgottenCount += other.forgottenCount;
    this.decisionCount += other.decisionCount;
    this.idleCount += other.idleCount;
    this.#inferenceTotalNs += other.#inferenceTotalNs;
    this.#times = [...other.#times, ...this.#times].slice(0, TIME_COUNT);
    for (const [word, count] of other.refusals) countWord(this.refusals, word, count);
    for (const [word, count] of other.receipts) countWord(this.receipts, word, count);
  }
}

/** Adds to a word of a robot's or of ours. */
export function countWord(words: Map<string, number>, word: string, count = 1): void {
  const isKnown = words.has(word) || words.size < WORD_COUNT_MAX;
  const key = isKnown && word.length <= WORD_SIZE_MAX ? word : OTHER;
  words.set(key, (words.get(key) ?? 0) + count);
}

export type RobotCounts = { readonly connectedCount: number; readonly counts: HostCounts };

/** A robot's stream as far as it counts. */
type Counted = { readonly robot: string; readonly counts: HostCounts };

export class HostTally {
  readonly #ended = new Map<string, HostCounts>();

  /** Keeps the counts of a stream that is over. */
  end({ robot, counts }: Counted): void {
    const known = this.#ended.has(robot) || this.#ended.size < WORD_COUNT_MAX;
    const key = known && robot.length <= WORD_SIZE_MAX ? robot : OTHER;
    const total = this.#ended.get(key) ?? new HostCounts();
    total.add(counts);
    this.#ended.set(key, total);
  }

  /** By robot, with the streams that live. */
  read(live: Iterable<Counted>): ReadonlyMap<string, RobotCounts> {
    const all = new Map<string, { connectedCount: number; counts: HostCounts }>();
    const of = (robot: string) => {
      const known = all.get(robot) ?? { connectedCount: 0, counts: new HostCounts() };
      all.set(robot, known);
      return known;
    };
    for (const [robot, counts] of this.#ended) of(robot).counts.add(counts);
    for (const { robot, counts } of live) {
      const known = of(robot);
      known.connectedCount += 1;
      known.counts.add(counts);
    }
    return all;
  }
}
