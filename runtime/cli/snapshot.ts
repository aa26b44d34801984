// One picture of a robot and its task as an episode begins: the world is built, reset with the seed
// and drawn. Nothing moves and no run is started. A robot without a simulated camera is refused.

import { encodeJpeg } from "../../hal/jpeg.ts";
import { CameraRenderer } from "../../hal/mujoco/camera.ts";
import { loadEngine } from "../../hal/mujoco/engine.ts";
import { frameSlotCount, SceneSource } from "../../hal/mujoco/scene.ts";
import { SimBackend } from "../../hal/sim-backend.ts";
import { loadDeployment, loadTask } from "../profile/load.ts";
import { requireFit } from "../profile/task-rules.ts";
import { blamingModel } from "../workers/model-blame.ts";
import { UsageError } from "./usage.ts";
import type { PictureSize } from "./usage.ts";

const JPEG_QUALITY_PERCENT = 90;

/** Bytes of a JPEG file. Throws the typed error of whatever does not fit. */
export async function drawSnapshot(
  profile: string,
  taskName: string | undefined,
  seed: number,
  size: PictureSize,
): Promise<Uint8Array> {
  const deployment = loadDeployment(profile);
  const { robot } = deployment;
  const task = loadTask(taskName ?? deployment.task);
  requireFit(robot, task);
  const camera = robot.sim?.camera;
  if (camera === undefined) {
    throw new UsageError("PROFILE", "a robot with a simulated camera", `${robot.name} without one`);
  }
  const sources = [...robot.sources, ...task.sources];
  const engine = await loadEngine();
  const parts = { engine, robot, task, sources };
  const body = await blamingModel(robot, () => new SimBackend(parts));
  try {
    body.reset(seed);
    const goal =
      task.kind === "none" ? undefined : { centreM: task.goalM, radiusM: task.goalRadiusM };
    const source = await blamingModel(robot, () => new SceneSource(body.world, camera.id, goal));
    const frame = new Float64Array(frameSlotCount(source.scene));
    source.frameInto(frame);
    const renderer = new CameraRenderer(source.scene, { ...size, raysPerPixelSide: 2 });
    const rgb = new Uint8Array(3 * size.widthPx * size.heightPx);
    renderer.renderInto(rgb, frame);
    return await encodeJpeg(rgb, size.widthPx, size.heightPx, JPEG_QUALITY_PERCENT);
  } finally {
    body.close();
  }
}
