// A lockstep run with everything in one thread, as plain as it can be: the policy acts inside
// `takeChunk`, nothing is asked ahead, nobody is served meanwhile. The oracle of the real lockstep
// run, whose policy has a thread of its own and must decide the same to the bit.

import { OperatorCue } from "../runtime/contracts/mode.ts";
import { instant } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { tickTimeNs } from "../runtime/core/pacer.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { commandFingerprint } from "../runtime/policy/adapter.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { makeRunner } from "../runtime/policy/make-runner.ts";
import { anchoringOf } from "../runtime/policy/policy-kind.ts";
import { ALL_ALIVE } from "../runtime/record/input-log.ts";
import { TraceHash } from "../runtime/record/trace-hash.ts";
import { makeBody } from "../runtime/workers/body.ts";
import { layoutOf } from "../runtime/workers/plan.ts";
import type { RunPlan } from "../runtime/workers/plan.ts";

export type OneThreadRun = {
  readonly traceHash: string;
  readonly policySafeTicks: Float64Array;
  readonly lastError: string;
};

export async function oneThreadRun(plan: RunPlan, tickCount: number): Promise<OneThreadRun> {
  const { robot } = plan;
  const { periodNs } = robot;
  const layout = layoutOf(plan);
  const runner = await makeRunner(plan, layout);
  const body = await makeBody(plan);
  const cues = [OperatorCue.Start];
  const hash = new TraceHash(robot.joints.length);
  const core = new ControlCore({
    profile: robot,
    layout,
    schemaFingerprint: commandFingerprint(robot),
    sensor: body.sensor,
    actuator: body.robot.actuator,
    policy: new LockstepPolicyPort(runner, anchoringOf(robot, plan.policy)),
    cues: { takeCue: () => cues.shift() ?? OperatorCue.None },
    alive: ALL_ALIVE,
    ticks: hash,
    evidence: new EvidenceLog(),
    deadlineIsFault: false,
  });
  body.begin(instant(-2.5 * periodNs));
  for (let look = 2; look > 0; look -= 1) {
    core.look(instant(-look * periodNs));
    body.advanceTo(instant((0.5 - look) * periodNs));
  }
  core.prime(instant(0));
  for (let tick = 0; tick < tickCount; tick += 1) {
    const nowNs = tickTimeNs(tick, robot.controlHz, 1);
    controlTick(core, nowNs);
    body.advanceTo(instant(nowNs + periodNs / 2));
    if (runner.isPending) await runner.settled();
  }
  body.robot.lifecycle.close();
  const { safeTicks, lastError } = runner;
  return {
    traceHash: hash.digest(),
    policySafeTicks: safeTicks,
    lastError,
  };
}
