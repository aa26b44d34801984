// Makes the policy side of a run: the policy by name or path, its adapter and its runner.

import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import type { StateLayout } from "../contracts/state.ts";
import { ActionAdapter } from "./adapter.ts";
import { policyContext } from "./context.ts";
import { HoldPolicy } from "./hold.ts";
import { PolicyRunner } from "./runner.ts";

export type RunnerPlan = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  readonly policy: string;
  readonly seed: number;
  readonly policyLatency: string | undefined;
};

export async function makeRunner(plan: RunnerPlan, layout: StateLayout): Promise<PolicyRunner> {
  const { robot, task } = plan;
  const policy = new HoldPolicy(policyContext(robot, task, layout));
  return new PolicyRunner({
    policy,
    adapter: new ActionAdapter(policy.schema, robot),
    layout,
    everyTicks: Math.max(1, Math.round(robot.controlHz / robot.policy.hz)),
    requires: task.requires,
    qualityRatioMin: task.qualityRatioMin,
  });
}
