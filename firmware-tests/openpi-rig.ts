// OpenpiRig: the real core over a kinematic SO-101, its policy on an openpi server behind a real
// WebSocket. Time is virtual, for the core, the link's deadlines and its pauses alike; only the
// socket takes real time, and each tick gives it some. So nothing here depends on a busy machine.

import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Evidence } from "../runtime/contracts/evidence.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import type { Mode } from "../runtime/contracts/mode.ts";
import type { OpenpiMapping } from "../runtime/contracts/openpi.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { controlTick } from "../runtime/core/tick.ts";
import type { OpenpiPolicy } from "../runtime/link/openpi-policy.ts";
import { openOpenpiPolicy } from "../runtime/link/openpi-socket.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { anchoringOf } from "../runtime/policy/policy-kind.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { loadDeployment } from "../runtime/profile/load.ts";
import { ALL_ALIVE } from "../runtime/record/input-log.ts";

const deployment = loadDeployment("so101-openpi-positions");
const { robot } = deployment;
const mapping: OpenpiMapping = { ...deployment.openpi!, pictures: [] };
/** How long of real time a tick waits for an answer; one that stays away costs that, no more. */
const ANSWER_MS_MAX = 5;

/** Beginnings of the virtual clock: ten milliseconds of looks before the first tick. */
const BEGIN_NS = 1e9;

export class OpenpiRig {
  readonly evidence = new EvidenceLog();
  readonly core: ControlCore;
  readonly policy: OpenpiPolicy;
  /** Texts that a person was told, one after the other. */
  readonly told: string[] = [];
  readonly #runner: PolicyRunner;
  readonly #body: KinematicRobot;
  readonly #cues: OperatorCue[] = [OperatorCue.Start];
  readonly #clock: { nowNs: Instant };
  #motionCount = 0;

  private constructor(policy: OpenpiPolicy, clock: { nowNs: Instant }) {
    this.policy = policy;
    this.#clock = clock;
    const layout = new StateLayout(robot, robot.sources, "move to and fro");
    this.#runner = new PolicyRunner({
      policy,
      adapter: new ActionAdapter(policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    const options = { ageNs: duration(1e6), lagNs: duration(0) };
    this.#body = new KinematicRobot(robot, robot.sources, options);
    this.#body.activate(clock.nowNs);
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: this.#body,
      actuator: this.#body,
      policy: new LockstepPolicyPort(this.#runner, anchoringOf(robot, "openpi://host")),
      cues: { takeCue: () => this.#cues.shift() ?? OperatorCue.None },
      alive: ALL_ALIVE,
      ticks: { write: (record) => this.#look(record) },
      evidence: this.evidence,
      deadlineIsFault: false,
    });
    this.core.look(instant(BEGIN_NS - 2 * robot.periodNs));
    this.core.look(instant(BEGIN_NS - robot.periodNs));
    this.core.prime(clock.nowNs);
  }

  static async open(port: number): Promise<OpenpiRig> {
    const clock = { nowNs: instant(BEGIN_NS) };
    const policy = await openOpenpiPolicy({
      target: `127.0.0.1:${port}`,
      mapping,
      robot,
      layout: new StateLayout(robot, robot.sources, "move to and fro"),
      pictures: undefined,
      nowNs: () => clock.nowNs,
      isLockstep: false,
      seed: 1,
      note: () => undefined,
    });
    return new OpenpiRig(policy, clock);
  }

  get mode(): Mode {
    return this.core.supervisor.mode as Mode;
  }
  get nowNs(): number {
    return this.#clock.nowNs;
  }
  /** Where the first joint truly is. */
  get panRad(): number {
    return this.#body.positionRad[0]!;
  }
  /** Ticks in which the robot did what a decision wanted. */
  get motionCount(): number {
    return this.#motionCount;
  }
  /** Chunks that the buffer took. */
  get acceptedCount(): number {
    return this.evidence.counts[Evidence.Accepted]!;
  }

  press(cue: OperatorCue): void {
    this.#cues.push(cue);
  }

  /** Ticks until `holds`, `ticks` at most; whether it held. */
  async until(holds: () => boolean, ticks: number): Promise<boolean> {
    for (let tick = 0; tick < ticks; tick += 1) {
      controlTick(this.core, this.#clock.nowNs);
      if (this.policy.statusText !== this.told.at(-1)) this.told.push(this.policy.statusText);
      if (holds()) return true;
      await Promise.race([this.#runner.settled(), Bun.sleep(ANSWER_MS_MAX)]);
      await Bun.sleep(1); // a turn for the socket and for the link's own timer
      this.#clock.nowNs = instant(this.#clock.nowNs + robot.periodNs);
    }
    return false;
  }

  run(ticks: number): Promise<boolean> {
    return this.until(() => false, ticks);
  }

  close(): void {
    this.policy.close();
  }

  #look(record: Float64Array): void {
    if (record[TickSlot.kind] === CommandKind.Motion) this.#motionCount += 1;
  }
}
