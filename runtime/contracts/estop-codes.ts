// Codes of the e-stop chip, as they stand in its status: modes, causes, verdicts, steps of the
// proof test, and the bits of its fields. Numbers are part of the protocol and are only appended;
// the names beside them are for people. `safety/firmware/PROTOCOL.md` is what both sides follow.

export const EstopMode = {
  Tripped: 0,
  Proof: 1,
  WaitReset: 2,
  Armed: 3,
  /** SS1-t runs: a button or a stop request; nothing cancels it. */
  Stopping: 4,
  /** Silence was latched and the cut delay runs. */
  Cutting: 5,
  Disarmed: 6,
} as const;
export type EstopMode = (typeof EstopMode)[keyof typeof EstopMode];

export const estopModeNames = [
  "TRIPPED",
  "PROOF",
  "WAIT_RESET",
  "ARMED",
  "STOPPING",
  "CUTTING",
  "DISARMED",
] as const;

/** Why the outputs are open, or will be. */
export const EstopCause = {
  None: 0,
  PowerOn: 1,
  ResetPin: 2,
  Watchdog: 3,
  BrownOut: 4,
  BadConfig: 5,
  Silence: 6,
  BadAnswers: 7,
  Button: 8,
  StopRequest: 9,
  LimitChain: 10,
  Discrepancy: 11,
  StuckOpenA: 12,
  StuckOpenB: 13,
  WeldedA: 14,
  WeldedB: 15,
  ProofTimeout: 16,
  HostClosed: 17,
} as const;
export type EstopCause = (typeof EstopCause)[keyof typeof EstopCause];

export const estopCauseNames = [
  "none",
  "power_on",
  "reset_pin",
  "watchdog",
  "brown_out",
  "bad_config",
  "silence",
  "bad_answers",
  "button",
  "stop_request",
  "limit_chain",
  "discrepancy",
  "stuck_open_a",
  "stuck_open_b",
  "welded_a",
  "welded_b",
  "proof_timeout",
  "host_closed",
] as const;

/** What became of one frame. The chip checks in this order, and the first that fails decides. */
export const EstopVerdict = {
  Good: 0,
  /** Framing, length or CRC. */
  Corrupt: 1,
  /** Intact, but from another sender or of another version. */
  Foreign: 2,
  /** Keyed: the tag is wrong. */
  Forged: 3,
  /** A code or flag that does not exist. */
  Malformed: 4,
  /** The nonce of another boot of the chip. */
  OtherBoot: 5,
  /** The counter did not rise. */
  Repeated: 6,
  /** The question is none of the last four, or too old. */
  Late: 7,
  /** The tick index did not rise. */
  SameTick: 8,
  Wrong: 9,
  /** More good answers than a healthy host gives. */
  Early: 10,
  /** Nothing but zeros: counts neither way. */
  Ignored: 11,
  /** The frame is not over yet. Never on the line. */
  Pending: 255,
} as const;
export type EstopVerdict = (typeof EstopVerdict)[keyof typeof EstopVerdict];

export const estopVerdictNames = [
  "good",
  "corrupt",
  "foreign",
  "forged",
  "malformed",
  "other_boot",
  "repeated",
  "late",
  "same_tick",
  "wrong",
  "early",
  "ignored",
] as const;

/** Steps of the proof test: what the chip waits for. */
export const EstopProof = {
  Wrong: 0,
  Corrupt: 1,
  Burst: 2,
  Five: 3,
  Silence: 4,
  Recover: 5,
  CloseA: 6,
  OpenA: 7,
  CloseB: 8,
  OpenB: 9,
  Done: 10,
} as const;
export type EstopProof = (typeof EstopProof)[keyof typeof EstopProof];

export const estopProofNames = [
  "wrong",
  "corrupt",
  "burst",
  "five",
  "silence",
  "recover",
  "close_a",
  "open_a",
  "close_b",
  "open_b",
  "done",
] as const;

/** Bits of an answer's flags. */
export const EstopFlag = { Stop: 1, Goodbye: 2, Proof: 4, Reset: 8, All: 15 } as const;

/** Bits of the status field `inputs`: the filtered levels. */
export const EstopInput = {
  ButtonAClosed: 1,
  ButtonBClosed: 2,
  ChainClosed: 4,
  ResetPressed: 8,
  ReadBackA: 16,
  ReadBackB: 32,
  All: 63,
} as const;

/** Bits of the status field `outputs`. */
export const EstopOutput = {
  A: 1,
  B: 2,
  Both: 3,
  /** In the proof test: the outputs would be open now. */
  TripShown: 4,
  /** After a discrepancy: press the button once, so that both channels open together. */
  BothOpenDue: 8,
  All: 15,
} as const;

/** Bits of the status field `build`. */
export const EstopBuild = { ResetFromLink: 1, Keyed: 2, ChainFitted: 4, All: 7 } as const;
