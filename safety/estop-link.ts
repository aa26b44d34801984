// EstopLink: the host's end of the e-stop line, sans-IO. Bytes of the chip go in; questions for the
// tick, the bits that the supervisor must know and bytes for the chip come out. It can't make an
// answer: it only sends on what a completed tick earned, and in the proof test it spoils some.
//
// It asks for the proof test whenever the outputs are open. A reset is a person's: it is passed on
// only from one who presses it here, to a trusted board that calls itself a bench build. What the
// chip echoes in a proof test must be what was sent; after three that failed the link stays open
// for good. It reads no clock and allocates nothing after the constructor.

import { assert } from "../runtime/contracts/assert.ts";
import { EstopBuild, EstopCause, EstopFlag, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { StatusReader, STATUS_PERIOD_US } from "../runtime/contracts/estop-frame.ts";
import { KEY_SIZE_BYTES } from "../runtime/contracts/estop-tag.ts";
import { EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { ANSWERS_PER_TICK } from "../runtime/contracts/tick-signature.ts";
import { duration, NS_PER_MS, NS_PER_US } from "../runtime/contracts/units.ts";
import type { Duration, Instant } from "../runtime/contracts/units.ts";
import { EstopProofCheck } from "./estop-proof.ts";
import { Fault } from "./faults.ts";

/** Ten statuses of a board missing: its line is dead, whatever the outputs do. */
export const BOARD_SILENCE_NS_MAX = duration(50 * NS_PER_MS);

/** Why the host doesn't trust the e-stop, beside what the chip itself says. */
export const EstopProblem = {
  None: 0,
  /** No status comes. */
  Silent: 1,
  /** SS1-t of the chip is shorter than this robot needs to stop. */
  StopTooShort: 2,
  /** Proof tests showed something else than was sent. */
  ProofEcho: 3,
  /** Proof tests did not come to their end. */
  ProofFailed: 4,
  /** Statuses come without the tag that this line has, or with one of another key or of none. */
  OtherKey: 5,
  /** The line itself is gone: unplugged, or an emulator that ended. Nothing brings it back. */
  Gone: 6,
} as const;
export type EstopProblem = (typeof EstopProblem)[keyof typeof EstopProblem];

/** Names used in reports, by code. */
export const estopProblemNames = [
  "none",
  "silent",
  "stop_too_short",
  "proof_echo",
  "proof_failed",
  "other_key",
  "gone",
] as const;

/** Proof tests of a board that may fail in a row before the link gives up: noise may spoil one. */
export const BOARD_PROOF_TRIES_MAX = 3;

/** Answers that carry a person's reset: more than may be lost before silence, then it is over. */
export const RESET_ANSWERS_MAX = 20;

/** A counter that rose by more than this went back; after that much silence nobody knows. */
const COUNTER_RISE_MAX = 0x7fff;
const COUNTER_RISE_NS_MAX = COUNTER_RISE_MAX * STATUS_PERIOD_US * NS_PER_US;

/** Makes the tag of a keyed chip wrong, and the rest of its frame readable. */
const NO_KEY = new Uint8Array(KEY_SIZE_BYTES);

export type EstopLinkOptions = {
  /** The shortest SS1-t that lets this robot come to rest. */
  readonly stopNsMin: Duration;
  /** Without a status for so long the line is dead. */
  readonly silenceNsMax: Duration;
  /** How long the line may be silent while nothing has moved yet. */
  readonly startNsMax: Duration;
  readonly proofTryCountMax: number;
  /** Cutting is safe for this robot: a latched fault that says so asks for it. */
  readonly cutsOnFault: boolean;
  /** With a key every frame carries a tag, both ways; null for a line without. */
  readonly key: Uint8Array | null;
  /** When the link is opened. */
  readonly nowNs: Instant;
};

export class EstopLink {
  /** The chip's last status; all zero before the first. */
  readonly status = new EstopStatus();
  /** Room for the frames of one `writeInto`. */
  readonly wireSizeBytesMax: number;
  statusCount = 0;
  /** Answers sent. */
  beatCount = 0;
  /** Frames of the chip that were none. */
  brokenCount = 0;
  /** Times the chip started anew while it was listened to. */
  rebootCount = 0;
  armedCount = 0;
  tripCount = 0;
  /** Why the outputs were last open, kept through a proof test until they close. */
  openCause: EstopCause = EstopCause.None;
  problem: EstopProblem = EstopProblem.None;
  readonly #options: EstopLinkOptions;
  readonly #reader: StatusReader;
  /** Reads what a chip of the other kind says, keyed or not, only to name it. */
  readonly #otherReader: StatusReader;
  readonly #other = new EstopStatus();
  readonly #writer: AnswerWriter;
  readonly #next = new EstopStatus();
  readonly #answer = new EstopAnswer();
  readonly #frame: Uint8Array;
  readonly #proof = new EstopProofCheck();
  #heardNs: number;
  #counter = 0;
  #proofTries = 0;
  #isEchoWrong = false;
  #hasBegun = false;
  #isLost = false;
  #leaving = false;
  /** Each answer asks for SS1-t until the chip has cut. It obeys at once; nothing cancels it. */
  #stopAsked = false;
  #wantedCut = false;
  /** How many more answers carry the reset. */
  #resetAnswers = 0;

  constructor(options: EstopLinkOptions) {
    const { key } = options;
    assert(options.silenceNsMax > 0, "a line may be silent between two statuses");
    assert(options.proofTryCountMax > 0, "a proof test may be tried");
    this.#options = options;
    this.#reader = new StatusReader(key);
    this.#otherReader = new StatusReader(key === null ? NO_KEY : null);
    this.#writer = new AnswerWriter(key);
    this.#heardNs = options.nowNs;
    this.#frame = new Uint8Array(this.#writer.wireSizeBytes);
    this.wireSizeBytesMax = this.#frame.length * ANSWERS_PER_TICK;
  }

  /** One byte of the chip. True when it completed a status. */
  takeByte(byte: number, nowNs: Instant): boolean {
    assert(byte >= 0 && byte <= 0xff, "a byte has eight bits");
    assert(nowNs >= this.#heardNs, "time never goes back");
    const verdict = this.#reader.takeInto(this.#next, byte);
    if (verdict === EstopVerdict.Forged || this.#isOfOtherKind(byte)) this.#noteOtherKey();
    if (verdict === EstopVerdict.Pending || verdict === EstopVerdict.Ignored) return false;
    if (verdict !== EstopVerdict.Good || this.#isRepeated(nowNs)) {
      this.brokenCount += 1;
      return false;
    }
    const before = this.status.mode as EstopMode;
    const isReboot = this.statusCount > 0 && this.#next.bootNonce !== this.status.bootNonce;
    if (isReboot) this.rebootCount += 1;
    this.status.set(this.#next);
    this.statusCount += 1;
    this.#heardNs = nowNs;
    if (this.problem === EstopProblem.Silent) this.problem = EstopProblem.None;
    this.#noteMode(before, nowNs);
    return true;
  }

  /** Time passes: notices a line that went silent. Called once a cycle, after the bytes. */
  step(nowNs: Instant): void {
    assert(nowNs >= this.#heardNs, "time never goes back");
    const { silenceNsMax, startNsMax } = this.#options;
    const silentNs = nowNs - this.#heardNs;
    this.#isLost = silentNs > startNsMax;
    // A board that was reset by opening the port takes its bootloader's time to speak.
    const isSilent = this.statusCount === 0 ? this.#isLost : silentNs > silenceNsMax;
    if (isSilent && this.problem === EstopProblem.None) this.problem = EstopProblem.Silent;
    assert(!isSilent || this.problem !== EstopProblem.None, "a silent line is not trusted");
  }

  /** The driver found no line any more: there is nothing to wait for. */
  lineGone(): void {
    this.problem = EstopProblem.Gone;
  }

  /** How many answers the next tick should earn: none before the chip asked anything. */
  get answersWanted(): number {
    if (this.statusCount === 0) return 0;
    return this.#isProving ? this.#proof.answersWanted : 1;
  }

  /**
   * Bits of `Fault` that hold now. What trips before the run ever left STARTING is armed again:
   * "not yet". After that it is open or, while there is power to brake with, a stop.
   */
  get faultBits(): number {
    if (this.#leaving) return 0;
    const hasPower = (this.status.outputs & EstopOutput.Both) === EstopOutput.Both;
    const isArmed = this.status.mode === EstopMode.Armed && hasPower;
    if (isArmed && this.problem === EstopProblem.None) return 0;
    if (this.#isNotYet) return 1 << Fault.EstopNotArmed;
    return 1 << (hasPower ? Fault.EstopStop : Fault.EstopOpen);
  }

  /** From now on each answer says goodbye: the outputs open and it is no fault. */
  leave(): void {
    this.#leaving = true;
  }

  /** A person presses the reset here. Only a trusted bench build that waits for one is told. */
  pressReset(): void {
    const { build, mode } = this.status;
    const isWaiting = mode === EstopMode.WaitReset && this.problem === EstopProblem.None;
    const takesIt = (build & EstopBuild.ResetFromLink) !== 0 && isWaiting;
    if (!takesIt) this.#resetAnswers = 0;
    else if (this.#resetAnswers === 0) this.#resetAnswers = RESET_ANSWERS_MAX;
    assert(takesIt || this.#resetAnswers === 0, "no other board is asked for a reset");
    assert(this.#resetAnswers <= RESET_ANSWERS_MAX, "a pressed reset is let go of");
  }

  /**
   * A person wants the proof test after it failed. A chip that believes it has passed tests nothing
   * anew and only waits for its reset: it must be opened first, or a wish alone would make it
   * trusted.
   */
  proveAgain(): void {
    const { problem, status } = this;
    if (problem === EstopProblem.ProofEcho && status.mode === EstopMode.WaitReset) return;
    this.#proofTries = 0;
    const isOver = problem > EstopProblem.StopTooShort && problem !== EstopProblem.Gone;
    if (isOver) this.problem = EstopProblem.None;
    assert(
      this.problem !== EstopProblem.ProofFailed,
      "a person's wish forgives failed proof tests",
    );
    assert(this.problem !== EstopProblem.ProofEcho, "a person's wish forgives a wrong echo");
  }

  /**
   * Writes what one completed tick earned, a record of `EstopBeatSlot`, as frames for the chip, and
   * returns how many bytes. Nothing when the proof test wants silence.
   */
  writeInto(wire: Uint8Array, beat: Float64Array, nowNs: Instant): number {
    const earned = beat[EstopBeatSlot.answerCount]!;
    assert(earned >= 0 && earned <= ANSWERS_PER_TICK, "a tick earns no more than it may");
    assert(wire.length >= this.wireSizeBytesMax, "the wire has room for all that a tick earns");
    if (beat[EstopBeatSlot.hostMode] !== Mode.Starting) this.#hasBegun = true;
    const wantsCut = beat[EstopBeatSlot.wantsCut] === 1;
    if (wantsCut && !this.#wantedCut && this.#options.cutsOnFault) {
      this.#stopAsked = this.status.mode === EstopMode.Armed;
    }
    this.#wantedCut = wantsCut;
    const count = this.#isProving ? this.#provingCount(earned) : Math.min(earned, 1);
    const wrong = this.#isProving && this.#proof.sendsWrong;
    const corrupt = this.#isProving && this.#proof.sendsCorrupt;
    const answer = this.#answer;
    let size = 0;
    for (let within = 0; within < count; within += 1) {
      this.#counter = (this.#counter + 1) & 0xffff;
      answer.counter = this.#counter;
      answer.bootNonce = beat[EstopBeatSlot.bootNonce]!;
      answer.tickIndex = (beat[EstopBeatSlot.tickIndex]! + within) >>> 0;
      answer.answer = beat[EstopBeatSlot.answers + within]!;
      if (wrong) answer.answer = (answer.answer ^ 0x8000) >>> 0;
      answer.questionId = beat[EstopBeatSlot.questionId]!;
      answer.hostMode = beat[EstopBeatSlot.hostMode]!;
      answer.flags = this.#flags;
      this.#writer.writeInto(this.#frame, answer);
      if (corrupt) spoil(this.#frame);
      wire.set(this.#frame, size);
      size += this.#frame.length;
      this.beatCount += 1;
    }
    if (this.#isProving) this.#proof.noteSent(count, nowNs);
    if (count > 0) this.#resetAnswers = Math.max(0, this.#resetAnswers - 1);
    return size;
  }

  /** A status of this boot that is not newer than the last: a replay tells nothing. */
  #isRepeated(nowNs: Instant): boolean {
    if (this.statusCount === 0 || this.#next.bootNonce !== this.status.bootNonce) return false;
    const rise = (this.#next.counter - this.status.counter) & 0xffff;
    const isNewer = rise !== 0 && rise <= COUNTER_RISE_MAX;
    return !isNewer && nowNs - this.#heardNs < COUNTER_RISE_NS_MAX;
  }

  /** A whole status by the codec of the other kind; noise never is one. */
  #isOfOtherKind(byte: number): boolean {
    const verdict = this.#otherReader.takeInto(this.#other, byte);
    return verdict === EstopVerdict.Good || verdict === EstopVerdict.Forged;
  }

  #noteOtherKey(): void {
    if (this.problem <= EstopProblem.Silent) this.problem = EstopProblem.OtherKey;
  }

  /** Nothing after an echo was wrong: the chip gives this proof test up by itself. */
  #provingCount(earnedCount: number): number {
    return this.#isEchoWrong ? 0 : this.#proof.sendCount(earnedCount);
  }

  get #isNotYet(): boolean {
    const { armedCount, problem } = this;
    if (problem === EstopProblem.Silent) return !this.#hasBegun && !this.#isLost;
    return problem === EstopProblem.None && (armedCount === 0 || !this.#hasBegun);
  }

  get #isProving(): boolean {
    return this.status.mode === EstopMode.Proof;
  }

  get #flags(): number {
    const { mode, failCount } = this.status;
    const isOpen = mode === EstopMode.Tripped || mode === EstopMode.Disarmed;
    const isWell = this.problem === EstopProblem.None && failCount === 0 && !this.#leaving;
    return (
      (isOpen && isWell ? EstopFlag.Proof : 0) |
      (this.#leaving ? EstopFlag.Goodbye : 0) |
      (this.#stopAsked ? EstopFlag.Stop : 0) |
      (this.#resetAnswers > 0 && this.problem === EstopProblem.None ? EstopFlag.Reset : 0)
    );
  }

  #noteMode(before: EstopMode, nowNs: Instant): void {
    const { status } = this;
    const isArmed = status.mode === EstopMode.Armed;
    if (isArmed && before !== EstopMode.Armed) {
      this.armedCount += 1;
      this.openCause = EstopCause.None;
    }
    if (!isArmed && before === EstopMode.Armed && !this.#leaving) this.tripCount += 1;
    const isStopped = status.mode !== EstopMode.Proof && status.mode !== EstopMode.WaitReset;
    if (!isArmed && isStopped) this.openCause = status.cause as EstopCause;
    if (!isArmed && status.mode !== EstopMode.Stopping) this.#stopAsked = false;
    if (status.mode !== EstopMode.WaitReset) this.#resetAnswers = 0;
    if (status.stopMs * NS_PER_MS < this.#options.stopNsMin) {
      this.problem = EstopProblem.StopTooShort;
    }
    if (this.#isProving) {
      if (before !== EstopMode.Proof) {
        this.#proof.begin();
        this.#isEchoWrong = false;
      }
      if (!this.#proof.take(status, nowNs)) this.#isEchoWrong = true;
    } else if (before === EstopMode.Proof) {
      this.#endProof();
    }
  }

  #endProof(): void {
    if (this.status.mode === EstopMode.WaitReset) {
      this.#proofTries = 0;
      if (!this.#proof.isWhole || this.#isEchoWrong) this.problem = EstopProblem.ProofEcho;
      return;
    }
    if (this.status.cause !== EstopCause.ProofTimeout && !this.#isEchoWrong) return;
    this.#proofTries += 1;
    if (this.#proofTries < this.#options.proofTryCountMax) return;
    this.problem = this.#isEchoWrong ? EstopProblem.ProofEcho : EstopProblem.ProofFailed;
  }
}

/** Flips a bit of a stuffed frame, and makes no zero of it: a zero would end the frame. */
function spoil(frame: Uint8Array): void {
  const place = 12;
  frame[place] = frame[place]! ^ (frame[place] === 0x40 ? 0x20 : 0x40);
}
