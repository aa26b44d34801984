// LinkCell: one arm with its real core, asked over both ends of a real link, in virtual time: the
// network and the host's thinking take milliseconds that a test chooses. Every command that leaves
// the core passes an oracle of the limits that owes the gate nothing.

import { create } from "@bufbuild/protobuf";
import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { schemaFingerprint } from "../../runtime/contracts/action.ts";
import { CommandKind } from "../../runtime/contracts/command.ts";
import type { CommandView } from "../../runtime/contracts/command.ts";
import { Evidence } from "../../runtime/contracts/evidence.ts";
import { OperatorCue } from "../../runtime/contracts/mode.ts";
import type { Mode } from "../../runtime/contracts/mode.ts";
import {
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
} from "../../runtime/contracts/obs-transform.ts";
import { SequenceAllocator } from "../../runtime/contracts/policy.ts";
import type { Policy } from "../../runtime/contracts/policy.ts";
import type { RobotProfile } from "../../runtime/contracts/profile.ts";
import { SeededRandom } from "../../runtime/contracts/seeded-random.ts";
import { StateLayout, StateView } from "../../runtime/contracts/state.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import { duration, instant, milliseconds } from "../../runtime/contracts/units.ts";
import { ControlCore } from "../../runtime/core/core.ts";
import { EvidenceLog } from "../../runtime/core/evidence-log.ts";
import { controlTick } from "../../runtime/core/tick.ts";
import { helloOf } from "../../runtime/link/edge-messages.ts";
import { VirtualLink } from "../../runtime/link/fixture.ts";
import type { VirtualHost } from "../../runtime/link/fixture.ts";
import { PolicyFactsSchema } from "../../runtime/link/generated/policy_pb.js";
import type { Observation, PolicyFacts } from "../../runtime/link/generated/policy_pb.js";
import type { Decision } from "../../runtime/link/host-session.ts";
import { writeState } from "../../runtime/link/host-state.ts";
import { RemotePolicy } from "../../runtime/link/remote-policy.ts";
import { ActionAdapter, commandFingerprint } from "../../runtime/policy/adapter.ts";
import { policyContext } from "../../runtime/policy/context.ts";
import { LockstepPolicyPort } from "../../runtime/policy/lockstep-port.ts";
import { anchoringOf } from "../../runtime/policy/policy-kind.ts";
import { PolicyRunner } from "../../runtime/policy/runner.ts";
import { SinePolicy } from "../../runtime/policy/sine.ts";
import { loadRobot, loadTask } from "../../runtime/profile/load.ts";
import { ALL_ALIVE } from "../../runtime/record/input-log.ts";
import { JointOracle } from "../gate-oracle.ts";

const so101 = loadRobot("so101");
const task = loadTask("none");
const BEGIN_NS = 1e9;
/** Where an epoch begins on the host's own clock. */
const HOST_EPOCH_NS = 3_600e9;
/** Turns of promises from an answer to a decision that can be taken. */
const TURN_COUNT = 8;

export type LinkCellOptions = {
  readonly seed?: number;
  readonly change?: (robot: RobotProfile) => RobotProfile;
  /** Until then, from the beginning, the host is warming up. */
  readonly readyNs?: number;
  /** What the host answers, row-major from the observation on; absent: a sine's motion. */
  readonly rows?: (observation: Observation) => number[];
};

export class LinkCell {
  readonly robot: RobotProfile;
  readonly link: VirtualLink;
  readonly policy: RemotePolicy;
  readonly core: ControlCore;
  readonly evidence = new EvidenceLog();
  readonly records: Float64Array[] = [];
  /** The commands that left, tick by tick, once there was one. */
  readonly commands: Float64Array[] = [];
  /** What a person was told, each text once in a row. */
  readonly told: string[] = [];
  /** When what `at` was given happened, and when the link was first not ready since then. */
  happenedNs = Number.NaN;
  unreadyNs = Number.NaN;
  /** Called before each tick. */
  beforeTick: () => void = () => undefined;
  readonly #body: KinematicRobot;
  readonly #runner: PolicyRunner;
  readonly #cues: OperatorCue[] = [OperatorCue.Start];
  readonly #random: SeededRandom;
  #oracles: readonly JointOracle[] | undefined;
  #readCount = 0;

