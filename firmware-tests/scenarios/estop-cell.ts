// The e-stop's side of a loss: the real firmware on a bench, the host's link behind the driver's
// cycle, and a whole core that earns its answers, all in one virtual time. Ticks come every 5 ms,
// the driver's cycle half a millisecond after each, and the cause at any phase between two ticks.

import { BOARD_PATIENCE } from "../../runtime/cli/estop-watch.ts";
import { CommandKind } from "../../runtime/contracts/command.ts";
import { EstopInput, EstopOutput, estopModeNames } from "../../runtime/contracts/estop-codes.ts";
import {
  ESTOP_ASK_SLOT_COUNT,
  ESTOP_BEAT_SLOT_COUNT,
  EstopAskSlot,
} from "../../runtime/contracts/estop-line.ts";
import { Mode } from "../../runtime/contracts/mode.ts";
import { duration, instant } from "../../runtime/contracts/units.ts";
import { createArena } from "../../runtime/shm/arena.ts";
import type { Arena } from "../../runtime/shm/arena.ts";
import { LatestReader, LatestWriter } from "../../runtime/shm/latest-cell.ts";
import { CellEstopPort } from "../../runtime/workers/estop-port.ts";
import { EstopLink } from "../../safety/estop-link.ts";
import type { EstopBench } from "../estop-bench.ts";
import { SWITCHES_AT_REST } from "../estop-bench.ts";
import { LossCell, PERIOD_NS, PHASE_COUNT } from "./loss-cell.ts";
import { NoisyLine } from "./noisy-line.ts";

const US = 1e3;
const DRIVER_NS = 500_000;
const STOP_NS_MIN = duration(300e6);
const PERIODS_MAX = 2_000;
/** How far down an arm without brakes sinks, and by how much in a period. */
const SUNK_RAD = -1.2;
const SINK_RAD = 0.005;

/** What a row of the e-stop's losses may break. */
export type EstopTrouble =
  | "button"
  | "one_channel"
  | "limit_chain"
  | "line_to_chip"
  | "line_to_host"
  | "unplugged"
  | "noise_to_chip"
  | "noise_to_host"
  | "byte_to_chip"
  | "byte_to_host"
  | "control_hung"
  | "old_beats"
  | "chip_watchdog"
  | "chip_power";

export class EstopCell {
  readonly bench: EstopBench;
  readonly link: EstopLink;
  readonly cell: LossCell;
  /** When the cause came, ns. */
  causeNs = Number.NaN;
  readonly #asks: LatestWriter;
  readonly #beats: LatestReader;
  readonly #wire: Uint8Array;
  #isDeaf = false;
  #isMute = false;
  /** The host's driver finds no device: nothing passes, and it says so. */
  #isUnplugged = false;
  /** Bytes that go wrong on the line, one every so many; Infinity after the first. */
  readonly #toChip = new NoisyLine();
  readonly #toHost = new NoisyLine();
  /** Control does no more ticks; the driver may then send its last beat again and again. */
  #isHung = false;
  #repeats = false;
  #lastWire: Uint8Array = new Uint8Array(0);
  #dueNs = PERIOD_NS;
  readonly #leadUs: number;

  /** The chip has run for `leadUs` when the host's time begins. */
  constructor(bench: EstopBench, leadUs = 0) {
    this.bench = bench;
    this.#leadUs = leadUs;
    const arena: Arena = createArena([
      { kind: "cell", name: "estop-ask", slotCount: ESTOP_ASK_SLOT_COUNT },
      { kind: "cell", name: "estop-beat", slotCount: ESTOP_BEAT_SLOT_COUNT },
    ]);
    this.#asks = new LatestWriter(arena.cell("estop-ask"));
    this.#beats = new LatestReader(arena.cell("estop-beat"));
    const estop = new CellEstopPort(arena, { check: () => 0 });
    this.cell = new LossCell({ phaseIndex: 0, lengthNs: 0, estop });
    this.link = new EstopLink({
      ...BOARD_PATIENCE,
      stopNsMin: STOP_NS_MIN,
      startNsMax: BOARD_PATIENCE.silenceNsMax,
      cutsOnFault: false,
      key: null,
      nowNs: instant(0),
    });
    this.#wire = new Uint8Array(this.link.wireSizeBytesMax);
  }

  /** Motions since the command that had this number. */
  motionsSince(from: number): number {
    const later = this.cell.sent.slice(from);
    return later.filter(({ command }) => command.kind === CommandKind.Motion).length;
  }

  get chipMode(): string {
    return estopModeNames[this.link.status.mode]!;
  }
  get mode(): number {
    return this.cell.core.supervisor.mode;
  }

  /** Frames that one end counted as wrong, as the host knows of them. */
  get wrongCount(): number {
    return this.link.brokenCount + this.link.status.badCount;
  }
  /** When the driver's last cycle was. */
  get driverNs(): number {
    return this.#dueNs - PERIOD_NS + DRIVER_NS;
  }

  /** Ticks, each with the driver's cycle behind it. */
  run(periodCount: number): this {
    for (let count = 0; count < periodCount; count += 1) this.#period();
    return this;
  }

  until(holds: (cell: EstopCell) => boolean): this {
    for (let count = 0; count < PERIODS_MAX; count += 1) {
      if (holds(this)) return this;
      this.#period();
    }
    throw new Error(`Cannot go on: the chip is ${JSON.stringify(this.link.status)}`);
  }

