// What the benchmarks and the allocation proof measure: the whole control core over a kinematic
// robot, an idle policy and a counted clock. Imports nothing of hal/ffi, so that it runs without
// the JIT too.

import { instant } from "../contracts/units.ts";
import { StateLayout } from "../contracts/state.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { ControlCore } from "../core/core.ts";
import { controlTick } from "../core/tick.ts";
import { loadRobot } from "../profile/load.ts";
import { idleCore } from "../workers/warm-up.ts";

export type BenchCore = {
  readonly robot: RobotProfile;
  readonly core: ControlCore;
  /** One control period: time moves on, one command goes out. */
  tick(): void;
};

export function buildBenchCore(robotName = "so101"): BenchCore {
  const robot = loadRobot(robotName);
  const core = idleCore(robot, new StateLayout(robot, robot.sources, ""));
  const { periodNs } = robot;
  let nowNs = 0;
  return {
    robot,
    core,
    tick: () => {
      nowNs += periodNs;
      controlTick(core, instant(nowNs));
    },
  };
}
