// Rotation vectors as quaternions, in the layout of a pose: [x, y, z, qx, qy, qz, qw]. Plain
// arithmetic, so that equal inputs give equal bits on every machine.

import { cos, sin } from "../contracts/trig.ts";

/** Sets the orientation of `pose` to a turn by the rotation vector x y z, rad. Leaves its place. */
export function setTurn(pose: Float64Array, x: number, y: number, z: number): void {
  const angleRad = Math.sqrt(x * x + y * y + z * z);
  // Below this sine and angle agree to the last bit.
  const scale = angleRad < 1e-12 ? 0.5 : sin(angleRad / 2) / angleRad;
  pose[3] = x * scale;
  pose[4] = y * scale;
  pose[5] = z * scale;
  pose[6] = cos(angleRad / 2);
}
