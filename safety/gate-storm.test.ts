// The gate under a seeded storm: hostile targets, robots that lag, droop, jam and get pushed, gaps,
// stops and re-arms. The oracle reads only what left the gate, by finite differences, and has its
// own words for every limit; it never asks the gate why.
//
// A failure names its seed. Reproduce it with `SEED=42 bun test gate-storm`.

import { expect, test } from "bun:test";
import { ActionSample } from "../runtime/contracts/action-sample.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import { instant } from "../runtime/contracts/units.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import { SafetyGate } from "./gate.ts";

const TICKS = 20_000;
const DT = 0.005;
const EPSILON = 1e-7;
const seeds = Bun.env["SEED"] === undefined ? [1, 2, 3, 4, 5] : [Number(Bun.env["SEED"])];
const rates = (acceleration: number) => ({ accelerationRadPerS2: acceleration, jerkRadPerS3: 1e4 });

const arm: readonly JointProfile[] = [
  testJoint(),
  testJoint({ velocityRadPerSMax: 1.5, motion: rates(5), stop: rates(10), droopRad: 0.02 }),
  testJoint({ velocityRadPerSMax: 6, motion: rates(60), stop: rates(60), positionRadMin: -0.1 }),
];
const hostile = [Number.NaN, Number.POSITIVE_INFINITY, -1e308, 1e308, -0, 5e-324, 2, -2];

/** How far a joint goes from here until it has shed its velocity, one stop step a tick. */
function stopDistance(speed: number, stop: number): number {
  let distance = 0;
  for (let left = speed - stop * DT; left > 0; left -= stop * DT) distance += left * DT;
  return distance;
}

/** Watches one joint's commands. Throws on the first that breaks a limit. */
class JointOracle {
  readonly #joint: JointProfile;
  #low: number;
  #high: number;
  #last: number;
  #speed = 0;

  constructor(joint: JointProfile, seededRad: number) {
    this.#joint = joint;
    this.#last = seededRad;
    this.#low = Math.min(joint.positionRadMin, seededRad);
    this.#high = Math.max(joint.positionRadMax, seededRad);
  }

