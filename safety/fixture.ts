// Profiles and states for the tests of this folder, written out, so that no test depends on a
// shipped profile. Every number is round, and every joint differs only where a test says so.

import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { StateLayout, StateSlot, StateView } from "../runtime/contracts/state.ts";
import { duration, milliseconds } from "../runtime/contracts/units.ts";

/** A joint of round numbers; `changes` overrides any. */
export function testJoint(changes: Partial<JointProfile> = {}): JointProfile {
  return {
    name: "joint",
    command: "position",
    originM: [0, 0, 0],
    originWxyz: [1, 0, 0, 0],
    axis: [0, 0, 1],
    positionRadMin: -2,
    positionRadMax: 2,
    velocityRadPerSMax: 3,
    motion: { accelerationRadPerS2: 15, jerkRadPerS3: 600 },
    stop: { accelerationRadPerS2: 30, jerkRadPerS3: 3_000 },
    effortNmMax: 3,
    leadNs: milliseconds(60),
    droopRad: 0.08,
    followingErrorRadMax: 0.2,
    startMismatchRadMax: 0.3,
    homeRad: 0,
    restRad: 0,
    ...changes,
  };
}

/** A robot of these joints at 200 Hz that starts in STARTING. */
export function testProfile(
  joints: readonly JointProfile[] = [testJoint()],
  changes: Partial<RobotProfile> = {},
): RobotProfile {
  return {
    name: "test",
    description: "",
    path: "test.yaml",
    defaultTask: "none",
    controlHz: 200,
    periodNs: milliseconds(5),
    powerCut: "safe",
    safeActions: { degraded: "hold", stop: "hold", latch: "hold" },
    joints,
    toolParent: "joint",
    toolM: [0, 0, 0],
    toolWxyz: [1, 0, 0, 0],
    sources: [],
    gate: { startMismatch: "refuse", followingErrorTicks: 3 },
    state: { validityNs: milliseconds(15), windowNs: milliseconds(100), qualityRatioMin: 0.5 },
    policy: {
      hz: 20,
      horizon: 16,
      dtNs: milliseconds(50),
      anchoring: "arrival",
      interpolation: "linear",
      blendNs: duration(0),
    },
    supervisor: {
      startsIn: "Starting",
      startTimeoutNs: milliseconds(10_000),
      noActionPersistNs: milliseconds(500),
      staleStatePersistNs: milliseconds(200),
      relapseCount: 3,
      relapseWindowNs: milliseconds(60_000),
      lateNsMax: milliseconds(12),
      missCountMax: 10,
      missWindowTicks: 200,
      coastTicks: 0,
    },
    sim: undefined,
    ...changes,
  };
}

/** A state of that robot, at these positions, sampled at time zero. */
export function testState(profile: RobotProfile, positionRad: readonly number[]): StateView {
  const layout = new StateLayout(profile, profile.sources, "");
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  state.positionRad.set(positionRad);
  state.record[StateSlot.stampNs] = 0;
  state.record[StateSlot.validityNs] = profile.state.validityNs;
  return state;
}
