// What `holdfast host` serves: for each robot that connects, the profile and task that it names,
// and the policy in a thread of its own. A robot that is unknown here is refused by name.

import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { milliseconds } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { HostPolicyThread, spawnHostPolicy } from "../compose.ts";
import type { HostPolicy, HostPolicyEvents } from "../link/grpc-host.ts";
import { HostStatus_State } from "../link/generated/policy_pb.js";
import type { Hello, PolicyFacts } from "../link/generated/policy_pb.js";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ProfileError } from "../profile/problem.ts";
import type { FromHostPolicy, HostPolicyPlan } from "../workers/host-policy.worker.ts";
import { NoteLimit } from "./note-limit.ts";
import { printable } from "./output.ts";

export type HostedPolicy = {
  /** A name of the registry, or a path; undefined for the expert of the robot's task. */
  readonly policy: string | undefined;
  /** A profile to use for every robot, instead of the built-in one of its name. */
  readonly robot: string | undefined;
  /** A task to use for every robot, instead of the built-in one of its name. */
  readonly task: string | undefined;
  /** What the host promises of its latency; 0: nothing. */
  readonly promiseNs: number;
};

/** Makes the policy of one robot; what comes of it is told to `events`. */
export function openHostPolicy(
  threads: HostPolicyThreads,
  { policy, robot: givenRobot, task: givenTask, promiseNs }: HostedPolicy,
  hello: Hello,
  events: HostPolicyEvents,
  note: (text: string) => void,
): HostPolicy {
  let robot: RobotProfile;
  let task: TaskProfile;
  try {
    robot = loadRobot(givenRobot ?? hello.robot);
    task = loadTask(givenTask ?? hello.taskName);
  } catch (error) {
    if (!(error instanceof ProfileError)) throw error;
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
  return threads.take(plan, events, note);
}

const NOTHING: HostPolicy = {
  reset: () => undefined,
  act: () => undefined,
  close: () => undefined,
};

/** Threads whose robot has left. One that comes back finds its policy loaded and warm. */
export class HostPolicyThreads {
  readonly #idle = new Map<string, PolicyThread>();
  readonly #spawn: typeof spawnHostPolicy;
  readonly #nowNs: () => Instant;

  /** `spawn` comes from the composition root, the only place that may. */
  constructor(spawn: typeof spawnHostPolicy, nowNs: () => Instant) {
    this.#spawn = spawn;
    this.#nowNs = nowNs;
  }

  take(plan: HostPolicyPlan, events: HostPolicyEvents, note: (text: string) => void): HostPolicy {
    const key = `${plan.robot.name} ${plan.task.name}`;
    const kept = this.#idle.get(key);
    this.#idle.delete(key);
    const thread =
      kept !== undefined && this.#isSound(kept)
        ? kept
        : new PolicyThread(plan, this.#spawn, this.#nowNs);
    return thread.serve(events, note, () => this.#keep(key, thread));
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

/** An answer that takes so long may never come. */
const HUNG_NS = milliseconds(10_000);

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
  #note: (text: string) => void = () => undefined;
  /** Of its acts, and they may all fail: each text once, one a second. */
  #troubles = new NoteLimit(() => undefined);
  #toldTrouble = "";

  constructor(plan: HostPolicyPlan, spawn: typeof spawnHostPolicy, nowNs: () => Instant) {
    this.#nowNs = nowNs;
    this.#thread = spawn(
      plan,
      (message) => this.#hear(message),
      (why) => this.#ended(why),
    );
  }

  /** For how long it has owed an answer. */
  get owesNs(): number {
    return this.#oweCount === 0 ? 0 : this.#nowNs() - this.#owesSinceNs;
  }

  /** Serves one robot until it leaves. */
  serve(events: HostPolicyEvents, note: (text: string) => void, onLeave: () => void): HostPolicy {
    this.#events = events;
    this.#note = note;
    this.#troubles = new NoteLimit(note);
    this.#toldTrouble = "";
    this.#dropCount = this.#oweCount;
    if (this.#facts !== undefined) queueMicrotask(() => this.#tellFacts());
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
    if (this.#facts === undefined) return;
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
        this.#tellState();
        return;
      case "decided":
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
    this.#note(`policy ended: ${printable(why)}`);
    this.#events?.refused("policy", "a policy that runs", why, "look at the host's terminal");
  }
}
