// Tests of the tool's place against `Chain`, which has second implementations of its own, on every
// shipped robot and on one whose joints turn about odd axes.

import { expect, test } from "bun:test";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { loadRobot } from "../profile/load.ts";
import { Chain } from "./chain.ts";
import type { ChainProfile } from "./chain.ts";
import { POSE_SLOTS } from "./pose.ts";
import { ToolPoint } from "./tool-point.ts";

const so101 = loadRobot("so101");
const third = 1 / Math.sqrt(3);
const axes = [
  [third, third, third],
  [1, 0, 0],
  [0, -0.6, 0.8],
  [0, 0, -1],
  [0, 1, 0],
] as const;
const robots: readonly (readonly [string, ChainProfile])[] = [
  ...["so101", "ur5e", "quadruped", "wheeled-base"].map((name) => [name, loadRobot(name)] as const),
  [
    "odd axes",
    { ...so101, joints: so101.joints.map((joint, i) => ({ ...joint, axis: axes[i % 5]! })) },
  ],
];

test.each(robots)(
  "%s: the tool is where the whole chain has it, within a picometre",
  (_, robot) => {
    const chain = new Chain(robot);
    const point = new ToolPoint(robot);
    const random = new SeededRandom(3);
    const pose = new Float64Array(POSE_SLOTS);
    const placeM = new Float64Array(3);
    const positionRad = new Float64Array(robot.joints.length);
    let farM = 0;
    for (let round = 0; round < 5_000; round += 1) {
      // One joint at a time too, and the same place twice: an answer must never be an old one.
      const only = Math.floor(random.next() * positionRad.length);
      if (round % 3 === 0) positionRad[only] = random.next() * 6 - 3;
      if (round % 3 === 1)
        for (const i of positionRad.keys()) positionRad[i] = random.next() * 6 - 3;
      chain.forwardInto(pose, positionRad);
      point.placeInto(placeM, positionRad);
      const gapM = [0, 1, 2].map((axis) => pose[axis]! - placeM[axis]!);
      farM = Math.max(farM, Math.hypot(...gapM));
    }
    expect(farM).toBeLessThan(1e-12);
    expect([...point.path]).toEqual([...chain.path]);
  },
);
