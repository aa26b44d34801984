// What a person should know and do about a run: a hint that is true on every surface, and the acts
// that go on from there, by name. Each surface puts the acts in its own words: the terminal names
// keys, a log and `holdfast status` name commands, and the page names its buttons.

import { CommandKind } from "../contracts/command.ts";
import { evidenceNames } from "../contracts/evidence.ts";
import { mayMove, Mode, modeNames, OperatorCue } from "../contracts/mode.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { causeOf, isShutdown } from "../record/mode-story.ts";
import type { ModeChange } from "../record/mode-story.ts";
import type { Refusal } from "../record/chunk-tally.ts";
import { countsAtRest, Fault, faultMask, faultNames, faultRows } from "../../safety/faults.ts";

export const actNames = ["stop", "arm", "reset", "start", "quit"] as const;
export type ActName = (typeof actNames)[number];

export type Hint = { readonly text: string; readonly acts: readonly ActName[] };

/** What a hint is told from. */
export type HintFacts = {
  readonly mode: number;
  readonly reason: number;
  /** Of the newest command. */
  readonly kind: number;
  readonly faultBits: number;
  readonly policy: string;
  /** Why the policy decides nothing; empty while it decides, or nothing is known. */
  readonly policyTrouble: string;
  /** The change into the stop that the run is in. */
  readonly stop: ModeChange | undefined;
  /** When that was, in session seconds. */
  readonly stopS: number;
  /** What the action buffer has refused of late. */
  readonly refusal: Refusal | undefined;
  /** Which thread ended unasked and why; empty when all live. */
  readonly lostThread: string;
  /** The run's own reset arms the e-stop beside it: an emulated one, or a bench build. */
  readonly estopArmsFromHere: boolean;
  /** A service: arming the e-stop does not begin the run. */
  readonly waitsForStart: boolean;
};

/** Faults that a reset waits for: not what it ends itself. */
const blockingMask = faultMask((row) => countsAtRest(row) && row.clear !== "onOperator");

/** The faults that a reset would be refused for now. */
export const blockingFaults = (faultBits: number): readonly string[] =>
  namesOf(faultBits & blockingMask);

export function namesOf(faultBits: number): readonly string[] {
  return faultNames.filter((_, fault) => ((faultBits >>> fault) & 1) === 1);
}

export function hintOf(facts: HintFacts): Hint {
  const { mode, lostThread } = facts;
  // A thread that ended is not started again, so no reset leads anywhere.
  if (lostThread !== "") {
    const stopped = facts.stop === undefined ? "Holds" : stopText(facts.stop, facts.stopS);
    return { text: `${stopped}: ${lostThread}`, acts: ["quit"] };
  }
  switch (mode) {
    case Mode.Starting:
      if (((facts.faultBits >>> Fault.EstopNotArmed) & 1) === 1) {
        const next = facts.waitsForStart ? "" : ", then runs";
        const text = `Waits for the e-stop's proof test and reset${next}`;
        return { text, acts: facts.estopArmsFromHere ? ["arm"] : [] };
      }
      if (facts.reason === Reason.Ok) return { text: "Ready", acts: ["start"] };
      return { text: `Waits for ${waitingText(facts)}`, acts: [] };
    case Mode.Running:
      return { text: `Follows ${facts.policy}`, acts: ["stop"] };
    case Mode.Degraded:
      return { text: degradedText(facts), acts: [] };
    case Mode.Recover:
      return { text: "Reset, at rest", acts: ["start"] };
    default:
      if (facts.kind === CommandKind.Park) return { text: "Parks, then lets go", acts: [] };
      return releasedHint(stoppedHint(facts), facts.kind);
  }
}

function waitingText(facts: HintFacts): string {
  const what = missing[facts.reason] ?? reasonNames[facts.reason]!;
  return facts.reason === Reason.NoAction ? what + silenceText(facts) : what;
}

/** What is known of why a policy decides nothing. */
function silenceText({ faultBits, policyTrouble }: HintFacts): string {
  if (has(faultBits, faultRows[Fault.PolicyLost]!)) {
    return `: the policy thread does not answer (${faultNames[Fault.PolicyLost]})`;
  }
  return policyTrouble === "" ? "" : `: ${policyTrouble}`;
}

