// A robot cell under a seeded storm: the real core over a kinematic robot with lag, sensor faults,
// a policy out of a nightmare and an operator who presses whatever comes to hand.
//
// The seed decides everything. `runStorm` checks every tick against the truth and throws at the
// first violation; `replayStorm` feeds what entered the core to a second one.

import { FaultySensor } from "../../hal/fault-injector.ts";
import { parseFaultSpec } from "../../hal/fault-spec.ts";
import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import type { RobotActuator, RobotSensor } from "../../hal/robot.ts";
import { CommandSlot, CommandView, commandSlotCount } from "../contracts/command.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { SampleSlot } from "../contracts/sample.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { StateLayout } from "../contracts/state.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import type { CoreParts } from "../core/core.ts";
import { EvidenceLog } from "../core/evidence-log.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import {
  ALL_ALIVE,
  DiscardingActuator,
  InputLog,
  RecordingAlive,
  RecordingCuePort,
  RecordingMachine,
  RecordingPolicyPort,
  RecordingSensor,
  ReplayAlive,
  ReplayCuePort,
  ReplayMachine,
  ReplayPolicyPort,
  ReplaySensor,
} from "../record/input-log.ts";
import { ReplayPacer, runLoop, tickTimeNs } from "../core/pacer.ts";
import { controlTick } from "../core/tick.ts";
import { StormChecker } from "./storm-checker.ts";
import { StormOperator } from "./storm-operator.ts";
import { StormPolicyPort } from "./storm-policy.ts";
import { weatherOf } from "./storm-weather.ts";
import type { Weather } from "./storm-weather.ts";

/** Readings beyond this cannot be true; the oracle's own word, not the estimator's. */
const PLAUSIBLE_RAD = 1e4;
/** Beats that a late tick may have missed, and one more. */
const MISSED_COUNT_MAX = 6;

/** Reads what passes between two sensor stages: the true moment of each sample, by its number. */
class Witness implements RobotSensor {
  readonly #sensor: RobotSensor;
  readonly #see: (record: Float64Array) => void;

  constructor(sensor: RobotSensor, see: (record: Float64Array) => void) {
    this.#sensor = sensor;
    this.#see = see;
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#sensor.observeInto(snapshot, nowNs);
    for (const [index, sample] of snapshot.samples.entries()) {
      if (snapshot.arrived[index] === 1) this.#see(sample.record);
    }
  }
}

/** Keeps a copy of each command and hands it on. */
class Listener implements RobotActuator {
  readonly #actuator: RobotActuator;
  readonly #jointCount: number;
  sent: CommandView[] = [];

  constructor(actuator: RobotActuator, jointCount: number) {
    this.#actuator = actuator;
    this.#jointCount = jointCount;
  }

