// The policy of a cell of the loss table: a steady swing behind the real runner and port, and then
// what the link or the policy may do to its decisions. A decision arrives between two ticks, at the
// phase of the cell, and is valid from its arrival.

import { ChunkSlot, jointSchema } from "../../runtime/contracts/action.ts";
import type { ChunkView } from "../../runtime/contracts/action.ts";
import { Mode } from "../../runtime/contracts/mode.ts";
import { SequenceAllocator } from "../../runtime/contracts/policy.ts";
import type { Policy, PolicyPort } from "../../runtime/contracts/policy.ts";
import { StateSlot } from "../../runtime/contracts/state.ts";
import type { StateView } from "../../runtime/contracts/state.ts";
import { cos, sin } from "../../runtime/contracts/trig.ts";
import { instant } from "../../runtime/contracts/units.ts";
import type { Instant } from "../../runtime/contracts/units.ts";
import type { ChunkWriter, PolicyContext } from "../../runtime/policy/context.ts";
import type { LockstepPolicyPort } from "../../runtime/policy/lockstep-port.ts";
import type { PolicyTrouble } from "./loss.ts";
import { isWithin } from "./loss-senses.ts";
import type { Span } from "./loss-senses.ts";

/** Inside the limits of any arm: 1.5 rad/s and 7.5 rad/s2. */
const AMPLITUDE_RAD = 0.3;
const RATE_RAD_PER_S = 5;
/** Below the limit of a start mismatch, and beyond it. */
const JUMP_RAD = 0.25;
const FAR_RAD = 0.5;
/** Longer than a decision is valid. */
const LATE_NS = 350e6;

/**
 * Swings every joint around where the episode found its command. A robot with a velocity joint is
 * told the rates of the same swing.
 */
export class SwingPolicy implements Policy {
  readonly name = "swing";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: ChunkWriter;
  readonly #isRate: boolean;
  readonly #centreRad: Float64Array;
  #allocator = new SequenceAllocator(0);
  #startNs = -1;

  constructor(context: PolicyContext) {
    const { columns } = context.jointPositions;
    this.#isRate = context.robot.joints.some(({ command }) => command === "velocity");
    this.#writer = context.writer(
      this.#isRate ? jointSchema("joint_vel", columns) : context.jointPositions,
    );
    this.schema = this.#writer.schema;
    this.#centreRad = new Float64Array(this.#writer.width);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#startNs = -1;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    // Until a start the arm stands, and the swing has not begun.
    if (this.#startNs < 0 || state.record[StateSlot.mode] === Mode.Starting) {
      this.#startNs = nowNs;
      this.#centreRad.set(state.command);
    }
    const { width, horizon, chunk } = this.#writer;
    const values = this.#writer.begin(state, this.#allocator);
    for (let row = 0; row < horizon; row += 1) {
      const timeS = (nowNs + row * chunk.dtNs - this.#startNs) / 1e9;
      const swingRad = AMPLITUDE_RAD * (1 - cos(RATE_RAD_PER_S * timeS));
      const rateRadPerS = AMPLITUDE_RAD * RATE_RAD_PER_S * sin(RATE_RAD_PER_S * timeS);
      for (let joint = 0; joint < width; joint += 1) {
        // Towards the middle of its range and back.
        const side = this.#centreRad[joint]! < 0.3 ? 1 : -1;
        const positionRad = this.#centreRad[joint]! + side * swingRad;
        values[row * width + joint] = this.#isRate ? side * rateRadPerS : positionRad;
      }
    }
    return chunk;
  }
}

const spoils: Readonly<Partial<Record<PolicyTrouble, (chunk: ChunkView) => void>>> = {
  old_epoch: ({ record }) => (record[ChunkSlot.epoch]! -= 1),
  out_of_order: ({ record }) => (record[ChunkSlot.seq] = 0),
  schema: ({ record }) => (record[ChunkSlot.schemaFingerprint]! += 1),
  width: ({ record }) => (record[ChunkSlot.width]! -= 1),
  not_finite: ({ values }) => (values[5] = Number.NaN),
  far: (chunk) => shift(chunk, FAR_RAD),
  jump: (chunk) => shift(chunk, JUMP_RAD),
};

function shift({ values, horizon, width }: ChunkView, byRad: number): void {
  for (let at = 0; at < horizon * width; at += 1) values[at]! += byRad;
}

export class LossPolicyPort implements PolicyPort {
  readonly port: LockstepPolicyPort;
  /** When the window of the last good decision ends, and when the first bad one arrived. */
  goodUntilNs = -Infinity;
  firstBadNs = Infinity;
  /** Decisions that were made. */
  decidedCount = 0;
  readonly #trouble: PolicyTrouble | undefined;
  readonly #span: Span;
  readonly #phaseNs: number;
  readonly #late: { readonly dueNs: number; readonly record: Float64Array }[] = [];

  constructor(
    port: LockstepPolicyPort,
    trouble: PolicyTrouble | undefined,
    span: Span,
    phaseNs: number,
  ) {
    this.port = port;
    this.#trouble = trouble;
    this.#span = span;
    this.#phaseNs = phaseNs;
  }

  get chunk(): ChunkView {
    return this.port.chunk;
  }

  takeChunk(nowNs: Instant): boolean {
    if (this.#takeLate(nowNs)) return true;
    if (!this.port.takeChunk(nowNs)) return false;
    this.decidedCount += 1;
    const { chunk } = this;
    const arrivedNs = nowNs - this.#phaseNs;
    const untilNs = arrivedNs + chunk.horizon * chunk.dtNs;
    chunk.setWindow(instant(arrivedNs), instant(untilNs));
    if (this.#trouble === undefined || !isWithin(this.#span, nowNs)) {
      this.goodUntilNs = untilNs;
      return true;
    }
    if (this.#trouble === "silent") return false;
    if (this.#trouble === "late") {
      this.#late.push({ dueNs: nowNs + LATE_NS, record: chunk.record.slice() });
      return false;
    }
    spoils[this.#trouble]?.(chunk);
    this.firstBadNs = Math.min(this.firstBadNs, arrivedNs);
    return true;
  }

  publish(state: StateView): void {
    this.port.publish(state);
  }

  beginEpoch(epoch: number): void {
    this.port.beginEpoch(epoch);
  }

  #takeLate(nowNs: Instant): boolean {
    if (this.#late.length === 0 || this.#late[0]!.dueNs > nowNs) return false;
    this.chunk.record.set(this.#late.shift()!.record);
    return true;
  }
}
