// The loss table of the e-stop, as data: what is broken, on the chip's side or on the line, and
// what must follow on both. `estop-losses.test.ts` runs each row through the real firmware beside
// a whole core; `loss-table.ts` draws the same rows into `safety/README.md`.
//
// Times are in ms from the cause, the most of all phases and benches; a relay of 5 to 15 ms and
// the drive's own stop come after the outputs.

import type { estopCauseNames } from "../../runtime/contracts/estop-codes.ts";
import type { modeNames } from "../../runtime/contracts/mode.ts";
import type { EstopTrouble } from "./estop-cell.ts";

export type EstopLoss = {
  readonly id: string;
  readonly cause: string;
  readonly trouble: EstopTrouble;
  /** What the chip says of it. */
  readonly chipSays: (typeof estopCauseNames)[number];
  readonly stopWithinMs: number;
  readonly openWithinMs: number;
  /** Modes of the supervisor after RUNNING. */
  readonly path: readonly (typeof modeNames)[number][];
  readonly does: string;
  /** The host's line is gone: only a new process opens another. */
  readonly isForGood?: true;
};

/** A trouble that the e-stop notices, counts and forgives. */
export type EstopBlip = {
  readonly id: string;
  readonly cause: string;
  readonly trouble: EstopTrouble;
  /** Who notices it, in words. */
  readonly detectedBy: string;
  /** From the byte's phase to where the host has counted it. */
  readonly countedWithinMs: number;
};

const LATCHES = ["FAULT_LATCHED"] as const;
const CUT = "has no power at once; the host brakes its command and latches";

export const estopLosses: readonly EstopLoss[] = [
  {
    id: "estop-button",
    cause: "e-stop button",
    trouble: "button",
    chipSays: "button",
    stopWithinMs: 18.2,
    openWithinMs: 303.7,
    path: ["SAFE_STOP", "FAULT_LATCHED"],
    does: "brakes and holds for SS1-t (300 ms), then has no power; latches",
  },
  {
    id: "estop-one-channel",
    cause: "one channel of the e-stop button",
    trouble: "one_channel",
    chipSays: "discrepancy",
    stopWithinMs: 18.2,
    openWithinMs: 103.8,
    path: ["SAFE_STOP", "FAULT_LATCHED"],
    does: "brakes and holds, then has no power; latches",
  },
  {
    id: "limit-switch",
    cause: "limit switch",
    trouble: "limit_chain",
    chipSays: "limit_chain",
    stopWithinMs: 18.2,
    openWithinMs: 3.7,
    path: LATCHES,
    does: CUT,
  },
  {
    id: "estop-line-to-chip",
    cause: "e-stop link lost, towards the chip",
    trouble: "line_to_chip",
    chipSays: "silence",
    stopWithinMs: 39.9,
    openWithinMs: 26.2,
    path: LATCHES,
    does: CUT,
  },
  {
    id: "estop-line-to-host",
    cause: "e-stop link lost, towards the host",
    trouble: "line_to_host",
    chipSays: "silence",
    stopWithinMs: 59.9,
    openWithinMs: 36.2,
    path: ["SAFE_STOP", "FAULT_LATCHED"],
    does: CUT,
  },
  {
    id: "estop-mcu-watchdog",
    cause: "e-stop MCU reset by its watchdog",
    trouble: "chip_watchdog",
    chipSays: "watchdog",
    stopWithinMs: 25.7,
    openWithinMs: 0.4,
    path: LATCHES,
    does: CUT,
  },
  {
    id: "estop-mcu-power",
    cause: "e-stop MCU loses its power",
    trouble: "chip_power",
    chipSays: "power_on",
    stopWithinMs: 25.7,
    openWithinMs: 0.4,
    path: LATCHES,
    does: CUT,
  },
  {
    id: "estop-noise-to-chip",
    cause: "e-stop bus corrupted towards the chip: a wrong byte in every frame",
    trouble: "noise_to_chip",
    chipSays: "silence",
    stopWithinMs: 39.9,
    openWithinMs: 26.2,
    path: LATCHES,
    does: CUT,
  },
  {
    id: "estop-noise-to-host",
    cause: "e-stop bus corrupted towards the host: a wrong byte in every frame",
    trouble: "noise_to_host",
    chipSays: "silence",
    stopWithinMs: 59.9,
    openWithinMs: 36.2,
    path: ["SAFE_STOP", "FAULT_LATCHED"],
    does: CUT,
  },
  {
    id: "estop-unplugged",
    cause: "e-stop adapter unplugged",
    trouble: "unplugged",
    chipSays: "silence",
    stopWithinMs: 9.9,
    openWithinMs: 26.2,
    path: ["SAFE_STOP", "FAULT_LATCHED"],
    does: "brakes by command at once; has no power once the chip cuts; latches",
    isForGood: true,
  },
];

export const estopBlips: readonly EstopBlip[] = [
  {
    id: "estop-byte-to-chip",
    cause: "one byte of the e-stop's bus corrupted, towards the chip",
    trouble: "byte_to_chip",
    detectedBy: "chip, its CRC: one bad answer, forgiven by the next good one",
    countedWithinMs: 20.4,
  },
  {
    id: "estop-byte-to-host",
    cause: "one byte of the e-stop's bus corrupted, towards the host",
    trouble: "byte_to_host",
    detectedBy: "host, its CRC: one broken status",
    countedWithinMs: 10.4,
  },
];
