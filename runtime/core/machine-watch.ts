// MachineWatch: what the machine under the run did between two ticks, and what that means. Nothing
// here reads a clock: the port's two readings are inputs of the tick, and a log keeps them.
//
// A control thread that was away, or a machine that slept, has lost the world: a person decides
// what comes next. A simulated world whose thread runs late is no broken sensor: its samples are as
// fresh as the world is, and what a tick could not see is not missing. On hardware nothing is
// explained so.

import { assert } from "../contracts/assert.ts";
import type { StateView } from "../contracts/state.ts";
import { duration, instant, NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";

/** Asked once a tick each. */
export interface MachinePort {
  /** How long the machine has been suspended since boot. */
  suspendedNs(): Duration;
  /** How far the simulated world has run; `NO_WORLD` when the robot is real or never late. */
  worldNs(): Instant;
}

/** Later than any tick, so it explains nothing. */
export const NO_WORLD: Instant = instant(Infinity);
/** A machine that neither sleeps nor is late: lockstep, and tests that are about something else. */
export const STEADY_MACHINE: MachinePort = {
  suspendedNs: () => duration(0),
  worldNs: () => NO_WORLD,
};

/**
 * A tick this long after the one before has lost the world. Six busy loops beside other work on two
 * cores, without real-time priority, held a control thread up for 360 ms at most.
 */
export const AWAY_NS_MAX = NS_PER_S;
/** A suspend longer than this is a stop with full re-activation. */
export const SUSPEND_NS_MAX = 100 * NS_PER_MS;

export class MachineWatch {
  /** The tick at hand came too long after the one before. */
  wasAway = false;
  /** The machine slept since the tick before. */
  wasSuspended = false;
  /** How far the simulated world went on since the tick before; 0 without one. */
  worldStepNs: Duration = duration(0);
  readonly #port: MachinePort;
  readonly #isHardware: boolean;
  #hasTicked = false;
  #nowNs = 0;
  #suspendedNs = 0;
  #worldNs: number = NO_WORLD;

  constructor(port: MachinePort, isHardware: boolean) {
    this.#port = port;
    this.#isHardware = isHardware;
  }

  /** Once a tick, before anything else enters it. */
  observe(nowNs: Instant): void {
    assert(!this.#hasTicked || nowNs >= this.#nowNs, "time never goes back");
    const suspendedNs = this.#port.suspendedNs();
    this.wasAway = this.#hasTicked && nowNs - this.#nowNs > AWAY_NS_MAX;
    this.wasSuspended = this.#hasTicked && suspendedNs - this.#suspendedNs > SUSPEND_NS_MAX;
    // A delayed reading is too small, so only the largest counts.
    this.#suspendedNs = Math.max(this.#suspendedNs, suspendedNs);
    this.#hasTicked = true;
    this.#nowNs = nowNs;
    this.#followWorld(this.#port.worldNs());
  }

  /** The state is stale, and yet as fresh as the simulated world allows. */
  explains(state: StateView): boolean {
    if (this.#isHardware) return false;
    const ageNs = this.#nowNs - state.stampNs;
    return ageNs >= state.validityNs && this.#worldNs - state.stampNs < state.validityNs;
  }

  #followWorld(worldNs: Instant): void {
    const before = this.#worldNs;
    // What the world did after this tick's time belongs to the next, as its samples do.
    if (worldNs <= this.#nowNs) this.#worldNs = worldNs;
    const stepNs = this.#worldNs - before;
    // A world that begins comes from nowhere: its first step is not finite.
    const isStep = stepNs > 0 && stepNs < Infinity && !this.#isHardware;
    this.worldStepNs = duration(isStep ? stepNs : 0);
  }
}
