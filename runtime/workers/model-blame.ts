// A model that cannot serve its robot is a mistake in the robot's file: the line that names the
// model is told, whoever finds it out. And the way to find it out without a run.

import { loadEngine } from "../../hal/mujoco/engine.ts";
import { MujocoModelError } from "../../hal/mujoco/model-error.ts";
import { SceneSource } from "../../hal/mujoco/scene.ts";
import { MujocoWorld } from "../../hal/mujoco/world.ts";
import type { RobotProfile } from "../contracts/profile.ts";

/** Builds what needs the model. Throws ProfileError when it is the model that does not serve. */
export async function blamingModel<Built>(robot: RobotProfile, build: () => Built): Promise<Built> {
  try {
    return build();
  } catch (error) {
    // Objects are the task's, and numbers have lines of their own.
    if (!(error instanceof MujocoModelError)) throw error;
    if (error.code === "object_name" || error.code === "parameter") throw error;
    const { element, expected, found, modelPath } = error;
    const { fieldError } = await import("../profile/load.ts"); // only for a run that cannot begin
    const wanted = element === "model" ? expected : `${expected} for ${element}`;
    throw fieldError(robot, "/sim/model", wanted, `${found} in ${modelPath}`);
  }
}

/** Builds the robot's world and what its camera sees, once, and lets both go. */
export async function checkModel(robot: RobotProfile): Promise<void> {
  const { joints, sim } = robot;
  if (sim === undefined) return;
  const engine = await loadEngine();
  const world = await blamingModel(
    robot,
    () =>
      new MujocoWorld(engine, {
        ...sim,
        jointNames: joints.map((joint) => joint.name),
        effortNmMax: joints.map((joint) => joint.effortNmMax),
        objects: [],
      }),
  );
  const { camera } = sim;
  try {
    if (camera === undefined) return;
    await blamingModel(robot, () => new SceneSource(world, camera.id, undefined));
  } finally {
    world.delete();
  }
}
