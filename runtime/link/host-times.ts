// HostTimes: how long a host's newest answers took it, by its own word. What a host says may be
// anything: what is no length of time of an hour at most counts as an hour.

import { HOST_TIMES_SLOT_COUNT, HostTimesSlot } from "../contracts/host-times.ts";
import type { Chunk } from "./generated/policy_pb.js";

/** Answers that quantiles are taken over: 13 s of a policy at 20 Hz. */
const TIME_COUNT = 256;
const TOLD_NS_MAX = 3_600e9;
const toldNs = (ns: bigint): number => Math.min(Number(ns), TOLD_NS_MAX);

export class HostTimes {
  readonly #record = new Float64Array(HOST_TIMES_SLOT_COUNT);
  readonly #inferenceNs = new Float64Array(TIME_COUNT);
  readonly #queueNs = new Float64Array(TIME_COUNT);
  #count = 0;

  answered({ inferenceNs, queueNs }: Pick<Chunk, "inferenceNs" | "queueNs">): void {
    this.#inferenceNs[this.#count % TIME_COUNT] = toldNs(inferenceNs);
    this.#queueNs[this.#count % TIME_COUNT] = toldNs(queueNs);
    this.#count += 1;
    const record = this.#record;
    record[HostTimesSlot.answerCount] = this.#count;
    const inference = this.#sorted(this.#inferenceNs);
    record[HostTimesSlot.inferenceNsP50] = quantile(inference, 0.5);
    record[HostTimesSlot.inferenceNsP99] = quantile(inference, 0.99);
    const queue = this.#sorted(this.#queueNs);
    record[HostTimesSlot.queueNsP50] = quantile(queue, 0.5);
    record[HostTimesSlot.queueNsP99] = quantile(queue, 0.99);
  }

  /** The record, with what the way takes now. The next call changes it. */
  read(roundTripNs: number | undefined): Float64Array {
    // A session that is new has measured nothing yet: what was known stays.
    if (roundTripNs !== undefined) this.#record[HostTimesSlot.roundTripNs] = roundTripNs;
    return this.#record;
  }

  #sorted(times: Float64Array): Float64Array {
    return times.slice(0, Math.min(this.#count, TIME_COUNT)).sort();
  }
}

/** Of one time at least. */
const quantile = (sorted: Float64Array, ratio: number): number =>
  sorted[Math.ceil(ratio * sorted.length) - 1]!;
