// What `holdfast host` was told to serve, looked at before it listens: a profile is loaded once,
// for every robot; a policy that ships must fit some robot and task that this host has. A file is
// loaded in a thread: for the robot and task that were named, or else without any, once, to see
// that it loads.

import { create } from "@bufbuild/protobuf";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { helloOf } from "../link/edge-messages.ts";
import { WelcomeSchema } from "../link/generated/policy_pb.js";
import type { PolicyFacts } from "../link/generated/policy_pb.js";
import { refusalOfHello, refusalOfWelcome, refusalText } from "../link/handshake.ts";
import { PROTOCOL_VERSION } from "../link/limits.ts";
import { policyContext } from "../policy/context.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { policyKind } from "../policy/policy-kind.ts";
import { createPolicy } from "../policy/registry.ts";
import { robotNames, taskNames } from "../profile/builtin.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { ProfileError } from "../profile/problem.ts";
import { requireFit } from "../profile/task-rules.ts";
import { layoutOf } from "../workers/plan.ts";
import type { HostValues } from "./host-command.ts";
import { defaultPolicyOf, requireShipped } from "./policy-choice.ts";
import { checkPolicyFile } from "./policy-file.ts";
import type { HostedPolicy, HostPolicyThreads } from "./policy-host.ts";
import { quoted, UsageError } from "./usage.ts";

type Asked = Pick<HostValues, "policy" | "robot" | "task" | "promise">;

/** Throws UsageError, ProfileError, PolicyError and ThreadStartError. */
export async function checkHosted(
  asked: Asked,
  threads: Pick<HostPolicyThreads, "preload">,
  tryFile: (path: string) => Promise<void>,
): Promise<HostedPolicy> {
  const robot = asked.robot === undefined ? undefined : loadRobot(asked.robot);
  const task = asked.task === undefined ? undefined : loadTask(asked.task);
  const hosted = { policy: asked.policy, robot, task, promiseNs: asked.promise ?? 0 };
  if (robot !== undefined && task !== undefined) requireFit(robot, task);
  const policy = asked.policy ?? task?.defaultPolicy;
  if (policy === undefined) return hosted; // whatever the task of each robot says
  const isFile = await isPolicyFile(policy, asked.policy === undefined ? task : undefined);
  if (!isFile) requireSomeFit(policy, robot, task);
  if (robot !== undefined && task !== undefined) {
    const { promiseNs } = hosted;
    requireHandshake(robot, task, await threads.preload({ robot, task, policy, promiseNs }));
  } else if (isFile) await tryFile(policy);
  return hosted;
}

/** `task` is the one that names it, where no option does. */
async function isPolicyFile(policy: string, task: TaskProfile | undefined): Promise<boolean> {
  if (policyKind(policy) === "remote") {
    const expected = "a policy of this machine: a name, or a path to a .ts, .js or .onnx file";
    throw new UsageError("--policy", expected, quoted(policy));
  }
  if (await checkPolicyFile(policy)) return true;
  await requireShipped(policy, () => (task === undefined ? undefined : defaultPolicyOf(task)));
  return false;
}

/** Robots and tasks that were not given are the built-in ones: no others are served then. */
function requireSomeFit(
  policy: string,
  givenRobot: RobotProfile | undefined,
  givenTask: TaskProfile | undefined,
): void {
  const robots =
    givenRobot === undefined ? robotNames.map((name) => loadRobot(name)) : [givenRobot];
  const tasks = givenTask === undefined ? taskNames.map((name) => loadTask(name)) : [givenTask];
  let misfit: unknown;
  for (const robot of robots) {
    for (const task of tasks) {
      try {
        requireFit(robot, task);
        createPolicy(policy, policyContext(robot, task, layoutOf({ robot, task }), undefined));
        return;
      } catch (error) {
        if (!(error instanceof PolicyError || error instanceof ProfileError)) throw error;
        misfit ??= error;
      }
    }
  }
  throw misfit;
}

/** As a robot with these profiles would say hello, and judge the welcome. */
function requireHandshake(robot: RobotProfile, task: TaskProfile, policy: PolicyFacts): void {
  const layout = layoutOf({ robot, task });
  const facts = { robot, task, layout, manifestSha256: new Uint8Array(0), runtimeVersions: {} };
  const hello = helloOf(facts, 0n);
  const welcome = create(WelcomeSchema, { protocolVersion: PROTOCOL_VERSION, policy });
  const refusal = refusalOfHello(hello, policy) ?? refusalOfWelcome(hello, welcome);
  if (refusal === undefined) return;
  throw new UsageError("--policy", `one that fits robot ${robot.name}`, refusalText(refusal));
}
