// BusyMachine: the threads of a streaming run on a machine that holds them up, in virtual time. The
// real core and its pacer, a simulated robot whose driver skips the beats that it missed, and a
// cell between the two in which only the newest sample stays.
//
// A list of pauses says when which thread may not run; who is due meanwhile runs at their end.

import { FaultySensor } from "../hal/fault-injector.ts";
import { parseFaultSpec } from "../hal/fault-spec.ts";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import type { RobotActuator, RobotSensor } from "../hal/robot.ts";
import { CommandKind, CommandView, commandSlotCount } from "../runtime/contracts/command.ts";
import { OperatorCue, modeNames } from "../runtime/contracts/mode.ts";
import { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import type { TickSink } from "../runtime/contracts/tick-record.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import type { Duration, Instant } from "../runtime/contracts/units.ts";
import type { Clock } from "../runtime/core/clock.ts";
import { ControlCore } from "../runtime/core/core.ts";
import type { CoreParts } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import type { MachinePort } from "../runtime/core/machine-watch.ts";
import { ReplayPacer, runLoop, StreamingPacer, STOPPED } from "../runtime/core/pacer.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { policyContext } from "../runtime/policy/context.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { anchoringOf } from "../runtime/policy/policy-kind.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { SinePolicy } from "../runtime/policy/sine.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";
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
} from "../runtime/record/input-log.ts";
import { worldPhaseNs } from "../runtime/workers/plan.ts";

export const robot = loadRobot("so101");
const { periodNs, sources } = robot;
const layout = new StateLayout(robot, sources, "");
const jointCount = robot.joints.length;

/** A thread does not run in [from, until). */
export type Pause = { readonly fromNs: number; readonly untilNs: number };

/** When a thread that wants to run at `nowNs` does. */
function runsAt(pauses: readonly Pause[], nowNs: number): number {
  const pause = pauses.find(({ fromNs, untilNs }) => fromNs <= nowNs && nowNs < untilNs);
  return pause?.untilNs ?? nowNs;
}

export type Script = {
  readonly worldPauses: readonly Pause[];
  readonly controlPauses: readonly Pause[];
  /** The machine sleeps at these moments, a second each: no clock of a run shows it. */
  readonly sleepsNs: readonly number[];
  readonly isHardware: boolean;
  /** How long a tick works that begins then. */
  readonly workNs: (nowNs: number) => number;
  /** What a person does, each once its time has come. */
  readonly acts: readonly { readonly atNs: number; readonly cue: OperatorCue }[];
  /** Texts of `--fault`. */
  readonly faults: readonly string[];
};

export const quiet: Script = {
  worldPauses: [],
  controlPauses: [],
  sleepsNs: [],
  isHardware: false,
  workNs: () => 0,
  acts: [{ atNs: 0, cue: OperatorCue.Start }],
  faults: [],
};

