// What `holdfast host` serves: for each robot that connects, the profile and task that it names,
// and the policy in a thread of its own. A robot that is unknown here is refused by name.

import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { spawnHostPolicy } from "../compose.ts";
import type { HostPolicyThread } from "../compose.ts";
import type { HostPolicy, HostPolicyEvents } from "../link/grpc-host.ts";
import { HostStatus_State } from "../link/generated/policy_pb.js";
import type { Hello, Observation } from "../link/generated/policy_pb.js";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ProfileError } from "../profile/problem.ts";
import type { FromHostPolicy, HostPolicyPlan } from "../workers/host-policy.worker.ts";
import { printable } from "./output.ts";

export type HostedPolicy = {
  /** A name of the registry, or a path; undefined for the expert of the robot's task. */
  readonly policy: string | undefined;
  /** A profile to use for every robot, instead of the built-in one of its name. */
  readonly robot: string | undefined;
  /** What the host promises of its latency; 0: nothing. */
  readonly promiseNs: number;
};

/** Makes the policy of one robot; what comes of it is told to `events`. */
export function openHostPolicy(
  { policy, robot: given, promiseNs }: HostedPolicy,
  hello: Hello,
  events: HostPolicyEvents,
  note: (text: string) => void,
): HostPolicy {
  let robot: RobotProfile;
  let task: TaskProfile;
  try {
    robot = loadRobot(given ?? hello.robot);
    task = loadTask(hello.taskName);
  } catch (error) {
    if (!(error instanceof ProfileError)) throw error;
    const remedy = "start the host with --robot and the profile that the robot runs";
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
  return new ThreadPolicy(plan, events, note);
}

const NOTHING: HostPolicy = {
  reset: () => undefined,
  act: () => undefined,
  close: () => undefined,
};

class ThreadPolicy implements HostPolicy {
  readonly #thread: HostPolicyThread;
  #isClosed = false;

  constructor(plan: HostPolicyPlan, events: HostPolicyEvents, note: (text: string) => void) {
    this.#thread = spawnHostPolicy(
      plan,
      (message) => {
        if (!this.#isClosed) hear(message, events, note);
      },
      (why) => {
        if (this.#isClosed) return;
        note(`policy ended: ${printable(why)}`);
        events.refused("policy", "a policy that runs", why, "look at the host's terminal");
      },
    );
  }

  reset(epoch: number): void {
    this.#thread.post({ kind: "reset", epoch });
  }

  act(observation: Observation): void {
    this.#thread.post({ kind: "act", observation });
  }

  close(): void {
    this.#isClosed = true;
    this.#thread.terminate();
  }
}

function hear(
  message: FromHostPolicy,
  events: HostPolicyEvents,
  note: (text: string) => void,
): void {
  switch (message.kind) {
    case "made":
      events.made(message.facts);
      events.status(HostStatus_State.WARMING_UP, "warming up");
      return;
    case "ready":
      events.status(HostStatus_State.READY, "ready");
      return;
    case "decided":
      events.decided(message.decision);
      return;
    case "threw":
      note(`policy threw: ${printable(message.text)}`);
  }
}
