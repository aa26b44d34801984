// Reasons: why a tick may not move. The order is the order in which a tick judges; the first that
// applies is the tick's one reason. A reason says what is missing, never what to do about it.

export const Reason = {
  Ok: 0,
  /** A person or the process asked for a stop that nobody has reset. */
  Stop: 1,
  StaleState: 2,
  StampInFuture: 3,
  LowQuality: 4,
  NoAction: 5,
  SchemaMismatch: 6,
  WidthMismatch: 7,
  NotFinite: 8,
  StartMismatch: 9,
  /** Policy side only: a multi-hypothesis state met a policy that cannot select a mode. */
  HypothesisUnsupported: 10,
  /** Policy side only: a source the task requires is absent. */
  SourceMissing: 11,
  /** Policy side only: `act` threw. */
  PolicyThrew: 12,
} as const;
export type Reason = (typeof Reason)[keyof typeof Reason];

/** Names used in reports, logs and metrics, by code. */
export const reasonNames = [
  "ok",
  "stop",
  "stale_state",
  "stamp_in_future",
  "low_quality",
  "no_action",
  "schema_mismatch",
  "width_mismatch",
  "not_finite",
  "start_mismatch",
  "hypothesis_unsupported",
  "source_missing",
  "policy_threw",
] as const;

export const REASON_COUNT = reasonNames.length;
