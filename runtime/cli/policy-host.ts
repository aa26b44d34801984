// What `holdfast host` serves: for each robot that connects, the profile and task that it names,
// and the policy in a thread of its own. A robot that is unknown here is refused by name.

import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { HostPolicyThread, spawnHostPolicy } from "../compose.ts";
import type { HostPolicy, HostPolicyEvents } from "../link/grpc-host.ts";
import { HostStatus_State } from "../link/generated/policy_pb.js";
import type { Hello, PolicyFacts } from "../link/generated/policy_pb.js";
import { LOAD_NS_MAX } from "../link/limits.ts";
import { robotNames, taskNames } from "../profile/builtin.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import type { FromHostPolicy, HostPolicyPlan } from "../workers/host-policy.worker.ts";
import { ThreadStartError } from "../workers/thread-start.ts";
import { NoteLimit } from "./note-limit.ts";
import { printable } from "./output.ts";

export type HostedPolicy = {
  /** A name of the registry, or a path; undefined for the expert of the robot's task. */
  readonly policy: string | undefined;
  /** The profile of every robot, instead of the built-in one of its name. */
  readonly robot: RobotProfile | undefined;
  /** The task of every robot, instead of the built-in one of its name. */
  readonly task: TaskProfile | undefined;
  /** What the host promises of its latency; 0: nothing. */
  readonly promiseNs: number;
};

/** Makes the policy of one robot; what comes of it is told to `events`. */
export function openHostPolicy(
  threads: HostPolicyThreads,
  { policy, robot: givenRobot, task: givenTask, promiseNs }: HostedPolicy,
  hello: Hello,
  events: HostPolicyEvents,
): HostPolicy {
  // A name, never a path: a stranger does not say which files are read here.
  const robot = givenRobot ?? (robotNames.includes(hello.robot) && loadRobot(hello.robot));
  const task = givenTask ?? (taskNames.includes(hello.taskName) && loadTask(hello.taskName));
  if (robot === false || task === false) {
    const remedy = "start the host with --robot and --task and the files that the robot runs";
    const found = `robot ${hello.robot}, task ${hello.taskName}`;
    queueMicrotask(() => events.refused("robot", "a profile that this host has", found, remedy));
    return NOTHING;
  }
  const names = robot.joints.map((joint) => joint.name).join(", ");
  if (names !== hello.jointNames.join(", ")) {
    const found = hello.jointNames.join(", ");
    const remedy = "use the same profile on both machines";
    queueMicrotask(() => events.refused("joint_names", names, found, remedy));
    return NOTHING;
  }
  const plan = { robot, task, policy: policy ?? task.defaultPolicy, promiseNs };
  return threads.take(plan, events);
}

const NOTHING: HostPolicy = {
  reset: () => undefined,
  act: () => undefined,
  close: () => undefined,
};

/** Threads whose robot has left. One that comes back finds its policy loaded and warm. */
export class HostPolicyThreads {
  readonly #idle = new Map<string, PolicyThread>();
  readonly #alive = new Set<PolicyThread>();
  readonly #spawn: typeof spawnHostPolicy;
  readonly #nowNs: () => Instant;
  readonly #note: (text: string) => void;

  /**
   * `spawn` comes from the composition root, the only place that may. `note` gets one line for a
   * person.
   */
  constructor(spawn: typeof spawnHostPolicy, nowNs: () => Instant, note: (text: string) => void) {
    this.#spawn = spawn;
    this.#nowNs = nowNs;
    this.#note = note;
  }

