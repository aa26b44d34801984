// ReleaseTale: when a robot let go of its joints, where they then were, and which faults of its own
// were active on its way to be parked. Told from tick records.

import { CommandKind } from "../contracts/command.ts";
import { OperatorCue } from "../contracts/mode.ts";
import { TickSlot } from "../contracts/tick-record.ts";
import { faultMask } from "../../safety/faults.ts";

/** Faults of the robot itself, but for the stop that begins each parking. */
const inTheWayMask = faultMask((row) => row.subject === "robot" && row.clear !== "onOperator");
const parkCues = (1 << OperatorCue.Park) | (1 << OperatorCue.Shutdown);

export class ReleaseTale {
  /** When it let go; NaN while it holds. */
  releasedNs = Number.NaN;
  /** Measured, at that moment. */
  positionRad: readonly number[] = [];
  /** Bit per fault that was active between the cue and that moment. */
  faultBits = 0;

  write(record: Float64Array): void {
    if ((record[TickSlot.cues]! & parkCues) !== 0) this.faultBits = 0;
    if (record[TickSlot.kind] !== CommandKind.ZeroTorque) {
      this.releasedNs = Number.NaN;
      this.faultBits |= record[TickSlot.faults]! & inTheWayMask;
    } else if (Number.isNaN(this.releasedNs)) {
      const jointCount = (record.length - TickSlot.joints) / 3;
      this.releasedNs = record[TickSlot.nowNs]!;
      this.positionRad = [...record.subarray(TickSlot.joints + 2 * jointCount)];
    }
  }
}
