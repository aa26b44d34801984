// That a simulated run goes on from episode to episode, whatever whole number its seed is. The
// simulation is a stand-in that takes down where it is asked to put the objects.

import { expect, test } from "bun:test";
import type { SimBackend } from "../../hal/sim-backend.ts";
import { duration, instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { Body } from "./body.ts";

/** Seeds that the objects were placed by in the first three episodes. */
function seedsOf(seed: number): number[] {
  const seeds: number[] = [];
  const note = (placed: number) => void seeds.push(placed);
  const ignore = () => {};
  const sim = {
    sensor: {},
    lifecycle: { reset: note, activate: ignore },
    advanceTo: ignore,
    truthInto: ignore,
    placeObjects: note,
  } as unknown as SimBackend;
  const run = {
    robot: loadRobot("so101"),
    task: { ...loadTask("reach"), timeLimitNs: duration(100_000_000) },
    policy: "hold",
    seed,
    faults: [],
    policyLatency: undefined,
    spinTailNs: duration(0),
    isHardware: false,
    estop: undefined,
  };
  const body = new Body(run, sim);
  body.begin(instant(0));
  for (let tick = 1; body.begunCount < 3; tick += 1) body.advanceTo(instant(tick * 5_000_000));
  return seeds;
}

test("every episode has a seed of its own, beyond the largest one too", () => {
  const largest = Number.MAX_SAFE_INTEGER;
  expect(seedsOf(7)).toEqual([7, 8, 9]);
  expect(seedsOf(largest - 1)).toEqual([largest - 1, largest, 0]);
  expect(seedsOf(largest)).toEqual([largest, 0, 1]);
});