  take(plan: HostPolicyPlan, events: HostPolicyEvents): HostPolicy {
    const key = keyOf(plan);
    const kept = this.#idle.get(key);
    this.#idle.delete(key);
    const thread = kept !== undefined && this.#isSound(kept) ? kept : this.#start(plan);
    return thread.serve(events, () => this.#keep(key, thread));
  }

  /** Loads a policy before a robot asks, which then finds it warm. Throws ThreadStartError. */
  async preload(plan: HostPolicyPlan): Promise<PolicyFacts> {
    const thread = this.#start(plan);
    const facts = await thread.loaded();
    this.#keep(keyOf(plan), thread);
    return facts;
  }

  /**
   * Tells a person what takes long to load and what was held back, and ends what takes too long.
   * Call it every second.
   */
  step(): void {
    for (const thread of this.#alive) {
      if (thread.isOver) this.#alive.delete(thread);
      else thread.step();
    }
  }

  #start(plan: HostPolicyPlan): PolicyThread {
    const thread = new PolicyThread(plan, this.#spawn, this.#nowNs, this.#note);
    this.#alive.add(thread);
    return thread;
  }

  close(): void {
    for (const thread of this.#idle.values()) thread.end();
  }

  /** One of a kind is kept; a second robot of the same kind loads anew, and so one that hung. */
  #keep(key: string, thread: PolicyThread): void {
    if (!this.#isSound(thread)) return;
    if (this.#idle.has(key)) thread.end();
    else this.#idle.set(key, thread);
  }

  /** One that hung is ended: its robot gets another. */
  #isSound(thread: PolicyThread): boolean {
    if (thread.owesNs >= HUNG_NS) thread.end();
    return !thread.isOver;
  }
}

const keyOf = ({ robot, task }: HostPolicyPlan): string => `${robot.name} ${task.name}`;

/** An answer that takes so long may never come. */
const HUNG_NS = milliseconds(10_000);
/** A person hears of a policy that loads after so long, and again each time that doubles. */
const TELL_NS = milliseconds(2_000);

class PolicyThread {
  readonly #thread: HostPolicyThread;
  readonly #nowNs: () => Instant;
  #facts: PolicyFacts | undefined;
  #isReady = false;
  isOver = false;
  /** When the answer that it owes was asked for; meaningless while it owes none. */
  #owesSinceNs = 0;
  /** Acts asked and not answered; those of a robot that left are answered to nobody. */
  #oweCount = 0;
  #dropCount = 0;
  #events: HostPolicyEvents | undefined;
  readonly #note: (text: string) => void;
  readonly #title: string;
  readonly #startedNs: Instant;
  #tellNs: number = TELL_NS;
  #awaited: PromiseWithResolvers<PolicyFacts> | undefined;
  /** Of its acts, and they may all fail. */
  readonly #troubles: NoteLimit;
  #toldTrouble = "";

  constructor(
    plan: HostPolicyPlan,
    spawn: typeof spawnHostPolicy,
    nowNs: () => Instant,
    note: (text: string) => void,
  ) {
    this.#nowNs = nowNs;
    this.#note = note;
    this.#troubles = new NoteLimit(note);
    this.#title = `policy ${printable(plan.policy)} for ${plan.robot.name}`;
    this.#startedNs = nowNs();
    this.#thread = spawn(
      plan,
      (message) => this.#hear(message),
      (why) => this.#ended(why),
    );
  }

  /** Its facts, once it is ready. Throws ThreadStartError, and nobody else is told. */
  loaded(): Promise<PolicyFacts> {
    this.#awaited = Promise.withResolvers();
    return this.#awaited.promise;
  }

  step(): void {
    this.#troubles.tell(this.#nowNs());
    if (!this.#isReady) this.#stepLoading();
  }

  /** Tells that it loads, and ends it when it has taken too long. */
  #stepLoading(): void {
    const loadingNs = this.#nowNs() - this.#startedNs;
    const isMade = this.#facts !== undefined;
    const what = isMade ? "its first reset and act" : "its module and createPolicy";
    if (loadingNs >= LOAD_NS_MAX) {
      this.#thread.terminate();
      this.#ended(`it was not ready within ${seconds(LOAD_NS_MAX)} (${what})`);
    } else if (loadingNs >= this.#tellNs) {
      this.#tellNs *= 2;
      const limit = `given up after ${seconds(LOAD_NS_MAX)}`;
      this.#note(`${this.#title} still loads after ${seconds(loadingNs)}: ${what}; ${limit}`);
    }
  }

  /** For how long it has owed an answer. */
  get owesNs(): number {
    return this.#oweCount === 0 ? 0 : this.#nowNs() - this.#owesSinceNs;
  }

  /** Serves one robot until it leaves. */
  serve(events: HostPolicyEvents, onLeave: () => void): HostPolicy {
    this.#events = events;
    this.#toldTrouble = "";
    this.#dropCount = this.#oweCount;
    queueMicrotask(() => this.#tellFacts());
    return {
      reset: (epoch) => this.#thread.post({ kind: "reset", epoch }),
      act: (observation) => {
        if (this.#oweCount === 0) this.#owesSinceNs = this.#nowNs();
        this.#oweCount += 1;
        this.#thread.post({ kind: "act", observation });
      },
      close: () => {
        this.#events = undefined;
        onLeave();
      },
    };
  }

  end(): void {
    this.isOver = true;
    this.#thread.terminate();
  }

  #tellFacts(): void {
    if (this.#facts === undefined) {
      this.#events?.status(HostStatus_State.LOADING, "its policy");
      return;
    }
    this.#events?.made(this.#facts);
    this.#tellState();
  }

  #tellState(): void {
    const { READY, WARMING_UP } = HostStatus_State;
    if (this.#isReady) this.#events?.status(READY, "");
    else this.#events?.status(WARMING_UP, "warming up");
  }

  #tellTrouble(trouble: string): void {
    const isNew = trouble !== "" && trouble !== this.#toldTrouble;
    this.#toldTrouble = trouble;
    if (isNew) this.#troubles.note(`${trouble}; nothing was sent`, this.#nowNs());
  }

  #hear(message: FromHostPolicy): void {
    switch (message.kind) {
      case "made":
        this.#facts = message.facts;
        this.#tellFacts();
        return;
      case "ready":
        this.#isReady = true;
        this.#awaited?.resolve(this.#facts!);
        this.#awaited = undefined;
        this.#tellState();
        return;
      case "decided":
        if (this.#oweCount === 0) return; // nobody asked: not a message of ours
        this.#oweCount -= 1;
        this.#owesSinceNs = this.#nowNs();
        this.#tellTrouble(printable(message.trouble));
        if (this.#dropCount > 0) this.#dropCount -= 1;
        else this.#events?.decided(message.decision, message.trouble);
        return;
      case "threw":
        this.#note(`policy threw: ${printable(message.text)}`);
    }
  }

  #ended(why: string): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.#awaited !== undefined) {
      this.#awaited.reject(new ThreadStartError("policy", why));
      return;
    }
    this.#note(`policy ended: ${printable(why)}`);
    this.#events?.refused("policy", "a policy that runs", why, "look at the host's terminal");
  }
}

const seconds = (ns: number): string => `${Math.floor(ns / 1e9)} s`;
