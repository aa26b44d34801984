// DeadlineHistogram: how late, or how long, over a whole run, in fixed memory.
//
// Buckets are 1 µs wide to 1 ms, then grow by powers of two with 64 steps each, so a quantile is
// exact to 1 µs below 1 ms and to 1.6 % above. Exact maximum and count beside it.

const LINEAR_COUNT = 1_000;
const OCTAVE_STEPS = 64;
const OCTAVE_COUNT = 20; // 1 ms · 2^20 is 17 minutes: anything longer is the last bucket
const BUCKET_COUNT = LINEAR_COUNT + OCTAVE_STEPS * OCTAVE_COUNT;
const NS_PER_BUCKET = 1_000;

export class DeadlineHistogram {
  readonly buckets = new Float64Array(BUCKET_COUNT);
  count = 0;
  maxNs = 0;

  /** Takes one length of time, ns. May be called in the tick. */
  add(ns: number): void {
    this.count += 1;
    if (ns > this.maxNs) this.maxNs = ns;
    const bucket = bucketOf(ns);
    this.buckets[bucket] = this.buckets[bucket]! + 1;
  }

  /** The value that a share of the entries does not exceed, ns; 0 when there is none. */
  quantileNs(ratio: number): number {
    const wanted = Math.ceil(ratio * this.count);
    let seen = 0;
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
      seen += this.buckets[bucket]!;
      if (seen >= wanted && seen > 0) return Math.min(upperEdgeNs(bucket), this.maxNs);
    }
    return this.maxNs;
  }
}

function bucketOf(ns: number): number {
  const us = Math.max(0, ns / NS_PER_BUCKET);
  if (us < LINEAR_COUNT) return Math.floor(us);
  let octave = 0;
  let scaled = us / LINEAR_COUNT;
  while (scaled >= 2 && octave < OCTAVE_COUNT - 1) {
    scaled /= 2;
    octave += 1;
  }
  const step = Math.min(OCTAVE_STEPS - 1, Math.floor((scaled - 1) * OCTAVE_STEPS));
  return LINEAR_COUNT + octave * OCTAVE_STEPS + step;
}

function upperEdgeNs(bucket: number): number {
  if (bucket < LINEAR_COUNT) return (bucket + 1) * NS_PER_BUCKET;
  const octave = Math.floor((bucket - LINEAR_COUNT) / OCTAVE_STEPS);
  const step = (bucket - LINEAR_COUNT) % OCTAVE_STEPS;
  let edge = LINEAR_COUNT * NS_PER_BUCKET * (1 + (step + 1) / OCTAVE_STEPS);
  for (let power = 0; power < octave; power += 1) edge *= 2;
  return edge;
}
