// Rigid poses as seven numbers [x, y, z, qx, qy, qz, qw]: metres, then a unit quaternion. Functions
// write into the caller's array, allocate nothing and use the fixed trigonometry, so that equal
// inputs give equal bits on every machine. Nothing here checks units or frames: names carry them.

import { atan2 } from "../contracts/trig.ts";

export const POSE_SLOTS = 7;

/** The pose `inner`, given in the frame of `outer`, as seen from outside. `out` may be either. */
export function composeInto(out: Float64Array, outer: Float64Array, inner: Float64Array): void {
  const ox = outer[3]!;
  const oy = outer[4]!;
  const oz = outer[5]!;
  const ow = outer[6]!;
  const px = inner[0]!;
  const py = inner[1]!;
  const pz = inner[2]!;
  const ix = inner[3]!;
  const iy = inner[4]!;
  const iz = inner[5]!;
  const iw = inner[6]!;
  // v + 2 w (u x v) + 2 u x (u x v), with u the vector part and w the scalar.
  const tx = 2 * (oy * pz - oz * py);
  const ty = 2 * (oz * px - ox * pz);
  const tz = 2 * (ox * py - oy * px);
  out[0] = outer[0]! + px + ow * tx + (oy * tz - oz * ty);
  out[1] = outer[1]! + py + ow * ty + (oz * tx - ox * tz);
  out[2] = outer[2]! + pz + ow * tz + (ox * ty - oy * tx);
  out[3] = ow * ix + ox * iw + oy * iz - oz * iy;
  out[4] = ow * iy - ox * iz + oy * iw + oz * ix;
  out[5] = ow * iz + ox * iy - oy * ix + oz * iw;
  out[6] = ow * iw - ox * ix - oy * iy - oz * iz;
}

/**
 * What is missing from `actual` to `target`, both in one frame, into six slots: metres along x, y
 * and z, then the shortest rotation vector in rad, both in the frame the poses are given in.
 */
export function poseErrorInto(out: Float64Array, actual: Float64Array, target: Float64Array): void {
  out[0] = target[0]! - actual[0]!;
  out[1] = target[1]! - actual[1]!;
  out[2] = target[2]! - actual[2]!;
  const ax = -actual[3]!;
  const ay = -actual[4]!;
  const az = -actual[5]!;
  const aw = actual[6]!;
  const tx = target[3]!;
  const ty = target[4]!;
  const tz = target[5]!;
  const tw = target[6]!;
  let x = tw * ax + tx * aw + ty * az - tz * ay;
  let y = tw * ay - tx * az + ty * aw + tz * ax;
  let z = tw * az + tx * ay - ty * ax + tz * aw;
  let w = tw * aw - tx * ax - ty * ay - tz * az;
  if (w < 0) {
    x = -x;
    y = -y;
    z = -z;
    w = -w;
  }
  const sine = Math.sqrt(x * x + y * y + z * z);
  // Below this the angle is twice the sine to the last bit, and a division by zero is near.
  const scale = sine < 1e-12 ? 2 : (2 * atan2(sine, w)) / sine;
  out[3] = x * scale;
  out[4] = y * scale;
  out[5] = z * scale;
}

/**
 * Turns one vector from the frame `pose` is given in to the frame of `pose` itself, in place. Its
 * three parts lie at `at`, `at + stride` and `at + 2 * stride`, as a column of a matrix does.
 */
export function toLocalInPlace(
  slots: Float64Array,
  at: number,
  stride: number,
  pose: Float64Array,
): void {
  const x = -pose[3]!;
  const y = -pose[4]!;
  const z = -pose[5]!;
  const w = pose[6]!;
  const vx = slots[at]!;
  const vy = slots[at + stride]!;
  const vz = slots[at + 2 * stride]!;
  const tx = 2 * (y * vz - z * vy);
  const ty = 2 * (z * vx - x * vz);
  const tz = 2 * (x * vy - y * vx);
  slots[at] = vx + w * tx + (y * tz - z * ty);
  slots[at + stride] = vy + w * ty + (z * tx - x * tz);
  slots[at + 2 * stride] = vz + w * tz + (x * ty - y * tx);
}
