// InputLog: everything that entered the core, tick by tick, and the ports that record and replay.
//
// What comes in is time, samples, chunks, cues, the silence of other threads and what the machine
// did. A core fed again with the same log sends the same commands, bit for bit. The log grows: it
// is for lockstep and tests; a live run keeps its inputs in the flight log instead.

import type { RobotActuator, RobotSensor } from "../../hal/robot.ts";
import { ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import type { CommandView } from "../contracts/command.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { AliveFaults } from "../core/core.ts";
import type { MachinePort } from "../core/machine-watch.ts";

/** What one call of a port brought in. */
type Sample = { readonly source: number; readonly record: Float64Array };

export class InputLog {
  /** One entry per observation; the first is the priming one. */
  readonly observations: (readonly Sample[])[] = [];
  /** One entry per `takeChunk`: the chunk, or undefined when there was none. */
  readonly chunks: (Float64Array | undefined)[] = [];
  readonly cues: OperatorCue[] = [];
  readonly silences: number[] = [];
  readonly suspendsNs: Duration[] = [];
  readonly worldsNs: Instant[] = [];
}

export class RecordingSensor implements RobotSensor {
  readonly #sensor: RobotSensor;
  readonly #log: InputLog;

  constructor(sensor: RobotSensor, log: InputLog) {
    this.#sensor = sensor;
    this.#log = log;
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#sensor.observeInto(snapshot, nowNs);
    const seen: Sample[] = [];
    for (let source = 0; source < snapshot.samples.length; source += 1) {
      if (snapshot.arrived[source] === 0) continue;
      seen.push({ source, record: snapshot.samples[source]!.record.slice() });
    }
    this.#log.observations.push(seen);
  }
}

export class ReplaySensor implements RobotSensor {
  readonly #log: InputLog;
  #cursor = 0;

  constructor(log: InputLog) {
    this.#log = log;
  }

  observeInto(snapshot: SensorSnapshot): void {
    snapshot.clear();
    const seen = this.#log.observations[this.#cursor];
    assert(seen !== undefined, "the log has an observation for every tick");
    this.#cursor += 1;
    for (let index = 0; index < seen.length; index += 1) {
      const { source, record } = seen[index]!;
      snapshot.samples[source]!.record.set(record);
      snapshot.arrived[source] = 1;
    }
  }
}

export class RecordingPolicyPort implements PolicyPort {
  readonly #port: PolicyPort;
  readonly #log: InputLog;

  constructor(port: PolicyPort, log: InputLog) {
    this.#port = port;
    this.#log = log;
  }

  get chunk(): ChunkView {
    return this.#port.chunk;
  }

  takeChunk(nowNs: Instant): boolean {
    const taken = this.#port.takeChunk(nowNs);
    this.#log.chunks.push(taken ? this.#port.chunk.record.slice() : undefined);
    return taken;
  }

  publish(state: Parameters<PolicyPort["publish"]>[0]): void {
    this.#port.publish(state);
  }

  beginEpoch(epoch: number): void {
    this.#port.beginEpoch(epoch);
  }
}

export class ReplayPolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  readonly #log: InputLog;
  #cursor = 0;

  constructor(log: InputLog) {
    this.#log = log;
  }

  takeChunk(): boolean {
    assert(this.#cursor < this.#log.chunks.length, "the log has an answer to every take");
    const record = this.#log.chunks[this.#cursor];
    this.#cursor += 1;
    if (record === undefined) return false;
    this.chunk.record.set(record);
    return true;
  }

  publish(): void {
    // The recorded policy saw the recorded states; nobody decides anything in a replay.
  }

  beginEpoch(): void {
    // As above.
  }
}

export class RecordingCuePort implements CuePort {
  readonly #port: CuePort;
  readonly #log: InputLog;

  constructor(port: CuePort, log: InputLog) {
    this.#port = port;
    this.#log = log;
  }

  takeCue(): OperatorCue {
    const cue = this.#port.takeCue();
    this.#log.cues.push(cue);
    return cue;
  }
}

export class ReplayCuePort implements CuePort {
  readonly #log: InputLog;
  #cursor = 0;

  constructor(log: InputLog) {
    this.#log = log;
  }

  takeCue(): OperatorCue {
    const cue = this.#log.cues[this.#cursor];
    assert(cue !== undefined, "the log has an answer to every question for cues");
    this.#cursor += 1;
    return cue;
  }
}

export class RecordingAlive implements AliveFaults {
  readonly #alive: AliveFaults;
  readonly #log: InputLog;

  constructor(alive: AliveFaults, log: InputLog) {
    this.#alive = alive;
    this.#log = log;
  }

  check(): number {
    const silent = this.#alive.check();
    this.#log.silences.push(silent);
    return silent;
  }
}

export class ReplayAlive implements AliveFaults {
  readonly #log: InputLog;
  #cursor = 0;

  constructor(log: InputLog) {
    this.#log = log;
  }

  check(): number {
    const silent = this.#log.silences[this.#cursor];
    assert(silent !== undefined, "the log knows every tick's silences");
    this.#cursor += 1;
    return silent;
  }
}

export class RecordingMachine implements MachinePort {
  readonly #machine: MachinePort;
  readonly #log: InputLog;

  constructor(machine: MachinePort, log: InputLog) {
    this.#machine = machine;
    this.#log = log;
  }

  suspendedNs(): Duration {
    const suspendedNs = this.#machine.suspendedNs();
    this.#log.suspendsNs.push(suspendedNs);
    return suspendedNs;
  }

  worldNs(): Instant {
    const worldNs = this.#machine.worldNs();
    this.#log.worldsNs.push(worldNs);
    return worldNs;
  }
}

export class ReplayMachine implements MachinePort {
  readonly #log: InputLog;
  #suspendCursor = 0;
  #worldCursor = 0;

  constructor(log: InputLog) {
    this.#log = log;
  }

  suspendedNs(): Duration {
    const suspendedNs = this.#log.suspendsNs[this.#suspendCursor];
    assert(suspendedNs !== undefined, "the log knows every tick's time in suspend");
    this.#suspendCursor += 1;
    return suspendedNs;
  }

  worldNs(): Instant {
    const worldNs = this.#log.worldsNs[this.#worldCursor];
    assert(worldNs !== undefined, "the log knows every tick's world");
    this.#worldCursor += 1;
    return worldNs;
  }
}

/** The actuator of replay and shadow runs: commands are recorded elsewhere and reach nothing. */
export class DiscardingActuator implements RobotActuator {
  send(command: CommandView): void {
    void command;
  }
}

/** Nobody speaks: lockstep runs and tests without an operator. */
export const NO_CUES: CuePort = { takeCue: () => OperatorCue.None };
/** No other thread to judge. */
export const ALL_ALIVE: AliveFaults = { check: () => 0 };