  constructor({ seed = 1, change, readyNs = 0, rows }: LinkCellOptions = {}) {
    this.#random = new SeededRandom(seed);
    const robot = change === undefined ? so101 : change(so101);
    this.robot = robot;
    const layout = new StateLayout(robot, robot.sources, "");
    const sine = new SinePolicy(policyContext(robot, task, layout));
    const told = { robot, task, layout, manifestSha256: new Uint8Array(0), runtimeVersions: {} };
    const host = rows === undefined ? new PolicyHost(sine, layout) : rowsHost(rows, robot);
    this.link = new VirtualLink(seed, host, (session) => helloOf(told, session));
    this.link.facts = factsOf(sine, robot);
    this.link.readyNs = BEGIN_NS + readyNs;
    this.policy = new RemotePolicy(this.link.facts, {
      link: this.link.link,
      pump: () => undefined, // the virtual link serves every millisecond
      hangUp: () => undefined,
      nowNs: () => this.link.nowNs,
      pictures: undefined,
      anchoring: anchoringOf(robot, "grpc://host"),
      waitsForEver: false,
    });
    this.#runner = new PolicyRunner({
      policy: this.policy,
      adapter: new ActionAdapter(this.policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    const still = { ageNs: duration(1e6), lagNs: duration(0) };
    this.#body = new KinematicRobot(robot, robot.sources, still);
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: this.#body,
      actuator: { send: (command) => this.#send(command) },
      policy: new LockstepPolicyPort(this.#runner, anchoringOf(robot, "grpc://host")),
      cues: { takeCue: () => this.#cues.shift() ?? OperatorCue.None },
      alive: ALL_ALIVE,
      ticks: { write: (record) => this.records.push(record.slice()) },
      evidence: {
        note: (code, epoch, seq, nowNs) => {
          this.evidence.note(code, epoch, seq, nowNs);
          this.policy.receipt(code, epoch, seq, nowNs);
        },
      },
      deadlineIsFault: true,
    });
    this.link.run(BEGIN_NS);
    this.#body.activate(this.link.nowNs);
    this.core.look(instant(BEGIN_NS - 2 * robot.periodNs));
    this.core.look(instant(BEGIN_NS - robot.periodNs));
    this.core.prime(this.link.nowNs);
  }

  /** Since the first tick. */
  get nowNs(): number {
    return this.link.nowNs - BEGIN_NS;
  }
  get mode(): Mode {
    return this.core.supervisor.mode as Mode;
  }
  /** Chunks that the buffer took. */
  get acceptedCount(): number {
    return this.evidence.counts[Evidence.Accepted]!;
  }

  /** How long an answer takes, as the link tells its host. */
  get delayNs(): number {
    return this.link.link.times.delayNs;
  }

  press(...cues: readonly OperatorCue[]): void {
    this.#cues.push(...cues);
  }

  /** Each inference from now on takes a time drawn evenly between the two. */
  drawInference(fromNs: number, untilNs: number): void {
    this.beforeTick = () => {
      this.link.inferenceNs = fromNs + (untilNs - fromNs) * this.#random.next();
    };
  }

  /** Does `act` at a moment between two ticks, on the link's clock. */
  at(atNs: number, act: () => void): void {
    this.#due = { atNs, act };
  }
  #due: { readonly atNs: number; readonly act: () => void } | undefined;

  async run(ms: number): Promise<this> {
    await this.until(() => false, ms);
    return this;
  }

  /** Ticks until `holds`, for `ms` at most; how many ns that took, or NaN. */
  async until(holds: () => boolean, ms: number): Promise<number> {
    const fromNs = this.link.nowNs;
    while (this.link.nowNs < fromNs + ms * 1e6) {
      this.beforeTick();
      controlTick(this.core, this.link.nowNs);
      const text = this.policy.statusText;
      if (text !== this.told.at(-1)) this.told.push(text);
      const isThere = holds();
      const tookNs = this.link.nowNs - fromNs;
      this.link.run(this.link.nowNs + this.robot.periodNs, () => this.#deliver());
      this.#deliver();
      for (let turn = 0; turn < TURN_COUNT; turn += 1) await Promise.resolve();
      if (isThere) return tookNs;
    }
    return Number.NaN;
  }

  /** Records of the ticks in which the robot followed a decision, from `fromNs` on. */
  motions(fromNs = 0): readonly Float64Array[] {
    return this.records.filter(
      (record) =>
        record[TickSlot.kind] === CommandKind.Motion &&
        record[TickSlot.nowNs]! - BEGIN_NS >= fromNs,
    );
  }

  /** Nanoseconds of the oldest state that a motion since `fromNs` followed. */
  oldestNs(fromNs = 0): number {
    const ages = this.motions(fromNs).map(
      (record) => record[TickSlot.nowNs]! - record[TickSlot.actStartNs]!,
    );
    return Math.max(0, ...ages);
  }

  #deliver(): void {
    if (this.#due !== undefined && this.link.nowNs >= this.#due.atNs) {
      this.happenedNs = this.link.nowNs;
      this.#due.act();
      this.#due = undefined;
    }
    const isLost = this.happenedNs > 0 && this.policy.phase !== "ready";
    if (isLost && Number.isNaN(this.unreadyNs)) this.unreadyNs = this.link.nowNs;
    const { answers } = this.link;
    for (; this.#readCount < answers.length; this.#readCount += 1) {
      this.policy.answered(answers[this.#readCount]!);
    }
  }

  #send(command: CommandView): void {
    if (command.kind !== CommandKind.None) {
      this.#judge(command);
      this.commands.push(command.values.slice());
    }
    this.#body.send(command);
  }

  #judge(command: CommandView): void {
    const { positionRad, velocityRadPerS } = this.#body;
    const periodS = this.robot.periodNs / 1e9;
    this.#oracles ??= this.robot.joints.map(
      (joint, at) => new JointOracle(joint, periodS, positionRad[at]!),
    );
    for (const [at, oracle] of this.#oracles.entries()) {
      const moves = command.kind === CommandKind.Motion;
      oracle.see(command.values[at]!, positionRad[at]!, velocityRadPerS[at]!, moves);
    }
  }
}

function rowsHost(rowsOf: (observation: Observation) => number[], robot: RobotProfile) {
  const { dtNs } = robot.policy;
  const decide = (observation: Observation): Decision => {
    const rows = rowsOf(observation);
    const horizon = rows.length / robot.joints.length;
    return { horizon, dtNs, startOffsetNs: undefined, rows, inferenceNs: milliseconds(1) };
  };
  return { reset: () => undefined, decide };
}

/** The policy on the far side, as a host's thread runs it. */
class PolicyHost implements VirtualHost {
  readonly #policy: Policy;
  readonly #state: StateView;
  #tick = 0;