/** The driver thread of a simulated robot, and the cell in which it leaves its samples. */
class World implements RobotSensor, RobotActuator {
  /** Up to when it has run. */
  worldNs: number = -Infinity;
  readonly #body = new KinematicRobot(robot, sources, {
    ageNs: duration(0),
    lagNs: duration(20_000_000),
  });
  readonly #sensor: RobotSensor;
  readonly #pauses: readonly Pause[];
  readonly #made = new SensorSnapshot(sources);
  readonly #command = new CommandView(new Float64Array(commandSlotCount(jointCount)), jointCount);
  #hasCommand = false;
  #isNew = false;
  #beat = 1;

  constructor({ faults, worldPauses }: Script) {
    const specs = faults.flatMap((text) => parseFaultSpec(text, sources));
    this.#sensor = new FaultySensor(this.#body.sensor, sources, specs, 1);
    this.#pauses = worldPauses;
    this.#body.activate(instant(0));
  }

  /** Every cycle that ran by `nowNs`. */
  runUntil(nowNs: number): void {
    for (;;) {
      const dueNs = worldPhaseNs(instant(0), this.#beat, periodNs);
      const ranNs = runsAt(this.#pauses, dueNs);
      if (ranNs > nowNs) return;
      this.#beat += Math.max(0, Math.floor((ranNs - dueNs) / periodNs));
      this.worldNs = worldPhaseNs(instant(0), this.#beat, periodNs);
      if (this.#hasCommand) this.#body.send(this.#command);
      this.#sensor.observeInto(this.#made, instant(this.worldNs));
      this.#isNew ||= this.#made.arrived[0] === 1;
      this.#beat += 1;
    }
  }

  observeInto(snapshot: SensorSnapshot): void {
    snapshot.clear();
    if (!this.#isNew) return;
    this.#isNew = false;
    snapshot.samples[0]!.record.set(this.#made.samples[0]!.record);
    snapshot.arrived[0] = 1;
  }

  send(command: CommandView): void {
    this.#command.copyFrom(command);
    this.#hasCommand = true;
  }
}

/** Time that goes on only when somebody works or sleeps, and then as far as the pauses let it. */
class PausedClock implements Clock {
  readonly #pauses: readonly Pause[];
  #nowNs = 0;

  constructor(pauses: readonly Pause[]) {
    this.#pauses = pauses;
  }

  nowNs(): Instant {
    return instant(this.#nowNs);
  }

  work(lengthNs: number): void {
    this.#nowNs += lengthNs;
  }

  sleepUntil(dueNs: Instant): void {
    this.#nowNs = runsAt(this.#pauses, Math.max(this.#nowNs, dueNs));
  }
}

class RecordSink implements TickSink {
  readonly records: Float64Array[] = [];

  write(record: Float64Array): void {
    this.records.push(record.slice());
  }
}

type Ports = Pick<
  CoreParts,
  "sensor" | "actuator" | "policy" | "cues" | "alive" | "machine" | "deadlineIsFault"
>;

function coreOf(ports: Ports) {
  const ticks = new RecordSink();
  const core = new ControlCore({
    ...ports,
    profile: robot,
    layout,
    schemaFingerprint: commandFingerprint(robot),
    ticks,
    evidence: new EvidenceLog(),
  });
  core.prime(instant(0));
  return { core, records: ticks.records };
}

function sinePort(): LockstepPolicyPort {
  const policy = new SinePolicy(policyContext(robot, loadTask("none"), layout));
  const runner = new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout,
    everyTicks: robot.controlHz / robot.policy.hz,
    requires: [],
    qualityRatioMin: robot.state.qualityRatioMin,
  });
  return new LockstepPolicyPort(runner, anchoringOf(robot, "sine"));
}

/** A run of a script: what came in, and the record of every tick. */
export class BusyRun {
  readonly records: readonly Float64Array[];
  readonly #log = new InputLog();
  readonly #script: Script;
  readonly #lateNs: number[] = [];
  readonly #missedTicks: number[] = [];

  constructor(script: Script, untilNs: number) {
    this.#script = script;
    const world = new World(script);
    const clock = new PausedClock(script.controlPauses);
    const acts = [...script.acts];
    const takeCue = (): OperatorCue =>
      (acts[0]?.atNs ?? Infinity) <= clock.nowNs() ? acts.shift()!.cue : OperatorCue.None;
    const machine: MachinePort = {
      suspendedNs: () => this.#sleptNs(clock.nowNs()),
      worldNs: () => instant(world.worldNs),
    };
    const log = this.#log;
    const { core, records } = coreOf({
      sensor: new RecordingSensor(world, log),
      actuator: world,
      policy: new RecordingPolicyPort(sinePort(), log),
      cues: new RecordingCuePort({ takeCue }, log),
      alive: new RecordingAlive(ALL_ALIVE, log),
      machine: new RecordingMachine(machine, log),
      deadlineIsFault: script.isHardware,
    });
    const pacer = new StreamingPacer(clock, { stopped: false }, periodNs, instant(0));
    for (let nowNs = pacer.next(); nowNs <= untilNs && nowNs !== STOPPED; nowNs = pacer.next()) {
      world.runUntil(nowNs);
      this.#lateNs.push(pacer.lateNs);
      this.#missedTicks.push(pacer.missedTicks);
      core.timing.note(pacer.lateNs, pacer.missedTicks, pacer.workNs);
      controlTick(core, nowNs);
      clock.work(script.workNs(nowNs));
    }
    this.records = records;
  }

  /** The recorded inputs through a fresh core. */
  replay(): readonly Float64Array[] {
    const log = this.#log;
    const { core, records } = coreOf({
      sensor: new ReplaySensor(log),
      actuator: new DiscardingActuator(),
      policy: new ReplayPolicyPort(log),
      cues: new ReplayCuePort(log),
      alive: new ReplayAlive(log),
      machine: new ReplayMachine(log),
      deadlineIsFault: this.#script.isHardware,
    });
    const of = (slot: number) => Float64Array.from(this.records, (record) => record[slot]!);
    const lateNs = Float64Array.from(this.#lateNs);
    const missedTicks = Float64Array.from(this.#missedTicks);
    const workNs = of(TickSlot.previousWorkNs);
    runLoop(core, new ReplayPacer(of(TickSlot.nowNs), lateNs, missedTicks, workNs));
    return records;
  }

  /** The modes in their order. */
  get path(): string {
    const names = this.records.map((record) => modeNames[record[TickSlot.mode]!]!);
    return names.filter((name, index) => name !== names[index - 1]).join(" ");
  }

  /** The modes it was in, by name. */
  get modes(): string[] {
    return [...new Set(this.path.split(" "))].sort();
  }

  /** The first record of a mode. */
  first(mode: number): Float64Array | undefined {
    return this.records.find((record) => record[TickSlot.mode] === mode);
  }

  /** Whether anything moved in [from, until). */
  moves(fromNs: number, untilNs: number): boolean {
    return this.records.some(
      (record) =>
        record[TickSlot.kind] === CommandKind.Motion &&
        record[TickSlot.nowNs]! >= fromNs &&
        record[TickSlot.nowNs]! < untilNs,
    );
  }

  #sleptNs(nowNs: number): Duration {
    return duration(1e9 * this.#script.sleepsNs.filter((atNs) => atNs <= nowNs).length);
  }
}

/** A core that nobody paces, and how many commands it has sent. */
export function coreAtRest(): { readonly core: ControlCore; readonly sent: () => number } {
  let count = 0;
  const { core } = coreOf({
    sensor: new World(quiet),
    actuator: { send: () => (count += 1) },
    policy: sinePort(),
    cues: { takeCue: () => OperatorCue.None },
    alive: ALL_ALIVE,
    deadlineIsFault: false,
  });
  return { core, sent: () => count };
}
