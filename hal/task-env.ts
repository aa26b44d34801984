// SimTaskEnv: a robot in a simulated world as a task to be stepped through, one control period at
// a time. Reward, done and success exist here and nowhere else.
//
// States are made by the estimator function it is given, so a policy sees what it would see live.
// Session time counts on across resets; the world's own time starts again with each.

import type { CommandView } from "../runtime/contracts/command.ts";
import type { RobotProfile, SourceProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import { SensorSnapshot } from "../runtime/contracts/sample.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import type { TaskEnv, Transition } from "../runtime/contracts/task.ts";
import { instant } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { LifecycleState } from "./robot.ts";
import type { RobotInterface } from "./robot.ts";
import { TaskJudge, TaskTruth } from "./task-judge.ts";

/** A robot whose world can be moved on by hand and looked into. */
export interface TaskWorld extends RobotInterface {
  /** Lets the world run on to this session time. */
  advanceTo(nowNs: Instant): void;
  truthInto(truth: TaskTruth): void;
}

export type TaskEnvOptions = {
  readonly world: TaskWorld;
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  /** The whole source table of the run. */
  readonly sources: readonly SourceProfile[];
  /** The run's estimator. The state may be the same object each time. */
  readonly estimate: (snapshot: SensorSnapshot, nowNs: Instant) => StateView;
};

export class SimTaskEnv implements TaskEnv {
  readonly #options: TaskEnvOptions;
  readonly #snapshot: SensorSnapshot;
  readonly #judge: TaskJudge;
  readonly #truth: TaskTruth;
  #nowNs = instant(0);

  constructor(options: TaskEnvOptions) {
    const { robot, task, sources } = options;
    this.#options = options;
    this.#snapshot = new SensorSnapshot(sources);
    this.#judge = new TaskJudge(task, robot);
    this.#truth = new TaskTruth(robot.joints.length, task.objects.length);
  }

  /** Session time of the newest state; the stamp for the command that answers it. */
  get nowNs(): Instant {
    return this.#nowNs;
  }

  reset(seed: number): StateView {
    const { lifecycle } = this.#options.world;
    lifecycle.reset(seed);
    const state = this.#advance();
    if (lifecycle.state !== LifecycleState.Active) lifecycle.activate(this.#nowNs);
    this.#judge.begin(this.#nowNs);
    return state;
  }

  step(command: CommandView): Transition {
    const { world } = this.#options;
    world.actuator.send(command);
    const state = this.#advance();
    world.truthInto(this.#truth);
    this.#judge.step(this.#truth, this.#nowNs);
    const { rewardRatio, done, success } = this.#judge;
    return { state, rewardRatio, done, success, nowNs: this.#nowNs };
  }

  #advance(): StateView {
    const { world, robot, estimate } = this.#options;
    this.#nowNs = instant(this.#nowNs + robot.periodNs);
    world.advanceTo(this.#nowNs);
    world.sensor.observeInto(this.#snapshot, this.#nowNs);
    return estimate(this.#snapshot, this.#nowNs);
  }
}
