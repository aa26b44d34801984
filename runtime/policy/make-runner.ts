// Makes the policy side of a run: the policy by name or path, its adapter, its latency, its runner.
// Whatever does not fit is refused here, before anything moves.

import type { PictureReader, Policy } from "../contracts/policy.ts";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import type { StateLayout } from "../contracts/state.ts";
import { ActionAdapter } from "./adapter.ts";
import { policyContext } from "./context.ts";
import type { PolicyContext } from "./context.ts";
import { EnsemblePolicy } from "./ensemble.ts";
import { LatencyModel, parseLatency } from "./latency.ts";
import { loadPolicy } from "./load-policy.ts";
import { policyKind } from "./policy-kind.ts";
import { PolicyRunner } from "./runner.ts";

export type RunnerPlan = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  /** A name of the registry, or a path to a module. */
  readonly policy: string;
  readonly seed: number;
  /** Text of `--policy-latency`. */
  readonly policyLatency: string | undefined;
};

// Latencies and the places of objects are drawn from one seed, but not from one sequence.
const LATENCY_STREAM = 2 ** 32;

/** What a policy may need of the thread that it runs in. */
export type Surroundings = {
  readonly pictures: PictureReader | undefined;
  /** Opens a policy on another machine; absent where none can be used. */
  readonly openRemote?: (url: string) => Promise<Policy>;
  /** Opens a policy from an ONNX file; absent where none can be used. */
  readonly openOnnx?: (path: string, context: PolicyContext) => Promise<Policy>;
};

/** Throws PolicyError. */
export async function makeRunner(
  plan: RunnerPlan,
  layout: StateLayout,
  surroundings: Surroundings = { pictures: undefined },
): Promise<PolicyRunner> {
  const { robot, task, seed, policyLatency } = plan;
  const context = policyContext(robot, task, layout, surroundings.pictures);
  const bare = await openPolicy(plan.policy, context, surroundings);
  const { ensembleNs, interpolation } = robot.policy;
  const policy =
    ensembleNs === undefined ? bare : new EnsemblePolicy(bare, { ensembleNs, interpolation });
  const options = {
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout,
    // The profile's rate is an upper bound: what does not divide evenly acts less often.
    everyTicks: Math.max(1, Math.ceil(robot.controlHz / robot.policy.hz)),
    requires: task.requires,
    qualityRatioMin: task.qualityRatioMin,
  };
  if (policyLatency === undefined) return new PolicyRunner(options);
  return new PolicyRunner({
    ...options,
    latency: new LatencyModel(
      parseLatency(policyLatency),
      LATENCY_STREAM + (seed % LATENCY_STREAM),
    ),
  });
}

function openPolicy(
  named: string,
  context: PolicyContext,
  { openRemote, openOnnx }: Surroundings,
): Promise<Policy> {
  const kind = policyKind(named);
  if (openRemote !== undefined && kind === "remote") return openRemote(named);
  if (openOnnx !== undefined && kind === "model") return openOnnx(named, context);
  return loadPolicy(named, context);
}
