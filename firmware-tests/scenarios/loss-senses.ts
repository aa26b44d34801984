// What a cell of the loss table senses: an arm without physics, a camera and a locator, each with a
// sample grid of its own against the ticks, then the product's fault injector. It knows when each
// source last truly told something, which the core does not.

import { FaultySensor } from "../../hal/fault-injector.ts";
import { parseFaultSpec } from "../../hal/fault-spec.ts";
import type { KinematicRobot } from "../../hal/kinematic-robot.ts";
import type { RobotSensor } from "../../hal/robot.ts";
import type { RobotProfile, SourceProfile } from "../../runtime/contracts/profile.ts";
import { ImagePayload, SampleSlot } from "../../runtime/contracts/sample.ts";
import type { SensorSnapshot } from "../../runtime/contracts/sample.ts";
import type { Instant } from "../../runtime/contracts/units.ts";
import type { DeviceTrouble } from "./loss.ts";

/** When something is wrong: [fromNs, untilNs). */
export type Span = { readonly fromNs: number; readonly untilNs: number };

export const isWithin = ({ fromNs, untilNs }: Span, nowNs: number): boolean =>
  nowNs >= fromNs && nowNs < untilNs;

const RUNAWAY_RATIO = 1.5;
const OVERLOAD_RATIO = 1.2;

/** A sample of a broken arm, and when it broke: where joint 0 was then, and samples since. */
type Broken = {
  readonly record: Float64Array;
  readonly payload: Float64Array;
  readonly heldRad: number;
  readonly count: number;
  readonly phaseIndex: number;
  readonly robot: RobotProfile;
  /** One per source: 0 takes the sample back. */
  readonly arrived: SensorSnapshot["arrived"];
};

/** Without the reading of joint 0: its bit is not set. */
const leaveOut = ({ record }: Broken): void => {
  record[SampleSlot.validMask]! -= record[SampleSlot.validMask]! % 2;
};

/** What a broken arm makes of its samples. */
const breakages: Readonly<Record<DeviceTrouble, (sample: Broken) => void>> = {
  blocked: ({ payload, heldRad, robot }) => {
    payload[0] = heldRad;
    payload[robot.joints.length] = 0;
  },
  runaway: ({ payload, robot: { joints } }) => {
    payload[joints.length] = RUNAWAY_RATIO * joints[0]!.velocityRadPerSMax;
  },
  overloaded: ({ payload, robot: { joints } }) => {
    payload[2 * joints.length] = OVERLOAD_RATIO * joints[0]!.effortNmMax;
  },
  no_number: ({ payload }) => {
    payload[0] = Number.NaN;
  },
  missing: leaveOut,
  missing_once: (sample) => {
    if (sample.count === 0) leaveOut(sample);
  },
  wrong_once: ({ payload, count, phaseIndex }) => {
    if (count === 0) flipBit(payload, phaseIndex % payload.length, 63 - (phaseIndex % 20));
  },
  sparse: ({ arrived, count }) => {
    if (count % 3 < 2) arrived[0] = 0;
  },
  at_limit: ({ payload, robot: { joints } }) => {
    const { positionRadMax, positionRadMin } = joints[0]!;
    payload[0] = payload[joints.length]! > 0 ? positionRadMax : positionRadMin;
  },
  unplugged: () => undefined, // no sample comes
};

/** The sign, the exponent and the first bits of the fraction are 63 to 44. */
function flipBit(payload: Float64Array, at: number, bit: number): void {
  const words = new BigUint64Array(Float64Array.of(payload[at]!).buffer);
  words[0]! ^= 1n << BigInt(bit);
  payload[at] = new Float64Array(words.buffer)[0]!;
}

export type SensesOptions = {
  readonly robot: RobotProfile;
  readonly sources: readonly SourceProfile[];
  /** How far the grids of camera and locator lie before the ticks'. */
  readonly sceneNs: number;
  readonly trouble: Span;
  readonly phaseIndex: number;
  /** Text for the injector, without times. */
  readonly fault?: string;
  readonly device?: DeviceTrouble;
  /** The arm's world stands still in the trouble, and its samples stay away. */
  readonly isWorldLate: boolean;
};

export class LossSenses implements RobotSensor {
  /** True moments by source: of the newest sample that came through whole, of the first bad. */
  readonly goodNs: Float64Array;
  readonly firstBadNs: Float64Array;
  /** The same for the arm alone, per tick of the oracle. */
  readonly seenNs: Float64Array;
  readonly #arm: KinematicRobot;
  readonly #options: SensesOptions;
  readonly #faulty: FaultySensor;
  /** True stamps of this observation, by source. */
  readonly #truthNs: Float64Array;
  readonly #sceneSeq: Float64Array;
  #heldRad = Number.NaN;
  #brokenCount = 0;

