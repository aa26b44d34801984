// The storm of the gate on joints that take a velocity: wheels, rotors, and arms of which one joint
// does. Hostile targets, gaps and a robot that follows late; the oracle sees commands, takes finite
// differences of them, and knows the limits of a stop. Where the joint is, only the robot knows.
//
// A failure names its seed. Reproduce it with `SEED=42 bun test gate-wheels`.

import { expect, test } from "bun:test";
import { ActionSample } from "../runtime/contracts/action-sample.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { instant } from "../runtime/contracts/units.ts";
import { testProfile, testState } from "../safety/fixture.ts";
import { SafetyGate } from "../safety/gate.ts";
import { noteFigure } from "./figures.ts";
import { DT, HostilePolicy, drawArm } from "./gate-hostile.ts";
import { OracleError } from "./gate-oracle.ts";

const TICKS = 500_000;
const SEED_COUNT = 5;
const seeds =
  Bun.env["SEED"] === undefined
    ? Array.from({ length: SEED_COUNT }, (_, index) => index + 1)
    : [Number(Bun.env["SEED"])];
/** Of what is missing of its speed, a wheel gains this much in a tick. */
const FOLLOW_SHARE = 0.3;
/** A wall is kept by prediction from the profile's lead: so far it may be missed. */
const WALL_RAD = 0.02;

/** Watches the commands of one velocity joint. Throws at the first that breaks a limit. */
class WheelOracle {
  readonly #joint: JointProfile;
  #velocity = 0;
  #acceleration = 0;

  constructor(joint: JointProfile) {
    this.#joint = joint;
  }

  see(velocity: number, measuredRad: number): void {
    const { name, positionRadMax, positionRadMin, stop, velocityRadPerSMax } = this.#joint;
    const acceleration = (velocity - this.#velocity) / DT;
    const jerk = (acceleration - this.#acceleration) / DT;
    // Negated, so that what is no number fails too.
    const must = (what: string, found: number, limit: number): void => {
      if (!(Math.abs(found) <= limit * (1 + 1e-6))) {
        throw new OracleError(`${name}: ${what}: ${found} after ${this.#velocity}`);
      }
    };
    must("velocity", velocity, velocityRadPerSMax);
    must("stop acceleration", acceleration, stop.accelerationRadPerS2);
    must("stop jerk", jerk, stop.jerkRadPerS3);
    must("above its wall", Math.max(0, measuredRad - positionRadMax), WALL_RAD);
    must("below its wall", Math.max(0, positionRadMin - measuredRad), WALL_RAD);
    this.#velocity = velocity;
    this.#acceleration = acceleration;
  }
}

/** Wheels that turn for ever, or joints between walls: the hostile targets are velocities. */
function drawWheels(random: SeededRandom, hasWalls: boolean): JointProfile[] {
  const rad = hasWalls ? 2 : 1e6;
  return drawArm(random).map((joint) => ({
    ...joint,
    command: "velocity",
    positionRadMin: -rad,
    positionRadMax: rad,
  }));
}

function follow(state: StateView, command: Float64Array): void {
  for (let joint = 0; joint < command.length; joint += 1) {
    const missing = command[joint]! - state.velocityRadPerS[joint]!;
    state.velocityRadPerS[joint]! += FOLLOW_SHARE * missing;
    state.positionRad[joint]! += state.velocityRadPerS[joint]! * DT;
  }
}

function storm(seed: number): Float64Array {
  const random = new SeededRandom(seed);
  const wheels = drawWheels(random, seed % 2 === 0);
  const base = testProfile(wheels, { toolParent: "base" });
  const profile = { ...base, supervisor: { ...base.supervisor, startsIn: "Running" as const } };
  const gate = new SafetyGate(profile, 1);
  const action = new ActionSample(wheels.length);
  const policy = new HostilePolicy(random, wheels);
  const state = testState(profile, [0.05, -0.05, 0.3]);
  const oracles = wheels.map((joint) => new WheelOracle(joint));
  const kinds = new Float64Array(4);
  let gap = 0;
  for (let tick = 0; tick < TICKS; tick += 1) {
    const nowNs = instant(tick * profile.periodNs);
    state.record[StateSlot.stampNs] = nowNs;
    state.record[StateSlot.tick] = tick;
    if (tick > 0) follow(state, gate.command);
    policy.next(action);
    if (gap <= 0 && random.next() < 0.005) gap = random.next() * 80;
    gap -= 1;
    const reason = gap > 0 ? Reason.StaleState : gate.judge(action, state);
    const command =
      reason === Reason.Ok
        ? gate.approveMotion(action, state, tick, nowNs, Mode.Running)
        : gate.approveSafe(state, reason, tick, nowNs, Mode.Degraded);
    gate.spend(command, tick);
    kinds[command.kind]! += 1;
    for (const [joint, oracle] of oracles.entries()) {
      oracle.see(command.values[joint]!, state.positionRad[joint]!);
    }
  }
  return kinds;
}

test.each(seeds)(
  "seed %d: no velocity that is commanded breaks a limit of a stop",
  (seed) => {
    const kinds = storm(seed);
    expect(kinds[CommandKind.Motion]).toBeGreaterThan(TICKS / 2);
    expect(kinds[CommandKind.Hold]).toBeGreaterThan(TICKS / 50);
    noteFigure({
      part: "gate storm, velocity joints",
      case: `seed ${seed}`,
      measured: "0 violations",
      limit: "velocity, stop acceleration, stop jerk, walls: 0",
      tries: `${TICKS} ticks of 3 joints`,
    });
  },
  3_600_000,
);
