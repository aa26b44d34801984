// What `--policy` names: a policy that ships, a module, a model, or one on another machine, and
// what follows from that alone. The one place that knows; it opens nothing.

import type { Anchoring, RobotProfile } from "../contracts/profile.ts";
import { isRemote } from "../link/address.ts";

export type PolicyKind = "shipped" | "module" | "model" | "remote";

/** A file has a slash or a module's ending, and no scheme. */
export function policyKind(named: string): PolicyKind {
  if (isRemote(named)) return "remote";
  const isFile = named.includes("/") || hasPolicyEnding(named);
  if (!isFile || /^[a-z]+:\/\//.test(named)) return "shipped";
  return named.endsWith(".onnx") ? "model" : "module";
}

/** True for a file that can be a policy, by its name. */
export const hasPolicyEnding = (path: string): boolean => /\.(?:[cm]?[jt]s|onnx)$/.test(path);

/** True for what `--policy` reads as a file. */
export const isPolicyPath = (named: string): boolean =>
  policyKind(named) === "module" || isOnnxPath(named);

/** True for a model: `runtime/workers/onnx-file.ts` opens it, not `load-policy.ts`. */
export const isOnnxPath = (named: string): boolean => policyKind(named) === "model";

/** The YAML beside a model: of the same name. */
export const onnxMappingPath = (path: string): string => path.replace(/\.onnx$/, ".yaml");

// What was learned, or is far away, answers a state that is over by then: its rows go on from that
// state's stamp. A script knows nothing of time, and means from now on.
const anchoringOfKind: Readonly<Record<PolicyKind, Anchoring>> = {
  shipped: "arrival",
  module: "arrival",
  model: "observation",
  remote: "observation",
};

/** Where chunks of this policy lie that name no time: as the profile says, else by its kind. */
export const anchoringOf = (robot: RobotProfile, named: string): Anchoring =>
  robot.policy.anchoring ?? anchoringOfKind[policyKind(named)];
