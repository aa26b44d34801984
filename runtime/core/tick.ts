// One control tick. Start here: this function is the whole robot, in the order data flows.
//
// It reads no clock, waits for nothing and allocates nothing. Time, samples and arrivals come in;
// exactly one approved command goes out. Live, lockstep, replay and HIL all run this function.

import { Reason } from "../contracts/reason.ts";
import type { Instant } from "../contracts/units.ts";
import type { ControlCore } from "./core.ts";

export function controlTick(core: ControlCore, nowNs: Instant): Reason {
  const { robot, snapshot, estimator, state, actions, action, gate, supervisor, sink } = core;

  // Policy → ActionBuffer. What arrives now was decided on a state published earlier.
  core.takeArrivals(nowNs);

  // Sensor → Estimator → StateContract
  robot.observeInto(snapshot, nowNs);
  estimator.estimateInto(state, snapshot, nowNs, core.machine.worldStepNs);

  // StateContract + ActionBuffer → SafetyGate. The first thing that is missing is the reason.
  let reason: Reason = supervisor.stopRequested ? Reason.Stop : state.freshness(nowNs);
  if (reason === Reason.Ok) reason = state.qualityReason(core.qualityRatioMin);
  if (reason === Reason.Ok) reason = actions.sampleInto(action, nowNs);
  if (reason === Reason.Ok) reason = gate.judge(action, state);
  supervisor.step(reason, core.watch(reason), nowNs);
  core.settle(reason, nowNs);

  // SafetyGate → CommandSink → RobotInterface
  const moves = reason === Reason.Ok && supervisor.allowsMotion && !supervisor.epochRaised;
  const command = moves
    ? gate.approveMotion(action, state, core.tick, nowNs, supervisor.mode)
    : gate.approveSafe(state, reason, core.tick, nowNs, supervisor.mode);
  sink.submit(command, core.tick);

  // StateContract → Policy, for its next decision; then the record of it all.
  core.finish(reason, command, nowNs);
  return reason;
}
