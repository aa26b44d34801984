// CameraRenderer: turns frames of a scene into pictures: rays from the camera, a shadow map from a
// parallel light, and plain shading. No GPU and no window system; equal frames give equal bytes on
// every machine. It holds no world: it may live in any thread that is handed scene and frames.
//
// A picture is for eyes and for policies that look: it makes no claim to be a calibrated camera.

import { assert } from "../../runtime/contracts/assert.ts";
import { RayGrid } from "./ray-grid.ts";
import { FrameSlot, frameSlotCount, SHAPE_SLOTS, ShapeKind } from "./scene.ts";
import type { Scene } from "./scene.ts";
import { LIGHT, Shader } from "./shading.ts";

export type PictureOptions = {
  readonly widthPx: number;
  readonly heightPx: number;
  /** Rays per pixel and axis: 1 for a policy's camera, 2 for a picture with smooth edges. */
  readonly raysPerPixelSide: 1 | 2;
};

const IMAGE_SIDE_PX_MAX = 4_096;
// Cells of the shadow map's side: 2 to 4 mm each for a table-top arm.
const SHADOW_CELLS = 320;
// What lies farther from the base throws no shadow: it would make the map coarse for all the rest.
const SHADOW_REACH_M = 1.6;
const GAMMA_STEPS = 4_095;

export class CameraRenderer {
  readonly scene: Scene;
  readonly options: PictureOptions;
  readonly #grid: RayGrid;
  readonly #shadow = new RayGrid(SHADOW_CELLS, SHADOW_CELLS, true);
  readonly #shader: Shader;
  readonly #colour = new Float64Array(3);
  /** Linear light to a byte, square root as gamma. */
  readonly #byteOf = new Uint8Array(GAMMA_STEPS + 1);

  constructor(scene: Scene, options: PictureOptions) {
    const { widthPx, heightPx, raysPerPixelSide: side } = options;
    assert(widthPx >= 1 && widthPx <= IMAGE_SIDE_PX_MAX, "picture width is 1 to 4096");
    assert(heightPx >= 1 && heightPx <= IMAGE_SIDE_PX_MAX, "picture height is 1 to 4096");
    this.scene = scene;
    this.options = options;
    this.#grid = new RayGrid(widthPx * side, heightPx * side, false);
    this.#shader = new Shader(scene, this.#grid, this.#shadow);
    for (let step = 0; step <= GAMMA_STEPS; step += 1) {
      this.#byteOf[step] = Math.round(255 * Math.sqrt(step / GAMMA_STEPS));
    }
  }

  /** Writes rows from the top, red green blue, three bytes a pixel. Allocates nothing. */
  renderInto(rgb: Uint8Array, frame: Float64Array): void {
    const { widthPx, heightPx, raysPerPixelSide: side } = this.options;
    assert(rgb.length === widthPx * heightPx * 3, "the picture has three bytes per pixel");
    assert(frame.length === frameSlotCount(this.scene), "the frame is of this scene");
    this.#aimCamera(frame);
    this.#aimLight(frame);
    this.#grid.cast(this.scene, frame);
    this.#shadow.cast(this.scene, frame);
    const colour = this.#colour;
    const scale = GAMMA_STEPS / (side * side);
    let byte = 0;
    for (let y = 0; y < heightPx; y += 1) {
      for (let x = 0; x < widthPx; x += 1) {
        colour[0] = 0;
        colour[1] = 0;
        colour[2] = 0;
        for (let ray = 0; ray < side * side; ray += 1) {
          const column = x * side + (ray % side);
          const row = y * side + (ray >= side ? 1 : 0);
          this.#shader.addInto(colour, frame, column, row);
        }
        for (let channel = 0; channel < 3; channel += 1) {
          const light = Math.min(GAMMA_STEPS, colour[channel]! * scale);
          rgb[byte] = this.#byteOf[Math.trunc(light)]!;
          byte += 1;
        }
      }
    }
  }

  /** Rays of a pinhole at the camera, one unit of depth being a metre along its axis. */
  #aimCamera(frame: Float64Array): void {
    const { rays, columns, rows } = this.#grid;
    const half = this.scene.lensRatio;
    const pitch = (2 * half) / rows;
    const { cameraPosition, cameraMatrix } = FrameSlot;
    rays.fill(0);
    for (let axis = 0; axis < 3; axis += 1) {
      const right = frame[cameraMatrix + 3 * axis]!;
      const up = frame[cameraMatrix + 3 * axis + 1]!;
      const back = frame[cameraMatrix + 3 * axis + 2]!;
      rays[axis] = frame[cameraPosition + axis]!;
      rays[9 + axis] = -back + (up * (rows - 1) * pitch) / 2 - (right * (columns - 1) * pitch) / 2;
      rays[12 + axis] = right * pitch;
      rays[15 + axis] = -up * pitch;
    }
  }

  /** Parallel rays from the light over a square that holds every near shape but the table. */
  #aimLight(frame: Float64Array): void {
    const { kinds, sizes } = this.scene;
    let rightMin = Number.POSITIVE_INFINITY,
      rightMax = Number.NEGATIVE_INFINITY;
    let upMin = Number.POSITIVE_INFINITY,
      upMax = Number.NEGATIVE_INFINITY;
    for (let shape = 0; shape < kinds.length; shape += 1) {
      if (kinds[shape] === ShapeKind.Plane) continue;
      const slot = FrameSlot.shapes + SHAPE_SLOTS * shape;
      const x = frame[slot]!;
      const y = frame[slot + 1]!;
      const z = frame[slot + 2]!;
      if (x * x + y * y + z * z > SHADOW_REACH_M * SHADOW_REACH_M) continue;
      const reach = sizes[3 * shape]! + sizes[3 * shape + 1]! + sizes[3 * shape + 2]!;
      const right = LIGHT.right[0] * x + LIGHT.right[1] * y + LIGHT.right[2] * z;
      const up = LIGHT.up[0] * x + LIGHT.up[1] * y + LIGHT.up[2] * z;
      rightMin = Math.min(rightMin, right - reach);
      rightMax = Math.max(rightMax, right + reach);
      upMin = Math.min(upMin, up - reach);
      upMax = Math.max(upMax, up + reach);
    }
    const { rays } = this.#shadow;
    const pitch = Math.max(rightMax - rightMin, upMax - upMin, 0.1) / (SHADOW_CELLS - 1);
    rays.fill(0);
    for (let axis = 0; axis < 3; axis += 1) {
      const towards = LIGHT.towards[axis]!;
      const right = LIGHT.right[axis]!;
      const up = LIGHT.up[axis]!;
      rays[axis] = towards * LIGHT.distanceM + right * rightMin + up * upMin;
      rays[3 + axis] = right * pitch;
      rays[6 + axis] = up * pitch;
      rays[9 + axis] = -towards;
    }
  }
}
