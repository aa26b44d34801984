// EstopProofCheck: the host's part of one proof test. It knows what to send in which step, and
// holds what the chip echoes against what was sent: the verdict, and how many bad answers came.
// A step that passes with another echo, out of order or too soon fails the whole test.

import {
  EstopInput,
  EstopOutput,
  EstopProof,
  EstopVerdict,
} from "../runtime/contracts/estop-codes.ts";
import type { EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { NS_PER_MS } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";

/** Answers of a tick of the burst, as many as a small chip reads at once. */
const BURST_ANSWERS = 4;
/**
 * Answers of its ticks. Nine within 25 ms are one more than the chip takes, whatever came before;
 * with the three single ones that may have, four too many: five would pass for the next step.
 */
const BURST_COUNTS: readonly number[] = [BURST_ANSWERS, BURST_ANSWERS, 1];
const BURST_TICKS = BURST_COUNTS.length;
/** After a burst nothing is sent until its echo came or it counts as lost. */
const BURST_PAUSE_TICKS = 10;
/** A burst may go over the limit by this many. */
const EARLY_COUNT_MAX = BURST_COUNTS.reduce((sum, count) => sum + count, 0);
const WRONG_COUNT = 5;
/** Of the five, what the chip has not counted after so many ticks of silence is sent again. */
const TOP_UP_TICKS = 12;
const READ_BACKS = EstopInput.ReadBackA | EstopInput.ReadBackB;
/** Before the five: silence until the burst has left its 25 ms, then good answers. */
const SETTLE_TICKS = 7;
/** A step whose frames were lost on the line is tried anew after this: echoes take two ticks. A
 * prime, so that it keeps no step with what loses them. */
const RETRY_TICKS = 61;
/** How much sooner than T_wd a silence may seem over: the clocks and the status are that coarse. */
const SILENCE_SLACK_NS = 10 * NS_PER_MS;

export class EstopProofCheck {
  #step: number = EstopProof.Wrong;
  #badCount = 0;
  /** Bad frames sent in this step, ticks in it, and ticks since a burst began. */
  #badSentCount = 0;
  #stepTicks = 0;
  #burstTicks = 0;
  #quietTicks = 0;
  /** Bad answers that the chip has counted in this step. */
  #countedCount = 0;
  #sentNs = 0;
  #hasCount = false;
  /** The five may be sent: nothing of the burst counts any more. */
  #isSettled = false;
  /** Read-backs that were seen closed alone: a step that only passes shows none. */
  #backBits = 0;

  /** The chip has entered PROOF. */
  begin(): void {
    this.#step = EstopProof.Wrong;
    this.#beginStep();
    this.#burstTicks = 0;
    this.#hasCount = false;
    this.#backBits = 0;
  }

  /** A step begins, or is tried anew. */
  #beginStep(): void {
    this.#badSentCount = 0;
    this.#stepTicks = 0;
    this.#isSettled = false;
  }

  /** The last step was seen, and each contact alone: nothing but the reset is missing. */
  get isWhole(): boolean {
    return this.#step >= EstopProof.CloseB && this.#backBits === READ_BACKS;
  }

  /** A status in PROOF. False when the chip shows something else than was sent. */
  take(status: EstopStatus, nowNs: Instant): boolean {
    const backBits = status.inputs & READ_BACKS;
    if (backBits !== READ_BACKS && status.proofStep >= EstopProof.CloseA) {
      this.#backBits |= backBits;
    }
    if (this.#step === EstopProof.Five && !this.#isSettled) {
      this.#badCount = status.badCount;
      this.#isSettled = this.#stepTicks > SETTLE_TICKS && status.failCount === 0;
    }
    if (!this.#hasCount) this.#badCount = status.badCount;
    this.#hasCount = true;
    this.#countedCount = (status.badCount - this.#badCount) & 0xffff;
    if (status.proofStep === this.#step) return true;
    const isNext = status.proofStep === this.#step + 1;
    // Contacts may open and the next close between two statuses.
    const isRight = isNext || (status.proofStep > this.#step && this.#step >= EstopProof.CloseA);
    const isShown = isRight && this.#isShown(status, nowNs);
    this.#step = status.proofStep;
    this.#badCount = status.badCount;
    this.#beginStep();
    return isShown;
  }

  /** What the next tick should earn. */
  get answersWanted(): number {
    return this.#isBurstDue ? BURST_ANSWERS : 1;
  }

  /** How many of the answers that a tick earned are sent. */
  sendCount(earnedCount: number): number {
    if (this.#step === EstopProof.Silence) return 0;
    if (this.#step === EstopProof.Five && this.#stepTicks < SETTLE_TICKS) return 0;
    if (this.#step === EstopProof.Five && this.#badSentCount >= WRONG_COUNT) return 0;
    if (this.#step !== EstopProof.Burst) return Math.min(earnedCount, 1);
    // The burst waits until control has heard that more answers are wanted.
    const isHeard = this.#isBurstDue && earnedCount === BURST_ANSWERS;
    return isHeard ? BURST_COUNTS[this.#burstTicks]! : 0;
  }

  get sendsWrong(): boolean {
    if (this.#step === EstopProof.Wrong) return this.#badSentCount === 0;
    return this.#step === EstopProof.Five && this.#isSettled;
  }

  get sendsCorrupt(): boolean {
    return this.#step === EstopProof.Corrupt && this.#badSentCount === 0;
  }

  /** After each tick of the proof test: so many frames went out. */
  noteSent(count: number, nowNs: Instant): void {
    if (this.#step === EstopProof.Burst && (count > 0 || !this.#isBurstDue)) {
      this.#burstTicks = (this.#burstTicks + 1) % (BURST_TICKS + BURST_PAUSE_TICKS);
    }
    if (this.sendsWrong || this.sendsCorrupt) this.#badSentCount += count;
    this.#stepTicks += 1;
    this.#quietTicks = count > 0 ? 0 : this.#quietTicks + 1;
    if (count > 0) this.#sentNs = nowNs;
    const isShort = this.#isSettled && this.#quietTicks >= TOP_UP_TICKS;
    if (isShort) this.#badSentCount = Math.min(this.#countedCount, this.#badSentCount);
    if (this.#stepTicks < RETRY_TICKS || this.#step >= EstopProof.Burst) return;
    this.#beginStep();
  }

  get #isBurstDue(): boolean {
    return this.#step === EstopProof.Burst && this.#burstTicks < BURST_TICKS;
  }

  /** The step that just ended shows what was sent in it, and nothing else. */
  #isShown(status: EstopStatus, nowNs: Instant): boolean {
    const counted = (status.badCount - this.#badCount) & 0xffff;
    const { lastBad } = status;
    switch (this.#step) {
      case EstopProof.Wrong:
        return lastBad === EstopVerdict.Wrong && counted === 1;
      case EstopProof.Corrupt:
        return lastBad === EstopVerdict.Corrupt && counted === 1;
      case EstopProof.Burst:
        return lastBad === EstopVerdict.Early && counted >= 1 && counted <= EARLY_COUNT_MAX;
      case EstopProof.Five:
        return lastBad === EstopVerdict.Wrong && counted === WRONG_COUNT;
      case EstopProof.Silence: {
        const silentNs = nowNs - this.#sentNs;
        const isLong = silentNs >= status.silenceMs * NS_PER_MS - SILENCE_SLACK_NS;
        return isLong && counted === 0 && (status.outputs & EstopOutput.TripShown) !== 0;
      }
      default:
        return (status.outputs & EstopOutput.Both) !== EstopOutput.Both;
    }
  }
}
