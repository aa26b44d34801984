// `holdfast bench core|sim`: how much faster than real time the core runs with a kinematic robot,
// and how fast the physics world steps. Best of several runs: a shared machine only ever makes them
// slower.

import { SimBackend } from "../../hal/sim-backend.ts";
import { loadEngine } from "../../hal/mujoco/engine.ts";
import { duration, instant } from "../contracts/units.ts";
import { tickTimeNs } from "../core/pacer.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { SystemClock, sessionOrigin } from "../workers/system-clock.ts";
import { buildBenchCore } from "./bench-subject.ts";

const ROUNDS = 5;
const WARM_UP_TICKS = 50_000;
const CORE_TICKS = 200_000;
const SIM_TICKS = 4_000;

export type BenchFigure = {
  readonly bench: string;
  readonly robot: string;
  /** Best of the rounds. */
  readonly callNs: number;
  readonly callHz: number;
  readonly realtimeFactor: number;
  readonly goal: string;
  readonly met: boolean;
};

export const benchClock = (): SystemClock =>
  new SystemClock(sessionOrigin(), duration(0), { stopped: false });

/** Lowest time per call of `ROUNDS` rounds, ns. */
function bestNs(count: number, round: () => void): number {
  const time = benchClock();
  let best = Infinity;
  for (let index = 0; index < ROUNDS; index += 1) {
    const fromNs = time.nowNs();
    round();
    best = Math.min(best, (time.nowNs() - fromNs) / count);
  }
  return best;
}

export function benchCore(robotName: string): BenchFigure {
  const { robot, tick } = buildBenchCore(robotName);
  for (let index = 0; index < WARM_UP_TICKS; index += 1) tick();
  const callNs = bestNs(CORE_TICKS, () => {
    for (let index = 0; index < CORE_TICKS; index += 1) tick();
  });
  const realtimeFactor = robot.periodNs / callNs;
  return {
    bench: "core",
    robot: robotName,
    callNs,
    callHz: 1e9 / callNs,
    realtimeFactor,
    goal: "at least 1000 times real time",
    met: realtimeFactor >= 1_000,
  };
}

/** Physics, sensors and task as a run has them, without a policy. */
export async function benchSim(robotName: string): Promise<BenchFigure> {
  const robot = loadRobot(robotName);
  const task = loadTask(robot.defaultTask);
  const sources = [...robot.sources, ...task.sources];
  const body = new SimBackend({ engine: await loadEngine(), robot, task, sources });
  body.advanceTo(instant(0));
  body.activate(instant(0));
  let tick = 0;
  const round = (): void => {
    for (let index = 0; index < SIM_TICKS; index += 1) {
      tick += 1;
      body.advanceTo(tickTimeNs(tick, robot.controlHz, 1));
    }
  };
  round();
  const callNs = bestNs(SIM_TICKS, round);
  body.close();
  return {
    bench: "sim",
    robot: robotName,
    callNs,
    callHz: 1e9 / callNs,
    realtimeFactor: robot.periodNs / callNs,
    goal: "at least 30 times real time",
    met: robot.periodNs / callNs >= 30,
  };
}

export function formatBench(figure: BenchFigure): string {
  const { bench, robot, callNs, callHz, realtimeFactor, goal, met } = figure;
  return [
    `bench ${bench}, ${robot}, best of ${ROUNDS} rounds`,
    `  ${(callNs / 1_000).toFixed(2)} µs a call, ${Math.round(callHz)} calls a second`,
    `  ${realtimeFactor.toFixed(0)} times real time`,
    `  goal ${goal}: ${met ? "met" : "missed"}`,
  ].join("\n");
}
