// The host's link and the chip's core in one virtual time: a control that earns an answer in each
// tick of 5 ms, by the vectors' fold, and a driver half a millisecond behind it. A test may take
// ticks away, lose bytes either way, press buttons or start the chip anew.

import { foldStage, openAnswer } from "../runtime/contracts/estop-answer.ts";
import { EstopInput, estopModeNames } from "../runtime/contracts/estop-codes.ts";
import { ESTOP_BEAT_SLOT_COUNT, EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { ANSWERS_PER_TICK } from "../runtime/contracts/tick-signature.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { BOARD_PROOF_TRIES_MAX, BOARD_SILENCE_NS_MAX, EstopLink } from "../safety/estop-link.ts";
import type { EstopLinkOptions } from "../safety/estop-link.ts";
import type { EstopBench } from "./estop-bench.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { CoreBench } from "./estop-core-bench.ts";
import vectors from "./vectors/estop-frames.json";

const TICK_US = 5_000;
const DRIVER_US = 500;

export class LinkRig {
  readonly bench: EstopBench;
  readonly link: EstopLink;
  /** The modes of the chip, as statuses told them. */
  readonly modes: string[] = [];
  readonly wire: Uint8Array;
  hostMode: Mode = Mode.Starting;
  /** What the supervisor wants of the e-stop. */
  wantsCut = false;
  /** No tick completes. */
  isHung = false;
  /** So many of the next frames to the chip are spoilt. */
  garbles = 0;
  /** Nothing arrives at the chip. */
  isCut = false;
  /** Nothing of the chip arrives. */
  isDeaf = false;
  /** Changes what the host hears, as a broken chip would send it. */
  hears: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes;
  readonly #beat = new Float64Array(ESTOP_BEAT_SLOT_COUNT);
  #asked = { question: 0, questionId: 0, bootNonce: 0, answerCount: 0 };
  #tick = 0;
  #us: number;

  /** `options` are those of the link that a test is about. */
  constructor(
    bench: EstopBench = new CoreBench(),
    stopMs = 300,
    options: Partial<EstopLinkOptions> = {},
  ) {
    this.bench = bench;
    this.#us = bench.nowUs;
    const stopNsMin = duration(stopMs * 1e6);
    this.link = new EstopLink({
      stopNsMin,
      silenceNsMax: BOARD_SILENCE_NS_MAX,
      startNsMax: duration(3e9),
      proofTryCountMax: BOARD_PROOF_TRIES_MAX,
      cutsOnFault: true,
      key: null,
      nowNs: instant(bench.nowUs * 1e3),
      ...options,
    });
    this.wire = new Uint8Array(this.link.wireSizeBytesMax);
  }

  get mode(): string {
    return estopModeNames[this.link.status.mode]!;
  }

  get nowUs(): number {
    return this.#us;
  }

  /** Periods of 5 ms: a tick, then the driver. */
  run(periodCount: number): this {
    for (let index = 0; index < periodCount; index += 1) this.#period();
    return this;
  }

  /** Runs until it holds, for at most ten seconds. */
  until(holds: (rig: LinkRig) => boolean): this {
    for (let index = 0; index < 2_000; index += 1) {
      if (holds(this)) return this;
      this.#period();
    }
    throw new Error(`Cannot go on: the chip is ${JSON.stringify(this.link.status)}`);
  }

  arm(): this {
    this.until(({ mode }) => mode === "WAIT_RESET").run(4);
    this.bench.switchBits |= EstopInput.ResetPressed;
    this.run(6);
    this.bench.switchBits = SWITCHES_AT_REST;
    return this.until(({ mode }) => mode === "ARMED");
  }

  /** Armed, and the run has left STARTING. */
  started(): this {
    this.arm();
    this.hostMode = Mode.Running;
    return this.run(2);
  }

  #period(): void {
    this.#us += TICK_US;
    this.bench.runUntil(this.#us);
    const hasBeat = !this.isHung;
    if (hasBeat) this.#earn();
    this.bench.runUntil(this.#us + DRIVER_US);
    const nowNs = instant((this.#us + DRIVER_US) * 1e3);
    const bytes = this.hears(this.bench.takeReceived());
    for (const byte of this.isDeaf ? [] : bytes) {
      if (!this.link.takeByte(byte, nowNs)) continue;
      if (this.modes.at(-1) !== this.mode) this.modes.push(this.mode);
    }
    this.link.step(nowNs);
    const { status, answersWanted } = this.link;
    if (hasBeat) {
      const size = this.link.writeInto(this.wire, this.#beat, nowNs);
      if (this.garbles > 0) this.wire[20] = this.wire[20] === 1 ? 2 : 1;
      this.garbles = Math.max(0, this.garbles - 1);
      if (!this.isCut) this.bench.send(this.wire.slice(0, size));
    }
    const { question, counter, bootNonce } = status;
    this.#asked = { question, questionId: counter, bootNonce, answerCount: answersWanted };
  }

  /** A completed tick, as control hands it over. */
  #earn(): void {
    this.#tick += 1;
    const { question, questionId, bootNonce, answerCount } = this.#asked;
    const tickIndex = (this.#tick * ANSWERS_PER_TICK) >>> 0;
    this.#beat[EstopBeatSlot.questionId] = questionId;
    this.#beat[EstopBeatSlot.bootNonce] = bootNonce;
    this.#beat[EstopBeatSlot.hostMode] = this.hostMode;
    this.#beat[EstopBeatSlot.tickIndex] = tickIndex;
    this.#beat[EstopBeatSlot.answerCount] = answerCount;
    this.#beat[EstopBeatSlot.wantsCut] = this.wantsCut ? 1 : 0;
    for (let within = 0; within < answerCount; within += 1) {
      const opened = openAnswer(question, tickIndex + within);
      this.#beat[EstopBeatSlot.answers + within] = vectors.tokens.reduce(foldStage, opened);
    }
  }
}
