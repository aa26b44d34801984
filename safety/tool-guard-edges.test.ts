// The tool guard alone, without a limiter: which bits it says for its last word, and that it takes
// back no more of a step than it must. What is within its limits it tells by changing nothing.

import { expect, test } from "bun:test";
import { RepairBit } from "../runtime/contracts/command.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { ToolPoint } from "../runtime/kinematics/tool-point.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { JointLimits } from "./limits.ts";
import { brakeChange } from "./stop-profile.ts";
import { ToolGuard } from "./tool-guard.ts";

const so101 = loadRobot("so101");
const home = Float64Array.from(so101.joints, (joint) => joint.homeRad);
const zero = new Float64Array(home.length);

function guardOf(gate: Partial<RobotProfile["gate"]>): ToolGuard {
  const robot = { ...so101, gate: { ...so101.gate, ...gate } };
  const guard = new ToolGuard(robot, new JointLimits(robot));
  guard.slowDown(false);
  guard.begin(home);
  return guard;
}

/** A step by which every joint of the arm would go on, in rad a tick. */
const stepOf = (rad: number): Float64Array => home.map((_, joint) => (joint < 5 ? rad : 0));

test("the guard's last word says whether the tool was too fast or would end outside", () => {
  const free = guardOf({});
  expect(free.limit(stepOf(0.1), zero, zero)).toBe(0);
  const slow = guardOf({ toolSpeedMPerSMax: 0.25 });
  expect(slow.limit(stepOf(1e-5), zero, zero)).toBe(0);
  expect(slow.limit(stepOf(0.1), zero, zero)).toBe(RepairBit.Velocity);
  const cage = guardOf({ workspace: { minM: [-5, -5, -5], maxM: [5, 5, 5] } });
  expect(cage.limit(stepOf(0.01), zero, zero)).toBe(0);
  // The tool is outside already, and may not go on outwards one way or the other.
  const away = guardOf({ workspace: { minM: [4, 4, 4], maxM: [5, 5, 5] } });
  const bits = [away.limit(stepOf(0.01), zero, zero), away.limit(stepOf(-0.01), zero, zero)];
  expect(bits).toContain(RepairBit.Workspace);
});

test("of a step that is too fast no more is taken back than it must, within a thirtieth", () => {
  const random = new SeededRandom(1);
  const guard = guardOf({ toolSpeedMPerSMax: 0.25 });
  let searched = 0;
  for (let count = 0; count < 2_000; count += 1) {
    const wanted = home.map((_, joint) => (joint < 5 ? 0.01 * (random.next() - 0.5) : 0));
    const kept = wanted.slice();
    if (guard.limit(kept, zero, zero) === 0) continue;
    // At rest the brake changes nothing: what is kept is a share of what was wanted.
    const more = kept.map((change) => change * (1 + 1 / 30));
    expect(guard.limit(kept.slice(), zero, zero)).toBe(0);
    expect(guard.limit(more, zero, zero)).toBe(RepairBit.Velocity);
    searched += 1;
  }
  expect(searched).toBeGreaterThan(1_000);
});

test("no joint is ever braked harder than a stop may, nor let go further than it wanted", () => {
  const random = new SeededRandom(2);
  const { stopJerkRad } = new JointLimits(so101);
  const guard = guardOf({ toolSpeedMPerSMax: 0.25 });
  const draw = (most: number): Float64Array =>
    home.map((_, joint) => (joint < 5 ? most * (2 * random.next() - 1) : 0));
  let searched = 0;
  for (let count = 0; count < 20_000; count += 1) {
    const stride = draw(0.005);
    const change = draw(1e-4);
    const wanted = change.map((now, joint) => now + stopJerkRad[joint]! * (2 * random.next() - 1));
    const kept = wanted.slice();
    if (guard.limit(kept, stride, change) === 0) continue;
    searched += 1;
    const jerks = kept.map((each, joint) => Math.abs(each - change[joint]!) / stopJerkRad[joint]!);
    expect(Math.max(...jerks)).toBeLessThan(1 + 1e-9);
  }
  expect(searched).toBeGreaterThan(1_000);
});

/** Found at random: where the search for a step ends on one that is too much. */
const ENDS_ABOVE = [77, 857, 1242, 1313, 2256, 2927];

test("what is left of a step keeps speed and box, wherever its brake does", () => {
  const limits = new JointLimits(so101);
  const { stopChangeRadMax, stopJerkRad } = limits;
  const at = new Float64Array(3);
  new ToolPoint(so101).placeInto(at, home);
  let searched = 0;
  for (const seed of [...Array(100).keys(), ...ENDS_ABOVE]) {
    const random = new SeededRandom(seed);
    const draw = (most: number): Float64Array =>
      home.map((_, joint) => (joint < 5 ? most * (2 * random.next() - 1) : 0));
    const wall = (): number => 1e-3 + 0.06 * random.next() * random.next() * random.next();
    const toolSpeedMPerSMax = 0.1 + 0.9 * random.next();
    const [minX, minY, minZ] = at.map((place) => place - wall());
    const [maxX, maxY, maxZ] = at.map((place) => place + wall());
    const workspace = { minM: [minX!, minY!, minZ!], maxM: [maxX!, maxY!, maxZ!] } as const;
    const guard = guardOf({ toolSpeedMPerSMax, workspace });
    for (let count = 0; count < 20; count += 1) {
      const stride = draw(0.004 * random.next());
      const change = draw(2e-4);
      const kept = change.map((now, joint) => now + stopJerkRad[joint]! * (2 * random.next() - 1));
      const brake = kept.map((_, joint) =>
        brakeChange(stride[joint]!, change[joint]!, stopChangeRadMax[joint]!, stopJerkRad[joint]!),
      );
      if (guard.limit(brake, stride, change) !== 0) continue;
      if (guard.limit(kept, stride, change) !== 0) searched += 1;
      expect(guard.limit(kept, stride, change)).toBe(0);
    }
  }
  expect(searched).toBeGreaterThan(50);
});
