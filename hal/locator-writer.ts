// LocatorWriter: fills the sample of one localization source with the pose of the object it sees,
// as a locator without error would. A source named `cube_pose` sees the object named `cube`.
//
// A source that sees nothing of the task is refused when the device is built. Allocates nothing
// after construction.

import type { SourceProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import type { SampleView } from "../runtime/contracts/sample.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { HalError } from "./lifecycle.ts";
import type { MujocoWorld } from "./mujoco/world.ts";
import { writeHeader } from "./proprio-writer.ts";

const LOCATED_SUFFIX = "_pose";

export class LocatorWriter {
  readonly sourceIndex: number;
  readonly #objectIndex: number;
  #seq = 0;

  constructor(sourceIndex: number, objectIndex: number) {
    this.sourceIndex = sourceIndex;
    this.#objectIndex = objectIndex;
  }

  /** Writes a sample with the next sequence id, in the base frame. */
  write(sample: SampleView, stampNs: Instant, receiveNs: Instant, world: MujocoWorld): void {
    this.#seq += 1;
    writeHeader(sample, this.sourceIndex, stampNs, receiveNs, this.#seq, 1);
    world.readObjectInto(sample.payload, 0, this.#objectIndex);
  }
}

/** One writer per localization source, in the order of the source table. */
export function locatorWriters(
  device: string,
  sources: readonly SourceProfile[],
  task: TaskProfile,
): readonly LocatorWriter[] {
  const known = task.objects.map((object) => object.name + LOCATED_SUFFIX);
  return sources.flatMap((source, sourceIndex) => {
    if (source.kind !== "localization") return [];
    const objectIndex = known.indexOf(source.id);
    if (objectIndex !== -1) return [new LocatorWriter(sourceIndex, objectIndex)];
    const expected = known.length === 0 ? "no localization source" : `one of ${known.join(", ")}`;
    const action = `locate objects of "${task.name}"`;
    const found = `a source "${source.id}"`;
    throw new HalError({ code: "object_missing", device, action, expected, found });
  });
}