  /** Too far from the robot for droop to explain it. */
  lost(measuredRad: number): boolean {
    return Math.abs(this.#last - measuredRad) > this.#joint.droopRad;
  }

  /** The command may begin anew, where the robot is, only at rest. */
  reseed(measuredRad: number): void {
    this.#must(Math.abs(this.#speed) < EPSILON, "re-armed in motion");
    this.#last = measuredRad;
    this.#low = Math.min(this.#joint.positionRadMin, measuredRad);
    this.#high = Math.max(this.#joint.positionRadMax, measuredRad);
  }

  see(commandRad: number, measuredRad: number, measuredRadPerS: number, kind: number): void {
    const { motion, positionRadMax, positionRadMin, stop, velocityRadPerSMax } = this.#joint;
    const speed = (commandRad - this.#last) / DT;
    const change = speed - this.#speed;
    const motionStep = motion.accelerationRadPerS2 * DT;
    const stopStep = stop.accelerationRadPerS2 * DT;
    this.#must(Number.isFinite(commandRad), "no number");
    this.#must(commandRad >= this.#low && commandRad <= this.#high, "position");
    this.#must(Math.abs(speed) <= velocityRadPerSMax + EPSILON, "velocity");
    this.#must(Math.abs(change) <= stopStep + EPSILON, "stop acceleration");
    const room = speed > 0 ? this.#high - commandRad : commandRad - this.#low;
    const needed = stopDistance(Math.abs(speed), stop.accelerationRadPerS2);
    this.#must(needed <= room + EPSILON, "no way to stop within the position limits");
    if (kind === CommandKind.Hold) {
      const left = Math.max(0, Math.abs(this.#speed) - stopStep);
      this.#must(Math.abs(Math.abs(speed) - left) <= EPSILON, "a hold that does not brake");
      this.#must(speed * this.#speed >= -EPSILON, "a hold that turns round");
    } else {
      const lead = this.#leadRad();
      const aheadRad = commandRad - measuredRad;
      const inward = change * Math.sign(aheadRad) < 0 && Math.abs(change) >= stopStep - EPSILON;
      // Outside, it never runs away faster than the robot follows.
      const robot = Math.max(0, (measuredRadPerS || 0) * Math.sign(aheadRad));
      const returns = speed * Math.sign(aheadRad) <= robot + EPSILON;
      this.#must(Math.abs(aheadRad) <= lead + EPSILON || inward || returns, "lead");
      const forced = this.#leadForces(change, measuredRad, measuredRadPerS);
      const nearLimit = needed + Math.abs(speed) * DT * 2 + EPSILON > room;
      const wall = nearLimit || commandRad === positionRadMax || commandRad === positionRadMin;
      this.#must(Math.abs(change) <= motionStep + EPSILON || forced || wall, "acceleration");
    }
    this.#low = Math.max(this.#low, Math.min(positionRadMin, commandRad));
    this.#high = Math.min(this.#high, Math.max(positionRadMax, commandRad));
    this.#last = commandRad;
    this.#speed = speed;
  }

  /** Motion's own brake would have been too weak to stay near the robot. */
  #leadForces(change: number, measuredRad: number, measuredRadPerS: number): boolean {
    const away = -Math.sign(change);
    const room = this.#leadRad() - (this.#last - measuredRad) * away;
    const closing = this.#speed * away - Math.max(0, (measuredRadPerS || 0) * away);
    const brake = closing ** 2 / (2 * this.#joint.motion.accelerationRadPerS2);
    if (this.#speed * away * DT > room) return true; // the next tick would be outside
    return closing > 0 && brake + closing * DT * 2 > room;
  }

  #leadRad(): number {
    const { droopRad, leadNs, velocityRadPerSMax } = this.#joint;
    return velocityRadPerSMax * leadNs * 1e-9 + droopRad;
  }

  #must(fact: boolean, what: string): void {
    if (!fact) throw new Error(`${this.#joint.velocityRadPerSMax} rad/s joint: ${what}`);
  }
}

/** Where the next targets lie: each kind lasts a while, so that patterns build up. */
class HostilePolicy {
  readonly #random: SeededRandom;
  readonly #target = new Float64Array(arm.length);
  readonly #speed = new Float64Array(arm.length);
  #kind = 0;
  #left = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  next(values: Float64Array): void {
    const random = this.#random;
    if (this.#left <= 0) {
      this.#kind = Math.floor(random.next() * 6);
      this.#left = 1 + random.next() * 300;
      for (let joint = 0; joint < arm.length; joint += 1) {
        this.#target[joint] = random.next() * 5 - 2.5;
        this.#speed[joint] = (random.next() * 2 - 1) * 4;
      }
    }
    this.#left -= 1;
    for (let joint = 0; joint < arm.length; joint += 1) {
      const noise = random.next() * 2 - 1;
      if (this.#kind === 1) this.#target[joint]! += this.#speed[joint]! * DT;
      if (this.#kind === 2) this.#target[joint] = noise * 3;
      if (this.#kind === 3) this.#target[joint]! += noise * 0.02;
      if (this.#kind === 4) this.#target[joint] = arm[joint]!.positionRadMax + noise * 1e-3;
      values[joint] = this.#target[joint]!;
    }
    if (this.#kind === 5 && random.next() < 0.2) {
      const joint = Math.floor(random.next() * arm.length);
      values[joint] = hostile[Math.floor(random.next() * hostile.length)]!;
    }
  }
}

/** Lags by a servo, droops, jams for a while, and is pushed now and then. */
function moveRobot(
  state: ReturnType<typeof testState>,
  command: Float64Array,
  world: SeededRandom,
) {
  const jammed = state.record[StateSlot.tick]! % 4_000 > 3_600;
  for (let joint = 0; joint < arm.length; joint += 1) {
    const before = state.positionRad[joint]!;
    const droop = arm[joint]!.droopRad * 0.5;
    const speed = jammed ? 0 : (command[joint]! - droop - before) / 0.03;
    state.positionRad[joint] = before + speed * DT + (world.next() - 0.5) * 1e-4;
    state.velocityRadPerS[joint] = speed + (world.next() - 0.5) * 0.1;
    if (world.next() < 1e-3) state.positionRad[joint]! += world.next() - 0.5;
    if (world.next() < 1e-3) state.velocityRadPerS[joint] = Number.NaN;
  }
}

function storm(seed: number) {
  const random = new SeededRandom(seed);
  const profile = testProfile(arm);
  const gate = new SafetyGate(profile, 1);
  const action = new ActionSample(arm.length);
  action.schemaFingerprint = 1;
  action.width = arm.length;
  const policy = new HostilePolicy(random);
  const state = testState(profile, [0.1, -0.2, 0.3]);
  const oracles = arm.map((joint, index) => new JointOracle(joint, state.positionRad[index]!));
  const kinds = new Float64Array(3);
  const reasons = new Set<Reason>();
  const sum = { travelRad: 0 };
  let gap = 0;
  for (let tick = 0; tick < TICKS; tick += 1) {
    const nowNs = instant(tick * profile.periodNs);
    state.record[StateSlot.stampNs] = nowNs;
    state.record[StateSlot.tick] = tick;
    if (tick > 0) moveRobot(state, gate.command, random);
    policy.next(action.values);
    action.tookOver = random.next() < 0.02;
    if (gap <= 0 && random.next() < 0.005) gap = random.next() * 80;
    gap -= 1;
    const reason = gap > 0 ? Reason.NoAction : gate.judge(action, state);
    reasons.add(reason);
    if (gate.atRest && gate.seeded && random.next() < 0.2) {
      gate.rearm(state);
      if (oracles.some((oracle, joint) => oracle.lost(state.positionRad[joint]!))) {
        for (const [joint, oracle] of oracles.entries()) oracle.reseed(state.positionRad[joint]!);
      }
    }
    const command =
      reason === Reason.Ok
        ? gate.approveMotion(action, state, tick, nowNs, Mode.Running)
        : gate.approveSafe(state, reason, tick, nowNs, Mode.Degraded);
    gate.spend(command, tick);
    kinds[command.kind]! += 1;
    for (const [joint, oracle] of oracles.entries()) {
      const { positionRad, velocityRadPerS } = state;
      const value = command.values[joint]!;
      oracle.see(value, positionRad[joint]!, velocityRadPerS[joint]!, command.kind);
      sum.travelRad += Math.abs(command.values[joint]!);
    }
  }
  return { kinds: [...kinds], reasons, trace: sum.travelRad, repairs: [...gate.repairCounts] };
}

test.each(seeds)(
  "seed %d: no command breaks a limit, and the storm replays bit for bit",
  (seed) => {
    const first = storm(seed);
    expect(first.kinds[CommandKind.None]).toBe(0);
    expect(first.kinds[CommandKind.Motion]).toBeGreaterThan(TICKS / 2);
    expect(first.kinds[CommandKind.Hold]).toBeGreaterThan(TICKS / 50);
    expect(first.reasons).toContain(Reason.NotFinite);
    expect(first.reasons).toContain(Reason.StartMismatch);
    for (const repair of first.repairs.slice(0, 4)) expect(repair).toBeGreaterThan(100);
    expect(storm(seed)).toEqual(first);
  },
);
