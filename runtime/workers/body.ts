// Body: the simulated robot of a run, whichever thread holds it: physics where the profile has a
// model, kinematics where it has none. One object to advance, observe, command and judge. What has
// let go is activated again by the first command that needs torque.

import { FaultySensor } from "../../hal/fault-injector.ts";
import { parseFaultSpec } from "../../hal/fault-spec.ts";
import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { loadEngine } from "../../hal/mujoco/engine.ts";
import { episodeSeed } from "../../hal/object-placement.ts";
import { LifecycleState } from "../../hal/robot.ts";
import type { RobotActuator, RobotInterface, RobotSensor } from "../../hal/robot.ts";
import { SimBackend } from "../../hal/sim-backend.ts";
import { TaskJudge, TaskTruth } from "../../hal/task-judge.ts";
import { CommandKind, CommandSlot } from "../contracts/command.ts";
import type { CommandView } from "../contracts/command.ts";
import { mayMove } from "../contracts/mode.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { blamingModel } from "./model-blame.ts";
import { sourcesOf } from "./plan.ts";
import type { RunPlan } from "./plan.ts";

/** The task is judged every so many periods: looking at truth costs as much as a physics step. */
const JUDGE_PERIODS = 4;
/** A task that is done rests this long before the next one begins, so that a viewer sees it. */
const REST_NS = 2_000_000_000;

export class Body implements RobotActuator {
  readonly robot: RobotInterface;
  /** The robot's sensor half, through the faults that were asked for. */
  readonly sensor: RobotSensor;
  readonly sim: SimBackend | undefined;
  readonly judge: TaskJudge;
  /** Episodes begun, the present one included. */
  begunCount = 1;
  successCount = 0;
  /** True once any episode has succeeded. */
  success = false;
  readonly #seed: number;
  readonly #truth: TaskTruth;
  #doneNs = instant(-1);
  #periods = 0;
  #judgedNs = instant(0);
  /** The newest command is of a mode in which the robot may move. */
  #mayMove = false;
  #hasLetGo = false;

  constructor(run: RunPlan, sim: SimBackend | undefined) {
    const sources = sourcesOf(run);
    const { robot, task, seed } = run;
    const still = { ageNs: duration(0), lagNs: duration(0) };
    this.sim = sim;
    this.robot = sim ?? new KinematicRobot(robot, sources, still);
    const faults = run.faults.map((text) => parseFaultSpec(text, sources));
    this.sensor =
      faults.length === 0
        ? this.robot.sensor
        : new FaultySensor(this.robot.sensor, sources, faults.flat(), seed);
    this.judge = new TaskJudge(task, robot);
    this.#truth = new TaskTruth(robot.joints.length, task.objects.length);
    this.#seed = seed;
  }

  /** Episodes that are over. */
  get episodeCount(): number {
    return this.isEpisodeUnderWay ? this.begunCount - 1 : this.begunCount;
  }
  /** False while a finished episode rests before the next begins. */
  get isEpisodeUnderWay(): boolean {
    return !this.judge.done;
  }

  /** Puts everything at its start and arms. */
  begin(nowNs: Instant): void {
    this.robot.lifecycle.reset(this.#seed);
    this.sim?.advanceTo(nowNs);
    this.robot.lifecycle.activate(nowNs);
    this.judge.begin(nowNs);
    this.#judgedNs = nowNs;
  }

  /**
   * The supply of the actuators, as an e-stop switches it. After a cut the robot is activated anew:
   * its goal is where it is, whatever it held before.
   */
  setPowered(hasPower: boolean, nowNs: Instant): void {
    this.#hasLetGo = false;
    this.sim?.setPowered(false);
    this.robot.lifecycle.deactivate(nowNs);
    if (!hasPower) return;
    this.sim?.setPowered(true);
    this.robot.lifecycle.activate(nowNs);
  }

  /** The gate has read every joint before it asks for torque: goal := present, then its command. */
  send(command: CommandView): void {
    const { actuator, lifecycle } = this.robot;
    if (command.kind === CommandKind.ZeroTorque) {
      this.#hasLetGo = true;
    } else if (this.#hasLetGo && command.kind !== CommandKind.None) {
      this.#hasLetGo = false;
      if (lifecycle.state === LifecycleState.Inactive) lifecycle.activate(command.stampNs);
    }
    this.#mayMove = mayMove(command.record[CommandSlot.mode]!);
    actuator.send(command);
  }

  /** Lets the world run on to `nowNs` and judges it; a finished task begins again elsewhere. */
  advanceTo(nowNs: Instant): void {
    const { sim, judge } = this;
    if (sim === undefined) return;
    sim.advanceTo(nowNs);
    this.#periods += 1;
    if (this.#periods % JUDGE_PERIODS !== 0) return;
    sim.truthInto(this.#truth);
    if (!this.#mayMove) judge.wait(duration(nowNs - this.#judgedNs));
    this.#judgedNs = nowNs;
    judge.step(this.#truth, nowNs);
    if (!judge.done) return;
    if (this.#doneNs < 0) {
      this.#doneNs = nowNs;
      if (judge.success) {
        this.successCount += 1;
        this.success = true;
      }
    }
    if (nowNs - this.#doneNs < REST_NS) return;
    this.#doneNs = instant(-1);
    sim.placeObjects(episodeSeed(this.#seed, this.begunCount));
    this.begunCount += 1;
    judge.begin(nowNs);
  }
}

export async function makeBody(run: RunPlan): Promise<Body> {
  if (run.robot.sim === undefined) return new Body(run, undefined);
  const engine = await loadEngine();
  const sources = sourcesOf(run);
  const { robot, task } = run;
  const sim = await blamingModel(robot, () => new SimBackend({ engine, robot, task, sources }));
  return new Body(run, sim);
}
