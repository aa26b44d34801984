// holdfast snapshot: one picture of a robot and its task at the start of an episode, as a JPEG
// file. No run is started; the world is built, reset with the seed and drawn.

import { writeFileSync } from "node:fs";
import { Option } from "commander";
import type { Command } from "commander";
import { encodeJpeg } from "../../hal/jpeg.ts";
import { CameraRenderer } from "../../hal/mujoco/camera.ts";
import { loadEngine } from "../../hal/mujoco/engine.ts";
import { frameSlotCount, SceneSource } from "../../hal/mujoco/scene.ts";
import { SimBackend } from "../../hal/sim-backend.ts";
import { loadDeployment, loadTask } from "../profile/load.ts";
import { requireFit } from "../profile/task-rules.ts";
import type { CommandContext } from "./command-context.ts";
import { codeOf } from "./runtime-folder.ts";
import { ExitCode, quoted, seedOf, sizeOf, textOf, UsageError } from "./usage.ts";
import type { PictureSize } from "./usage.ts";

const DEFAULT_SIZE: PictureSize = { widthPx: 960, heightPx: 720 };
const DEFAULT_SEED = 1;
const JPEG_QUALITY_PERCENT = 90;

const HELP = `
Examples:
  holdfast snapshot so101 --task pick_place out.jpg
  holdfast snapshot ur5e --seed 7 --size 1280x720 arm.jpg

An existing file is replaced. Exit code: 0 written, 2 bad input.`;

type Values = { readonly task?: string; readonly seed?: number; readonly size?: PictureSize };

export function addSnapshotCommand(program: Command, context: CommandContext): void {
  program
    .command("snapshot")
    .summary("draw a robot and its task into a JPEG file")
    .description("Draws a robot and its task as an episode begins.")
    .argument("<PROFILE>", "robot or deployment with a simulation and a camera")
    .argument("<OUT.jpg>", "file to write")
    .addOption(new Option("--task <NAME>", "default: the profile's").argParser(textOf("--task")))
    .addOption(new Option("--seed <N>", "places the objects").argParser(seedOf("--seed")))
    .addOption(new Option("--size <WxH>", "default: 960x720").argParser(sizeOf("--size")))
    .addHelpText("after", HELP)
    .action(async (profile: string, file: string, values: Values) => {
      if (!/\.jpe?g$/i.test(file)) throw new UsageError("OUT.jpg", "a name in .jpg", quoted(file));
      writeTo(file, await draw(profile, values));
      context.exitWith(ExitCode.Done);
    });
}

async function draw(profile: string, values: Values): Promise<Uint8Array> {
  const { robot, task: own } = loadDeployment(profile);
  const task = loadTask(values.task ?? own);
  requireFit(robot, task);
  const camera = robot.sim?.camera;
  if (camera === undefined) {
    throw new UsageError("PROFILE", "a robot with a simulated camera", `${robot.name} without one`);
  }
  const sources = [...robot.sources, ...task.sources];
  const world = new SimBackend({ engine: await loadEngine(), robot, task, sources });
  try {
    world.reset(values.seed ?? DEFAULT_SEED);
    const goal =
      task.kind === "none" ? undefined : { centreM: task.goalM, radiusM: task.goalRadiusM };
    const source = new SceneSource(world.world, camera.id, goal);
    const frame = new Float64Array(frameSlotCount(source.scene));
    source.frameInto(frame);
    const { widthPx, heightPx } = values.size ?? DEFAULT_SIZE;
    const renderer = new CameraRenderer(source.scene, { widthPx, heightPx, raysPerPixelSide: 2 });
    const rgb = new Uint8Array(3 * widthPx * heightPx);
    renderer.renderInto(rgb, frame);
    return await encodeJpeg(rgb, widthPx, heightPx, JPEG_QUALITY_PERCENT);
  } finally {
    world.close();
  }
}

function writeTo(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes);
  } catch (cause) {
    throw new UsageError("OUT.jpg", "a place to write", `${codeOf(cause)} at ${quoted(file)}`);
  }
}
