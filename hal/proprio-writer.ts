// ProprioWriter: fills the sample of one proprio source from arrays in the robot's joint order. A
// source that reads a joint the robot does not have is refused when the device is built.
//
// What a source does not measure is written as 0. Allocates nothing after construction.

import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { ClockDomain, SampleSlot } from "../runtime/contracts/sample.ts";
import type { SampleView } from "../runtime/contracts/sample.ts";
import type { Instant, NmVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";
import { HalError } from "./lifecycle.ts";

export class ProprioWriter {
  readonly sourceIndex: number;
  readonly #jointIndex: Int32Array;
  readonly #measuresVelocity: boolean;
  readonly #measuresEffort: boolean;
  readonly #validMask: number;
  #seq = 0;

  constructor(
    device: string,
    source: SourceProfile,
    sourceIndex: number,
    jointNames: readonly string[],
  ) {
    this.sourceIndex = sourceIndex;
    this.#jointIndex = Int32Array.from(source.joints, (joint) => {
      const index = jointNames.indexOf(joint);
      if (index !== -1) return index;
      const expected = `one of ${jointNames.join(", ")}`;
      const action = `read source "${source.id}"`;
      throw new HalError({
        code: "joint_missing",
        device,
        action,
        joint,
        expected,
        found: "no such joint",
      });
    });
    this.#measuresVelocity = source.measuresVelocity;
    this.#measuresEffort = source.measuresEffort;
    this.#validMask = 2 ** source.joints.length - 1;
  }

  /** Writes a sample with the next sequence id. May be called in the tick. */
  write(
    sample: SampleView,
    stampNs: Instant,
    receiveNs: Instant,
    positionRad: RadVec,
    velocityRadPerS: RadPerSVec,
    effortNm: NmVec,
  ): void {
    this.#seq += 1;
    this.rewrite(sample, stampNs, receiveNs, positionRad, velocityRadPerS, effortNm);
  }

  /** Writes with the sequence id of the last sample again, as a stuck device would. */
  rewrite(
    sample: SampleView,
    stampNs: Instant,
    receiveNs: Instant,
    positionRad: RadVec,
    velocityRadPerS: RadPerSVec,
    effortNm: NmVec,
  ): void {
    const { payload } = sample;
    const count = this.#jointIndex.length;
    writeHeader(sample, this.sourceIndex, stampNs, receiveNs, this.#seq, this.#validMask);
    for (let index = 0; index < count; index += 1) {
      const joint = this.#jointIndex[index]!;
      payload[index] = positionRad[joint]!;
      payload[count + index] = this.#measuresVelocity ? velocityRadPerS[joint]! : 0;
      payload[2 * count + index] = this.#measuresEffort ? effortNm[joint]! : 0;
    }
  }
}

/** Everything of a sample but its payload; the stamp is on the session's own clock. */
export function writeHeader(
  sample: SampleView,
  sourceIndex: number,
  stampNs: Instant,
  receiveNs: Instant,
  seq: number,
  validMask: number,
): void {
  const { record } = sample;
  record.fill(0, 0, SampleSlot.payload);
  record[SampleSlot.sourceIndex] = sourceIndex;
  record[SampleSlot.sensorStampNs] = stampNs;
  record[SampleSlot.clockDomain] = ClockDomain.Monotonic;
  record[SampleSlot.receiveNs] = receiveNs;
  record[SampleSlot.seq] = seq;
  record[SampleSlot.validMask] = validMask;
}

/** One writer per proprio source, in the order of the source table. */
export function proprioWriters(
  device: string,
  sources: readonly SourceProfile[],
  jointNames: readonly string[],
): readonly ProprioWriter[] {
  return sources.flatMap((source, sourceIndex) =>
    source.kind === "proprio" ? [new ProprioWriter(device, source, sourceIndex, jointNames)] : [],
  );
}
