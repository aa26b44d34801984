// StateEstimator: the only maker of StateContract. Proprioception only, inside the tick.
//
// Aligns the sources to one moment: newer samples are interpolated back to it, a lagging source is
// extrapolated by at most one of its periods without moving the stamp, and what is older than the
// window takes no part. The stamp of the state is the oldest real stamp that took part; -Infinity
// when a joint was never read, Infinity when a source stamps in the future.

import { assert } from "../contracts/assert.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { payloadCount } from "../contracts/sample.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import { Hypothesis, StateSlot } from "../contracts/state.ts";
import type { StateLayout, StateView } from "../contracts/state.ts";
import { TickSignature } from "../contracts/tick-signature.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { SensorBuffer } from "./sensor-buffer.ts";

const ESTIMATE_TOKEN = 0xd47f_1b96;
/** A joint value beyond this is no reading: a wrapped counter, a flipped exponent bit. */
const READING_MAX = 1e4;
const isReading = (value: number): boolean => Math.abs(value) < READING_MAX;
/** A field is dropped when older than this many of its validities: a policy sees it absent. */
const DROP_VALIDITIES = 3;

export class StateEstimator {
  readonly #layout: StateLayout;
  readonly #buffers: readonly SensorBuffer[];
  readonly #periodNs: number;
  readonly #validityNs: number;
  readonly #windowNs: number;
  // One entry per joint: where its readings come from, and when it was last read.
  readonly #jointSource: Int32Array;
  readonly #jointSlot: Int32Array;
  readonly #jointStampNs: Float64Array;
  readonly #positionRad: Float64Array;
  readonly #velocityRadPerS: Float64Array;
  readonly #effortNm: Float64Array;
  readonly #hasEffort: boolean;
  readonly #signature: TickSignature;
  /** Readings refused because they were not numbers a joint can have. */
  badReadingCount = 0;

  constructor(profile: RobotProfile, layout: StateLayout, signature = new TickSignature()) {
    this.#signature = signature;
    const jointCount = layout.jointCount;
    this.#layout = layout;
    const { windowNs } = profile.state;
    this.#buffers = layout.sources.map(
      (source) => new SensorBuffer(source, payloadCount(source), windowNs),
    );
    this.#periodNs = profile.periodNs;
    this.#validityNs = profile.state.validityNs;
    this.#windowNs = windowNs;
    this.#jointSource = new Int32Array(jointCount).fill(-1);
    this.#jointSlot = new Int32Array(jointCount);
    this.#jointStampNs = new Float64Array(jointCount).fill(-Infinity);
    this.#positionRad = new Float64Array(jointCount);
    this.#velocityRadPerS = new Float64Array(jointCount);
    this.#effortNm = new Float64Array(jointCount);
    for (const [sourceIndex, source] of layout.sources.entries()) {
      for (const [slot, name] of source.joints.entries()) {
        const joint = layout.jointNames.indexOf(name);
        assert(joint >= 0, `source "${source.id}" reads joints of this robot only`);
        this.#jointSource[joint] = sourceIndex;
        this.#jointSlot[joint] = slot;
      }
    }
    assert(!this.#jointSource.includes(-1), "every joint is read by a source");
    this.#hasEffort = layout.sources.every((s) => s.kind !== "proprio" || s.measuresEffort);
  }

