// How fast the tool is sent along, differenced from the commands that left a cell, by the
// kinematics that the gate does not use.

import { Chain } from "../../runtime/kinematics/chain.ts";
import { PERIOD_NS } from "./loss-cell.ts";
import type { LossCell } from "./loss-cell.ts";

/** The fastest from one command to the next, of those from that moment on, m/s. */
export function fastestToolMPerS({ robot, sent }: LossCell, fromNs: number): number {
  const chain = new Chain(robot);
  const pose = new Float64Array(7);
  const placesM = sent
    .filter(({ nowNs }) => nowNs >= fromNs)
    .map(({ command }) => {
      chain.forwardInto(pose, command.values);
      return [...pose.subarray(0, 3)];
    });
  const waysM = placesM
    .slice(1)
    .map((to, at) => Math.hypot(...to.map((m, axis) => m - placesM[at]![axis]!)));
  return (Math.max(...waysM) * 1e9) / PERIOD_NS;
}