  send(command: CommandView): void {
    const slots = new Float64Array(commandSlotCount(this.#jointCount));
    const copy = new CommandView(slots, this.#jointCount);
    copy.copyFrom(command);
    this.sent.push(copy);
    this.#actuator.send(command);
  }
}

/** The sensor through its faults, and when each joint was last truly seen through them. */
class WatchedSensor {
  /** The true moment of each joint's newest usable reading. */
  readonly seenNs: Float64Array;
  readonly faulty: FaultySensor;
  readonly sensor: RobotSensor;
  readonly #truthNs = new Map<number, number>();

  constructor(sensor: RobotSensor, { robot, faults }: Weather, seed: number) {
    this.seenNs = new Float64Array(robot.joints.length).fill(-Infinity);
    const inner = new Witness(sensor, (record) => {
      this.#truthNs.set(record[SampleSlot.seq]!, record[SampleSlot.sensorStampNs]!);
    });
    const specs = faults.flatMap((text) => parseFaultSpec(text, robot.sources));
    this.faulty = new FaultySensor(inner, robot.sources, specs, seed);
    this.sensor = new Witness(this.faulty, (record) => this.#see(record));
  }

  #see(record: Float64Array): void {
    const trueNs = this.#truthNs.get(record[SampleSlot.seq]!)!;
    if (record[SampleSlot.sensorStampNs] !== trueNs) return; // a forged stamp shows nothing
    for (let joint = 0; joint < this.seenNs.length; joint += 1) {
      const positionRad = record[SampleSlot.payload + joint]!;
      // Negated, so that NaN shows nothing either.
      if (!(Math.abs(positionRad) < PLAUSIBLE_RAD)) continue;
      this.seenNs[joint] = Math.max(this.seenNs[joint]!, trueNs);
    }
  }
}

/** When each tick of a storm was, as a pacer would tell it. */
type Beats = {
  readonly nowNs: Float64Array;
  readonly lateNs: Float64Array;
  readonly missedTicks: Float64Array;
};

export type StormResult = {
  readonly weather: Weather;
  readonly checker: StormChecker;
  readonly core: ControlCore;
  /** Every tick record, in order. */
  readonly records: readonly Float64Array[];
  readonly moods: StormPolicyPort["counts"];
  /** Samples struck by each fault, in the order of the weather. */
  readonly strikeCount: readonly number[];
  readonly log: InputLog;
  readonly beats: Beats;
};

function beatsOf({ robot, lateRatio }: Weather, random: SeededRandom, tickCount: number): Beats {
  const nowNs = new Float64Array(tickCount);
  const lateNs = new Float64Array(tickCount);
  const missedTicks = new Float64Array(tickCount);
  let beat = 0;
  for (let tick = 0; tick < tickCount; tick += 1) {
    if (random.next() < lateRatio) {
      missedTicks[tick] = Math.floor(random.next() * MISSED_COUNT_MAX);
      lateNs[tick] = Math.floor(random.next() * robot.periodNs);
    }
    beat += missedTicks[tick]!;
    nowNs[tick] = tickTimeNs(beat, robot.controlHz, 1) + lateNs[tick]!;
    beat += 1;
  }
  return { nowNs, lateNs, missedTicks };
}

type Ports = Pick<CoreParts, "sensor" | "actuator" | "policy" | "cues" | "alive" | "machine">;

function coreOf(weather: Weather, ports: Ports, schemaFingerprint: number, capacity: number) {
  const { robot: profile, deadlineIsFault } = weather;
  const layout = new StateLayout(profile, profile.sources, "");
  const ticks = new FlightRecorder(capacity, tickSlotCount(layout.jointCount));
  const evidence = new EvidenceLog();
  const core = new ControlCore({
    ...ports,
    profile,
    layout,
    schemaFingerprint,
    ticks,
    evidence,
    deadlineIsFault,
  });
  core.prime(instant(0));
  return { core, ticks };
}

/** Runs one storm over this robot. Throws StormError at the first violation. */
export function runStorm(base: RobotProfile, seed: number, tickCount: number): StormResult {
  const random = new SeededRandom(seed);
  const weather = weatherOf(base, random);
  const { robot, lagNs, readingRadMax } = weather;
  const beats = beatsOf(weather, random, tickCount);
  const ageNs = duration(robot.periodNs / 2);
  const body = new KinematicRobot(robot, robot.sources, { ageNs, lagNs });
  body.activate(instant(0));
  const watched = new WatchedSensor(body.sensor, weather, seed);
  const policy = new StormPolicyPort(robot, random, weather.moods);
  const operator = new StormOperator(random, weather.operatorRatio);
  const listener = new Listener(body.actuator, robot.joints.length);
  const log = new InputLog();
  const ports = {
    sensor: new RecordingSensor(watched.sensor, log),
    actuator: listener,
    policy: new RecordingPolicyPort(policy, log),
    cues: new RecordingCuePort(operator, log),
    alive: new RecordingAlive(ALL_ALIVE, log),
    machine: new RecordingMachine(operator, log),
  };
  const { core, ticks } = coreOf(weather, ports, policy.fingerprint, tickCount);
  const checker = new StormChecker(robot);
  for (let tick = 0; tick < tickCount; tick += 1) {
    const nowNs = instant(beats.nowNs[tick]!);
    operator.press(tick);
    listener.sent = [];
    core.timing.note(beats.lateNs[tick]!, beats.missedTicks[tick]!, 0);
    controlTick(core, nowNs);
    const { seenNs } = watched;
    const { isStopped, isStart, stoppedTick } = operator;
    const { positionRad } = body;
    const record = listener.sent[0]?.record;
    const decidedTick = policy.decidedTick(
      record?.[CommandSlot.epoch] ?? -1,
      record?.[CommandSlot.seq] ?? -1,
    );
    const pressed = { isStopped, isStart, stoppedTick };
    const facts = { tick, nowNs, seenNs, decidedTick, positionRad, readingRadMax };
    checker.check(listener.sent, { ...facts, ...pressed });
  }
  const strikeCount = watched.faulty.faults.map((fault) => fault.hitCount);
  const records = ticks.dump();
  return { weather, checker, core, records, moods: policy.counts, strikeCount, log, beats };
}

/** The recorded inputs of a storm through a fresh core: its tick records, in order. */
export function replayStorm({ weather, log, beats }: StormResult): readonly Float64Array[] {
  const { fingerprint } = new StormPolicyPort(weather.robot, new SeededRandom(0), []);
  const ports = {
    sensor: new ReplaySensor(log),
    actuator: new DiscardingActuator(),
    policy: new ReplayPolicyPort(log),
    cues: new ReplayCuePort(log),
    alive: new ReplayAlive(log),
    machine: new ReplayMachine(log),
  };
  const { core, ticks } = coreOf(weather, ports, fingerprint, beats.nowNs.length);
  const noWorkNs = new Float64Array(beats.nowNs.length);
  runLoop(core, new ReplayPacer(beats.nowNs, beats.lateNs, beats.missedTicks, noWorkNs));
  return ticks.dump();
}
