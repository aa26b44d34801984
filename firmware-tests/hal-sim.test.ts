// SimBackend in real physics: the driver conformance suite on both actuator presets, and what only
// a simulated robot has: world time, seeds, power cuts, physics faults, truth and task episodes.

import { describe, expect, test } from "bun:test";
import { conformanceCases } from "../hal/conformance.ts";
import type { ConformanceRig } from "../hal/conformance-bench.ts";
import { HalError } from "../hal/lifecycle.ts";
import { loadEngine } from "../hal/mujoco/engine.ts";
import { LifecycleState } from "../hal/robot.ts";
import { SimBackend } from "../hal/sim-backend.ts";
import { SimTaskEnv } from "../hal/task-env.ts";
import { TaskTruth } from "../hal/task-judge.ts";
import {
  CommandKind,
  CommandSlot,
  CommandView,
  commandSlotCount,
} from "../runtime/contracts/command.ts";
import type { RobotProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { StateLayout, StateSlot, StateView } from "../runtime/contracts/state.ts";
import type { Transition } from "../runtime/contracts/task.ts";
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

/** A backend of its own clock: cycles of 5 ms from `startMs`, with what came of them. */
class Session {
  readonly backend: SimBackend;
  readonly snapshot: SensorSnapshot;
  readonly truth: TaskTruth;
  readonly command: CommandView;
  readonly stampsMs: number[][];
  nowMs: number;

  constructor(robot = so101, task = pickPlace, startMs = 0) {
    this.backend = backendOf(robot, task);
    this.snapshot = new SensorSnapshot([...robot.sources, ...task.sources]);
    this.truth = new TaskTruth(robot.joints.length, task.objects.length);
    const jointCount = robot.joints.length;
    this.command = new CommandView(new Float64Array(commandSlotCount(jointCount)), jointCount);
    this.stampsMs = this.snapshot.sources.map(() => []);
    this.nowMs = startMs;
    this.backend.advanceTo(instant(startMs * MS));
  }

  cycle(count = 1): void {
    for (let index = 0; index < count; index += 1) {
      this.nowMs += 5;
      const nowNs = instant(this.nowMs * MS);
      this.backend.advanceTo(nowNs);
      this.backend.observeInto(this.snapshot, nowNs);
      for (const [source, arrived] of this.snapshot.arrived.entries()) {
        if (arrived === 1) {
          this.stampsMs[source]?.push(this.snapshot.samples[source]!.sensorStampNs / MS);
        }
      }
    }
  }

  send(valuesRad: ArrayLike<number>, validMs: number): void {
    this.command.values.set(valuesRad);
    this.command.record[CommandSlot.kind] = CommandKind.Motion;
    this.command.record[CommandSlot.expiresNs] = (this.nowMs + validMs) * MS;
    this.backend.send(this.command);
  }

  positions(): number[] {
    this.backend.truthInto(this.truth);
    return [...this.truth.positionRad];
  }
}

const homeRad = so101.joints.map((joint) => joint.homeRad);

test("samples are stamped with physics time, at each source's own rate", () => {
  const session = new Session(so101, pickPlace, 1_000);
  session.cycle(41);
  const [joints, cube] = session.stampsMs;
  expect(joints).toEqual(Array.from({ length: 41 }, (_, index) => 1_005 + 5 * index));
  // At once, then at every 50 ms of its world, which began at 1,000.
  expect(cube).toEqual([1_005, 1_050, 1_100, 1_150, 1_200]);
});

test("physics runs in whole steps and never ahead of the time it is told", () => {
  const { backend } = new Session();
  const times = [1, 2, 2.5, 4.9, 5, 5, 12.4].map((ms) => {
    backend.advanceTo(instant(ms * MS));
    return backend.worldNs / MS;
  });
  expect(times).toEqual([0, 0, 2.5, 2.5, 5, 5, 10]);
});

test("a world that is far behind skips the time instead of catching up, and counts it", () => {
  const session = new Session();
  session.cycle();
  session.backend.advanceTo(instant(1_005 * MS)); // a second behind is caught up
  expect([session.backend.worldNs / MS, session.backend.skippedNs / MS]).toEqual([1_005, 0]);
  session.nowMs = 60_001;
  session.cycle();
  expect([session.backend.worldNs / MS, session.backend.skippedNs / MS]).toEqual([1_005, 59_000]);
  session.cycle();
  expect(session.backend.worldNs / MS).toBe(1_010);
  expect(session.stampsMs[0]!.slice(-2)).toEqual([60_005, 60_010]);
});

test("session time goes on across a reset, world time starts again", () => {
  const session = new Session();
  session.cycle(3);
  session.backend.reset(7);
  session.cycle(2);
  expect(session.stampsMs[0]).toEqual([5, 10, 15, 20, 25]);
  expect(session.backend.worldNs / MS).toBe(5);
  expect(session.snapshot.samples[0]!.seq).toBe(5);
});

test("a seed decides where the cube is, and the locator says so", () => {
  const poses = [3, 3, 4].map((seed) => {
    const session = new Session();
    session.backend.reset(seed);
    session.cycle();
    session.backend.truthInto(session.truth);
    expect([...session.snapshot.samples[1]!.payload]).toEqual([...session.truth.objectPoses]);
    return [...session.truth.objectPoses];
  });
  expect(poses[1]).toEqual(poses[0]!);
  expect(poses[2]).not.toEqual(poses[0]!);
  const [x = 0, y = 0, z = 0] = poses[0]!;
  const radiusM = Math.hypot(x, y);
  expect(radiusM > 0.18 && radiusM < 0.27).toBe(true);
  expect(Math.abs(z - 0.015)).toBeLessThan(0.001);
});

test("equal seeds and commands give equal bits", () => {
  const [first, second] = [0, 1].map(() => {
    const session = new Session();
    session.backend.reset(11);
    session.cycle();
    session.backend.activate(instant(session.nowMs * MS));
    for (let tick = 0; tick < 200; tick += 1) {
      session.send(
        homeRad.map((rad) => rad + 0.2 * Math.sin(tick / 20)),
        15,
      );
      session.cycle();
    }
    return [...session.snapshot.samples[0]!.record, ...session.positions()];
  });
  expect(second).toEqual(first!);
});

test("a hung control does not freeze the world: its last command ends by its own expiry", () => {
  const wheeled: RobotProfile = {
    ...so101,
    joints: so101.joints.map((joint, index) =>
      index === 0 ? { ...joint, command: "velocity" } : joint,
    ),
  };
  const session = new Session(wheeled);
  session.cycle();
  session.backend.activate(instant(session.nowMs * MS));
  session.send([0.5, ...homeRad.slice(1)], 200);
  session.cycle(100);
  const movedRad = session.positions()[0]!;
  expect(Math.abs(movedRad - 0.1)).toBeLessThan(0.005); // 0.5 rad/s for 0.2 s, then none
  expect(session.backend.expiredCommands).toBe(1);
});

test("a power cut lets an arm without brakes fall, until it is activated where it lies", () => {
  const session = new Session();
  session.cycle();
  const { backend } = session;
  backend.activate(instant(session.nowMs * MS));
  backend.setPowered(false);
  expect(backend.state).toBe(LifecycleState.Inactive);
  expect(() => backend.activate(instant(session.nowMs * MS))).toThrow(
    'Cannot activate on "so101": expected power at the actuators, found a power cut',
  );
  session.send(homeRad, 1_000);
  session.cycle(200);
  const lyingRad = session.positions();
  const fallenRad = Math.max(...lyingRad.map((rad, joint) => Math.abs(rad - homeRad[joint]!)));
  expect(fallenRad).toBeGreaterThan(0.3);
  backend.setPowered(true);
  session.cycle(100);
  session.send(homeRad, 1_000); // not active: not followed
  const stillRad = session.positions();
  backend.activate(instant(session.nowMs * MS));
  session.cycle(100);
  for (const [joint, rad] of session.positions().entries()) {
    expect(Math.abs(rad - stillRad[joint]!)).toBeLessThan(0.02);
  }
});

/** Active, and on its way to a pose 0.5 rad from home that is valid for ten seconds. */
function underWay(robot: RobotProfile): Session {
  const session = new Session(robot);
  session.cycle();
  session.backend.activate(instant(session.nowMs * MS));
  const goalRad = homeRad.map((rad, joint) => (joint === 0 ? rad + 0.5 : rad));
  session.send(goalRad, 10_000);
  session.cycle(5);
  expect(session.positions()[0]! - homeRad[0]!).toBeGreaterThan(0.01);
  return session;
}

test("a power cut stops an arm with brakes on its way", () => {
  const session = underWay({ ...so101, powerCut: "safe" });
  const whereRad = session.positions();
  session.backend.setPowered(false);
  session.cycle(200);
  expect(session.backend.state).toBe(LifecycleState.Inactive);
  for (const [joint, rad] of session.positions().entries()) {
    expect(Math.abs(rad - whereRad[joint]!)).toBeLessThan(0.02);
  }
});

test("deactivation stops an arm on its way, and it holds there", () => {
  const session = underWay(so101);
  const whereRad = session.positions();
  session.backend.deactivate(instant(session.nowMs * MS));
  session.cycle(200);
  for (const [joint, rad] of session.positions().entries()) {
    expect(Math.abs(rad - whereRad[joint]!)).toBeLessThan(0.02);
  }
});

test("a reset during a power cut does not put the torque back, nor does the power alone", () => {
  const session = new Session();
  session.cycle();
  session.backend.setPowered(false);
  session.backend.reset(1);
  session.cycle(100);
  expect(Math.abs(session.positions()[1]! - homeRad[1]!)).toBeGreaterThan(0.05);
  session.backend.setPowered(true);
  session.cycle(100);
  expect(session.backend.world.powered).toBe(false);
  session.backend.activate(instant(session.nowMs * MS));
  session.cycle();
  expect(session.backend.world.powered).toBe(true);
});

test("a closed backend answers every call with nothing", () => {
  const { backend, truth, snapshot } = new Session();
  for (let times = 0; times < 2; times += 1) {
    backend.close();
    backend.advanceTo(instant(1e9));
    backend.observeInto(snapshot, instant(1e9));
    backend.reset(1);
    backend.placeObjects(1);
    backend.setPowered(false);
    backend.truthInto(truth);
  }
  expect([...snapshot.arrived]).toEqual([0, 0]);
  expect(backend.state).toBe(LifecycleState.Closed);
});

test("a new episode puts the cube elsewhere and leaves the arm where it is", () => {
  const session = underWay(so101);
  const whereRad = session.positions();
  const cubes = [1, 2, 1].map((seed) => {
    session.backend.placeObjects(seed);
    session.backend.truthInto(session.truth);
    return [...session.truth.objectPoses];
  });
  expect(cubes[2]).toEqual(cubes[0]!);
  expect(cubes[1]).not.toEqual(cubes[0]!);
  expect(session.positions()).toEqual(whereRad);
});

test("a command of zero torque lets go, and nothing is obeyed until it is activated again", () => {
  const session = new Session();
  session.cycle();
  session.backend.activate(instant(session.nowMs * MS));
  session.send(homeRad, 1_000);
  session.command.record[CommandSlot.kind] = CommandKind.ZeroTorque;
  session.backend.send(session.command);
  session.cycle(100);
  const sagRad = Math.abs(session.positions()[1]! - homeRad[1]!);
  expect(sagRad).toBeGreaterThan(0.05);
  expect(session.backend.state).toBe(LifecycleState.Inactive);
  session.send(homeRad, 1_000);
  session.cycle(200);
  expect(session.positions()[1]! - homeRad[1]!).toBeGreaterThan(sagRad);
  session.backend.activate(instant(session.nowMs * MS));
  const present = session.positions()[1]!;
  session.cycle(20);
  expect(session.positions()[1]!).toBeCloseTo(present, 2);
  session.send(homeRad, 1_000);
  session.cycle(200);
  expect(Math.abs(session.positions()[1]! - homeRad[1]!)).toBeLessThan(0.01);
});

test("a physics fault is named, stops the samples and ends activity until a reset", () => {
  const session = new Session();
  session.cycle(2);
  const { backend } = session;
  backend.activate(instant(session.nowMs * MS));
  const thrown = Float64Array.of(Number.NaN, 0, 0.015, 0, 0, 0, 1);
  backend.world.placeObject(0, thrown, 0);
  session.cycle(3);
  expect(session.stampsMs[0]).toEqual([5, 10]);
  expect(backend.state).toBe(LifecycleState.Fault);
  expect(backend.fault).toBeInstanceOf(HalError);
  expect(backend.fault).toMatchObject({
    code: "physics_fault",
    device: "so101",
    expected: "a state that physics allows",
    found: "a position or velocity that is not finite",
  });
  expect(() => backend.activate(instant(session.nowMs * MS))).toThrow(backend.fault);
  backend.reset(1);
  session.cycle();
  expect(session.stampsMs[0]).toEqual([5, 10, 30]);
  expect(backend.state).toBe(LifecycleState.Inactive);
  expect(backend.fault).toBeUndefined();
});

test("a robot without a model, or a locator without its object, is refused by name", () => {
  const { sim: _, ...bodiless } = so101;
  expect(() => backendOf({ ...bodiless, sim: undefined })).toThrow(
    'Cannot simulate physics on "so101": expected a profile with a sim part, found none',
  );
  const sources = pickPlace.sources.map((source) => ({ ...source, id: "ball_pose" }));
  expect(() => backendOf(so101, { ...pickPlace, sources })).toThrow(
    'Cannot locate objects of "pick_place" on "so101": ' +
      'expected one of cube_pose, found a source "ball_pose"',
  );
});

test("a source that reads an unknown joint is refused by name", () => {
  const sources = so101.sources.map((source) => ({ ...source, joints: ["shoulder_pan", "elbow"] }));
  const refused = (): SimBackend => backendOf({ ...so101, sources });
  expect(refused).toThrow(
    'Cannot read source "joints" on "so101", joint "elbow": expected one of ',
  );
});

test("an episode ends with success when the cube lies on the goal, and a new one begins", () => {
  const session = new Session();
  const { backend } = session;
  const layout = new StateLayout(so101, session.snapshot.sources, "");
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  const env = new SimTaskEnv({
    world: backend,
    robot: so101,
    task: pickPlace,
    sources: session.snapshot.sources,
    estimate: (snapshot, nowNs) => {
      state.record[StateSlot.stampNs] = snapshot.samples[0]!.sensorStampNs;
      state.positionRad.set(snapshot.samples[0]!.payload.subarray(0, 6));
      expect(Number(state.stampNs)).toBe(Number(nowNs));
      return state;
    },
  });
  const step = (): Transition => {
    session.command.values.set(homeRad);
    session.command.record[CommandSlot.kind] = CommandKind.Hold;
    session.command.record[CommandSlot.expiresNs] = env.nowNs + 15 * MS;
    return env.step(session.command);
  };
  expect(env.reset(1)).toBe(state);
  for (const [joint, rad] of homeRad.entries()) {
    expect(Math.abs(state.positionRad[joint]! - rad)).toBeLessThan(0.01);
  }
  const before = step();
  expect([before.done, before.success, before.rewardRatio < 0]).toEqual([false, false, true]);
  const [x, y] = pickPlace.goalM;
  backend.world.placeObject(0, Float64Array.of(x, y, 0.015, 0, 0, 0, 1), 0);
  let last = step();
  let steps = 1;
  for (; !last.done && steps < 1_000; steps += 1) last = step();
  expect([last.success, last.rewardRatio]).toEqual([true, 1]);
  expect(steps >= 100 && steps < 140).toBe(true); // the dwell of 500 ms, and time to settle
  env.reset(2);
  expect(step()).toMatchObject({ done: false, success: false });
  expect(Number(env.nowNs)).toBe((steps + 4) * 5 * MS);
});
