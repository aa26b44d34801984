// LossCell: one arm with its real core in virtual time, in which exactly one thing goes wrong at
// one phase of the tick. It keeps what left the core, tick by tick, and lets a storm's oracle look
// at each command; what the core says of itself is kept apart, for names only.

import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { CommandView, commandSlotCount } from "../../runtime/contracts/command.ts";
import { OperatorCue } from "../../runtime/contracts/mode.ts";
import type { RobotProfile, SourceProfile } from "../../runtime/contracts/profile.ts";
import { StateLayout } from "../../runtime/contracts/state.ts";
import { tickSlotCount } from "../../runtime/contracts/tick-record.ts";
import { duration, instant, milliseconds } from "../../runtime/contracts/units.ts";
import type { Duration, Instant } from "../../runtime/contracts/units.ts";
import type { HardwareSafety } from "../../runtime/contracts/tick-signature.ts";
import { AliveMonitor } from "../../runtime/core/alive.ts";
import type { Clock } from "../../runtime/core/clock.ts";
import { ControlCore } from "../../runtime/core/core.ts";
import type { AliveFaults } from "../../runtime/core/core.ts";
import { NO_WORLD, SUSPEND_NS_MAX } from "../../runtime/core/machine-watch.ts";
import { EvidenceLog } from "../../runtime/core/evidence-log.ts";
import { FlightRecorder } from "../../runtime/core/flight-recorder.ts";
import { StreamingPacer } from "../../runtime/core/pacer.ts";
import { controlTick } from "../../runtime/core/tick.ts";
import { ActionAdapter, commandFingerprint } from "../../runtime/policy/adapter.ts";
import { policyContext } from "../../runtime/policy/context.ts";
import { LockstepPolicyPort } from "../../runtime/policy/lockstep-port.ts";
import { PolicyRunner } from "../../runtime/policy/runner.ts";
import { loadRobot, loadTask } from "../../runtime/profile/load.ts";
import { ThreadSlot } from "../../runtime/shm/control-words.ts";
import { StormChecker } from "../../runtime/sim/storm-checker.ts";
import { aliveTable } from "../../runtime/workers/alive-table.ts";
import { LossPolicyPort, SwingPolicy } from "./loss-policy.ts";
import { LossSenses, isWithin } from "./loss-senses.ts";
import type { Span } from "./loss-senses.ts";
import type { PolicyTrouble, Provocation } from "./loss.ts";

export const PERIOD_NS = 5e6;
export const PHASE_COUNT = 50;
/** The tick at which things go wrong: the arm swings at full pace. */
const TROUBLE_TICK = 192;
export const TROUBLE_NS = TROUBLE_TICK * PERIOD_NS;
const CAPACITY_TICKS = 4_000;
const LAG_NS = milliseconds(20);
/** What a tick of the virtual control thread takes. */
const WORK_NS = 100_000;

const so101 = loadRobot("so101");
const task = loadTask("pick_place");
const camera: SourceProfile = {
  id: "scene",
  kind: "image",
  periodNs: milliseconds(50),
  validityNs: milliseconds(120),
  joints: [],
  measuresVelocity: false,
  measuresEffort: false,
  frame: "camera",
};

export type CellOptions = {
  /** Absent: nothing goes wrong by itself. */
  readonly provoke?: Provocation;
  /** 0 … 49. */
  readonly phaseIndex: number;
  /** When it begins; absent: when the arm swings at full pace. */
  readonly fromNs?: number;
  /** How long it lasts; Infinity: it never ends. */
  readonly lengthNs: number;
  readonly change?: (robot: RobotProfile) => RobotProfile;
  readonly estop?: HardwareSafety & AliveFaults;
};

/** What left the core in one tick. */
export type Sent = {
  readonly nowNs: number;
  readonly command: CommandView;
};

export class LossCell {
  readonly core: ControlCore;
  readonly senses: LossSenses;
  readonly policy: LossPolicyPort;
  readonly evidence = new EvidenceLog();
  readonly sent: Sent[] = [];
  readonly body: KinematicRobot;
  readonly robot: RobotProfile;
  /** When the cause came that is no sample and no decision. */
  causeNs = Number.NaN;
  /** The first moments at which the policy side refused, by reason. */
  readonly refusedNs = new Map<number, number>();
  readonly cues: OperatorCue[] = [OperatorCue.Start];
  readonly #records: FlightRecorder;
  readonly #options: CellOptions;
  readonly #span: Span;
  readonly #isWorldLate: boolean;
  readonly #pacer: StreamingPacer;
  readonly #checker: StormChecker;
  #lateWakes = 0;
  /** By the tick before. */
  #workedNs = 0;
  #nowNs = 0;
  #cueTaken = false;

