// Shader: the colour of one ray's hit. A warm key light with a soft shadow, a cool sky from above,
// a little light from the table below, a sheen, a checkered table that fades into the backdrop, and
// the goal marker. Everything is in linear light, 0 … 1; the camera turns it into bytes.
//
// Uses + − × ÷ √ and comparisons only. Allocates nothing after its constructor.

import type { RayGrid } from "./ray-grid.ts";
import { NO_SHAPE } from "./ray-grid.ts";
import { FrameSlot, SHAPE_SLOTS, ShapeKind } from "./scene.ts";
import type { Scene } from "./scene.ts";

type Triple = readonly [number, number, number];

/** The key light: an orthonormal frame, `towards` pointing at the light. */
export const LIGHT: {
  readonly towards: Triple;
  readonly right: Triple;
  readonly up: Triple;
  readonly distanceM: number;
} = lightFrame([0.3, -0.42, 0.86], 5);

const KEY_LIGHT: Triple = [0.98, 0.92, 0.82];
const SKY_LIGHT: Triple = [0.3, 0.33, 0.38];
const GROUND_LIGHT: Triple = [0.13, 0.12, 0.11];
const BACKDROP_TOP: Triple = [0.36, 0.45, 0.56];
const BACKDROP_HORIZON: Triple = [0.74, 0.79, 0.84];
const GOAL_COLOUR: Triple = [0.05, 0.46, 0.18];
const CHECK_M = 0.05;
const CHECK_DARK = 0.78;
// The table fades into the backdrop between these distances from the base.
const FADE_FROM_M = 0.7;
const FADE_UNTIL_M = 2.2;
// Two and a half cells: enough to hide the map's own steps, too little to detach a shadow.
const SHADOW_BIAS_CELLS = 2.5;
const SHADOW_TAPS = 2;

function lightFrame(direction: Triple, distanceM: number) {
  const [x, y, z] = direction;
  const length = Math.sqrt(x * x + y * y + z * z);
  const towards: Triple = [x / length, y / length, z / length];
  const flat = Math.sqrt(x * x + y * y);
  const right: Triple = [-y / flat, x / flat, 0];
  const up: Triple = [
    towards[1] * right[2] - towards[2] * right[1],
    towards[2] * right[0] - towards[0] * right[2],
    towards[0] * right[1] - towards[1] * right[0],
  ];
  return { towards, right, up, distanceM };
}

export class Shader {
  readonly #scene: Scene;
  readonly #grid: RayGrid;
  readonly #shadow: RayGrid;
  /** Colours of the shapes in linear light. */
  readonly #colours: Float64Array;
  // The hit being shaded: direction, point, outward normal, base colour.
  readonly #direction = new Float64Array(3);
  readonly #point = new Float64Array(3);
  readonly #normal = new Float64Array(3);
  readonly #base = new Float64Array(3);

  constructor(scene: Scene, grid: RayGrid, shadow: RayGrid) {
    this.#scene = scene;
    this.#grid = grid;
    this.#shadow = shadow;
    this.#colours = Float64Array.from(scene.colours, (channel) => channel * channel);
  }

