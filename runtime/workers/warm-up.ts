// Warm-up: runs the tick on a stand-in robot until the optimizer has done its work, before any
// device is armed. Without it the first seconds of ticks take three times as long at p99.

import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateLayout } from "../contracts/state.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import { ControlCore } from "../core/core.ts";
import { EvidenceLog } from "../core/evidence-log.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import { ALL_ALIVE } from "../record/input-log.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { controlTick } from "../core/tick.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { IdlePolicyPort } from "../policy/idle-port.ts";

/** Measured: they take 0.3 to 0.4 s; a tick takes 27 µs at first, and 5 after ten thousand. */
const WARM_UP_TICKS = 50_000;

/**
 * A core over a kinematic robot and an idle policy, already asked to start. It earns an answer in
 * each tick, which goes nowhere.
 */
export function idleCore(robot: RobotProfile, layout: StateLayout): ControlCore {
  const options = { ageNs: duration(robot.periodNs / 2), lagNs: duration(0) };
  const body = new KinematicRobot(robot, layout.sources, options);
  body.activate(instant(0));
  let started = false;
  const core = new ControlCore({
    profile: robot,
    layout,
    schemaFingerprint: commandFingerprint(robot),
    sensor: body.sensor,
    actuator: body.actuator,
    policy: new IdlePolicyPort(robot),
    cues: {
      takeCue: () => {
        if (started) return OperatorCue.None;
        started = true;
        return OperatorCue.Start;
      },
    },
    alive: ALL_ALIVE,
    ticks: new FlightRecorder(64, tickSlotCount(layout.jointCount)),
    evidence: new EvidenceLog(),
    estop: {
      beginInto: (signature, tick) => signature.begin(tick, tick, 1),
      answer: (signature) => signature.earnedAnswer(0),
    },
    deadlineIsFault: false,
  });
  core.prime(instant(0));
  return core;
}

/** Ticks an idle core until it is fast. */
export function warmUp(robot: RobotProfile, layout: StateLayout): void {
  const core = idleCore(robot, layout);
  for (let tick = 1; tick <= WARM_UP_TICKS; tick += 1) {
    controlTick(core, tickTimeNs(tick, robot.controlHz, 1));
  }
}
