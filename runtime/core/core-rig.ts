// A core whose every port is scripted, for the tests of this folder, with a diary of who was called
// when. Not part of the product.

import { testJoint, testProfile } from "../../safety/fixture.ts";
import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { CommandSlot, commandKindNames } from "../contracts/command.ts";
import type { CommandView } from "../contracts/command.ts";
import { EvidenceSlot, evidenceNames } from "../contracts/evidence.ts";
import { OperatorCue, modeNames } from "../contracts/mode.ts";
import type { RobotProfile, SourceProfile } from "../contracts/profile.ts";
import { reasonNames } from "../contracts/reason.ts";
import { SampleSlot } from "../contracts/sample.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import { StateLayout, StateSlot } from "../contracts/state.ts";
import type { StateView } from "../contracts/state.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { NO_ESTOP } from "../contracts/tick-signature.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { ControlCore } from "./core.ts";
import { EvidenceLog } from "./evidence-log.ts";
import { FlightRecorder } from "./flight-recorder.ts";
import { STEADY_MACHINE } from "./machine-watch.ts";
import type { MachinePort } from "./machine-watch.ts";
import { controlTick } from "./tick.ts";

export const MS = 1e6;
export const FINGERPRINT = 77;

export const source: SourceProfile = {
  id: "arm",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["joint"],
  measuresVelocity: true,
  measuresEffort: false,
  frame: "joint",
};

export function profileOf(changes: Partial<RobotProfile> = {}): RobotProfile {
  const base = testProfile([testJoint()], { sources: [source] });
  const supervisor = { ...base.supervisor, startsIn: "Running" as const };
  return { ...base, supervisor, ...changes };
}

/** Every port of a core, scripted, and a diary of who was called when. */
export class Rig {
  readonly diary: string[] = [];
  readonly sent: { kind: string; reason: string; valueRad: number }[] = [];
  readonly published: { tick: number; epoch: number; mode: string; commandRad: number }[] = [];
  readonly cues: OperatorCue[] = [];
  /** What each tick told the e-stop. */
  readonly wantsCut: boolean[] = [];
  readonly chunks: ChunkView[] = [];
  readonly evidence = new EvidenceLog();
  readonly ticks = new FlightRecorder(1_000, tickSlotCount(1));
  readonly core: ControlCore;
  positionRad = 0.25;
  isSilent = false;
  silentFaults = 0;
  nowMs = 0;

  constructor(
    profile: RobotProfile = profileOf(),
    deadlineIsFault = true,
    machine: MachinePort = STEADY_MACHINE,
  ) {
    this.core = new ControlCore({
      profile,
      layout: new StateLayout(profile, [source], ""),
      schemaFingerprint: FINGERPRINT,
      sensor: { observeInto: (snapshot, nowNs) => this.#observe(snapshot, nowNs) },
      actuator: { send: (command) => this.#send(command) },
      policy: {
        chunk: new ChunkView(),
        takeChunk: () => this.#take(),
        publish: (state) => this.#publish(state),
        beginEpoch: (epoch) => this.diary.push(`epoch ${epoch}`),
      },
      cues: { takeCue: () => this.cues.shift() ?? OperatorCue.None },
      alive: { check: () => this.silentFaults },
      ticks: this.ticks,
      evidence: this.evidence,
      estop: {
        ...NO_ESTOP,
        answer: (_signature, _mode, wantsCut) => void this.wantsCut.push(wantsCut),
      },
      machine,
      deadlineIsFault,
    });
    this.core.prime(instant(0));
  }

  /** One tick, 5 ms after the last. */
  tick(): string {
    this.diary.length = 0;
    const reason = controlTick(this.core, instant(this.nowMs * MS));
    this.nowMs += 5;
    return reasonNames[reason];
  }

  reasons(count: number): string[] {
    return Array.from({ length: count }, () => this.tick());
  }

  /** Hands over a chunk that stays at one value for 80 ms from now. */
  decide(valueRad: number, slots: Partial<Record<keyof typeof ChunkSlot, number>> = {}): void {
    const chunk = new ChunkView();
    this.#seq += 1;
    chunk.begin(this.core.epoch, this.#seq, 4, 1, milliseconds(20));
    chunk.record[ChunkSlot.schemaFingerprint] = FINGERPRINT;
    chunk.setWindow(instant(this.nowMs * MS), instant((this.nowMs + 80) * MS));
    chunk.values.fill(valueRad, 0, 4);
    for (const [slot, value] of Object.entries(slots)) {
      chunk.record[ChunkSlot[slot as keyof typeof ChunkSlot]] = value;
    }
    this.chunks.push(chunk);
  }
  #seq = 0;

  get mode(): string {
    return modeNames[this.core.supervisor.mode];
  }

  /** The newest tick record, by name. */
  fact(name: keyof typeof TickSlot): number {
    return this.ticks.dump().at(-1)![TickSlot[name]]!;
  }

  events(): string[] {
    return this.evidence.dump().map((e) => `${evidenceNames[e[EvidenceSlot.code]!]} ${e[2]}`);
  }

  #observe(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.diary.push("observe");
    snapshot.clear();
    if (this.isSilent) return;
    const { record, payload } = snapshot.samples[0]!;
    record[SampleSlot.sensorStampNs] = nowNs - 2 * MS;
    record[SampleSlot.receiveNs] = nowNs - 1 * MS;
    record[SampleSlot.validMask] = 1;
    payload[0] = this.positionRad;
    snapshot.arrived[0] = 1;
  }

  #take(): boolean {
    const next = this.chunks.shift();
    this.diary.push(next === undefined ? "no chunk" : "chunk");
    if (next === undefined) return false;
    this.core.policy.chunk.copyFrom(next);
    return true;
  }

  #send(command: CommandView): void {
    this.diary.push("send");
    const reason = reasonNames[command.record[CommandSlot.reason]!]!;
    const kind = commandKindNames[command.kind]!;
    this.sent.push({ kind, reason, valueRad: command.values[0]! });
  }

  #publish(state: StateView): void {
    this.diary.push("publish");
    const mode = modeNames[state.record[StateSlot.mode]!]!;
    const { tick, epoch, command } = state;
    this.published.push({ tick, epoch, mode, commandRad: command[0]! });
  }
}
