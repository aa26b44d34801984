// What it means when the machine grants no real-time priority or memory lock: in simulation a
// person is warned all run; on hardware the robot is not armed, and the lines to paste are printed.

import type { StartReport } from "../compose.ts";
import { LIMITS_REMEDY } from "./doctor.ts";

export class RealtimeRefusedError extends Error {
  override readonly name = "RealtimeRefusedError";
  readonly code = "realtime_refused";
  readonly missing: readonly string[];

  constructor(missing: readonly string[]) {
    super(`Cannot arm on hardware: ${missing.join("; ")}\n${LIMITS_REMEDY}`);
    this.missing = missing;
  }
}

/** One line per thing that was not granted; empty when all was. Throws on hardware instead. */
export function realtimeWarnings(report: StartReport, isHardware: boolean): string[] {
  const missing: string[] = [];
  for (const { name, grant } of report.realtime) {
    if (!grant.granted) missing.push(`no real-time priority for ${name} (${grant.refusal})`);
  }
  if (!report.memoryLock.granted) {
    missing.push(`memory is not locked (${report.memoryLock.refusal})`);
  }
  if (isHardware && missing.length > 0) throw new RealtimeRefusedError(missing);
  return missing.map((fact) => `${fact}: ticks may be late; holdfast doctor has the remedy`);
}
