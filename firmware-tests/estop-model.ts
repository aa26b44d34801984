// A second e-stop, written from PROTOCOL.md as plain rules and with unbounded time, to be walked
// beside the firmware's core: any step in which the two differ is a bug in one of them. It shares
// the frame codec of the runtime and nothing with the C code; questions are told to it.

import { EstopCause, EstopFlag, EstopInput, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopBuild, EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { AnswerReader, EstopAnswer } from "../runtime/contracts/estop-frame.ts";
import type { EstopConfig } from "../hal/ffi/estop-core.ts";
import { answerOf } from "./estop-host.ts";

const US_PER_MS = 1_000;
const FILTER_US = 3_000;
const PROOF_US = 3_000_000;
const QUESTION_AGE_US = 25_000;
const BURST_US = 25_000;
const BUTTON = EstopInput.ButtonAClosed | EstopInput.ButtonBClosed;
const BACK = EstopInput.ReadBackA | EstopInput.ReadBackB;

type Question = { readonly id: number; readonly word: number; readonly askedUs: number };

export class EstopModel {
  mode: EstopMode = EstopMode.Tripped;
  cause: EstopCause;
  proofStep: EstopProof = EstopProof.Wrong;
  outputs = 0;
  failCount = 5;
  badCount = 0;
  lastBad: EstopVerdict = EstopVerdict.Good;
  goodStreak = 0;
  levels: number = EstopInput.ResetPressed | BACK;
  bothOpenDue = false;
  hostMode = 0;
  /** Of the last good answer. */
  tickIndex = 0;
  readonly #config: EstopConfig;
  readonly #nonce: number;
  readonly #reader = new AnswerReader(null);
  readonly #answer = new EstopAnswer();
  /** Since which step something has been so; undefined while it is not. */
  readonly #differsUs: (number | undefined)[] = [];
  #disagreeUs: number | undefined;
  readonly #astrayUs: (number | undefined)[] = [];
  #questions: Question[] = [];
  #goodUs: number[] = [];
  /** Of the last good answer since the last silence. */
  #last: { counter: number; tickIndex: number } | undefined;
  #resetIsAsked = false;
  #resetWasAsked = false;
  #heard = new Set<"stop" | "goodbye" | "proof">();
  #heardBad = new Set<EstopVerdict>();
  #badStreak = 0;
  #proofSinceUs = 0;
  #endUs = Infinity;

  constructor(config: EstopConfig, nonce: number, cause: EstopCause) {
    this.#config = config;
    this.#nonce = nonce;
    this.cause = cause;
  }

  get beating(): boolean {
    return this.#last !== undefined;
  }

  /** The chip asked this. */
  asked(id: number, word: number, nowUs: number): void {
    this.#questions = [...this.#questions, { id, word, askedUs: nowUs }].slice(-4);
  }

  receive(bytes: Uint8Array, nowUs: number): void {
    for (const byte of bytes) {
      const framed = this.#reader.takeInto(this.#answer, byte);
      if (framed === EstopVerdict.Pending || framed === EstopVerdict.Ignored) continue;
      const verdict = framed === EstopVerdict.Good ? this.#judge(nowUs) : framed;
      const isOfThisBoot = framed === EstopVerdict.Good && verdict !== EstopVerdict.OtherBoot;
      if (isOfThisBoot && (this.#answer.flags & EstopFlag.Stop) !== 0) this.#heard.add("stop");
      if (verdict === EstopVerdict.Good) this.#countGood(nowUs);
      else this.#countBad(verdict);
    }
  }

  step(nowUs: number, sample: number): number {
    const resetEdge = this.#sense(nowUs, sample);
    if (nowUs - (this.#goodUs.at(-1) ?? -Infinity) >= this.#config.silenceMs * US_PER_MS) {
      this.#last = undefined;
      this.#goodUs = [];
      this.goodStreak = 0;
    }
    this.#wishes(nowUs, resetEdge);
    this.#stops(nowUs);
    this.#faults(nowUs);
    this.#heard.clear();
    this.#heardBad.clear();
    const closes = this.#isPowered && this.failCount < 5;
    this.outputs = closes ? 3 : this.#provenOutput();
    return this.outputs;
  }

  get #isPowered(): boolean {
    const { mode } = this;
    return mode === EstopMode.Armed || mode === EstopMode.Stopping || mode === EstopMode.Cutting;
  }

  #provenOutput(): number {
    if (this.mode !== EstopMode.Proof) return 0;
    if (this.proofStep === EstopProof.CloseA) return 1;
    return this.proofStep === EstopProof.CloseB ? 2 : 0;
  }

  #judge(nowUs: number): EstopVerdict {
    const answer = this.#answer;
    const last = this.#last;
    if (answer.bootNonce !== this.#nonce) return EstopVerdict.OtherBoot;
    const rise = last && (answer.counter - last.counter + 65_536) % 65_536;
    if (rise === 0 || (rise ?? 0) > 32_767) return EstopVerdict.Repeated;
    const question = this.#questions.find(({ id }) => id === answer.questionId);
    if (question === undefined || nowUs - question.askedUs > QUESTION_AGE_US) {
      return EstopVerdict.Late;
    }
    const ticks = last && (answer.tickIndex - last.tickIndex + 2 ** 32) % 2 ** 32;
    if (ticks === 0 || (ticks ?? 0) >= 2 ** 31) return EstopVerdict.SameTick;
    if (answer.answer !== answerOf(question.word, answer.tickIndex)) return EstopVerdict.Wrong;
    const recent = this.#goodUs.filter((atUs) => nowUs - atUs < BURST_US);
    return recent.length >= 8 ? EstopVerdict.Early : EstopVerdict.Good;
  }

  #countGood(nowUs: number): void {
    const { counter, tickIndex, flags, hostMode } = this.#answer;
    this.#last = { counter, tickIndex };
    this.tickIndex = tickIndex;
    this.#resetIsAsked = (flags & EstopFlag.Reset) !== 0;
    this.#goodUs = [...this.#goodUs, nowUs].slice(-8);
    this.hostMode = hostMode;
    this.failCount = Math.max(0, this.failCount - 1);
    this.goodStreak = Math.min(255, this.goodStreak + 1);
    this.#badStreak = 0;
    if ((flags & EstopFlag.Stop) !== 0) this.#heard.add("stop");
    if ((flags & EstopFlag.Goodbye) !== 0) this.#heard.add("goodbye");
    if ((flags & EstopFlag.Proof) !== 0) this.#heard.add("proof");
  }

  #countBad(verdict: EstopVerdict): void {
    this.lastBad = verdict;
    this.badCount = (this.badCount + 1) % 65_536;
    this.failCount = Math.min(8, this.failCount + 1);
    this.goodStreak = 0;
    this.#badStreak += 1;
    this.#heardBad.add(verdict);
  }

  /** Filters the inputs; true when the reset was pressed in this step. */
  #sense(nowUs: number, sample: number): boolean {
    const before = this.levels;
    for (let at = 0; at < 6; at += 1) {
      const bit = 1 << at;
      const isSame = (sample & bit) === (this.levels & bit);
      this.#differsUs[at] = isSame ? undefined : (this.#differsUs[at] ?? nowUs);
      if (isSame || nowUs - this.#differsUs[at]! < FILTER_US) continue;
      this.levels ^= bit;
      this.#differsUs[at] = undefined;
    }
    const channels = this.levels & BUTTON;
    const doAgree = channels === 0 || channels === BUTTON;
    this.#disagreeUs = doAgree ? undefined : (this.#disagreeUs ?? nowUs);
    if (this.#isDiscrepant(nowUs)) this.bothOpenDue = true;
    if (channels === 0) this.bothOpenDue = false;
    for (const at of [0, 1]) {
      const follows = ((this.levels >> (4 + at)) & 1) === ((this.outputs >> at) & 1);
      this.#astrayUs[at] = follows ? undefined : (this.#astrayUs[at] ?? nowUs);
    }
    return (this.levels & ~before & EstopInput.ResetPressed) !== 0;
  }

  #isDiscrepant(nowUs: number): boolean {
    return nowUs - (this.#disagreeUs ?? nowUs) >= this.#config.discrepancyMs * US_PER_MS;
  }

  get #isChainOpen(): boolean {
    const isFitted = (this.#config.buildBits & EstopBuild.ChainFitted) !== 0;
    return isFitted && (this.levels & EstopInput.ChainClosed) === 0;
  }

  #wishes(nowUs: number, resetEdge: boolean): void {
    const { mode } = this;
    const mayBeAsked = (this.#config.buildBits & EstopBuild.ResetFromLink) !== 0;
    const isAsked = mayBeAsked && this.#resetIsAsked;
    const isReset = resetEdge || (isAsked && !this.#resetWasAsked);
    this.#resetWasAsked = isAsked;
    if (this.mode === EstopMode.WaitReset && isReset && this.goodStreak >= 3) {
      this.mode = EstopMode.Armed;
    }
    const isOpen = mode === EstopMode.Tripped || mode === EstopMode.Disarmed;
    if (isOpen && this.#heard.has("proof") && this.#isProofAllowed()) {
      this.mode = EstopMode.Proof;
      this.cause = EstopCause.None;
      this.#endUs = nowUs + PROOF_US;
      this.#beginProofStep(EstopProof.Wrong, nowUs);
    }
    if (this.mode === EstopMode.Proof && this.#isProofStepOver(nowUs)) {
      this.#beginProofStep((this.proofStep + 1) as EstopProof, nowUs);
      if (this.proofStep === EstopProof.Done) this.mode = EstopMode.WaitReset;
    }
    if (this.#heard.has("goodbye")) this.#goodbye();
  }

  #goodbye(): void {
    const { mode } = this;
    if (mode === EstopMode.Stopping) this.mode = EstopMode.Tripped;
    const closes = [EstopMode.Proof, EstopMode.WaitReset, EstopMode.Armed] as EstopMode[];
    if (!closes.includes(mode)) return;
    this.mode = EstopMode.Disarmed;
    this.cause = EstopCause.HostClosed;
  }

  #isProofAllowed(): boolean {
    return (
      (this.levels & BUTTON) === BUTTON &&
      !this.#isChainOpen &&
      !this.bothOpenDue &&
      (this.levels & BACK) === 0 &&
      this.failCount === 0 &&
      this.goodStreak >= 3 &&
      !this.#heard.has("stop")
    );
  }

  #beginProofStep(step: EstopProof, nowUs: number): void {
    this.proofStep = step;
    this.#proofSinceUs = nowUs;
    this.#badStreak = 0;
  }

  #isProofStepOver(nowUs: number): boolean {
    const backs = (this.levels & BACK) >> 4;
    const isRecovered = this.failCount === 0 && this.goodStreak >= 3;
    const silentUs = nowUs - this.#proofSinceUs;
    const over: Readonly<Record<EstopProof, boolean>> = {
      [EstopProof.Wrong]: this.#heardBad.has(EstopVerdict.Wrong),
      [EstopProof.Corrupt]: this.#heardBad.has(EstopVerdict.Corrupt),
      [EstopProof.Burst]: this.#heardBad.has(EstopVerdict.Early),
      [EstopProof.Five]: this.#badStreak >= 5 && this.failCount >= 5,
      [EstopProof.Silence]: !this.beating && silentUs >= this.#config.silenceMs * US_PER_MS,
      [EstopProof.Recover]: isRecovered,
      [EstopProof.CloseA]: backs === 1,
      [EstopProof.OpenA]: backs === 0,
      [EstopProof.CloseB]: backs === 2,
      [EstopProof.OpenB]: backs === 0,
      [EstopProof.Done]: false,
    };
    return over[this.proofStep];
  }

  #stops(nowUs: number): void {
    const isPressed = (this.levels & BUTTON) !== BUTTON;
    if (this.#heard.has("stop")) this.#stop(EstopCause.StopRequest, nowUs);
    if (isPressed) this.#stop(EstopCause.Button, nowUs);
    if (!this.beating) this.#silence(nowUs);
    if (nowUs < this.#endUs) return;
    if (this.mode === EstopMode.Proof) this.#trip(EstopCause.ProofTimeout);
    if (this.mode === EstopMode.Stopping || this.mode === EstopMode.Cutting) this.#trip(this.cause);
  }

  #stop(cause: EstopCause, nowUs: number): void {
    const endUs = nowUs + this.#config.stopMs * US_PER_MS;
    if (this.mode === EstopMode.Proof || this.mode === EstopMode.WaitReset) this.#trip(cause);
    if (this.mode === EstopMode.Cutting) this.#endUs = Math.min(this.#endUs, endUs);
    if (this.mode !== EstopMode.Armed) return;
    this.mode = EstopMode.Stopping;
    this.cause = cause;
    this.#endUs = endUs;
  }

  #silence(nowUs: number): void {
    const isTestingOutputs = this.proofStep >= EstopProof.CloseA;
    if (this.mode === EstopMode.Proof && isTestingOutputs) this.#trip(EstopCause.Silence);
    if (this.mode === EstopMode.WaitReset) this.#trip(EstopCause.Silence);
    if (this.mode !== EstopMode.Armed && this.mode !== EstopMode.Stopping) return;
    const cutUs = nowUs + this.#config.cutDelayMs * US_PER_MS;
    this.#endUs = this.mode === EstopMode.Armed ? cutUs : Math.min(this.#endUs, cutUs);
    this.mode = EstopMode.Cutting;
    this.cause = EstopCause.Silence;
  }

  #faults(nowUs: number): void {
    const { mode } = this;
    const isOff = mode === EstopMode.Tripped || mode === EstopMode.Disarmed;
    if (this.failCount === 8 && !isOff && mode !== EstopMode.Proof) {
      this.#trip(EstopCause.BadAnswers);
    }
    if (this.#isChainOpen && !isOff) this.#trip(EstopCause.LimitChain);
    if (this.#isDiscrepant(nowUs)) this.#trip(EstopCause.Discrepancy);
    const settleUs = this.#config.settleMs * US_PER_MS;
    const lost = [0, 1].map((at) => nowUs - (this.#astrayUs[at] ?? nowUs) >= settleUs);
    const wanted = [1, 2].map((bit) => (this.outputs & bit) !== 0);
    if (lost[0] && wanted[0]) this.#trip(EstopCause.StuckOpenA);
    if (lost[1] && wanted[1]) this.#trip(EstopCause.StuckOpenB);
    if (lost[0] && !wanted[0]) this.#trip(EstopCause.WeldedA);
    if (lost[1] && !wanted[1]) this.#trip(EstopCause.WeldedB);
  }

  #trip(cause: EstopCause): void {
    this.mode = EstopMode.Tripped;
    this.cause = cause;
  }
}
