// What a policy host says of its time, as a person reads it and as `--json` has it. Nothing where
// there is no host, or none has answered yet.

import { HostTimesSlot } from "../contracts/host-times.ts";

const { answerCount, inferenceNsP50, inferenceNsP99, queueNsP50, queueNsP99, roundTripNs } =
  HostTimesSlot;

/** Empty without a policy host, and before its first answer. */
export function hostTimesText(record: Float64Array): string {
  if (record[answerCount] === 0) return "";
  const ms = (slot: number): string => `${(record[slot]! / 1e6).toFixed(1)} ms`;
  return (
    `inference p50 ${ms(inferenceNsP50)}, p99 ${ms(inferenceNsP99)}; ` +
    `queue p50 ${ms(queueNsP50)}, p99 ${ms(queueNsP99)}; round trip ${ms(roundTripNs)}`
  );
}

/** Null without a policy host, and before its first answer. */
export function hostTimesJson(record: Float64Array): Record<string, unknown> | null {
  if (record[answerCount] === 0) return null;
  const us = (slot: number): number => Math.round(record[slot]! / 1_000);
  return {
    answers: record[answerCount],
    inference_us: { p50: us(inferenceNsP50), p99: us(inferenceNsP99) },
    queue_us: { p50: us(queueNsP50), p99: us(queueNsP99) },
    round_trip_us: us(roundTripNs),
  };
}
