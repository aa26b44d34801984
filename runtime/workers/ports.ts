// Cell ports: the core's seams over shared memory. Each is one reader or one writer of one cell or
// ring; none waits, and none is used by two threads.

import type { RobotActuator, RobotSensor } from "../../hal/robot.ts";
import { ChunkView } from "../contracts/action.ts";
import { anchorChunk } from "../contracts/anchoring.ts";
import type { CommandView } from "../contracts/command.ts";
import { EVIDENCE_SLOT_COUNT, EvidenceSlot } from "../contracts/evidence.ts";
import type { Evidence, EvidenceSink } from "../contracts/evidence.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { CuePort } from "../contracts/mode.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { Anchoring, SourceProfile } from "../contracts/profile.ts";
import { SampleSlot } from "../contracts/sample.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import type { StateView } from "../contracts/state.ts";
import type { TickSink } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { AliveCounters } from "../core/alive.ts";
import { NO_WORLD } from "../core/machine-watch.ts";
import type { MachinePort } from "../core/machine-watch.ts";
import type { StopSignal } from "../core/pacer.ts";
import type { Arena } from "../shm/arena.ts";
import type { ControlWords } from "../shm/control-words.ts";
import { StopLevel } from "../shm/control-words.ts";
import type { ThreadSlot } from "../shm/control-words.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { RingReader, RingWriter } from "../shm/spsc-ring.ts";
import { sampleCell, worldPhaseNs } from "./plan.ts";
import { ReceiptWriter } from "./receipts.ts";
import type { RunPlan } from "./plan.ts";
import type { SystemClock } from "./system-clock.ts";

/**
 * Control side of the robot's samples: the newest of each source, if it is new. A tick that was
 * held up between its clock and its look may find a sample that came after its time; it waits for
 * the next tick, or it would seem to be from the future.
 */
export class CellSensor implements RobotSensor {
  readonly #readers: readonly LatestReader[];
  /** 1 for a source whose newest sample waits for the next tick. */
  readonly #waits: Uint8Array;

