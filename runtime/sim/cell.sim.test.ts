// One robot cell under a seeded storm: samples freeze, vanish, lie and come late, the policy jumps,
// lies and falls silent, the operator presses anything. Checked every tick against the truth, never
// against the core's own verdict.
//
// A failure prints its seed. Reproduce it with `SEED=42 bun test cell.sim`.

import { expect, test } from "bun:test";
import { loadRobot } from "../profile/load.ts";
import { replayStorm, runStorm } from "./sim-cell.ts";
import type { StormResult } from "./sim-cell.ts";

const TICKS = 2_000;
const seeds = Bun.env["SEED"] === undefined ? [1, 2, 3, 4, 5] : [Number(Bun.env["SEED"])];
const robot = loadRobot("so101");
const storms = new Map<number, StormResult>();

/** The storm of a seed, run once. */
function stormOf(seed: number): StormResult {
  const storm = storms.get(seed) ?? runStorm(robot, seed, TICKS);
  storms.set(seed, storm);
  return storm;
}

test.each(seeds)(
  "seed %d: bounded, still when blind or stopped, and equal a second time",
  (seed) => {
    const first = stormOf(seed);
    expect(first.records).toHaveLength(TICKS);
    // Whatever the weather, some of it must have reached the core, and the robot must have moved.
    expect(first.checker.motionTicks).toBeGreaterThan(TICKS / 20);
    expect(first.checker.blindTicks).toBeGreaterThan(10);
    expect(runStorm(robot, seed, TICKS).records).toEqual(first.records);
    expect(replayStorm(first)).toEqual(first.records);
  },
);

test("another seed is another storm", () => {
  const [one, two] = [1, 2].map((seed) => runStorm(robot, seed, 200).records);
  expect(one).not.toEqual(two!);
});

test("the five storms of every build together meet each fault, each mood and each key", () => {
  const all = [1, 2, 3, 4, 5].map(stormOf);
  const struck = new Set(
    all.flatMap(({ weather, strikeCount }) =>
      weather.faults
        .filter((_, index) => strikeCount[index]! > 0)
        .map((text) => text.split(":")[0]!),
    ),
  );
  expect([...struck].sort()).toEqual(["corrupt", "delay", "drop", "freeze", "future", "noise"]);
  const moods = all.flatMap((storm) => Object.entries(storm.moods));
  const silent = new Set(moods.map(([mood]) => mood));
  for (const [mood, count] of moods) if (count > 0) silent.delete(mood);
  expect([...silent]).toEqual([]);
  const modes = new Set(all.flatMap(({ core }) => [...core.supervisor.path]));
  expect([...modes].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  const braking = all.reduce((ticks, { checker }) => ticks + checker.brakingTicks, 0);
  expect(braking).toBeGreaterThan(50);
});
