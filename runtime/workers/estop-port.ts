// The e-stop as the control thread sees it: the newest question of its driver enters with the
// arrivals, and what a completed tick earned leaves by a cell. Only this file reads it.

import { ESTOP_BEAT_SLOT_COUNT, EstopAskSlot, EstopBeatSlot } from "../contracts/estop-line.ts";
import { assert } from "../contracts/assert.ts";
import type { Mode } from "../contracts/mode.ts";
import type { HardwareSafety, TickSignature } from "../contracts/tick-signature.ts";
import type { AliveFaults } from "../core/core.ts";
import type { Arena } from "../shm/arena.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { Fault } from "../../safety/faults.ts";

export class CellEstopPort implements HardwareSafety, AliveFaults {
  readonly #asks: LatestReader;
  readonly #beats: LatestWriter;
  readonly #others: AliveFaults;
  #isHeard = false;

  /** `others` watches the threads; what the e-stop means is added to it. */
  constructor(arena: Arena, others: AliveFaults) {
    this.#asks = new LatestReader(arena.cell("estop-ask"));
    this.#beats = new LatestWriter(arena.cell("estop-beat"));
    this.#others = others;
    assert(this.#beats.record.length === ESTOP_BEAT_SLOT_COUNT, "a beat has room for its answers");
  }

  beginInto(signature: TickSignature, tick: number): void {
    if (this.#asks.take()) this.#isHeard = true;
    const { record } = this.#asks;
    const answerCount = this.#isHeard ? record[EstopAskSlot.answerCount]! : 0;
    signature.begin(record[EstopAskSlot.question]!, tick, answerCount);
  }

  /** Until its driver has said anything, the e-stop is not armed. */
  check(): number {
    const { record } = this.#asks;
    const bits = this.#isHeard ? record[EstopAskSlot.faultBits]! : 1 << Fault.EstopNotArmed;
    return this.#others.check() | bits;
  }

  answer(signature: TickSignature, mode: Mode, wantsCut: boolean): void {
    const { answerCount } = signature;
    if (answerCount === 0) return;
    const { record: ask } = this.#asks;
    const { record } = this.#beats;
    record.fill(0);
    record[EstopBeatSlot.questionId] = ask[EstopAskSlot.questionId]!;
    record[EstopBeatSlot.bootNonce] = ask[EstopAskSlot.bootNonce]!;
    record[EstopBeatSlot.hostMode] = mode;
    record[EstopBeatSlot.tickIndex] = signature.tickIndex(0);
    record[EstopBeatSlot.answerCount] = answerCount;
    record[EstopBeatSlot.wantsCut] = wantsCut ? 1 : 0;
    for (let within = 0; within < answerCount; within += 1) {
      record[EstopBeatSlot.answers + within] = signature.earnedAnswer(within);
    }
    this.#beats.publish();
  }
}
