// Which policy a run is asked for, and that it is there: looked at before anything is started, and
// refused at the option or at the line of the profile that names it. Whether it fits the robot
// shows when it is built.

import type { DeploymentProfile, TaskProfile } from "../contracts/profile.ts";
import { isRemote, parseDialAddress } from "../link/address.ts";
import { isOpenpi } from "../link/openpi-address.ts";
import { fieldError, loadDeployment } from "../profile/load.ts";
import { oneOf } from "../profile/problem.ts";
import type { RunPlan } from "../workers/plan.ts";
import { stateFolder } from "../workers/state-folder.ts";
import { wallTimeMs } from "../workers/system-clock.ts";
import type { CommandContext } from "./command-context.ts";
import { checkPolicyFile } from "./policy-file.ts";
import { quoted, UsageError } from "./usage.ts";

/** What was typed; `undefined` where it was not. */
type Typed = { readonly policy?: string; readonly task?: string };

/** Where a profile names a policy. */
type Place = { readonly path: string; readonly pointer: string };

/** A deployment's policy is for its own task; another task brings its own. */
export function policyOf(typed: Typed, deployment: DeploymentProfile, task: TaskProfile): string {
  return typed.policy ?? ownPolicy(typed, deployment) ?? task.defaultPolicy;
}

const ownPolicy = ({ task }: Typed, { policy }: DeploymentProfile): string | undefined =>
  task === undefined ? policy : undefined;

/** Refuses a policy that is not there. Throws UsageError, ProfileError and PairingError. */
export async function checkPolicy(
  { policy, task }: RunPlan,
  typed: Typed,
  profile: string,
  context: CommandContext,
): Promise<void> {
  if (isRemote(policy)) {
    if (!isOpenpi(policy)) await checkRemote(policy, context);
    return;
  }
  if (!(await checkPolicyFile(policy))) {
    await requireShipped(policy, () => placeOf(typed, loadDeployment(profile), task));
  }
}

/** Undefined where the option names it. */
function placeOf(typed: Typed, deployment: DeploymentProfile, task: TaskProfile) {
  if (typed.policy !== undefined) return undefined;
  return ownPolicy(typed, deployment) === undefined
    ? defaultPolicyOf(task)
    : { path: deployment.path, pointer: "/policy" };
}

export const defaultPolicyOf = ({ path }: TaskProfile): Place => ({
  path,
  pointer: "/default_policy",
});

/** Throws UsageError or ProfileError for a name that no policy has, at `place` or the option. */
export async function requireShipped(
  policy: string,
  place: () => Place | undefined,
): Promise<void> {
  const { policies } = await import("../policy/registry.ts");
  const names = policies.map(({ name }) => name);
  if (names.includes(policy)) return;
  const expected = oneOf(names, policy);
  const named = place();
  if (named !== undefined) throw fieldError(named, named.pointer, expected);
  const orPath = `${expected}, or a path to a .ts, .js or .onnx file`;
  throw new UsageError("--policy", orPath, quoted(policy));
}

/**
 * A policy on another machine: paired with it this one must be; whether it is there shows when it
 * is dialled.
 */
async function checkRemote(url: string, { user }: CommandContext): Promise<void> {
  const address = parseDialAddress(url);
  if (address === undefined) {
    throw new UsageError("--policy", "grpc://HOST:PORT", quoted(url));
  }
  if (address.isLoopback) return;
  const { needPairedHost } = await import("../link/pair-rules.ts"); // certificates load late
  const { PairStore } = await import("../link/pair-store.ts");
  needPairedHost(new PairStore(stateFolder(user.environment)), address, wallTimeMs());
}
