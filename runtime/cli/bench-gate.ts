// `holdfast bench gate`: what it costs to judge, watch, approve and send one command. Three kinds
// of ticks: smooth rows of a healthy policy, hostile targets, and these at reduced tool speed.
//
// The mean is of whole rounds without a clock in between; the percentiles are of single calls, each
// between two readings of the clock, whose own cost (40 to 80 ns) is in them.

import { ActionSample } from "../contracts/action-sample.ts";
import { Mode } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { StateSlot } from "../contracts/state.ts";
import { sin } from "../contracts/trig.ts";
import { NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { buildBenchCore } from "./bench-subject.ts";

const WARM_UP_ROUNDS = 2;
const ROUNDS = 5;
const CALLS = 50_000;
/** The robot of the bench follows its command like a servo of this lag. */
const LAG_S = 0.03;
/** Hostile targets keep to one pattern for so many ticks at most. */
const PATTERN_TICKS_MAX = 300;
const GOAL_NS = 2_000;

export type GateCase = {
  readonly name: string;
  /** Of the best round each: a shared machine only ever makes them slower. */
  readonly meanNs: number;
  readonly p50Ns: number;
  readonly p99Ns: number;
};

export type GateFigure = {
  readonly bench: "gate";
  readonly robot: string;
  readonly goal: string;
  /** In the smooth case. */
  readonly met: boolean;
  readonly cases: readonly GateCase[];
};

type Rows = (robot: RobotProfile) => Float64Array;

const kinds: readonly { name: string; rows: Rows; isReduced: boolean }[] = [
  { name: "smooth", rows: smoothRows, isReduced: false },
  { name: "hostile", rows: hostileRows, isReduced: false },
  { name: "hostile, reduced", rows: hostileRows, isReduced: true },
];

export function benchGate(robotName: string, nowNs: () => Instant): GateFigure {
  const cases = kinds.map(({ name, rows, isReduced }) => {
    const call = buildCall(robotName, rows, isReduced);
    const best = { meanNs: Infinity, p50Ns: Infinity, p99Ns: Infinity };
    const lengthNs = new Float64Array(CALLS);
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      const fromNs = nowNs();
      for (let index = 0; index < CALLS; index += 1) call(index);
      const meanNs = (nowNs() - fromNs) / CALLS;
      for (let index = 0; index < CALLS; index += 1) {
        const beforeNs = nowNs();
        call(index);
        lengthNs[index] = nowNs() - beforeNs;
      }
      if (round < 0) continue;
      lengthNs.sort();
      best.meanNs = Math.min(best.meanNs, meanNs);
      best.p50Ns = Math.min(best.p50Ns, lengthNs[CALLS * 0.5]!);
      best.p99Ns = Math.min(best.p99Ns, lengthNs[CALLS * 0.99]!);
    }
    return { name, ...best };
  });
  return {
    bench: "gate",
    robot: robotName,
    goal: "at most 2 µs at p99 with smooth rows",
    met: cases[0]!.p99Ns <= GOAL_NS,
    cases,
  };
}

/** One command, with a robot that follows; the row is chosen by the index. */
function buildCall(robotName: string, rows: Rows, isReduced: boolean): (index: number) => void {
  const { core, robot: profile, tick } = buildBenchCore(robotName);
  tick();
  const { gate, sink, state } = core;
  const action = new ActionSample(profile.joints.length);
  action.schemaFingerprint = commandFingerprint(profile);
  action.width = profile.joints.length;
  const targets = rows(profile);
  const share = profile.periodNs / NS_PER_S / LAG_S;
  let calls = core.tick;
  return (index) => {
    calls += 1;
    const nowNs = tickTimeNs(calls, profile.controlHz, 1);
    state.record[StateSlot.stampNs] = nowNs;
    for (let joint = 0; joint < action.values.length; joint += 1) {
      const gone = share * (gate.command[joint]! - state.positionRad[joint]!);
      state.positionRad[joint] = state.positionRad[joint]! + gone;
      state.velocityRadPerS[joint] = gone * profile.controlHz;
      action.values[joint] = targets[index * action.values.length + joint]!;
    }
    gate.reduceSpeed(isReduced);
    const reason = gate.judge(action, state);
    gate.watch(state, reason);
    sink.submit(
      reason === Reason.Ok
        ? gate.approveMotion(action, state, calls, nowNs, Mode.Running)
        : gate.approveSafe(state, reason, calls, nowNs, Mode.Degraded),
      calls,
    );
  };
}

/** Every joint swings about its middle at half of its speed, in straight lines of 20 ms. */
function smoothRows(robot: RobotProfile): Float64Array {
  const { joints, periodNs } = robot;
  const out = new Float64Array(CALLS * joints.length);
  const rowTicks = Math.max(1, Math.round(20e6 / periodNs));
  for (const [joint, limits] of joints.entries()) {
    const { positionRadMax, positionRadMin, velocityRadPerSMax } = limits;
    const middleRad = (positionRadMin + positionRadMax) / 2;
    const swingRad = (positionRadMax - positionRadMin) / 8;
    const radPerTick = ((velocityRadPerSMax / 2 / swingRad) * periodNs) / NS_PER_S;
    const atRow = (row: number) => middleRad + swingRad * sin(row * rowTicks * radPerTick);
    for (let call = 0; call < CALLS; call += 1) {
      const row = Math.floor(call / rowTicks);
      const part = (call % rowTicks) / rowTicks;
      out[call * joints.length + joint] = atRow(row) + part * (atRow(row + 1) - atRow(row));
    }
  }
  return out;
}

/** Far jumps, straight lines too fast, noise, a wall, rows held: each for a while. */
function hostileRows({ joints, periodNs }: RobotProfile): Float64Array {
  const out = new Float64Array(CALLS * joints.length);
  const random = new SeededRandom(1);
  const target = joints.map(() => 0);
  const stride = joints.map(() => 0);
  let pattern = 0;
  let left = 0;
  for (let call = 0; call < CALLS; call += 1) {
    if (left <= 0) {
      pattern = Math.floor(random.next() * 5);
      left = 1 + random.next() * PATTERN_TICKS_MAX;
      for (const [
        joint,
        { positionRadMax, positionRadMin, velocityRadPerSMax },
      ] of joints.entries()) {
        target[joint] = positionRadMin + (positionRadMax - positionRadMin) * random.next();
        const speedShare = random.next() * 3 - 1.5;
        stride[joint] = (speedShare * velocityRadPerSMax * periodNs) / NS_PER_S;
      }
    }
    left -= 1;
    for (const [joint, { positionRadMax }] of joints.entries()) {
      const noise = random.next() * 2 - 1;
      if (pattern === 1) target[joint]! += stride[joint]!;
      if (pattern === 2) target[joint] = noise * 3;
      if (pattern === 3) target[joint] = positionRadMax + noise * 1e-3;
      if (pattern === 4 && call % 4 === 0) target[joint]! += 4 * stride[joint]!;
      out[call * joints.length + joint] = target[joint]!;
    }
  }
  return out;
}

export function formatGate({ cases, goal, met, robot }: GateFigure): string {
  const us = (ns: number): string => (ns / 1_000).toFixed(2).padStart(8);
  return [
    `bench gate, ${robot}, best of ${ROUNDS} rounds of ${CALLS} commands`,
    "  µs a command        mean     p50     p99",
    ...cases.map(
      ({ name, meanNs, p50Ns, p99Ns }) =>
        `  ${name.padEnd(16)}${us(meanNs)}${us(p50Ns)}${us(p99Ns)}`,
    ),
    `  goal ${goal}: ${met ? "met" : "missed"}`,
  ].join("\n");
}
