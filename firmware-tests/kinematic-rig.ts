// KinematicRig: the real control core over kinematic joints in virtual time, with a policy that
// wants one row of values for as long as it is asked. What is said of a robot is read off its
// joints.

import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { ChunkSlot, ChunkView } from "../runtime/contracts/action.ts";
import { commandKindNames } from "../runtime/contracts/command.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import { OperatorCue, modeNames } from "../runtime/contracts/mode.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { duration, instant, milliseconds } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { commandFingerprint } from "../runtime/policy/adapter.ts";

/** A robot that follows one row of values for as long as it is asked to. */
export class KinematicRig {
  readonly core: ControlCore;
  readonly robot: KinematicRobot;
  readonly cues: OperatorCue[] = [];
  readonly kinds: string[] = [];
  values: readonly number[] = [];
  lost = 0;
  /** True: commands reach no joint, as when something blocks the way. */
  isJammed = false;
  readonly #profile: RobotProfile;
  readonly #chunk = new ChunkView();
  #seq = 0;
  #tick = 0;

  constructor(profile: RobotProfile) {
    this.#profile = profile;
    const ageNs = milliseconds(2);
    this.robot = new KinematicRobot(profile, profile.sources, { ageNs, lagNs: duration(0) });
    this.core = new ControlCore({
      profile,
      layout: new StateLayout(profile, profile.sources, ""),
      schemaFingerprint: commandFingerprint(profile),
      sensor: this.robot.sensor,
      actuator: { send: (command) => this.#send(command) },
      policy: {
        chunk: this.#chunk,
        takeChunk: (nowNs) => this.#decide(nowNs),
        publish: () => undefined,
        beginEpoch: () => (this.#seq = 0),
      },
      cues: { takeCue: () => this.cues.shift() ?? OperatorCue.None },
      alive: { check: () => this.lost },
      ticks: { write: () => undefined },
      evidence: { note: () => undefined },
      deadlineIsFault: false,
    });
    this.robot.activate(instant(0));
    this.core.prime(instant(0));
    this.cues.push(OperatorCue.Start);
  }

  get mode(): string {
    return modeNames[this.core.supervisor.mode];
  }
  get positions(): number[] {
    return [...this.robot.positionRad];
  }
  get timeS(): number {
    return this.#tick * 0.005;
  }

  run(seconds: number): this {
    for (let ticks = Math.round(seconds / 0.005); ticks > 0; ticks -= 1) {
      this.#tick += 1;
      controlTick(this.core, instant(this.#tick * this.#profile.periodNs));
    }
    return this;
  }

  /** Moves a joint by hand. */
  push(joint: number, rad: number): void {
    this.robot.follower.targetRad[joint] = rad;
  }

  /** The kinds of command since the last call, each named once where it began. */
  told(): string[] {
    const changes = this.kinds.filter((kind, index) => kind !== this.kinds[index - 1]);
    this.kinds.length = 0;
    return changes;
  }

  #send(command: CommandView): void {
    this.kinds.push(commandKindNames[command.kind]!);
    if (!this.isJammed) this.robot.send(command);
  }

  #decide(nowNs: number): boolean {
    if (this.values.length === 0) return false;
    const width = this.values.length;
    this.#seq += 1;
    this.#chunk.begin(this.core.epoch, this.#seq, 2, width, milliseconds(20));
    this.#chunk.record[ChunkSlot.schemaFingerprint] = commandFingerprint(this.#profile);
    this.#chunk.setWindow(instant(nowNs), instant(nowNs + 40e6));
    this.#chunk.values.set([...this.values, ...this.values]);
    return true;
  }
}
