// What `--policy openpi://HOST:PORT` asks of a run: a server of this machine, a deployment that
// says how the robot looks to it, and a task that waits for the pictures which it is shown.

import type { DeploymentProfile, TaskProfile } from "../contracts/profile.ts";
import { isOpenpi, parseOpenpiAddress, tunnelHint } from "../link/openpi-address.ts";
import { builtinFiles } from "../profile/builtin.ts";
import type { RunPlan } from "../workers/plan.ts";
import { fieldError } from "../profile/load.ts";
import { quoted, UsageError } from "./usage.ts";

/** Throws UsageError and ProfileError. */
export function openpiPlan(
  policy: string,
  { openpi, name, robot }: DeploymentProfile,
  task: TaskProfile,
): Pick<RunPlan, "task" | "openpi"> {
  if (!isOpenpi(policy)) return { task };
  const address = parseOpenpiAddress(policy);
  if (address === undefined) throw new UsageError("--policy", "openpi://HOST:PORT", quoted(policy));
  if (!address.isLoopback) throw new UsageError("--policy", tunnelHint(address), quoted(policy));
  if (openpi === undefined) {
    const expected = `a deployment with a section openpi, such as ${examples().join(", ")}`;
    throw new UsageError("PROFILE", expected, `${name}, which has none`);
  }
  const shown = openpi.pictures.map(({ source }) => source);
  if (shown.length > 0 && robot.policy.pictureEncoding === "jpeg") {
    const expected = "rgb8 for an openpi server, which is sent pixels";
    throw fieldError(robot, "/policy/picture_encoding", expected);
  }
  return { openpi, task: { ...task, requires: [...new Set([...task.requires, ...shown])] } };
}

/** Names of the deployments that ship with such a section. */
function examples(): string[] {
  const withOne = [...builtinFiles].filter(([, text]) => /^openpi:/m.test(text));
  return withOne.flatMap(([path]) => /([^/]+)\.yaml$/.exec(path)?.[1] ?? []);
}
