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
import type { DeviceTrouble } from "./losses.ts";

/** When something is wrong: [fromNs, untilNs). */
export type Span = { readonly fromNs: number; readonly untilNs: number };

export const isWithin = ({ fromNs, untilNs }: Span, nowNs: number): boolean =>
  nowNs >= fromNs && nowNs < untilNs;

const RUNAWAY_RATIO = 1.5;
const OVERLOAD_RATIO = 1.2;

/** Readings of joint 0 as a broken arm gives them; `heldRad` is where it was when it broke. */
const breakages: Readonly<
  Record<DeviceTrouble, (payload: Float64Array, heldRad: number, robot: RobotProfile) => void>
> = {
  blocked: (payload, heldRad, { joints }) => {
    payload[0] = heldRad;
    payload[joints.length] = 0;
  },
  runaway: (payload, _heldRad, { joints }) => {
    payload[joints.length] = RUNAWAY_RATIO * joints[0]!.velocityRadPerSMax;
  },
  overloaded: (payload, _heldRad, { joints }) => {
    payload[2 * joints.length] = OVERLOAD_RATIO * joints[0]!.effortNmMax;
  },
  no_number: (payload) => {
    payload[0] = Number.NaN;
  },
};

export type SensesOptions = {
  readonly robot: RobotProfile;
  readonly sources: readonly SourceProfile[];
  /** How far the grids of camera and locator lie before the ticks'. */
  readonly sceneNs: number;
  readonly trouble: Span;
  /** Text for the injector, without times. */
  readonly fault?: string;
  readonly device?: DeviceTrouble;
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

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#faulty.observeInto(snapshot, nowNs);
    const { device, trouble } = this.#options;
    const isBroken = device !== undefined && isWithin(trouble, nowNs);
    const [arm] = snapshot.samples;
    if (isBroken && snapshot.arrived[0] === 1) {
      if (Number.isNaN(this.#heldRad)) this.#heldRad = arm!.payload[0]!;
      breakages[device](arm!.payload, this.#heldRad, this.#options.robot);
      this.firstBadNs[0] = Math.min(this.firstBadNs[0]!, this.#truthNs[0]!);
    }
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
