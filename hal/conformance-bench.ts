// ConformanceBench: drives one robot through its halves, a control period at a time, and keeps what
// its samples said. It is what the conformance cases are written in.
//
// It knows the robot only by its interface: every position here was read from a sample. On the
// way it checks what must hold for every sample of every robot.

import {
  CommandKind,
  CommandSlot,
  CommandView,
  commandSlotCount,
} from "../runtime/contracts/command.ts";
import type { JointProfile, SourceProfile } from "../runtime/contracts/profile.ts";
import { SampleSlot, SensorSnapshot } from "../runtime/contracts/sample.ts";
import { instant } from "../runtime/contracts/units.ts";
import type { Duration, Instant } from "../runtime/contracts/units.ts";
import type { RobotInterface } from "./robot.ts";

/** A robot on the bench, new for each case. */
export type ConformanceRig = {
  readonly robot: RobotInterface;
  readonly joints: readonly JointProfile[];
  /** The source table, in the order of the device's snapshots. */
  readonly sources: readonly SourceProfile[];
  readonly periodNs: Duration;
  /** Lets the device run on to this session time; called before each observation. */
  advanceTo(nowNs: Instant): void;
  /** From here on the device answers nothing. */
  silence(): void;
  /** How far a joint may be from its command at rest, and may stray when it should not move. */
  readonly toleranceRad: number;
  /** After this time a joint is at its command. */
  readonly settleNs: Duration;
  /** A simulated robot may be reset while it is active; a real one must refuse. */
  readonly isSimulated: boolean;
  dispose(): void;
};

/** A driver does not do what every driver must. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";
  readonly expected: string;
  readonly found: string;

  constructor(expected: string, found: string) {
    super(`Cannot accept the driver: expected ${expected}, found ${found}`);
    this.expected = expected;
    this.found = found;
  }
}

export function must(fact: boolean, expected: string, found: string): void {
  if (!fact) throw new ConformanceError(expected, found);
}

/** rad/s at which velocity joints are driven in place of a step of their position. */
const DRIVE_RAD_PER_S = 0.2;
/** Periods for which a command of `drive` is valid. */
export const COMMAND_PERIODS = 3;

export class ConformanceBench {
  readonly rig: ConformanceRig;
  readonly snapshot: SensorSnapshot;
  readonly command: CommandView;
  readonly positionRad: Float64Array;
  readonly velocityRadPerS: Float64Array;
  /** Samples that came, by source. */
  readonly sampleCounts: Float64Array;
  nowNs: Instant = instant(0);
  #tick = 0;
  readonly #stampNs: Float64Array;
  readonly #seq: Float64Array;

  constructor(rig: ConformanceRig) {
    const jointCount = rig.joints.length;
    this.rig = rig;
    this.snapshot = new SensorSnapshot(rig.sources);
    this.command = new CommandView(new Float64Array(commandSlotCount(jointCount)), jointCount);
    this.positionRad = new Float64Array(jointCount).fill(Number.NaN);
    this.velocityRadPerS = new Float64Array(jointCount).fill(Number.NaN);
    this.sampleCounts = new Float64Array(rig.sources.length);
    this.#stampNs = new Float64Array(rig.sources.length).fill(-Infinity);
    this.#seq = new Float64Array(rig.sources.length).fill(-Infinity);
  }

  /** One control period: the device runs, then it is observed. */
  cycle(): void {
    this.#tick += 1;
    this.nowNs = instant(this.nowNs + this.rig.periodNs);
    this.rig.advanceTo(this.nowNs);
    this.snapshot.arrived.fill(1); // must be cleared by the device
    this.rig.robot.sensor.observeInto(this.snapshot, this.nowNs);
    for (const [index, arrived] of this.snapshot.arrived.entries()) {
      if (arrived === 1) this.#take(index);
    }
  }

  /** Lets time pass without a command. */
  wait(lengthNs: number): void {
    for (const endNs = this.nowNs + lengthNs; this.nowNs < endNs; ) this.cycle();
  }

