// Scene: what a camera of a world could see, cut loose from the physics library. The fixed part
// (shapes, colours, lens) is plain data to hand over once; the moving part is one record of numbers
// per picture. So a picture may be made in another thread, and physics never waits for it.
//
// Shapes are the library's primitives. A mesh or a height field is refused: nothing here draws it.

import type { MjModel } from "@mujoco/mujoco";
import { assert } from "../../runtime/contracts/assert.ts";
import { MujocoModelError } from "./model-error.ts";
import type { MujocoWorld } from "./world.ts";

export const ShapeKind = {
  Plane: 0,
  Sphere: 2,
  Capsule: 3,
  Ellipsoid: 4,
  Cylinder: 5,
  Box: 6,
} as const;
export type ShapeKind = (typeof ShapeKind)[keyof typeof ShapeKind];

/** Shown in a picture and nowhere else: a disc on the table, or a clear ball in the air. */
export type GoalMarker = {
  readonly centreM: readonly [number, number, number];
  readonly radiusM: number;
};

/** The fixed part. Structured-cloneable. */
export type Scene = {
  readonly kinds: Int32Array;
  /** Half extents or radius and half length, three per shape, m. */
  readonly sizes: Float64Array;
  /** Red, green, blue, three per shape, 0 … 1 as written in the model. */
  readonly colours: Float32Array;
  /** Tangent of half the vertical field of view. */
  readonly lensRatio: number;
  readonly goal: GoalMarker | undefined;
};

/** Slots of a frame: world time ns, camera position, camera matrix, then position and matrix of
 * each shape. Matrices are row-major; a camera looks along its −z, with y up. */
export const FrameSlot = { timeNs: 0, cameraPosition: 1, cameraMatrix: 4, shapes: 13 } as const;
export const SHAPE_SLOTS = 12;
/** Shapes a scene may have: an arm has under thirty, and a table of things as many. */
export const SHAPE_COUNT_MAX = 96;
export const frameSlotCount = (scene: Scene): number =>
  FrameSlot.shapes + SHAPE_SLOTS * scene.kinds.length;

// Geoms of groups 0 to 2 are seen; those of group 3 only touch.
const SEEN_GROUP_MAX = 2;
const DEGREE_RAD = Math.PI / 180;

/** One camera's scene, and the way to fill a frame of it. */
export class SceneSource {
  readonly scene: Scene;
  readonly #world: MujocoWorld;
  readonly #camera: number;
  readonly #geoms: Int32Array;

  /** Throws `MujocoModelError` for an unknown camera or a shape that cannot be drawn. */
  constructor(world: MujocoWorld, cameraName: string, goal: GoalMarker | undefined) {
    const { engine } = world;
    const { model } = world.compiled;
    this.#world = world;
    this.#camera = engine.mj_name2id(model, engine.mjtObj.mjOBJ_CAMERA.value, cameraName);
    if (this.#camera < 0) {
      throw new MujocoModelError(
        "camera_missing",
        world.modelPath,
        `camera "${cameraName}"`,
        "a camera of the model",
        "no such camera",
      );
    }
    this.#geoms = seenGeoms(model);
    const fieldOfViewDegrees: Float64Array = model.cam_fovy;
    const lensRatio = Math.tan((fieldOfViewDegrees[this.#camera]! * DEGREE_RAD) / 2);
    this.scene = { ...shapesOf(model, this.#geoms, world.modelPath), lensRatio, goal };
  }

  /** Writes the world as it is now into a frame of `frameSlotCount(scene)` slots. */
  frameInto(frame: Float64Array): void {
    assert(frame.length === frameSlotCount(this.scene), "the frame is of this scene");
    this.#world.refreshPoses();
    const { data } = this.#world;
    const cameraPosition: Float64Array = data.cam_xpos;
    const cameraMatrix: Float64Array = data.cam_xmat;
    const position: Float64Array = data.geom_xpos;
    const matrix: Float64Array = data.geom_xmat;
    frame[FrameSlot.timeNs] = this.#world.timeNs;
    copySlots(frame, FrameSlot.cameraPosition, cameraPosition, 3 * this.#camera, 3);
    copySlots(frame, FrameSlot.cameraMatrix, cameraMatrix, 9 * this.#camera, 9);
    for (let shape = 0; shape < this.#geoms.length; shape += 1) {
      const geom = this.#geoms[shape]!;
      const slot = FrameSlot.shapes + SHAPE_SLOTS * shape;
      copySlots(frame, slot, position, 3 * geom, 3);
      copySlots(frame, slot + 3, matrix, 9 * geom, 9);
    }
  }
}

function copySlots(
  to: Float64Array,
  toSlot: number,
  from: Float64Array,
  fromSlot: number,
  count: number,
): void {
  for (let index = 0; index < count; index += 1) to[toSlot + index] = from[fromSlot + index]!;
}

function seenGeoms(model: MjModel): Int32Array {
  const group: Int32Array = model.geom_group;
  const rgba: Float32Array = model.geom_rgba;
  const seen: number[] = [];
  for (let geom = 0; geom < model.ngeom; geom += 1) {
    if (group[geom]! <= SEEN_GROUP_MAX && rgba[4 * geom + 3]! > 0) seen.push(geom);
  }
  return Int32Array.from(seen);
}

function shapesOf(
  model: MjModel,
  geoms: Int32Array,
  modelPath: string,
): Pick<Scene, "kinds" | "sizes" | "colours"> {
  if (geoms.length > SHAPE_COUNT_MAX) {
    const expected = `at most ${SHAPE_COUNT_MAX}`;
    const found = `${geoms.length}`;
    throw new MujocoModelError("shape_count", modelPath, "shapes to draw", expected, found);
  }
  const type: Int32Array = model.geom_type;
  const size: Float64Array = model.geom_size;
  const rgba: Float32Array = model.geom_rgba;
  const kinds = new Int32Array(geoms.length);
  const sizes = new Float64Array(3 * geoms.length);
  const colours = new Float32Array(3 * geoms.length);
  const drawable: readonly number[] = Object.values(ShapeKind);
  for (const [shape, geom] of geoms.entries()) {
    const kind = type[geom]!;
    if (!drawable.includes(kind)) {
      throw new MujocoModelError(
        "shape_kind",
        modelPath,
        `geom ${geom}`,
        "a primitive shape",
        `geom type ${kind}`,
      );
    }
    kinds[shape] = kind;
    for (let axis = 0; axis < 3; axis += 1) {
      sizes[3 * shape + axis] = size[3 * geom + axis]!;
      colours[3 * shape + axis] = rgba[4 * geom + axis]!;
    }
  }
  return { kinds, sizes, colours };
}
