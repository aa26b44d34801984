// What it means when the machine grants no real-time priority or memory lock: on hardware the robot
// is not armed, in simulation a person is warned all run. Either way the lines to paste are printed.

import type { StartReport } from "../compose.ts";

export const REALTIME_REMEDY = [
  "To grant it, paste this, then log in again:",
  `  printf '%s - rtprio 95\\n%s - memlock unlimited\\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/holdfast.conf`,
].join("\n");

/** One line per thing that was not granted; empty when all was. */
export function realtimeWarnings(report: StartReport): string[] {
  const warnings: string[] = [];
  for (const { name, grant } of report.realtime) {
    if (!grant.granted) {
      warnings.push(`no real-time priority for the ${name} thread (${grant.refusal}): ticks may be late`);
    }
  }
  if (!report.memoryLock.granted) {
    warnings.push(`memory is not locked (${report.memoryLock.refusal}): ticks may wait for the disk`);
  }
  return warnings;
}
