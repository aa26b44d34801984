// PolicyError: what is wrong with a policy, or with what it was given, found while it is set up.
// Never thrown in an `act`: a policy that cannot decide answers null.

export type PolicyErrorCode =
  | "unknown_policy"
  | "bad_module"
  | "bad_model"
  | "bad_latency"
  | "no_host"
  | "bad_schema"
  | "unfit_robot"
  | "unfit_task";

export class PolicyError extends Error {
  override readonly name = "PolicyError";
  readonly code: PolicyErrorCode;
  /** Where: a policy's name, a file, an option's text, a column. */
  readonly place: string;
  readonly expected: string;
  readonly found: string;

  constructor(
    code: PolicyErrorCode,
    action: string,
    facts: { place: string; expected: string; found: string; cause?: unknown },
  ) {
    const { place, expected, found, cause } = facts;
    super(`${action}: expected ${expected}, found ${found}`, { cause });
    this.code = code;
    this.place = place;
    this.expected = expected;
    this.found = found;
  }
}
