// Limits of a robot's joints as flat arrays, one value per joint in profile order. They are copied
// out of the profile once and nothing writes to them afterwards.
//
// All is counted per control tick of the nominal period, so that a late tick never takes a longer
// step: a *stride* is what a position gains in a tick, a *change* what a stride gains, *jerk* the
// most that a change may gain. So velocity, acceleration and jerk are all in rad.

import { assert } from "../runtime/contracts/assert.ts";
import type { JointProfile, RateLimits, RobotProfile } from "../runtime/contracts/profile.ts";
import { jerkRadPerS3Min } from "../runtime/contracts/stop-ramp.ts";
import { NS_PER_S } from "../runtime/contracts/units.ts";

export class JointLimits {
  readonly jointCount: number;
  readonly periodS: number;
  /** 1 where the joint takes a velocity as its command. */
  readonly isVelocity: Uint8Array;
  readonly positionRadMin: Float64Array;
  readonly positionRadMax: Float64Array;
  readonly strideRadMax: Float64Array;
  /** Of wanted motion. */
  readonly motionChangeRadMax: Float64Array;
  readonly motionJerkRad: Float64Array;
  /** Of a stop. */
  readonly stopChangeRadMax: Float64Array;
  readonly stopJerkRad: Float64Array;
  /** How far a position command may lie from the measured position. */
  readonly leadRad: Float64Array;
  /** Servo lag and sample age, in ticks. */
  readonly leadTicks: Float64Array;

  /** Set-up only. */
  constructor(profile: RobotProfile) {
    const { joints } = profile;
    assert(joints.length > 0, "a robot has joints");
    assert(profile.periodNs > 0, "the control period is a length of time");
    const periodS = profile.periodNs / NS_PER_S;
    const each = (value: (joint: JointProfile) => number) => Float64Array.from(joints, value);
    const change = (rates: RateLimits) => rates.accelerationRadPerS2 * periodS ** 2;
    const jerk = (rates: RateLimits) => rates.jerkRadPerS3 * periodS ** 3;
    this.jointCount = joints.length;
    this.periodS = periodS;
    this.isVelocity = Uint8Array.from(joints, (joint) => Number(joint.command === "velocity"));
    this.positionRadMin = each((joint) => joint.positionRadMin);
    this.positionRadMax = each((joint) => joint.positionRadMax);
    this.strideRadMax = each((joint) => joint.velocityRadPerSMax * periodS);
    this.motionChangeRadMax = each((joint) => change(joint.motion));
    this.motionJerkRad = each((joint) => jerk(joint.motion));
    this.stopChangeRadMax = each((joint) => change(joint.stop));
    this.stopJerkRad = each((joint) => jerk(joint.stop));
    this.leadTicks = each((joint) => joint.leadNs / profile.periodNs);
    this.leadRad = each(
      (joint) => (joint.velocityRadPerSMax * joint.leadNs) / NS_PER_S + joint.droopRad,
    );
    for (const joint of joints) checkJoint(joint, periodS);
  }
}

/** Set-up only. */
function checkJoint(joint: JointProfile, periodS: number): void {
  const { motion, stop, velocityRadPerSMax } = joint;
  assert(joint.positionRadMin < joint.positionRadMax, "a joint's position limits are in order");
  assert(velocityRadPerSMax > 0, "a joint may move");
  assert(motion.accelerationRadPerS2 > 0, "a joint may accelerate");
  assert(motion.jerkRadPerS3 > 0, "a joint's acceleration may change");
  assert(
    stop.accelerationRadPerS2 >= motion.accelerationRadPerS2,
    "a joint stops at least as hard as it moves",
  );
  assert(stop.jerkRadPerS3 >= motion.jerkRadPerS3, "a stop begins at least as hard as a motion");
  assert(
    motion.jerkRadPerS3 >= jerkRadPerS3Min(joint, periodS),
    "a stop ramps up within a bounded number of ticks",
  );
}
