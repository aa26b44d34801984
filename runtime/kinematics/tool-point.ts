// ToolPoint: where the tool is, and nothing of how it is turned. It walks from the tool down to the
// base, so that each joint turns one vector and no frame; a fourth of what `Chain` costs, which
// matters where a control tick asks several times. Asked twice for one place, it computes once.
//
// Every frame is turned at set-up so that its joint turns about z.

import { sinCosInto } from "../contracts/trig.ts";
import { pathTo } from "./chain.ts";
import type { ChainProfile } from "./chain.ts";

type Vector = readonly [number, number, number];
/** Columns. */
type Matrix = readonly [Vector, Vector, Vector];

/** Per link: what is outside a joint seen from its parent, a matrix by rows and a place. */
const LINK_SLOTS = 12;

export class ToolPoint {
  /** Profile indices of the joints that move the tool, base first. */
  readonly path: Int32Array;
  readonly #links: Float64Array;
  /** The tool, seen from the last joint. */
  readonly #toolM: Vector;
  readonly #turn = new Float64Array(2);
  /** The last place that was asked for, per joint of the path, and its answer. */
  readonly #askedRad: Float64Array;
  readonly #placeM = new Float64Array(3);

  /** Set-up only. */
  constructor(robot: ChainProfile) {
    const path = pathTo(robot, robot.toolParent);
    this.path = Int32Array.from(path);
    this.#askedRad = new Float64Array(path.length).fill(Number.NaN);
    this.#links = new Float64Array(path.length * LINK_SLOTS);
    let parent: Matrix = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
    for (const [link, index] of path.entries()) {
      const { axis, originM, originWxyz } = robot.joints[index]!;
      const own = frameAround(axis);
      const columns = own.map((column) => seenFrom(parent, turned(originWxyz, column)));
      const [x, y, z] = columns as [Vector, Vector, Vector];
      const origin = seenFrom(parent, originM);
      for (let row = 0; row < 3; row += 1) {
        this.#links.set([x[row]!, y[row]!, z[row]!, origin[row]!], link * LINK_SLOTS + row * 4);
      }
      parent = own;
    }
    this.#toolM = seenFrom(parent, robot.toolM);
  }

  /** Place of the tool in the base frame, m, into three slots. Takes one angle per robot joint. */
  placeInto(outM: Float64Array, positionRad: Float64Array): void {
    if (this.#isNew(positionRad)) this.#walk();
    outM[0] = this.#placeM[0]!;
    outM[1] = this.#placeM[1]!;
    outM[2] = this.#placeM[2]!;
  }

  #isNew(positionRad: Float64Array): boolean {
    const path = this.path;
    const asked = this.#askedRad;
    let isNew = false;
    for (let link = 0; link < path.length; link += 1) {
      const angleRad = positionRad[path[link]!]!;
      if (angleRad === asked[link]!) continue;
      asked[link] = angleRad;
      isNew = true;
    }
    return isNew;
  }

  #walk(): void {
    const links = this.#links;
    const turn = this.#turn;
    let x = this.#toolM[0];
    let y = this.#toolM[1];
    let z = this.#toolM[2];
    for (let link = this.path.length - 1; link >= 0; link -= 1) {
      sinCosInto(turn, this.#askedRad[link]!);
      const sine = turn[0]!;
      const cosine = turn[1]!;
      const tx = cosine * x - sine * y;
      const ty = sine * x + cosine * y;
      const at = link * LINK_SLOTS;
      x = links[at]! * tx + links[at + 1]! * ty + links[at + 2]! * z + links[at + 3]!;
      y = links[at + 4]! * tx + links[at + 5]! * ty + links[at + 6]! * z + links[at + 7]!;
      z = links[at + 8]! * tx + links[at + 9]! * ty + links[at + 10]! * z + links[at + 11]!;
    }
    this.#placeM[0] = x;
    this.#placeM[1] = y;
    this.#placeM[2] = z;
  }
}

/** Set-up only: a frame whose z is this unit vector. */
function frameAround(axis: Vector): Matrix {
  if (axis[2] === 1) {
    return [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
  }
  // The base vector that is least along the axis makes the best cross product.
  const [ax, ay, az] = axis.map(Math.abs) as [number, number, number];
  const side: Vector = ax <= ay && ax <= az ? [1, 0, 0] : ay <= az ? [0, 1, 0] : [0, 0, 1];
  const raw = cross(side, axis);
  const length = Math.sqrt(dot(raw, raw));
  const x: Vector = [raw[0] / length, raw[1] / length, raw[2] / length];
  return [x, cross(axis, x), axis];
}

/** Set-up only: a vector of the base, by its parts along the frame's columns. */
function seenFrom(frame: Matrix, vector: Vector): Vector {
  return [dot(frame[0], vector), dot(frame[1], vector), dot(frame[2], vector)];
}

/** Set-up only: a vector as a rotation leaves it. */
function turned(wxyz: readonly [number, number, number, number], vector: Vector): Vector {
  const [w, x, y, z] = wxyz;
  const once = cross([x, y, z], vector);
  const twice = cross([x, y, z], once);
  return [
    vector[0] + 2 * (w * once[0] + twice[0]),
    vector[1] + 2 * (w * once[1] + twice[1]),
    vector[2] + 2 * (w * once[2] + twice[2]),
  ];
}

/** Set-up only. */
function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
