// Where a reset puts the objects of a task: at random in each one's ring sector, turned at random
// about the vertical, lying on the table. Equal seeds give equal places on every machine.
//
// Objects keep clear of each other and of a goal they are to be brought to. If chance finds no such
// place in a bounded number of tries the last one stands: a crowded task is the task's business.

import type { TaskObject, TaskProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { cos, sin } from "../runtime/contracts/trig.ts";

const POSE_SLOTS = 7;
// A sector half covered by others is found free within ten tries; a thousand settle it.
const TRY_COUNT_MAX = 1_000;

/**
 * The seed of the episode after `episode` others, a whole number up to 2^53 as `seed` is: beyond
 * the largest the count goes on from zero.
 */
export function episodeSeed(seed: number, episode: number): number {
  const room = Number.MAX_SAFE_INTEGER - seed;
  return episode <= room ? seed + episode : episode - room - 1;
}

/** Writes one pose per object, seven slots each: x y z m, then orientation x y z w. */
export function placeObjectsInto(poses: Float64Array, task: TaskProfile, seed: number): void {
  const random = new SeededRandom(seed);
  for (const [index, object] of task.objects.entries()) {
    for (let tries = 0; tries < TRY_COUNT_MAX; tries += 1) {
      drawInto(poses, index * POSE_SLOTS, object, random);
      if (isClear(poses, index, task)) break;
    }
  }
}

function drawInto(
  poses: Float64Array,
  slot: number,
  { placement, halfExtentsM }: TaskObject,
  random: SeededRandom,
): void {
  const { radiusMMin, radiusMMax, azimuthRadMin, azimuthRadMax } = placement;
  // Uniform over the area: a ring of twice the radius has twice the places.
  const innerM2 = radiusMMin * radiusMMin;
  const radiusM = Math.sqrt(innerM2 + (radiusMMax * radiusMMax - innerM2) * random.next());
  const azimuthRad = azimuthRadMin + (azimuthRadMax - azimuthRadMin) * random.next();
  const yawRad = (random.next() - 0.5) * Math.PI;
  poses[slot] = radiusM * cos(azimuthRad);
  poses[slot + 1] = radiusM * sin(azimuthRad);
  poses[slot + 2] = halfExtentsM[2];
  poses[slot + 3] = 0;
  poses[slot + 4] = 0;
  poses[slot + 5] = sin(yawRad / 2);
  poses[slot + 6] = cos(yawRad / 2);
}

function isClear(poses: Float64Array, index: number, task: TaskProfile): boolean {
  const [goalX, goalY] = task.goalM;
  const slot = index * POSE_SLOTS;
  const sizeM = levelRadiusM(task.objects[index]);
  const goalM = length(poses[slot]! - goalX, poses[slot + 1]! - goalY);
  if (task.kind === "pick_place" && goalM < task.goalRadiusM + sizeM) return false;
  for (let other = 0; other < index; other += 1) {
    const from = other * POSE_SLOTS;
    const apartM = length(poses[slot]! - poses[from]!, poses[slot + 1]! - poses[from + 1]!);
    if (apartM < sizeM + levelRadiusM(task.objects[other])) return false;
  }
  return true;
}

// Math.hypot may round differently on another machine.
function length(x: number, y: number): number {
  return Math.sqrt(x * x + y * y);
}

/** Radius of the circle on the table that an object may cover, however it is turned. */
function levelRadiusM(object: TaskObject | undefined): number {
  const [x = 0, y = 0] = object?.halfExtentsM ?? [];
  return length(x, y);
}
