// CommandSink: the one exit. It holds the actuator half of the robot and nobody else does; it takes
// only a command that its own gate minted, in that tick, once. Anything else ends the thread: a
// command nobody approved is our own bug, and the hardware answers those.

import type { RobotActuator } from "../hal/robot.ts";
import { assert } from "../runtime/contracts/assert.ts";
import { TickSignature } from "../runtime/contracts/tick-signature.ts";
import type { ApprovedCommand, SafetyGate } from "./gate.ts";

const SUBMIT_TOKEN = 0xa73b_09ce;

export class CommandSink {
  readonly #actuator: RobotActuator;
  readonly #gate: SafetyGate;
  readonly #signature: TickSignature;

  constructor(actuator: RobotActuator, gate: SafetyGate, signature = new TickSignature()) {
    this.#actuator = actuator;
    this.#gate = gate;
    this.#signature = signature;
  }

  /** Sends the approved command of this tick. Exactly one per tick: the gate mints no second. */
  submit(command: ApprovedCommand, tick: number): void {
    assert(command.tick === tick, "the command says the tick it is sent in");
    this.#gate.spend(command, tick);
    this.#actuator.send(command);
    this.#signature.fold(SUBMIT_TOKEN);
  }
}