function degradedText(facts: HintFacts): string {
  const { reason, faultBits, refusal } = facts;
  const names = namesOf(faultBits);
  const why = names.length > 0 ? names.map(explained).join(", ") : reasonNames[reason];
  const isStill =
    reason !== Reason.Ok || faultRows.some((row) => row.motion === "none" && has(faultBits, row));
  const detail = reason === Reason.NoAction ? refusalText(refusal) || silenceText(facts) : "";
  return `${isStill ? "Holds" : "Moves on"}: ${why}${detail}; goes on by itself after that`;
}

/** A robot that has let go is where gravity and hands put it. */
const releasedHint = (hint: Hint, kind: number): Hint =>
  kind === CommandKind.ZeroTorque ? { ...hint, text: `${hint.text}; has let go` } : hint;

function stoppedHint(facts: HintFacts): Hint {
  const { faultBits, stop, stopS, estopArmsFromHere } = facts;
  if (stop === undefined) return { text: "Stopped", acts: ["reset", "start"] };
  if (isShutdown(stop)) return { text: "Ending", acts: [] };
  const cause = causeOf(stop);
  const isSilence = cause === Fault.NoAction && stop.refusal === undefined;
  const text = stopText(stop, stopS) + (isSilence ? shortened(silenceText(facts)) : "");
  const lasting = faultRows.find(
    (row) => row.clear === "onPowerCycle" && (row.fault === cause || has(faultBits, row)),
  );
  if (lasting !== undefined) {
    const what = lasting.fault === cause ? "that" : lasting.name;
    return { text: `${text}; only a new run ends ${what}`, acts: ["quit"] };
  }
  const acts = ["reset", "start"] as const;
  if (has(faultBits, faultRows[Fault.EstopOpen]!)) {
    return estopArmsFromHere
      ? { text: `${text}; the e-stop is open`, acts: ["arm", ...acts] }
      : { text: `${text}; its own reset button arms the e-stop, then`, acts };
  }
  const blocking = blockingFaults(faultBits);
  if (blocking.length > 0) {
    const isOther = blocking.length > 1 || blocking[0] !== faultNames[cause];
    const there = isOther ? `${blocking.join(", ")} still there` : "still there";
    return { text: `${text}; ${there}. Once that is over`, acts };
  }
  // At rest nobody judges a policy: a start voids what it decided, so neither word would be true.
  const isJudged =
    cause !== -1 && cause !== Fault.OperatorStop && faultRows[cause]!.subject !== "policy";
  if (!isJudged) return { text, acts };
  return {
    text: `${text}; ${has(faultBits, faultRows[cause]!) ? "still there" : "cleared"}`,
    acts,
  };
}

function stopText(stop: ModeChange, stopS: number): string {
  const word = stop.toMode === Mode.FaultLatched ? "Latched" : "Stopped";
  const { name, detail } = causeWords(stop);
  const often = isRelapse(stop) ? ", once too often" : "";
  return `${word} by ${name} at ${stopS.toFixed(2)} s${often}${detail}`;
}

/** What led into a change, in words: a name, and what a person wants beside it. */
export function causeWords(change: ModeChange): { readonly name: string; readonly detail: string } {
  const cause = causeOf(change);
  if (cause === Fault.OperatorStop) {
    return { name: isShutdown(change) ? "the end of the run" : "a person", detail: "" };
  }
  const name = cause === -1 ? (reasonNames[change.reason] ?? "ok") : faultNames[cause]!;
  if (cause === Fault.NoAction) return { name, detail: refusalText(change.refusal) };
  return { name, detail: explained(name).slice(name.length) };
}

/** What a policy threw may be long, and what to press follows it on the same line. */
const SILENCE_LENGTH_MAX = 120;

const shortened = (text: string): string =>
  text.length <= SILENCE_LENGTH_MAX ? text : `${text.slice(0, SILENCE_LENGTH_MAX - 1)}…`;

/** What a name alone would not tell a person. */
const explanations: Readonly<Record<string, string>> = {
  [faultNames[Fault.WorldLate]!]: "this machine is too busy for its simulated world",
  [faultNames[Fault.ControlAway]!]: "the process or its machine stood still",
  [faultNames[Fault.Suspended]!]: "the machine slept",
};

function explained(name: string): string {
  const explanation = explanations[name];
  return explanation === undefined ? name : `${name}: ${explanation}`;
}