  constructor(arena: Arena, sources: readonly SourceProfile[]) {
    this.#readers = sources.map((source) => new LatestReader(arena.cell(sampleCell(source))));
    this.#waits = new Uint8Array(sources.length);
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    for (let index = 0; index < this.#readers.length; index += 1) {
      const reader = this.#readers[index]!;
      if (!reader.take() && this.#waits[index] === 0) continue;
      this.#waits[index] = reader.record[SampleSlot.receiveNs]! > nowNs ? 1 : 0;
      if (this.#waits[index] === 1) continue;
      snapshot.samples[index]!.record.set(reader.record);
      snapshot.arrived[index] = 1;
    }
  }
}

/** Driver side of the same cells, for the sources that this driver makes. */
export class CellSampleWriter {
  readonly #writers: readonly LatestWriter[];

  constructor(arena: Arena, sources: readonly SourceProfile[]) {
    this.#writers = sources.map((source) => new LatestWriter(arena.cell(sampleCell(source))));
  }

  publish(snapshot: SensorSnapshot): void {
    for (let index = 0; index < this.#writers.length; index += 1) {
      if (snapshot.arrived[index] === 0) continue;
      const writer = this.#writers[index]!;
      writer.record.set(snapshot.samples[index]!.record);
      writer.publish();
    }
  }
}

export class CellActuator implements RobotActuator {
  readonly #writer: LatestWriter;

  constructor(arena: Arena) {
    this.#writer = new LatestWriter(arena.cell("command"));
  }

  send(command: CommandView): void {
    this.#writer.record.set(command.record);
    this.#writer.publish();
  }
}

/** Control side of the policy thread. The epoch travels in the state. */
export class CellPolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  readonly #chunks: RingReader;
  readonly #states: LatestWriter;
  readonly #anchoring: Anchoring;

  constructor(arena: Arena, anchoring: Anchoring) {
    this.#chunks = new RingReader(arena.ring("chunks"));
    this.#states = new LatestWriter(arena.cell("state"));
    this.#anchoring = anchoring;
  }

  takeChunk(nowNs: Instant): boolean {
    if (!this.#chunks.takeInto(this.chunk.record)) return false;
    anchorChunk(this.chunk, nowNs, this.#anchoring);
    return true;
  }

  publish(state: StateView): void {
    this.#states.record.set(state.record);
    this.#states.publish();
  }

  beginEpoch(): void {
    // The next published state carries the epoch; chunks of an older one are refused by the buffer.
  }
}

/** The cues that main left as bits, one after the other. */
export class WordCuePort implements CuePort {
  readonly #words: ControlWords;
  #waiting = 0;

  constructor(words: ControlWords) {
    this.#words = words;
  }

  takeCue(): OperatorCue {
    if (this.#waiting === 0) this.#waiting = this.#words.takeCues();
    if (this.#waiting === 0) return OperatorCue.None;
    let cue = 0;
    while (((this.#waiting >>> cue) & 1) === 0) cue += 1;
    this.#waiting &= this.#waiting - 1;
    return cue as OperatorCue;
  }
}

export class RingTickSink implements TickSink {
  readonly #writer: RingWriter;

  constructor(arena: Arena) {
    this.#writer = new RingWriter(arena.ring("ticks"));
  }

  write(record: Float64Array): void {
    this.#writer.put(record); // a full ring counts what it refuses
  }
}

/** For main, and for the policy thread, which tells a remote host what became of its chunks. */
export class RingEvidenceSink implements EvidenceSink {
  readonly #writer: RingWriter;
  readonly #receipts: ReceiptWriter;
  readonly #entry = new Float64Array(EVIDENCE_SLOT_COUNT);

  constructor(arena: Arena) {
    this.#writer = new RingWriter(arena.ring("evidence"));
    this.#receipts = new ReceiptWriter(new RingWriter(arena.ring("receipts")));
  }

  note(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    this.#entry[EvidenceSlot.code] = code;
    this.#entry[EvidenceSlot.epoch] = epoch;
    this.#entry[EvidenceSlot.seq] = seq;
    this.#entry[EvidenceSlot.nowNs] = nowNs;
    this.#writer.put(this.#entry);
    this.#receipts.note(code, epoch, seq, nowNs);
  }
}

/** Stops a thread's loop once motion is to end. */
export class WordStop implements StopSignal {
  readonly #words: ControlWords;

  constructor(words: ControlWords) {
    this.#words = words;
  }

  get stopped(): boolean {
    return this.#words.stopLevel >= StopLevel.motion;
  }
}

export class WordAlive implements AliveCounters {
  readonly #words: ControlWords;

  constructor(words: ControlWords) {
    this.#words = words;
  }

  read(counterIndex: number): number {
    return this.#words.aliveCount(counterIndex as ThreadSlot);
  }

  reported(counterIndex: number): number {
    return this.#words.reportedFaults(counterIndex as ThreadSlot);
  }
}

/** The machine as the control tick sees it; the world only where it is a simulated one. */
export class WordMachine implements MachinePort {
  readonly #words: ControlWords;
  readonly #clock: SystemClock;
  readonly #run: RunPlan;
  #suspendedNs = duration(0);
  #worldNs = NO_WORLD;

  constructor(words: ControlWords, clock: SystemClock, run: RunPlan) {
    this.#words = words;
    this.#clock = clock;
    this.#run = run;
  }

  /** Takes the readings. Before each tick, since a tick reads no clock. */
  look(): void {
    this.#suspendedNs = this.#clock.suspendedNs();
    if (this.#run.isHardware) return;
    const { gridOriginNs, worldBeat } = this.#words;
    const { periodNs } = this.#run.robot;
    const hasBegun = worldBeat > 0;
    this.#worldNs = hasBegun ? worldPhaseNs(gridOriginNs, worldBeat, periodNs) : instant(-Infinity);
  }

  suspendedNs(): Duration {
    return this.#suspendedNs;
  }

  worldNs(): Instant {
    return this.#worldNs;
  }
}
