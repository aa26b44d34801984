// ArmRig: the real control core over an arm in physics, in virtual time, for tests that look at
// what the arm truly does. Wired as a lockstep run is; positions come from the physics, never from
// the core's own records.

import { SimBackend } from "../hal/sim-backend.ts";
import type { Mujoco } from "../hal/mujoco/engine.ts";
import { TaskTruth } from "../hal/task-judge.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import type { Policy } from "../runtime/contracts/policy.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { tickSlotCount } from "../runtime/contracts/tick-record.ts";
import { instant, NS_PER_S } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { ALL_ALIVE } from "../runtime/record/input-log.ts";
import { tickTimeNs } from "../runtime/core/pacer.ts";
import { RunStats } from "../runtime/record/run-stats.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { policyContext } from "../runtime/policy/context.ts";
import type { PolicyContext } from "../runtime/policy/context.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { loadTask } from "../runtime/profile/load.ts";

const none = loadTask("none");

/** The profile with every joint's home, where a reset puts the arm, at `poseRad`. */
export function startingAt(robot: RobotProfile, poseRad: Float64Array): RobotProfile {
  const joints = robot.joints.map((joint, index) => ({ ...joint, homeRad: poseRad[index]! }));
  return { ...robot, joints };
}

export class ArmRig {
  readonly core: ControlCore;
  readonly stats: RunStats;
  /** A person's acts, one a tick, after the start that every rig begins with. */
  readonly cues: OperatorCue[] = [];
  readonly #robot: RobotProfile;
  readonly #backend: SimBackend;
  readonly #truth: TaskTruth;
  #tick = 0;
  #started = false;

  constructor(engine: Mujoco, robot: RobotProfile, make: (context: PolicyContext) => Policy) {
    const layout = new StateLayout(robot, robot.sources, "");
    const policy = make(policyContext(robot, none, layout));
    const runner = new PolicyRunner({
      policy,
      adapter: new ActionAdapter(policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    this.#robot = robot;
    this.#backend = new SimBackend({ engine, robot, task: none, sources: robot.sources });
    this.#truth = new TaskTruth(robot.joints.length, 0);
    this.stats = new RunStats(tickSlotCount(robot.joints.length), robot.supervisor.lateNsMax);
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: this.#backend.sensor,
      actuator: this.#backend.actuator,
      policy: new LockstepPolicyPort(runner, "arrival"),
      cues: { takeCue: () => this.#startOnce() },
      alive: ALL_ALIVE,
      ticks: this.stats,
      evidence: new EvidenceLog(),
      deadlineIsFault: false,
    });
    const { periodNs } = robot;
    this.#backend.advanceTo(instant(-2.5 * periodNs));
    this.#backend.activate(instant(-2.5 * periodNs));
    for (let look = 2; look > 0; look -= 1) {
      this.core.look(instant(-look * periodNs));
      this.#backend.advanceTo(instant((0.5 - look) * periodNs));
    }
    this.core.prime(instant(0));
  }

  /** Seconds of session time so far. */
  get timeS(): number {
    return (this.#tick * this.#robot.periodNs) / NS_PER_S;
  }

  /** Ticks once and lets the world run on to half way to the next tick. */
  tick(): void {
    const nowNs = tickTimeNs(this.#tick, this.#robot.controlHz, 1);
    controlTick(this.core, nowNs);
    this.#backend.advanceTo(instant(nowNs + this.#robot.periodNs / 2));
    this.#tick += 1;
  }

  runUntil(timeS: number): void {
    while (this.timeS < timeS) this.tick();
  }

  /** The command of the last tick. */
  commandRad(): Float64Array {
    return Float64Array.from(this.core.gate.command);
  }

  /** Where the joints truly are. */
  positionRad(): Float64Array {
    this.#backend.truthInto(this.#truth);
    return Float64Array.from(this.#truth.positionRad);
  }

  close(): void {
    this.#backend.close();
  }

  #startOnce(): OperatorCue {
    if (this.#started) return this.cues.shift() ?? OperatorCue.None;
    this.#started = true;
    return OperatorCue.Start;
  }
}
