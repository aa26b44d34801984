// Tests of where a reset puts objects: in their sectors, spread over the area, lying flat, clear of
// each other and of the goal, and the same for the same seed.

import { expect, test } from "bun:test";
import type { TaskObject, TaskProfile } from "../runtime/contracts/profile.ts";
import { duration } from "../runtime/contracts/units.ts";
import { placeObjectsInto } from "./object-placement.ts";

function box(name: string, radiusMMin = 0.1, radiusMMax = 0.3): TaskObject {
  return {
    name,
    halfExtentsM: [0.02, 0.02, 0.03],
    massKg: 0.03,
    rgba: [1, 0, 0, 1],
    placement: { radiusMMin, radiusMMax, azimuthRadMin: -0.5, azimuthRadMax: 1 },
  };
}

function taskOf(objects: readonly TaskObject[], goalM: TaskProfile["goalM"]): TaskProfile {
  return {
    name: "t",
    kind: "pick_place",
    description: "",
    path: "",
    instruction: "",
    objects,
    goalM,
    goalRadiusM: 0.05,
    dwellNs: duration(0),
    timeLimitNs: duration(1e9),
    sources: [],
    requires: [],
    qualityRatioMin: 0.5,
    defaultPolicy: "hold",
  };
}

function placed(task: TaskProfile, seed: number): number[][] {
  const poses = new Float64Array(7 * task.objects.length);
  placeObjectsInto(poses, task, seed);
  return task.objects.map((_, index) => [...poses.subarray(7 * index, 7 * index + 7)]);
}

const far: TaskProfile["goalM"] = [9, 9, 0];

test("an object lies flat in its sector, at any turn, spread evenly over the area", () => {
  const task = taskOf([box("cube")], far);
  let inner = 0;
  let turned = 0;
  let right = 0;
  for (let seed = 0; seed < 2_000; seed += 1) {
    const [[x = 0, y = 0, z = 0, qx, qy, qz = 0, qw = 0] = []] = placed(task, seed);
    const radiusM = Math.hypot(x, y);
    const azimuthRad = Math.atan2(y, x);
    expect(radiusM >= 0.1 - 1e-12 && radiusM <= 0.3 + 1e-12).toBe(true);
    expect(azimuthRad >= -0.5 - 1e-12 && azimuthRad <= 1 + 1e-12).toBe(true);
    expect([z, qx, qy]).toEqual([0.03, 0, 0]);
    expect(Math.hypot(qz, qw)).toBeCloseTo(1, 12);
    if (radiusM < Math.sqrt(0.05)) inner += 1; // the circle that halves the ring's area
    if (azimuthRad < 0.25) right += 1;
    if (Math.abs(2 * Math.atan2(qz, qw)) < Math.PI / 4) turned += 1;
  }
  expect(Math.abs(inner / 2_000 - 0.5)).toBeLessThan(0.04);
  expect(Math.abs(right / 2_000 - 0.5)).toBeLessThan(0.04);
  expect(Math.abs(turned / 2_000 - 0.5)).toBeLessThan(0.04);
});

test("objects keep clear of each other and of the goal", () => {
  const task = taskOf([box("a"), box("b"), box("c")], [0.2, 0.05, 0]);
  for (let seed = 0; seed < 300; seed += 1) {
    const poses = placed(task, seed);
    for (const [index, [x = 0, y = 0]] of poses.entries()) {
      expect(Math.hypot(x - 0.2, y - 0.05)).toBeGreaterThan(0.05 + 0.02);
      for (const [otherX = 0, otherY = 0] of poses.slice(0, index)) {
        expect(Math.hypot(x - otherX, y - otherY)).toBeGreaterThan(0.056);
      }
    }
  }
});

test("a sector with no free place still ends", () => {
  const [first = [], second = []] = placed(
    taskOf([box("a", 0.1, 0.1001), box("b", 0.1, 0.1001)], [0.1, 0, 0]),
    1,
  );
  expect([first, second].flat().every(Number.isFinite)).toBe(true);
});

test("equal seeds give equal places, other seeds others", () => {
  const task = taskOf([box("a"), box("b")], far);
  expect(placed(task, 5)).toEqual(placed(task, 5));
  expect(placed(task, 6)).not.toEqual(placed(task, 5));
});
