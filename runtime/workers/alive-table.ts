// Which threads the control tick watches, how long each may stand still, and what its silence is.
// A thread that has never moved is still starting and is not judged.

import type { AliveRow } from "../core/alive.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { Fault } from "../../safety/faults.ts";
import { ThreadSlot } from "../shm/control-words.ts";

/** A dead bus: its driver turns at the control rate. */
const BUS_SILENCE_S = 0.2;
/** A simulated world that its machine holds up comes back; one that hangs does not. */
const WORLD_SILENCE_S = 2;

/** One check is 20 ticks: 100 ms at 200 Hz. */
export function aliveTable(robot: RobotProfile, isHardware: boolean): readonly AliveRow[] {
  const checksPerS = robot.controlHz / 20;
  const busSilenceS = isHardware ? BUS_SILENCE_S : WORLD_SILENCE_S;
  return [
    // It knows itself when the line by which its drives get their power is lost.
    row("robot", ThreadSlot.robot, busSilenceS * checksPerS, Fault.DriverLost, Fault.EstopOpen),
    // The e-stop's driver turns at the control rate too; its chip cuts long before this is seen.
    row("estop", ThreadSlot.estop, busSilenceS * checksPerS, Fault.EstopOpen),
    // A policy thread polls every few ms between decisions; a decision may take a second.
    // It knows itself when its answers take longer than its host promised.
    row("policy", ThreadSlot.policy, 1.5 * checksPerS, Fault.PolicyLost, Fault.PolicySlow),
    // Main serves people; its pauses are shown and change nothing.
    row("main", ThreadSlot.main, 1 * checksPerS, Fault.MainSlow),
  ];
}

function row(
  thread: string,
  counterIndex: number,
  checks: number,
  fault: Fault,
  reported?: Fault,
): AliveRow {
  return {
    thread,
    counterIndex,
    checkCountMax: Math.max(1, Math.ceil(checks)),
    faultBit: 1 << fault,
    reportMask: reported === undefined ? 0 : 1 << reported,
  };
}
