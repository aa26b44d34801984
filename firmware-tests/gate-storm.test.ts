// The gate under a seeded storm: hostile targets, robots that lag, droop, jam and get pushed, gaps,
// stops and re-arms, decisions of the wrong width or schema, on arms drawn anew for each seed. The
// oracle reads only what left the gate.
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
import type { StateView } from "../runtime/contracts/state.ts";
import { instant } from "../runtime/contracts/units.ts";
import { testProfile, testState } from "../safety/fixture.ts";
import { SafetyGate } from "../safety/gate.ts";
import { noteFigure } from "./figures.ts";
import { DT, HostilePolicy, drawArm } from "./gate-hostile.ts";
import { JointOracle } from "./gate-oracle.ts";

/** 10^7 together, in CI too: half a minute. */
const TICKS = 500_000;
const SEED_COUNT = 20;
const seeds =
  Bun.env["SEED"] === undefined
    ? Array.from({ length: SEED_COUNT }, (_, index) => index + 1)
    : [Number(Bun.env["SEED"])];

/** Lags by a servo, droops, jams for a while, and is pushed now and then. */
function moveRobot(
  state: StateView,
  arm: readonly JointProfile[],
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

/** A pose that no robot can have is never taken for the place where a command begins. */
function isPossible(state: StateView, arm: readonly JointProfile[]): boolean {
  return arm.every(({ positionRadMin, positionRadMax, droopRad }, joint) => {
    const rad = state.positionRad[joint]!;
    return rad >= positionRadMin - droopRad - 0.02 && rad <= positionRadMax + droopRad + 0.02;
  });
}

/** A re-arm waits for a pose that can be; then each joint that was lost begins where it is. */
function begin(oracles: JointOracle[], state: StateView, arm: readonly JointProfile[]): boolean {
  if (!isPossible(state, arm)) return false;
  for (const [joint, oracle] of oracles.entries()) {
    const rad = state.positionRad[joint]!;
    if (oracle.lost(rad)) oracle.reseed(rad);
  }
  return true;
}

function storm(seed: number) {
  const random = new SeededRandom(seed);
  const arm = drawArm(random);
  const base = testProfile(arm, { toolParent: "base" });
  const profile = { ...base, supervisor: { ...base.supervisor, startsIn: "Running" as const } };
  const gate = new SafetyGate(profile, 1);
  const action = new ActionSample(arm.length);
  const policy = new HostilePolicy(random, arm);
  const state = testState(profile, [0.05, -0.05, 0.3]);
  const oracles = arm.map((joint, index) => new JointOracle(joint, DT, state.positionRad[index]!));
  const kinds = new Float64Array(4);
  const reasons = new Set<Reason>();
  const sum = { travelRad: 0 };
  let gap = 0;
  let isRearming = false;
  for (let tick = 0; tick < TICKS; tick += 1) {
    const nowNs = instant(tick * profile.periodNs);
    state.record[StateSlot.stampNs] = nowNs;
    state.record[StateSlot.tick] = tick;
    if (tick > 0) moveRobot(state, arm, gate.command, random);
    policy.next(action);
    if (gap <= 0 && random.next() < 0.005) gap = random.next() * 80;
    gap -= 1;
    if (isRearming && gap <= 0) isRearming = !begin(oracles, state, arm);
    const reason = gap > 0 ? Reason.StaleState : gate.judge(action, state);
    reasons.add(reason);
    // As in the core, the tick of a start never moves.
    const isStart = gate.atRest && gate.seeded && random.next() < 0.2;
    if (isStart) {
      gate.rearm(state);
      isRearming = !begin(oracles, state, arm);
    }
    const isOk = reason === Reason.Ok && !isStart;
    const command = isOk
      ? gate.approveMotion(action, state, tick, nowNs, Mode.Running)
      : gate.approveSafe(state, reason, tick, nowNs, Mode.Degraded);
    gate.spend(command, tick);
    kinds[command.kind]! += 1;
    const { positionRad, velocityRadPerS } = state;
    for (let joint = 0; joint < arm.length; joint += 1) {
      const value = command.values[joint]!;
      oracles[joint]!.see(value, positionRad[joint]!, velocityRadPerS[joint]!, isOk);
      sum.travelRad += Math.abs(value);
    }
  }
  return { kinds: [...kinds], reasons, trace: sum.travelRad, repairs: [...gate.repairCounts] };
}

test.each(seeds)(
  "seed %d: no command breaks a limit, every one leaves a way to stop",
  (seed) => {
    const { kinds, reasons, repairs } = storm(seed);
    expect(kinds[CommandKind.None]).toBe(0);
    expect(kinds[CommandKind.Motion]).toBeGreaterThan(TICKS / 2);
    expect(kinds[CommandKind.Hold]).toBeGreaterThan(TICKS / 50);
    for (const reason of [Reason.NotFinite, Reason.StartMismatch, Reason.WidthMismatch]) {
      expect(reasons).toContain(reason);
    }
    for (const repair of repairs.slice(0, 5)) expect(repair).toBeGreaterThan(100);
    noteFigure({
      part: "gate storm",
      case: `seed ${seed}`,
      measured: "0 violations",
      limit: "position, velocity, acceleration, jerk, lead, a way to stop: 0",
      tries: `${TICKS} ticks of 3 joints`,
    });
  },
  3_600_000,
);

test("a storm replays bit for bit", () => {
  expect(storm(seeds[0]!)).toEqual(storm(seeds[0]!));
}, 3_600_000);
