// The robot's driver thread, here for a simulated one: takes the newest command, lets the world run
// to the moment its phase was due, and publishes what the sensors saw. It has a timer of its own,
// so a hung control thread does not freeze the world: the command expires in it.

import { SceneSource, frameSlotCount } from "../../hal/mujoco/scene.ts";
import { Fault } from "../../safety/faults.ts";
import { assert } from "../contracts/assert.ts";
import { CommandView, commandSlotCount } from "../contracts/command.ts";
import { SensorSnapshot } from "../contracts/sample.ts";
import { NS_PER_MS, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { AskWord } from "../shm/ask-word.ts";
import { GRID_UNSET, ThreadSlot } from "../shm/control-words.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { makeBody } from "./body.ts";
import { blamingModel } from "./model-blame.ts";
import { RobotStatusSlot, sourcesOf, worldPhaseNs, WorldSlot } from "./plan.ts";
import { CellSampleWriter, WordStop } from "./ports.ts";
import { Supply, SupplyTrouble, supplyTroubleTexts } from "./supply.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, note, runWhenTold } from "./thread.ts";

const ROBOT_PRIORITY = 70;
/** A frame for the camera every so many cycles: 20 Hz under a 200 Hz tick. */
const CYCLES_PER_FRAME = 10;
/** How often to look whether control has published its grid. */
const GRID_POLL_NS = NS_PER_MS;

const thread = attach();
const { plan, arena, words } = thread;
const { robot, task } = plan.run;
const jointCount = robot.joints.length;
const sources = sourcesOf(plan.run);
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const body = await makeBody(plan.run);
const commands = new LatestReader(arena.cell("command"));
const command = new CommandView(new Float64Array(commandSlotCount(jointCount)), jointCount);
const snapshot = new SensorSnapshot(sources);
const samples = new CellSampleWriter(
  arena,
  sources.filter((source) => source.kind !== "image"),
);
const status = new LatestWriter(arena.cell("robot-status"));
const worlds = new LatestWriter(arena.cell("world"));
const ask = new AskWord(arena.words("camera-ask"));
const camera = robot.sim?.camera;
const goal = task.kind === "none" ? undefined : { centreM: task.goalM, radiusM: task.goalRadiusM };
const world = body.sim?.world;
const view =
  world === undefined || camera === undefined
    ? undefined
    : await blamingModel(robot, () => new SceneSource(world, camera.id, goal));
const supply =
  plan.run.estop?.enablePath === undefined ? undefined : new Supply(plan.run.estop.enablePath);
let missedBeats = 0;
let cycle = 0;
let toldFault = false;
let toldSupply = false;

function publishStatus(): void {
  const { record } = status;
  record[RobotStatusSlot.lifecycle] = body.robot.lifecycle.state;
  record[RobotStatusSlot.missedBeats] = missedBeats;
  record[RobotStatusSlot.expiredCommands] = body.sim?.expiredCommands ?? 0;
  record[RobotStatusSlot.success] = body.success ? 1 : 0;
  record[RobotStatusSlot.done] = body.judge.done ? 1 : 0;
  record[RobotStatusSlot.rewardRatio] = body.judge.rewardRatio;
  record[RobotStatusSlot.episodes] = body.begunCount;
  record[RobotStatusSlot.successes] = body.successCount;
  record[RobotStatusSlot.stepCount] = cycle;
  record[RobotStatusSlot.supplyTrouble] = supply?.trouble ?? SupplyTrouble.None;
  status.publish();
}

/** Fills a frame of the scene, in the cell's own memory, when somebody wants a picture. */
const frame = view === undefined ? undefined : frameOf(view);
function frameOf(source: SceneSource): Float64Array {
  const size = frameSlotCount(source.scene);
  assert(WorldSlot.frame + size <= worlds.record.length, "the scene fits the world cell");
  return new Float64Array(size);
}
function publishFrame(stampNs: number): void {
  if (view === undefined || frame === undefined || !ask.isAsked) return;
  view.frameInto(frame);
  worlds.record[WorldSlot.stampNs] = stampNs;
  worlds.record.set(frame, WorldSlot.frame);
  worlds.publish();
}

/** The drives go without power in this cycle; control knows it in its next tick. */
function followSupply(dueNs: Instant): void {
  if (supply === undefined) return;
  if (supply.take()) body.setPowered(supply.hasPower, dueNs);
  if (supply.trouble === SupplyTrouble.None || toldSupply) return;
  toldSupply = true;
  words.reportFaults(ThreadSlot.robot, 1 << Fault.EstopOpen);
  const why = supplyTroubleTexts[supply.trouble];
  note(`the e-stop's enable line ${plan.run.estop!.enablePath} is lost: ${why}`);
}

function runCycle(dueNs: Instant): void {
  if (commands.take()) {
    command.record.set(commands.record);
    body.send(command);
  }
  followSupply(dueNs);
  body.advanceTo(dueNs);
  body.sensor.observeInto(snapshot, clock.nowNs());
  samples.publish(snapshot);
  cycle += 1;
  if (cycle % CYCLES_PER_FRAME === 0) publishFrame(dueNs);
  publishStatus();
  if (body.sim?.fault !== undefined && !toldFault) {
    toldFault = true;
    note(body.sim.fault.message);
  }
}

runWhenTold(
  thread,
  ThreadSlot.robot,
  "hf-robot",
  ROBOT_PRIORITY,
  () => {
    while (words.gridOriginNs === GRID_UNSET && !stop.stopped) {
      clock.sleepUntil(instant(clock.nowNs() + GRID_POLL_NS));
    }
    const { periodNs } = robot;
    const originNs = words.gridOriginNs;
    let beat = 0;
    let dueNs = worldPhaseNs(originNs, beat, periodNs);
    body.begin(dueNs);
    if (supply !== undefined) body.setPowered(supply.hasPower, dueNs);
    while (!stop.stopped) {
      beat += 1;
      dueNs = worldPhaseNs(originNs, beat, periodNs);
      const missed = Math.floor((clock.nowNs() - dueNs) / periodNs);
      if (missed > 0) {
        missedBeats += missed;
        beat += missed;
        dueNs = worldPhaseNs(originNs, beat, periodNs);
      }
      clock.sleepUntil(dueNs);
      if (stop.stopped) break;
      runCycle(dueNs);
      // After its samples: whoever sees this beat finds them.
      words.publishWorldBeat(beat);
      words.beat(ThreadSlot.robot);
    }
    body.robot.lifecycle.deactivate(clock.nowNs());
    body.robot.lifecycle.close();
  },
  view?.scene,
);
