// RobotInterface, cut in halves so that authority is visible: whoever holds no actuator half cannot
// command the robot. RealRobot and SimBackend both implement it and pass `hal/conformance.ts`.

import type { CommandView } from "../runtime/contracts/command.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import type { Instant } from "../runtime/contracts/units.ts";

/** Handed to the control core. */
export interface RobotSensor {
  /** Writes what arrived since the last call; never waits. May be called in the tick. */
  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void;
}

/** Handed to CommandSink, and to nothing else. */
export interface RobotActuator {
  /** Takes one approved command. Puts nothing on a bus unless the lifecycle is `active`. */
  send(command: CommandView): void;
}

export const LifecycleState = { Inactive: 0, Active: 1, Fault: 2, Closed: 3 } as const;
export type LifecycleState = (typeof LifecycleState)[keyof typeof LifecycleState];

/** Handed to the composition root. Every call is idempotent. */
export interface RobotLifecycle {
  readonly state: LifecycleState;
  /** Valid read of every joint, goal := present, torque on. Throws a typed error otherwise. */
  activate(nowNs: Instant): void;
  /** Releases or holds, as the profile says. */
  deactivate(nowNs: Instant): void;
  /** Puts the robot at its start; a real one refuses unless it is inactive. */
  reset(seed: number): void;
  close(): void;
}

export interface RobotInterface {
  readonly sensor: RobotSensor;
  readonly actuator: RobotActuator;
  readonly lifecycle: RobotLifecycle;
}
