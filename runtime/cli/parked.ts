// Whether a run's robot was parked when it let go, told from where its joints were. The report says
// it for robots that fall without power; the others have nothing to be laid down.

import type { JointProfile, RobotProfile } from "../contracts/profile.ts";
import type { ReleaseTale } from "../record/release-tale.ts";
import { namesOf } from "./hint.ts";

/** It lay in its rest pose, as near as droop explains; undefined for a robot that is not parked. */
export function isParked(robot: RobotProfile, release: ReleaseTale): boolean | undefined {
  if (robot.parkNs === undefined) return undefined;
  if (Number.isNaN(release.releasedNs)) return false;
  return robot.joints.every((joint, index) => {
    const offRad = Math.abs(release.positionRad[index]! - joint.restRad);
    return joint.command === "velocity" || joint.name === robot.gripper || offRad <= joint.droopRad;
  });
}

/** The same for a person. */
export function parkedText(robot: RobotProfile, release: ReleaseTale, firstNs: number): string {
  if (Number.isNaN(release.releasedNs)) return "no, holds with torque";
  const at = `${((release.releasedNs - firstNs) / 1e9).toFixed(2)} s`;
  if (isParked(robot, release) === true) return `yes, let go in the rest pose at ${at}`;
  const pose = robot.joints.map((joint: JointProfile, index) => {
    return `${joint.name} ${(release.positionRad[index] ?? Number.NaN).toFixed(2)}`;
  });
  const why = namesOf(release.faultBits);
  const cause = why.length === 0 ? "" : ` after ${why.join(", ")}`;
  return `no, released at ${at}${cause}, at ${pose.join(", ")} rad`;
}