  constructor(policy: Policy, layout: StateLayout) {
    this.#policy = policy;
    this.#state = new StateView(new Float64Array(layout.slotCount), layout);
  }

  reset(epoch: number): void {
    this.#policy.reset(epoch, new SequenceAllocator(epoch));
  }

  decide(observation: Observation): Decision {
    const nowNs = instant(HOST_EPOCH_NS + Number(observation.sinceResetNs));
    this.#tick += 1;
    writeState(this.#state, observation, this.#tick, nowNs);
    const chunk = this.#policy.act(this.#state, nowNs);
    if (chunk === null || chunk instanceof Promise) throw new Error("a sine decides at once");
    const { horizon, width, dtNs, validFromNs, values } = chunk;
    const startOffsetNs = Math.max(0, validFromNs - this.#state.stampNs);
    const rows = [...values.subarray(0, horizon * width)];
    return { horizon, dtNs, startOffsetNs, rows, inferenceNs: milliseconds(1) };
  }
}

function factsOf({ name, schema }: Policy, robot: RobotProfile): PolicyFacts {
  return create(PolicyFactsSchema, {
    name,
    actionSchema: {
      space: schema.space,
      representation: schema.representation,
      frame: schema.frame,
      columns: [...schema.columns],
    },
    actionSchemaFingerprint: BigInt(schemaFingerprint(schema)),
    horizon: robot.policy.horizon,
    dtNs: BigInt(robot.policy.dtNs),
    obsTransformVersion: OBS_TRANSFORM_VERSION,
    obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
  });
}