  /** Forgets every sample: a new episode, or a robot that was moved while power was off. */
  reset(): void {
    for (let index = 0; index < this.#buffers.length; index += 1) this.#buffers[index]!.clear();
    this.#jointStampNs.fill(-Infinity);
  }

  /** `worldStepNs` is how far a simulated world went on since the last call: see `skip`. */
  estimateInto(
    state: StateView,
    snapshot: SensorSnapshot,
    nowNs: Instant,
    worldStepNs = duration(0),
  ): void {
    for (let index = 0; index < this.#buffers.length; index += 1) {
      const buffer = this.#buffers[index]!;
      buffer.skip(worldStepNs, this.#periodNs);
      if (snapshot.arrived[index] === 0) continue;
      if (buffer.take(snapshot.samples[index]!, nowNs) && buffer.source.kind === "proprio") {
        this.#readJoints(index, buffer);
      }
    }
    this.#align(state, nowNs);
    this.#writeFields(state, nowNs);
    state.record[StateSlot.estimatedNs] = nowNs;
    this.#signature.fold(ESTIMATE_TOKEN);
  }

  /** Takes the joints that the newest sample of a source read, and only those. */
  #readJoints(sourceIndex: number, buffer: SensorBuffer): void {
    const { source } = buffer;
    const count = source.joints.length;
    const base = buffer.slot(0) * buffer.payloadCount;
    for (let joint = 0; joint < this.#layout.jointCount; joint += 1) {
      if (this.#jointSource[joint] !== sourceIndex) continue;
      const slot = this.#jointSlot[joint]!;
      if (!buffer.holds(slot)) continue;
      const positionRad = buffer.payload[base + slot]!;
      const measuredRadPerS = source.measuresVelocity ? buffer.payload[base + count + slot]! : 0;
      const effortNm = source.measuresEffort ? buffer.payload[base + 2 * count + slot]! : 0;
      if (!(isReading(positionRad) && isReading(measuredRadPerS) && isReading(effortNm))) {
        // One bad reading in the history would spoil the velocities of all that follow.
        buffer.refuse(slot);
        this.badReadingCount += 1;
        continue;
      }
      this.#jointStampNs[joint] = buffer.newestStampNs;
      this.#positionRad[joint] = positionRad;
      this.#velocityRadPerS[joint] = source.measuresVelocity
        ? measuredRadPerS
        : buffer.slopePerS(slot);
      this.#effortNm[joint] = effortNm;
    }
  }

  /** Brings every joint to one moment, and says how old, how complete and how aligned it is. */
  #align(state: StateView, nowNs: Instant): void {
    let oldestNs = Infinity;
    let newestNs = -Infinity;
    let oldestSource = 0;
    for (let joint = 0; joint < this.#layout.jointCount; joint += 1) {
      const stampNs = this.#jointStampNs[joint]!;
      if (stampNs < oldestNs) {
        oldestNs = stampNs;
        oldestSource = this.#jointSource[joint]!;
      }
      if (stampNs > newestNs) newestNs = stampNs;
    }
    const periodNs = this.#buffers[oldestSource]!.source.periodNs;
    const alignNs = Math.max(oldestNs, newestNs - periodNs);
    for (let joint = 0; joint < this.#layout.jointCount; joint += 1) {
      state.positionRad[joint] = this.#positionAt(joint, alignNs);
      state.velocityRadPerS[joint] = this.#velocityRadPerS[joint]!;
      state.effortNm[joint] = this.#effortNm[joint]!;
    }
    const { record } = state;
    const buffer = this.#buffers[oldestSource]!;
    record[StateSlot.stampNs] = this.#anyFromFuture() ? Infinity : oldestNs;
    record[StateSlot.validityNs] = this.#validityNs;
    record[StateSlot.hypothesis] = Hypothesis.Single;
    record[StateSlot.sourceIndex] = oldestSource;
    record[StateSlot.qualityProprioRatio] = this.#proprioRatio(nowNs);
    record[StateSlot.qualityTemporalRatio] =
      oldestNs === -Infinity ? 0 : Math.max(0, 1 - (newestNs - oldestNs) / this.#windowNs);
    record[StateSlot.hasVelocity] = 1;
    record[StateSlot.hasEffort] = this.#hasEffort ? 1 : 0;
    record[StateSlot.receivedNs] = buffer.receivedNs;
    record[StateSlot.calibrationVersion] = buffer.calibrationVersion;
    record[StateSlot.clockVersion] = buffer.clockVersion;
  }

  #positionAt(joint: number, alignNs: number): number {
    const stampNs = this.#jointStampNs[joint]!;
    const buffer = this.#buffers[this.#jointSource[joint]!]!;
    if (stampNs > alignNs) {
      return buffer.valueAt(this.#jointSlot[joint]!, alignNs, this.#positionRad[joint]!);
    }
    const aheadNs = Math.min(alignNs - stampNs, buffer.source.periodNs);
    return this.#positionRad[joint]! + (this.#velocityRadPerS[joint]! * aheadNs) / 1e9;
  }

  /** A source whose last sample was stamped in the future makes the whole state so. */
  #anyFromFuture(): boolean {
    for (let index = 0; index < this.#buffers.length; index += 1) {
      const { fromFuture, source } = this.#buffers[index]!;
      if (fromFuture && source.kind === "proprio") return true;
    }
    return false;
  }

  /** The worst source's delivery; joints outside the window count as not delivered. */
  #proprioRatio(nowNs: Instant): number {
    let ratio = 1;
    for (let index = 0; index < this.#buffers.length; index += 1) {
      const buffer = this.#buffers[index]!;
      if (buffer.source.kind !== "proprio") continue;
      ratio = Math.min(ratio, buffer.deliveredRatio(this.#periodNs));
    }
    for (let joint = 0; joint < this.#layout.jointCount; joint += 1) {
      if (!(nowNs - this.#jointStampNs[joint]! <= this.#windowNs)) return 0;
    }
    return ratio;
  }

  #writeFields(state: StateView, nowNs: Instant): void {
    const { record, fields } = state;
    let vision = 1;
    let localization = 1;
    for (let index = 0; index < fields.length; index += 1) {
      const field = fields[index]!;
      const buffer = this.#buffers[field.spec.sourceIndex]!;
      const { source } = buffer;
      const ratio = this.#writeField(field, buffer, nowNs);
      if (source.kind === "image") vision = Math.min(vision, ratio);
      else localization = Math.min(localization, ratio);
    }
    record[StateSlot.qualityVisionRatio] = vision;
    record[StateSlot.qualityLocalizationRatio] = localization;
  }

  /** Writes the newest sample of a field, or clears the field. Returns its quality. */
  #writeField(field: StateView["fields"][number], buffer: SensorBuffer, nowNs: Instant): number {
    const { validityNs } = buffer.source;
    const stampNs = buffer.newestStampNs;
    if (!(nowNs - stampNs <= DROP_VALIDITIES * validityNs) || !buffer.holds(0)) {
      field.clear();
      return 0;
    }
    const base = buffer.slot(0) * buffer.payloadCount;
    for (let index = 0; index < buffer.payloadCount; index += 1) {
      const value = buffer.payload[base + index]!;
      if (!Number.isFinite(value)) {
        field.clear();
        return 0;
      }
      field.values[index] = value;
    }
    const ratio = buffer.deliveredRatio(this.#periodNs);
    const shownNs = instant(buffer.fromFuture ? Infinity : stampNs);
    field.set(shownNs, duration(validityNs), ratio, buffer.seq);
    return ratio;
  }
}
