// ObserveStage: the sensor half of the robot as a stage of the tick. It observes, and signs that it
// was asked; what came in is the sensor's alone.

import type { RobotSensor } from "../../hal/robot.ts";
import type { SensorSnapshot } from "../contracts/sample.ts";
import type { TickSignature } from "../contracts/tick-signature.ts";
import type { Instant } from "../contracts/units.ts";

const OBSERVE_TOKEN = 0x2ce8_6a53;

export class ObserveStage implements RobotSensor {
  readonly #sensor: RobotSensor;
  readonly #signature: TickSignature;

  constructor(sensor: RobotSensor, signature: TickSignature) {
    this.#sensor = sensor;
    this.#signature = signature;
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#sensor.observeInto(snapshot, nowNs);
    this.#signature.fold(OBSERVE_TOKEN);
  }
}