  constructor(arm: KinematicRobot, options: SensesOptions) {
    const { robot, sources, fault, trouble } = options;
    this.#arm = arm;
    this.#options = options;
    this.goodNs = new Float64Array(sources.length).fill(-Infinity);
    this.firstBadNs = new Float64Array(sources.length).fill(Infinity);
    this.seenNs = new Float64Array(robot.joints.length).fill(-Infinity);
    this.#truthNs = new Float64Array(sources.length).fill(-Infinity);
    this.#sceneSeq = new Float64Array(sources.length);
    const { fromNs, untilNs } = trouble;
    const lengthText = Number.isFinite(untilNs) ? `+${untilNs - fromNs}ns` : "";
    const specs =
      fault === undefined ? [] : parseFaultSpec(`${fault}@${fromNs}ns${lengthText}`, sources);
    const inner = { observeInto: this.#observe.bind(this) };
    this.#faulty = new FaultySensor(inner, sources, specs, 1);
  }

  /** Samples that were spoiled. */
  get struckCount(): number {
    return this.#faulty.faults.reduce((sum, { hitCount }) => sum + hitCount, this.#brokenCount);
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    const { device, trouble, isWorldLate } = this.#options;
    const isBroken = device !== undefined && isWithin(trouble, nowNs);
    this.#arm.isSilent =
      (isBroken && device === "unplugged") || (isWorldLate && isWithin(trouble, nowNs));
    this.#faulty.observeInto(snapshot, nowNs);
    if (isBroken && snapshot.arrived[0] === 1) this.#break(snapshot, device);
    for (const [source, sample] of snapshot.samples.entries()) {
      if (snapshot.arrived[source] === 0) continue;
      const trueNs = this.#truthNs[source]!;
      const stampNs = sample.record[SampleSlot.sensorStampNs]!;
      // A frozen or late sample has an older stamp than the newest truth; a forged one a later.
      if (stampNs === trueNs) this.goodNs[source] = stampNs;
      if (stampNs > trueNs) this.firstBadNs[source] = Math.min(this.firstBadNs[source]!, trueNs);
    }
    this.seenNs.fill(this.goodNs[0]!);
  }

  #break(snapshot: SensorSnapshot, device: DeviceTrouble): void {
    const { robot, phaseIndex } = this.#options;
    const { record, payload } = snapshot.samples[0]!;
    if (this.#brokenCount === 0) this.#heldRad = payload[0]!;
    const count = this.#brokenCount;
    const { arrived } = snapshot;
    const heldRad = this.#heldRad;
    breakages[device]({ record, payload, heldRad, count, phaseIndex, robot, arrived });
    this.#brokenCount += 1;
    this.firstBadNs[0] = Math.min(this.firstBadNs[0]!, this.#truthNs[0]!);
  }

  /** Everything healthy: what the injector then spoils. */
  #observe(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#arm.observeInto(snapshot, nowNs);
    for (const [source, profile] of this.#options.sources.entries()) {
      if (profile.kind !== "proprio") this.#see(snapshot, source, profile, nowNs);
      const { record } = snapshot.samples[source]!;
      if (snapshot.arrived[source] === 0) continue;
      this.#truthNs[source] = record[SampleSlot.sensorStampNs]!;
      if (isWithin(this.#options.trouble, nowNs) && this.#options.fault?.startsWith("noise")) {
        this.firstBadNs[source] = Math.min(this.firstBadNs[source]!, this.#truthNs[source]!);
      }
    }
  }

  #see(snapshot: SensorSnapshot, source: number, profile: SourceProfile, nowNs: Instant): void {
    const { sceneNs } = this.#options;
    const seq = Math.floor((nowNs + sceneNs) / profile.periodNs);
    const stampNs = seq * profile.periodNs - sceneNs;
    if (seq <= this.#sceneSeq[source]! || stampNs > nowNs) return;
    this.#sceneSeq[source] = seq;
    const { record, payload } = snapshot.samples[source]!;
    record[SampleSlot.sourceIndex] = source;
    record[SampleSlot.sensorStampNs] = stampNs;
    record[SampleSlot.receiveNs] = nowNs;
    record[SampleSlot.seq] = seq;
    record[SampleSlot.validMask] = 1;
    payload.fill(0);
    if (profile.kind === "image") payload[ImagePayload.arenaSeq] = seq;
    else payload.set([0.2, 0, 0.02, 0, 0, 0, 1]);
    snapshot.arrived[source] = 1;
  }
}
