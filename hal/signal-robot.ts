// SignalRobot: every joint follows a given signal of time, whatever it is commanded. It stands for
// a world that moves by itself, which makes the freshness of a state easy to tell from its value.
//
// Its sensor can stamp late, or die at a moment: then value and stamp stay and the same sample
// comes again. Commands are counted and go nowhere. Allocates nothing in observe and send.

import type { CommandView } from "../runtime/contracts/command.ts";
import type { RobotProfile, SourceProfile } from "../runtime/contracts/profile.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { NS_PER_S, instant, nmVec, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import type { Duration, Instant, NmVec, RadPerSVec, RadVec } from "../runtime/contracts/units.ts";
import { LifecycleCue, lifecycleError, lifecycleStep, refusesActivation } from "./lifecycle.ts";
import { proprioWriters } from "./proprio-writer.ts";
import type { ProprioWriter } from "./proprio-writer.ts";
import { LifecycleState } from "./robot.ts";
import type { RobotActuator, RobotInterface, RobotLifecycle, RobotSensor } from "./robot.ts";

// Half width of the central difference that gives velocities: its error is far below 1e-7 rad/s
// for signals of a few rad and a few Hz, and rounding adds 1e-11.
const DIFFERENCE_S = 1e-5;

export type SignalOptions = {
  /** The joint position in rad at a session time in s. */
  readonly signal: (timeS: number) => number;
  /** How much earlier than the value's own time the stamp says. Zero: an honest sensor. */
  readonly stampDelayNs: Duration;
  /** From this moment on the sensor repeats its last sample. Infinite: never. */
  readonly failAtNs: Instant;
};

export class SignalRobot implements RobotInterface, RobotSensor, RobotActuator, RobotLifecycle {
  /** Commands taken while active. */
  sentCommands = 0;
  readonly #name: string;
  readonly #options: SignalOptions;
  readonly #positionRad: RadVec;
  readonly #velocityRadPerS: RadPerSVec;
  readonly #effortNm: NmVec;
  readonly #writers: readonly ProprioWriter[];
  #state: LifecycleState = LifecycleState.Inactive;
  #sampledNs = instant(-Infinity);

  /** `sources` is the whole source table of the run, whose order the snapshot has. */
  constructor(robot: RobotProfile, sources: readonly SourceProfile[], options: SignalOptions) {
    const jointNames = robot.joints.map((joint) => joint.name);
    this.#name = robot.name;
    this.#options = options;
    this.#positionRad = radVec(new Float64Array(jointNames.length));
    this.#velocityRadPerS = radPerSVec(new Float64Array(jointNames.length));
    this.#effortNm = nmVec(new Float64Array(jointNames.length));
    this.#writers = proprioWriters(robot.name, sources, jointNames);
  }

  get sensor(): RobotSensor {
    return this;
  }
  get actuator(): RobotActuator {
    return this;
  }
  get lifecycle(): RobotLifecycle {
    return this;
  }
  get state(): LifecycleState {
    return this.#state;
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    if (this.#state === LifecycleState.Closed) return;
    const { failAtNs, stampDelayNs } = this.#options;
    const sampledNs = instant(nowNs < failAtNs ? nowNs : failAtNs);
    const isNew = sampledNs > this.#sampledNs;
    if (isNew) this.#follow(sampledNs / NS_PER_S);
    else if (nowNs < failAtNs) return;
    this.#sampledNs = sampledNs;
    const stampNs = instant(sampledNs - stampDelayNs);
    for (let index = 0; index < this.#writers.length; index += 1) {
      this.#write(snapshot, this.#writers[index]!, stampNs, nowNs, isNew);
    }
  }

  send(_command: CommandView): void {
    if (this.#state === LifecycleState.Active) this.sentCommands += 1;
  }

  activate(_nowNs: Instant): void {
    if (refusesActivation(this.#state)) {
      throw lifecycleError(this.#name, "activate", "an inactive device", this.#state);
    }
    this.#state = lifecycleStep(this.#state, LifecycleCue.Activate);
  }

  deactivate(_nowNs: Instant): void {
    this.#state = lifecycleStep(this.#state, LifecycleCue.Deactivate);
  }

  /** The signal is a function of session time: there is nothing to put back. */
  reset(_seed: number): void {
    // nothing moves
  }

  close(): void {
    this.#state = lifecycleStep(this.#state, LifecycleCue.Close);
  }

  #write(
    snapshot: SensorSnapshot,
    writer: ProprioWriter,
    stampNs: Instant,
    nowNs: Instant,
    isNew: boolean,
  ): void {
    const sample = snapshot.samples[writer.sourceIndex]!;
    const position = this.#positionRad;
    const velocity = this.#velocityRadPerS;
    if (isNew) writer.write(sample, stampNs, nowNs, position, velocity, this.#effortNm);
    else writer.rewrite(sample, stampNs, nowNs, position, velocity, this.#effortNm);
    snapshot.arrived[writer.sourceIndex] = 1;
  }

  #follow(timeS: number): void {
    const { signal } = this.#options;
    const before = signal(timeS - DIFFERENCE_S);
    const velocity = (signal(timeS + DIFFERENCE_S) - before) / (2 * DIFFERENCE_S);
    this.#positionRad.fill(signal(timeS));
    this.#velocityRadPerS.fill(velocity);
  }
}