  /** Adds the light that the ray at this column and row brings to `colour`. */
  addInto(colour: Float64Array, frame: Float64Array, column: number, row: number): void {
    const cell = row * this.#grid.columns + column;
    const shape = this.#grid.shape[cell]!;
    const depth = this.#grid.depth[cell]!;
    const { rays } = this.#grid;
    let lengthSquared = 0;
    for (let axis = 0; axis < 3; axis += 1) {
      const step = rays[9 + axis]! + column * rays[12 + axis]! + row * rays[15 + axis]!;
      this.#direction[axis] = step;
      this.#point[axis] = rays[axis]! + depth * step;
      lengthSquared += step * step;
    }
    const length = Math.sqrt(lengthSquared);
    for (let axis = 0; axis < 3; axis += 1) this.#direction[axis]! /= length;
    if (shape === NO_SHAPE) this.#addBackdrop(colour, 1);
    else this.#addHit(colour, frame, shape, (depth * length) / this.#grid.rows);
    if (this.#scene.goal !== undefined) this.#blendGoalBall(colour, depth * length);
  }

  #addBackdrop(colour: Float64Array, share: number): void {
    const rise = Math.min(1, Math.max(0, this.#direction[2]! * 2));
    for (let channel = 0; channel < 3; channel += 1) {
      const horizon = BACKDROP_HORIZON[channel]!;
      colour[channel]! += share * (horizon + rise * (BACKDROP_TOP[channel]! - horizon));
    }
  }

  #addHit(colour: Float64Array, frame: Float64Array, shape: number, pixelM: number): void {
    const slot = FrameSlot.shapes + SHAPE_SLOTS * shape;
    const isTable = this.#scene.kinds[shape] === ShapeKind.Plane;
    for (let channel = 0; channel < 3; channel += 1) {
      this.#base[channel] = this.#colours[3 * shape + channel]!;
    }
    this.#setNormal(frame, slot, shape);
    let fade = 0;
    if (isTable) fade = this.#paintTable(frame, slot, pixelM);
    const normal = this.#normal;
    const direction = this.#direction;
    const facing =
      normal[0]! * LIGHT.towards[0] + normal[1]! * LIGHT.towards[1] + normal[2]! * LIGHT.towards[2];
    const lit = facing > 0 ? facing * this.#litRatio(normal) : 0;
    const view =
      normal[0]! * direction[0]! + normal[1]! * direction[1]! + normal[2]! * direction[2]!;
    // Light mirrored by the surface, as far as it points back at the eye.
    const mirror =
      2 * facing * view -
      (direction[0]! * LIGHT.towards[0] +
        direction[1]! * LIGHT.towards[1] +
        direction[2]! * LIGHT.towards[2]);
    const shine = isTable || lit === 0 || mirror > 0 ? 0 : sheen(-mirror) * lit;
    const up = normal[2]! * 0.5 + 0.5;
    const edge = 0.78 + 0.22 * Math.min(1, -view * 1.6);
    for (let channel = 0; channel < 3; channel += 1) {
      const ground = GROUND_LIGHT[channel]!;
      const ambient = (ground + up * (SKY_LIGHT[channel]! - ground)) * edge;
      const light = ambient + KEY_LIGHT[channel]! * lit;
      colour[channel]! += (1 - fade) * (this.#base[channel]! * light + shine * 0.22);
    }
    if (fade > 0) this.#addBackdrop(colour, fade);
  }

  /** Outward normal of the shape at the hit point, in the base frame. */
  #setNormal(frame: Float64Array, slot: number, shape: number): void {
    const { kinds, sizes } = this.#scene;
    const kind = kinds[shape]!;
    if (kind === ShapeKind.Plane) {
      this.#normal[0] = frame[slot + 5]!;
      this.#normal[1] = frame[slot + 8]!;
      this.#normal[2] = frame[slot + 11]!;
      return;
    }
    const sizeX = sizes[3 * shape]!,
      sizeY = sizes[3 * shape + 1]!,
      sizeZ = sizes[3 * shape + 2]!;
    const px = this.#point[0]! - frame[slot]!;
    const py = this.#point[1]! - frame[slot + 1]!;
    const pz = this.#point[2]! - frame[slot + 2]!;
    let x = frame[slot + 3]! * px + frame[slot + 6]! * py + frame[slot + 9]! * pz;
    let y = frame[slot + 4]! * px + frame[slot + 7]! * py + frame[slot + 10]! * pz;
    let z = frame[slot + 5]! * px + frame[slot + 8]! * py + frame[slot + 11]! * pz;
    if (kind === ShapeKind.Box) {
      const ax = Math.abs(x) / sizeX,
        ay = Math.abs(y) / sizeY,
        az = Math.abs(z) / sizeZ;
      const isX = ax >= ay && ax >= az;
      const isY = !isX && ay >= az;
      x = isX ? x : 0;
      y = isY ? y : 0;
      z = isX || isY ? 0 : z;
    } else if (kind === ShapeKind.Cylinder) {
      const isEnd = Math.abs(z) / sizeY > Math.sqrt(x * x + y * y) / sizeX;
      x = isEnd ? 0 : x;
      y = isEnd ? 0 : y;
      z = isEnd ? z : 0;
    } else if (kind === ShapeKind.Capsule) {
      z -= Math.max(-sizeY, Math.min(sizeY, z));
    } else if (kind === ShapeKind.Ellipsoid) {
      x /= sizeX * sizeX;
      y /= sizeY * sizeY;
      z /= sizeZ * sizeZ;
    }
    const scale = 1 / Math.sqrt(x * x + y * y + z * z);
    for (let axis = 0; axis < 3; axis += 1) {
      const row = slot + 3 + 3 * axis;
      this.#normal[axis] = (frame[row]! * x + frame[row + 1]! * y + frame[row + 2]! * z) * scale;
    }
  }

  /** Paints checks and a goal disc on the base colour. Returns how far it has faded away, 0 … 1. */
  #paintTable(frame: Float64Array, slot: number, pixelM: number): number {
    const px = this.#point[0]! - frame[slot]!;
    const py = this.#point[1]! - frame[slot + 1]!;
    // Edges as wide as a pixel's footprint, which a low view stretches.
    const blurM = Math.max(1e-4, pixelM / Math.max(0.15, -this.#direction[2]!));
    const check = square(px, blurM) * square(py, blurM);
    const shade = 1 - (1 - CHECK_DARK) * (0.5 - 0.5 * check);
    for (let channel = 0; channel < 3; channel += 1) this.#base[channel]! *= shade;
    const { goal } = this.#scene;
    if (goal !== undefined && isOnTable(goal.centreM[2], goal.radiusM)) {
      const gx = this.#point[0]! - goal.centreM[0],
        gy = this.#point[1]! - goal.centreM[1];
      const insideM = goal.radiusM - Math.sqrt(gx * gx + gy * gy);
      const disc = Math.min(1, Math.max(0, insideM / blurM + 0.5));
      const inner = Math.min(1, Math.max(0, (insideM - 0.005) / blurM + 0.5));
      const cover = 0.9 * disc - 0.5 * inner;
      for (let channel = 0; channel < 3; channel += 1) {
        this.#base[channel]! += cover * (GOAL_COLOUR[channel]! - this.#base[channel]!);
      }
    }
    const away = (Math.sqrt(px * px + py * py) - FADE_FROM_M) / (FADE_UNTIL_M - FADE_FROM_M);
    const fade = Math.min(1, Math.max(0, away));
    return fade * fade * (3 - 2 * fade);
  }

  /** How much of the key light reaches the point: the share of nearby shadow cells that see it. */
  #litRatio(normal: Float64Array): number {
    const { rays, columns, depth } = this.#shadow;
    const right = LIGHT.right,
      up = LIGHT.up,
      towards = LIGHT.towards;
    const pitch = rays[3]! * right[0] + rays[4]! * right[1] + rays[5]! * right[2];
    const bias = SHADOW_BIAS_CELLS * pitch;
    // Lifted off its own surface first, which needs less bias along the light.
    const px = this.#point[0]! + normal[0]! * bias - rays[0]!;
    const py = this.#point[1]! + normal[1]! * bias - rays[1]!;
    const pz = this.#point[2]! + normal[2]! * bias - rays[2]!;
    const column = (px * right[0] + py * right[1] + pz * right[2]) / pitch;
    const row = (px * up[0] + py * up[1] + pz * up[2]) / pitch;
    const along = -(px * towards[0] + py * towards[1] + pz * towards[2]) - 0.5 * pitch;
    const left = Math.floor(column) - SHADOW_TAPS + 1;
    const top = Math.floor(row) - SHADOW_TAPS + 1;
    const last = columns - 1;
    if (left < 0 || top < 0 || left + 2 * SHADOW_TAPS > last || top + 2 * SHADOW_TAPS > last)
      return 1;
    // A box of 2·taps cells, its edge cells weighted by how much the point has moved into them.
    const fx = column - Math.floor(column),
      fy = row - Math.floor(row);
    let seen = 0;
    for (let y = 0; y < 2 * SHADOW_TAPS; y += 1) {
      const weightY = y === 0 ? 1 - fy : y === 2 * SHADOW_TAPS - 1 ? fy : 1;
      for (let x = 0; x < 2 * SHADOW_TAPS; x += 1) {
        const weightX = x === 0 ? 1 - fx : x === 2 * SHADOW_TAPS - 1 ? fx : 1;
        if (depth[(top + y) * columns + left + x]! >= along) seen += weightX * weightY;
      }
    }
    return seen / ((2 * SHADOW_TAPS - 1) * (2 * SHADOW_TAPS - 1));
  }

  /** A goal in the air is a clear ball, blended over what lies behind it. */
  #blendGoalBall(colour: Float64Array, hitM: number): void {
    const goal = this.#scene.goal!;
    if (isOnTable(goal.centreM[2], goal.radiusM)) return;
    const { rays } = this.#grid;
    const d = this.#direction;
    const ox = rays[0]! - goal.centreM[0];
    const oy = rays[1]! - goal.centreM[1];
    const oz = rays[2]! - goal.centreM[2];
    const b = ox * d[0]! + oy * d[1]! + oz * d[2]!;
    const missSquared = ox * ox + oy * oy + oz * oz - b * b;
    const chordSquared = goal.radiusM * goal.radiusM - missSquared;
    if (!(chordSquared > 0)) return;
    const half = Math.sqrt(chordSquared);
    const entryM = -b - half;
    if (entryM < 0 || entryM > hitM) return;
    const thick = Math.min(hitM - entryM, 2 * half) / (2 * goal.radiusM);
    const rim = 1 - half / goal.radiusM;
    const cover = Math.min(0.85, 0.25 + 0.25 * thick + 0.5 * rim * rim);
    for (let channel = 0; channel < 3; channel += 1) {
      colour[channel]! += cover * (GOAL_COLOUR[channel]! * 1.7 - colour[channel]!);
    }
  }
}

/** A goal whose centre is within its radius of the table is a disc on it. */
function isOnTable(heightM: number, radiusM: number): boolean {
  return heightM <= radiusM;
}

/** −1 or 1 in turn every check, with edges as wide as `blurM`. */
function square(positionM: number, blurM: number): number {
  const turn = positionM / (2 * CHECK_M);
  const phase = turn - Math.floor(turn);
  const edgeM = (0.25 - Math.abs(phase - 0.5)) * 2 * CHECK_M;
  return Math.max(-1, Math.min(1, (2 * edgeM) / blurM)) * Math.min(1, CHECK_M / blurM);
}

/** x to the 16th. */
function sheen(x: number): number {
  const x2 = x * x;
  const x4 = x2 * x2;
  const x8 = x4 * x4;
  return x8 * x8;
}