  /** Drives every joint by its offset from `fromRad` for a time, a new command each period. */
  drive(fromRad: Float64Array, offsetRad: Float64Array, lengthNs: number): void {
    const beganNs = this.nowNs;
    while (this.nowNs < beganNs + lengthNs) {
      const sinceS = (this.nowNs - beganNs) / 1e9;
      for (const [joint, { command }] of this.rig.joints.entries()) {
        const offset = offsetRad[joint]!;
        const speed = sinceS * DRIVE_RAD_PER_S < Math.abs(offset) ? DRIVE_RAD_PER_S : 0;
        const isPosition = command === "position";
        this.command.values[joint] = isPosition
          ? fromRad[joint]! + offset
          : Math.sign(offset) * speed;
      }
      this.send(CommandKind.Motion, COMMAND_PERIODS);
      this.cycle();
    }
  }

  /** Sends the command's values now, valid for so many periods. */
  send(kind: CommandKind, validPeriods: number): void {
    const { record } = this.command;
    record[CommandSlot.tick] = this.#tick;
    record[CommandSlot.kind] = kind;
    record[CommandSlot.stampNs] = this.nowNs;
    record[CommandSlot.expiresNs] = this.nowNs + validPeriods * this.rig.periodNs;
    this.rig.robot.actuator.send(this.command);
  }

  /** Offsets that are 0 but for one joint, which goes towards the middle of its range. */
  offsetOf(joint: number, sizeRad: number): Float64Array {
    const offsetRad = new Float64Array(this.rig.joints.length);
    const { positionRadMin, positionRadMax } = this.rig.joints[joint]!;
    const middleRad = (positionRadMin + positionRadMax) / 2;
    offsetRad[joint] = this.positionRad[joint]! > middleRad ? -sizeRad : sizeRad;
    return offsetRad;
  }

  /** Every joint is within the rig's tolerance of where it was. */
  mustBeAt(whereRad: Float64Array, when: string): void {
    for (const [joint, { name }] of this.rig.joints.entries()) {
      const foundRad = this.positionRad[joint]!;
      const isNear = Math.abs(foundRad - whereRad[joint]!) <= this.rig.toleranceRad;
      must(isNear, `joint "${name}" at ${whereRad[joint]!} rad ${when}`, `${foundRad} rad`);
    }
  }

  #take(index: number): void {
    const source = this.rig.sources[index]!;
    const { sensorStampNs, receiveNs, seq, payload, record } = this.snapshot.samples[index]!;
    const place = `in a sample of "${source.id}"`;
    must(record[SampleSlot.sourceIndex] === index, `source ${index} ${place}`, `${record[0]!}`);
    must(sensorStampNs > this.#stampNs[index]!, `a later stamp ${place}`, `${sensorStampNs} ns`);
    must(sensorStampNs <= receiveNs, `a stamp before receipt ${place}`, `${sensorStampNs} ns`);
    must(receiveNs <= this.nowNs, `receipt before ${this.nowNs} ns ${place}`, `${receiveNs} ns`);
    must(seq > this.#seq[index]!, `a sequence id above ${this.#seq[index]!} ${place}`, `${seq}`);
    this.#stampNs[index] = sensorStampNs;
    this.#seq[index] = seq;
    this.sampleCounts[index]! += 1;
    if (source.kind !== "proprio") return;
    const count = source.joints.length;
    for (const [offset, name] of source.joints.entries()) {
      const joint = this.rig.joints.findIndex((candidate) => candidate.name === name);
      must(joint !== -1, `only joints of the robot ${place}`, `"${name}"`);
      const position = payload[offset]!;
      const velocity = payload[count + offset]!;
      const isRead = Number.isFinite(position) && Number.isFinite(velocity);
      must(isRead, `finite values of "${name}" ${place}`, `${position} and ${velocity}`);
      this.positionRad[joint] = position;
      this.velocityRadPerS[joint] = velocity;
    }
  }
}
