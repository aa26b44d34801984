// That a simulated run goes on from episode to episode, whatever whole number its seed is. The
// simulation is a stand-in that takes down where it is asked to put the objects. And that a robot
// which has let go is activated before it obeys again, and whom a model is blamed on.

import { expect, test } from "bun:test";
import type { SimBackend } from "../../hal/sim-backend.ts";
import type { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { LifecycleState } from "../../hal/robot.ts";
import { CommandKind, CommandSlot, CommandView, commandSlotCount } from "../contracts/command.ts";
import { Mode } from "../contracts/mode.ts";
import { SensorSnapshot } from "../contracts/sample.ts";
import { duration, instant } from "../contracts/units.ts";
import { builtinFiles } from "../profile/builtin.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { Body, makeBody } from "./body.ts";

const plan = {
  robot: loadRobot("so101"),
  task: { ...loadTask("reach"), timeLimitNs: duration(100_000_000) },
  policy: "hold",
  seed: 1,
  faults: [],
  policyLatency: undefined,
  spinTailNs: duration(0),
  isHardware: false,
  estop: undefined,
};

const commandView = (): CommandView => {
  const { length } = plan.robot.joints;
  return new CommandView(new Float64Array(commandSlotCount(length)), length);
};

/** A body whose simulation only notes the seeds that objects were placed by. */
function noting(seed: number): { body: Body; seeds: number[]; run: (mode: Mode) => void } {
  const seeds: number[] = [];
  const note = (placed: number) => void seeds.push(placed);
  const ignore = () => {};
  const sim = {
    sensor: {},
    lifecycle: { reset: note, activate: ignore },
    actuator: { send: ignore },
    advanceTo: ignore,
    truthInto: ignore,
    placeObjects: note,
  } as unknown as SimBackend;
  const body = new Body({ ...plan, seed }, sim);
  body.begin(instant(0));
  const command = commandView();
  let ticks = 0;
  const run = (mode: Mode): void => {
    ticks += 1;
    command.record[CommandSlot.mode] = mode;
    body.send(command);
    body.advanceTo(instant(ticks * 5_000_000));
  };
  return { body, seeds, run };
}

/** Seeds that the objects were placed by in the first three episodes. */
function seedsOf(seed: number): number[] {
  const { body, seeds, run } = noting(seed);
  while (body.begunCount < 3) run(Mode.Running);
  return seeds;
}

test("an episode's time passes only while the robot may move", () => {
  const { body, run } = noting(1);
  for (let tick = 0; tick < 16; tick += 1) run(Mode.Running);
  for (let tick = 0; tick < 2_000; tick += 1) {
    run(tick < 1_000 ? Mode.SafeStop : Mode.Recover);
  }
  expect([body.episodeCount, body.isEpisodeUnderWay]).toEqual([0, true]);
  for (let tick = 0; tick < 8; tick += 1) run(tick < 4 ? Mode.Degraded : Mode.Running);
  expect([body.episodeCount, body.isEpisodeUnderWay]).toEqual([1, false]);
});

test("every episode has a seed of its own, beyond the largest one too", () => {
  const largest = Number.MAX_SAFE_INTEGER;
  expect(seedsOf(7)).toEqual([7, 8, 9]);
  expect(seedsOf(largest - 1)).toEqual([largest - 1, largest, 0]);
  expect(seedsOf(largest)).toEqual([largest, 0, 1]);
});

test("what has let go is activated by the first command with torque, at where it then is", () => {
  const body = new Body(plan, undefined);
  const robot = body.robot as KinematicRobot;
  const { joints } = plan.robot;
  const snapshot = new SensorSnapshot(plan.robot.sources);
  const command = commandView();
  let nowNs = 0;
  const send = (kind: number): readonly [number, number] => {
    nowNs += 5_000_000;
    command.record[CommandSlot.kind] = kind;
    command.record[CommandSlot.expiresNs] = nowNs + 15_000_000;
    command.values.set(joints.map((joint) => joint.homeRad));
    body.send(command);
    robot.observeInto(snapshot, instant(nowNs));
    return [robot.state, robot.follower.isLimp ? 1 : 0];
  };
  const { Active, Inactive } = LifecycleState;
  body.begin(instant(0));
  expect([send(CommandKind.Hold), send(CommandKind.Hold)].at(-1)).toEqual([Active, 0]);
  expect(send(CommandKind.ZeroTorque)).toEqual([Inactive, 1]);
  expect(send(CommandKind.None)).toEqual([Inactive, 1]);
  expect(send(CommandKind.ZeroTorque)).toEqual([Inactive, 1]);
  expect(send(CommandKind.Hold)).toEqual([Active, 0]);
});

test("a power cut meanwhile is ended by the power, and by no command", () => {
  const body = new Body(plan, undefined);
  const command = commandView();
  body.begin(instant(0));
  command.record[CommandSlot.kind] = CommandKind.ZeroTorque;
  body.send(command);
  body.setPowered(false, instant(5e6));
  command.record[CommandSlot.kind] = CommandKind.Hold;
  body.send(command);
  expect(body.robot.lifecycle.state).toBe(LifecycleState.Inactive);
  body.setPowered(true, instant(10e6));
  expect(body.robot.lifecycle.state).toBe(LifecycleState.Active);
});

test("a model that cannot be built is blamed on the line that names it", async () => {
  const { robot } = plan;
  const modelXml = robot.sim!.modelXml.replace("</worldbody>", "</worldbod>");
  const run = { ...plan, robot: { ...robot, sim: { ...robot.sim!, modelXml } } };
  const lines = builtinFiles.get("profiles/so101.yaml")!.split("\n");
  const line = 1 + lines.findIndex((each) => each.startsWith("  model: "));
  const place = `profiles/so101.yaml:${line}:10: sim.model: expected a valid MJCF model, found `;
  expect(await makeBody(run).catch((error: unknown) => error)).toMatchObject({
    code: "profile_invalid",
    message: expect.stringContaining(place),
  });
});
