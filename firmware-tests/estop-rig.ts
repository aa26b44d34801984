// A bench with a host on it, and lists of behaviours to run on any of them. A behaviour starts from
// a chip that has just booted, or from one that is armed.

import { estopCauseNames, estopModeNames } from "../runtime/contracts/estop-codes.ts";
import type { EstopBench } from "./estop-bench.ts";
import { EstopHost } from "./estop-host.ts";

export const MS = 1_000;
/** A chip counts its boot in EEPROM before it says anything. */
export const BOOT_MS = 60;
/** Shorter pulses are none. */
export const FILTER_MS = 3;

export type Rig = { readonly bench: EstopBench; readonly host: EstopHost };

export type Behaviour = {
  readonly name: string;
  readonly isArmed: boolean;
  readonly run: (rig: Rig) => void;
};

export class BehaviourList {
  readonly cases: Behaviour[] = [];

  /** From a chip that has just booted. */
  fresh(name: string, run: (rig: Rig) => void): void {
    this.cases.push({ name, isArmed: false, run });
  }

  armed(name: string, run: (rig: Rig) => void): void {
    this.cases.push({ name, isArmed: true, run });
  }
}

/** Runs one behaviour on a bench of its own. */
export function runBehaviour({ isArmed, run }: Behaviour, bench: EstopBench): void {
  try {
    const host = new EstopHost(bench);
    if (isArmed) host.arm();
    run({ bench, host });
  } finally {
    bench.close();
  }
}

/** `ARMED none`: what the chip says of itself. */
export function told({ status }: EstopHost): string {
  return `${estopModeNames[status.mode]} ${estopCauseNames[status.cause]}`;
}

/** Ms from a moment to the edge after which both outputs stay low; NaN when they are not low. */
export function msUntilOpen({ bench }: Rig, fromUs: number): number {
  const edge = bench.edges.at(-1);
  return edge?.outputBits === 0 && bench.outputBits === 0 ? (edge.atUs - fromUs) / MS : Number.NaN;
}