  constructor(options: CellOptions) {
    const { provoke, phaseIndex, lengthNs, change, estop } = options;
    this.#options = options;
    this.robot = change === undefined ? so101 : change(so101);
    const { robot } = this;
    this.#isWorldLate = provoke?.by === "world";
    const sources = [...robot.sources, camera, ...task.sources];
    const { fromNs = TROUBLE_NS } = options;
    const span = { fromNs, untilNs: fromNs + lengthNs };
    this.#span = span;
    const ageNs = duration(this.phaseNs);
    this.body = new KinematicRobot(robot, sources, { ageNs, lagNs: LAG_NS });
    this.body.activate(instant(0));
    this.senses = new LossSenses(this.body, {
      robot,
      sources,
      sceneNs: (phaseIndex / PHASE_COUNT) * camera.periodNs,
      trouble: span,
      phaseIndex,
      ...(provoke?.by === "sensor" && { fault: provoke.fault }),
      ...(provoke?.by === "device" && { device: provoke.trouble }),
      isWorldLate: this.#isWorldLate,
    });
    const layout = new StateLayout(robot, sources, "");
    const policy = new SwingPolicy(policyContext(robot, task, layout));
    const runner = new PolicyRunner({
      policy,
      adapter: new ActionAdapter(policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [camera.id, ...task.sources.map(({ id }) => id)],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    const port = new LockstepPolicyPort(runner, "arrival");
    this.policy = new LossPolicyPort(port, ...this.#policyTrouble(), this.phaseNs);
    this.#records = new FlightRecorder(CAPACITY_TICKS, tickSlotCount(robot.joints.length));
    this.#checker = new StormChecker(robot);
    const counters = {
      read: (index: number) => this.#aliveCount(index),
      reported: (index: number) => this.#reported(index),
    };
    const threads = new AliveMonitor(aliveTable(robot, true), counters);
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: this.senses,
      actuator: { send: (command) => this.#send(command) },
      policy: this.policy,
      cues: { takeCue: () => this.#takeCue() },
      alive: { check: () => threads.check() | (estop?.check() ?? 0) },
      ...(estop !== undefined && { estop }),
      ticks: this.#records,
      evidence: this.evidence,
      deadlineIsFault: !this.#isWorldLate,
      machine: { suspendedNs: () => this.#suspendedNs(), worldNs: () => this.#worldNs() },
    });
    this.core.prime(instant(0));
    const never = { stopped: false };
    this.#pacer = new StreamingPacer(this.#clock(), never, robot.periodNs, instant(0));
  }

  /** Of samples and arrivals before their tick: 0 … 4.9 ms. */
  get phaseNs(): number {
    return (this.#options.phaseIndex / PHASE_COUNT) * PERIOD_NS;
  }
  get nowNs(): number {
    return this.#nowNs;
  }
  get records(): readonly Float64Array[] {
    return this.#records.dump();
  }

  runUntil(untilNs: number): this {
    while (this.#nowNs < untilNs) this.#tick();
    return this;
  }

  runFor(ms: number): this {
    return this.runUntil(this.#nowNs + ms * 1e6);
  }

  #tick(): void {
    const nowNs = this.#pacer.next();
    const before = this.sent.length;
    const { runner } = this.policy.port;
    const safeTicks = runner.safeTicks.slice();
    this.core.timing.note(this.#pacer.lateNs, this.#pacer.missedTicks, this.#workedNs);
    this.#workedNs = this.#workNs(nowNs);
    const { tick } = this.core;
    controlTick(this.core, instant(nowNs));
    for (const [reason, count] of runner.safeTicks.entries()) {
      if (count === safeTicks[reason] || nowNs < TROUBLE_NS) continue;
      if (!this.refusedNs.has(reason)) this.refusedNs.set(reason, nowNs);
    }
    this.#check(tick, nowNs, this.sent.slice(before));
  }

  /** The oracle of the storms: limits, brakes, no motion of a blind robot, one command a tick. */
  #check(tick: number, nowNs: number, sent: readonly Sent[]): void {
    // A coast is no brake, by request, and without power the command follows the arm. It knows
    // positions only: velocity joints are the storm of gate-wheels.
    if (this.robot.supervisor.coastTicks > 0 || this.#options.estop !== undefined) return;
    if (this.robot.joints.some(({ command }) => command === "velocity")) return;
    const { provoke } = this.#options;
    const isWild = provoke?.by === "sensor" && provoke.fault.startsWith("noise");
    this.#checker.check(
      sent.map(({ command }) => command),
      {
        tick,
        nowNs,
        seenNs: this.senses.seenNs,
        isStopped: false,
        isStart: this.#started === tick,
        stoppedTick: -1,
        decidedTick: tick,
        positionRad: this.body.positionRad,
        readingRadMax: isWild || provoke?.by === "device" ? Infinity : 0.02,
      },
    );
  }
  #started = -1;

  #send(command: CommandView): void {
    const jointCount = this.robot.joints.length;
    const copy = new CommandView(new Float64Array(commandSlotCount(jointCount)), jointCount);
    copy.copyFrom(command);
    this.sent.push({ nowNs: this.#nowNs, command: copy });
    if (!this.body.isSilent) this.body.send(command); // a pulled cable takes nothing either way
  }

  #takeCue(): OperatorCue {
    const { provoke } = this.#options;
    const isCue = provoke?.by === "cue" || provoke?.by === "exit";
    if (isCue && !this.#cueTaken && this.#nowNs >= TROUBLE_NS) {
      this.#cueTaken = true;
      this.causeNs = this.#nowNs - this.phaseNs;
      return provoke.by === "cue" ? provoke.cue : OperatorCue.PolicyLost;
    }
    const cue = this.cues.shift() ?? OperatorCue.None;
    if (cue === OperatorCue.Start) this.#started = this.core.tick;
    return cue;
  }

  /** The machine sleeps once, between two ticks. */
  #suspendedNs(): Duration {
    const sleeps = this.#options.provoke?.by === "suspend" && this.#nowNs >= TROUBLE_NS;
    if (sleeps && Number.isNaN(this.causeNs)) this.causeNs = this.#nowNs - this.phaseNs;
    return duration(sleeps ? 2 * SUSPEND_NS_MAX : 0);
  }

  /** Its world has run as far as its samples tell, and catches up when the trouble is over. */
  #worldNs(): Instant {
    if (!this.#isWorldLate) return NO_WORLD;
    return instant(isWithin(this.#span, this.#nowNs) ? this.senses.goodNs[0]! : this.#nowNs);
  }

  /** A thread that ends or stands decides nothing more; one that has ended never comes back. */
  #policyTrouble(): [PolicyTrouble | undefined, Span] {
    const { provoke } = this.#options;
    const span = this.#span;
    if (provoke?.by === "policy") return [provoke.trouble, span];
    if (provoke?.by === "exit") return ["silent", { ...span, untilNs: Infinity }];
    const hangs = provoke?.by === "thread" && provoke.thread === "policy";
    return hangs ? ["silent", { ...span, fromNs: this.#stoodNs }] : [undefined, span];
  }

  /** When a thread stands. The monitor looks every 20 ticks: the phases spread over that. */
  get #stoodNs(): number {
    return TROUBLE_NS + (this.#options.phaseIndex / PHASE_COUNT) * 20 * PERIOD_NS;
  }

  /** Every thread turns once a period, but for the one that stands. */
  #aliveCount(index: number): number {
    const { provoke } = this.#options;
    const turns = Math.floor(this.#nowNs / PERIOD_NS) + 1;
    if (provoke?.by !== "thread" || index !== ThreadSlot[provoke.thread]) return turns;
    this.causeNs = this.#stoodNs;
    const stoodTurns = Math.floor(this.causeNs / PERIOD_NS) + 1;
    return this.#nowNs < this.#span.untilNs ? Math.min(turns, stoodTurns) : turns;
  }

  /** What a thread says of itself, from one moment between two ticks to another. */
  #reported(index: number): number {
    const { provoke } = this.#options;
    if (provoke?.by !== "report" || index !== ThreadSlot[provoke.thread]) return 0;
    if (!isWithin(this.#span, this.#nowNs)) return 0;
    if (Number.isNaN(this.causeNs)) this.causeNs = this.#nowNs - this.phaseNs;
    return 1 << provoke.fault;
  }

  /** What the tick that begins now takes; trouble begins between it and the one before. */
  #workNs(nowNs: number): number {
    const { provoke } = this.#options;
    if (provoke?.by !== "work" || !isWithin(this.#span, nowNs)) return WORK_NS;
    if (Number.isNaN(this.causeNs)) this.causeNs = nowNs - this.phaseNs;
    // From a hair above the ratio to nearly the whole period.
    const restNs = (1 - provoke.ratio) * this.phaseNs;
    return provoke.ratio * PERIOD_NS + restNs + PERIOD_NS / (PHASE_COUNT * PHASE_COUNT);
  }

  #clock(): Clock {
    return {
      nowNs: () => instant(this.#nowNs),
      sleepUntil: (dueNs: Instant) => {
        this.#nowNs += Math.max(WORK_NS, this.#workedNs);
        if (dueNs <= this.#nowNs) return;
        this.#nowNs = dueNs + this.#lateNs(dueNs);
      },
    };
  }

  #lateNs(dueNs: number): number {
    const { provoke } = this.#options;
    if (provoke?.by !== "pacer" || !isWithin(this.#span, dueNs)) return 0;
    if (this.#lateWakes === provoke.tickCount) return 0;
    this.#lateWakes += 1;
    const lateNs = provoke.lateMs * 1e6 + this.phaseNs + PERIOD_NS / PHASE_COUNT;
    if (this.#lateWakes === 1) this.causeNs = dueNs + lateNs;
    return lateNs;
  }
}
