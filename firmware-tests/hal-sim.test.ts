// SimBackend in real physics: the driver conformance suite on both actuator presets, and what only
// a simulated robot has: world time, seeds, power cuts, physics faults, truth and task episodes.

import { describe, expect, test } from "bun:test";
import { conformanceCases } from "../hal/conformance.ts";
import { ConformanceBench } from "../hal/conformance-bench.ts";
import type { ConformanceRig } from "../hal/conformance-bench.ts";
import { HalError } from "../hal/lifecycle.ts";
import { loadEngine } from "../hal/mujoco/engine.ts";
import { LifecycleState } from "../hal/robot.ts";
import { SimBackend } from "../hal/sim-backend.ts";
import { TaskTruth } from "../hal/task-judge.ts";
import type { RobotProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { loadDeployment, loadRobot, loadTask } from "../runtime/profile/load.ts";

const engine = await loadEngine();
const so101 = loadRobot("so101");
const servo = loadDeployment("so101-servo").robot;
const pickPlace = loadTask("pick_place");
const MS = 1_000_000;

function backendOf(robot: RobotProfile, task: TaskProfile = pickPlace): SimBackend {
  const sources = [...robot.sources, ...task.sources];
  return new SimBackend({ engine, robot, task, sources });
}

function rigOf(robot: RobotProfile, toleranceRad: number, backend = backendOf(robot)) {
  let isSilent = false;
  return {
    robot: backend,
    joints: robot.joints,
    sources: [...robot.sources, ...pickPlace.sources],
    periodNs: robot.periodNs,
    advanceTo: (nowNs) => {
      if (!isSilent) backend.advanceTo(nowNs);
    },
    silence: () => {
      isSilent = true;
    },
    toleranceRad,
    settleNs: duration(700 * MS),
    isSimulated: true,
    dispose: () => backend.close(),
  } satisfies ConformanceRig;
}

describe("SO-101 with stiff actuators", () => {
  test.each([...conformanceCases(() => rigOf(so101, 0.01))])("$name", ({ run }) => run());
});

describe("SO-101 with servo actuators, droop included", () => {
  test.each([...conformanceCases(() => rigOf(servo, 0.03))])("$name", ({ run }) => run());
});

