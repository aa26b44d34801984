// Whether a run may be in lockstep: what follows a wall clock cannot. The one place that knows, for
// the option that asks for it and for the report that advises it.

import type { RunOptions } from "./run-options.ts";
import { UsageError } from "./usage.ts";

/** The error of asking for this run in lockstep; undefined when it may be. */
export function lockstepRefusal({
  plan,
  estop,
  waitsForStart,
}: Pick<RunOptions, "plan" | "estop" | "waitsForStart">): UsageError | undefined {
  const { robot, task, spinTailNs, openpi } = plan;
  const camera = robot.sim?.camera?.id;
  if (spinTailNs > 0) return besideStreaming("--spin-tail");
  if (camera !== undefined && task.requires.includes(camera)) {
    const isShown = (openpi?.pictures.length ?? 0) > 0;
    const why = isShown ? "the server is shown pictures" : `task ${task.name} requires pictures`;
    return new UsageError("--time", `streaming, as ${why}`, '"lockstep"');
  }
  if (waitsForStart) return besideStreaming("--wait-for-start");
  return estop.kind === "none" ? undefined : besideStreaming("--estop");
}

const besideStreaming = (option: string): UsageError =>
  new UsageError(option, "--time streaming with it", "--time lockstep");