/** What the line of a stop adds, where there is room: each name in plain words. */
const plainWords: Readonly<Record<string, string>> = {
  [faultNames[Fault.StaleState]!]: "the robot's readings are too old",
  [faultNames[Fault.StampInFuture]!]: "the robot's readings are stamped ahead of now",
  [faultNames[Fault.LowQuality]!]: "too many of the robot's readings are missing or disagree",
  [faultNames[Fault.NoAction]!]: "no decision of the policy applies any more",
  [faultNames[Fault.StartMismatch]!]: "a decision begins too far from where the robot is",
  [faultNames[Fault.FollowingError]!]: "a joint does not follow its command",
  [faultNames[Fault.Overspeed]!]: "a joint is faster than it may be",
  [faultNames[Fault.Overload]!]: "a joint pushes harder than it may",
  [faultNames[Fault.ControlMissed]!]: "the control thread missed too many ticks",
  [faultNames[Fault.DriverLost]!]: "the robot's thread is gone or hangs",
  [faultNames[Fault.PolicyLost]!]: "the policy's thread is gone or hangs",
  [faultNames[Fault.PolicySlow]!]: "answers take longer than was promised",
  [faultNames[Fault.OverBudget]!]: "ticks take more than half of their period",
  [faultNames[Fault.EstopOpen]!]: "the e-stop holds the power off",
  [faultNames[Fault.EstopStop]!]: "the e-stop asks for a stop",
};

/** A fault that only stops has latched: it came back too often. */
function isRelapse({ fromMode, toMode, faultBits }: ModeChange): boolean {
  const hasLatch = faultRows.some((row) => row.severity === "latch" && has(faultBits, row));
  return mayMove(fromMode) && toMode === Mode.FaultLatched && !hasLatch;
}

/** What a chain of refusals adds to "no action". */
export function refusalText(refusal: Refusal | undefined): string {
  if (refusal === undefined) return "";
  const { code, chunkCount } = refusal;
  return `: ${chunkCount} ${chunkCount === 1 ? "chunk" : "chunks"} ${evidenceNames[code]}`;
}

/** A change of mode on one line, its time from the first tick on. */
export function changeText(change: ModeChange, firstNs: number): string {
  const { fromMode, toMode, cueBits, nowNs } = change;
  const time = `${((nowNs - firstNs) / 1e9).toFixed(3)} s`;
  const from = modeNames[fromMode];
  const to = modeNames[toMode];
  if (from === undefined) return `${time}  ${to}`;
  const { name, detail } = causeWords(change);
  const isOver = fromMode === Mode.Degraded && toMode === Mode.Running;
  const isStart = toMode === Mode.Running && !isOver;
  const isReset = toMode === Mode.Recover || ((cueBits >>> OperatorCue.Reset) & 1) === 1;
  const byPerson = isReset ? "reset" : "start";
  const stops = toMode === Mode.SafeStop || toMode === Mode.FaultLatched;
  const plain = stops ? plainWords[name] : undefined;
  const words = detail === "" && plain !== undefined ? `: ${plain}` : detail;
  const why = isOver ? "cleared" : isStart || isReset ? byPerson : `${name}${words}`;
  return `${time}  ${from} → ${to}: ${why}`;
}

/** A hint with the acts that go on, in a surface's words. */
export function worded(hint: Hint, words: Readonly<Record<ActName, string>>): string {
  const { text, acts } = hint;
  if (acts.length === 0) return text;
  return `${text}: ${acts.map((act) => words[act]).join(", then ")}`;
}

/** Where keys are listened to. */
export const keyWords: Readonly<Record<ActName, string>> = {
  stop: "space stops, q quits",
  arm: "r arms it",
  reset: "r resets",
  start: "s starts",
  quit: "q ends the run",
};

/** Where there are none: commands of this program, to be typed elsewhere. */
export const commandWords = (program: string, pid: number): Readonly<Record<ActName, string>> => ({
  stop: `${program} stop`,
  arm: `${program} reset`,
  reset: `${program} reset`,
  start: `${program} start`,
  quit: `kill ${pid} ends the run`,
});

/** What STARTING waits for, by the reason that is still missing. */
const missing: Readonly<Record<number, string>> = {
  [Reason.StaleState]: "the robot's first samples",
  [Reason.StampInFuture]: "samples with a stamp that is not in the future",
  [Reason.LowQuality]: "enough samples",
  [Reason.NoAction]: "the policy's first decision",
};

const has = (bits: number, row: { readonly fault: number }): boolean =>
  ((bits >>> row.fault) & 1) === 1;
