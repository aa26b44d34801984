// What a policy host says of its own time, and what the way there takes: one record, from the end
// of the link to whoever shows it. For people alone: nothing is decided by it.

/** Slots of the record. Quantiles are of the newest answers. */
export const HostTimesSlot = {
  /** Answers in this run; 0 without a policy host. */
  answerCount: 0,
  /** In the model. */
  inferenceNsP50: 1,
  inferenceNsP99: 2,
  /** Waiting for it. */
  queueNsP50: 3,
  queueNsP99: 4,
  /** Of the quickest of the last pings; 0 before the first. */
  roundTripNs: 5,
} as const;
export const HOST_TIMES_SLOT_COUNT = 6;