  /** From boot to an arm that swings at full pace. */
  swing(): this {
    return this.armChip()
      .until(({ mode }) => mode === Mode.Running)
      .run(62);
  }

  /** A person presses the reset of the chip, once its proof test is over. */
  armChip(): this {
    this.until(({ chipMode }) => chipMode === "WAIT_RESET").run(4);
    return this.pressReset().until(({ chipMode }) => chipMode === "ARMED");
  }

  pressReset(): this {
    this.bench.switchBits |= EstopInput.ResetPressed;
    this.run(6);
    this.bench.switchBits &= ~EstopInput.ResetPressed;
    return this.run(6);
  }

  /** Breaks it at this phase after the last tick. */
  provoke(trouble: EstopTrouble, phaseIndex: number): this {
    const phaseNs = (phaseIndex / PHASE_COUNT) * PERIOD_NS;
    this.causeNs = this.#dueNs - PERIOD_NS + DRIVER_NS + phaseNs;
    if (this.causeNs > this.#dueNs) this.#period();
    this.#runChip(this.causeNs);
    const { bench } = this;
    const { ButtonAClosed, ButtonBClosed, ChainClosed } = EstopInput;
    switch (trouble) {
      case "button":
        bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
        break;
      case "one_channel":
        bench.switchBits &= ~ButtonBClosed;
        break;
      case "limit_chain":
        bench.switchBits &= ~ChainClosed;
        break;
      case "line_to_chip":
        this.#isMute = true;
        break;
      case "line_to_host":
        this.#isDeaf = true;
        break;
      case "unplugged":
        this.#isUnplugged = true;
        break;
      case "noise_to_chip":
      case "byte_to_chip":
        this.#toChip.begin(phaseIndex, trouble === "byte_to_chip");
        break;
      case "noise_to_host":
      case "byte_to_host":
        this.#toHost.begin(phaseIndex, trouble === "byte_to_host");
        break;
      case "control_hung":
        this.#isHung = true;
        break;
      case "old_beats":
        this.#isHung = true;
        this.#repeats = true;
        break;
      case "chip_watchdog":
        bench.reset("watchdog");
        break;
      case "chip_power":
        bench.reset("power_on");
        break;
    }
    return this;
  }

  /** Takes the cause back. A discrepancy wants both channels opened together once. */
  restore(trouble: EstopTrouble): this {
    this.#isDeaf = false;
    this.#isMute = false;
    this.#isUnplugged = false;
    this.#toChip.end();
    this.#toHost.end();
    this.#isHung = false;
    this.#repeats = false;
    if (trouble === "one_channel") {
      const { ButtonAClosed, ButtonBClosed } = EstopInput;
      this.bench.switchBits = SWITCHES_AT_REST & ~(ButtonAClosed | ButtonBClosed);
      this.run(10);
    }
    this.bench.switchBits = SWITCHES_AT_REST;
    return this;
  }

  /** When both outputs went low and stayed so; NaN when they have not. */
  get openedNs(): number {
    const edge = this.bench.edges.at(-1);
    return edge?.outputBits === 0 && this.bench.outputBits === 0
      ? (edge.atUs - this.#leadUs) * US
      : Number.NaN;
  }

  #runChip(untilNs: number): void {
    this.bench.runUntil(untilNs / US + this.#leadUs);
  }

  /** Without power the second joint sinks to where it may; with it, it stays. */
  #power(nowNs: number): void {
    const { body } = this.cell;
    const isOn = this.bench.outputBits === EstopOutput.Both;
    if (isOn) {
      body.activate(instant(nowNs));
      return;
    }
    if (this.link.armedCount > 0) {
      body.positionRad[1] = Math.max(SUNK_RAD, body.positionRad[1]! - SINK_RAD);
    }
    body.deactivate(instant(nowNs));
    body.follower.hold(body.positionRad); // it lies where it sank to
  }

  #period(): void {
    this.#runChip(this.#dueNs);
    this.#power(this.#dueNs);
    if (!this.#isHung) this.cell.runUntil(this.#dueNs);
    const nowNs = instant(this.#dueNs + DRIVER_NS);
    this.#runChip(nowNs);
    if (this.#beats.take()) {
      const sizeBytes = this.link.writeInto(this.#wire, this.#beats.record, nowNs);
      this.#lastWire = this.#wire.slice(0, sizeBytes);
      if (!this.#isMute && !this.#isUnplugged) this.#send();
    } else if (this.#repeats) this.#send();
    const bytes = this.#toHost.pass(this.bench.takeReceived());
    if (this.#isUnplugged) this.link.lineGone();
    else for (const byte of this.#isDeaf ? [] : bytes) this.link.takeByte(byte, nowNs);
    this.link.step(nowNs);
    this.#publishAsk();
    this.#dueNs += PERIOD_NS;
  }

  #send(): void {
    this.bench.send(this.#toChip.pass(this.#lastWire));
  }

  #publishAsk(): void {
    const { record } = this.#asks;
    const { question, counter, bootNonce } = this.link.status;
    record[EstopAskSlot.question] = question;
    record[EstopAskSlot.questionId] = counter;
    record[EstopAskSlot.bootNonce] = bootNonce;
    record[EstopAskSlot.answerCount] = this.link.answersWanted;
    record[EstopAskSlot.faultBits] = this.link.faultBits;
    this.#asks.publish();
  }
}
