// What a person's reset or start will come to, judged by the newest tick before the cue is handed
// on: one that would change nothing is not handed on, and its answer says why. A stop is never
// judged: it is always handed on.

import { mayMove, Mode, modeNames, OperatorCue } from "../contracts/mode.ts";
import { faultRows } from "../../safety/faults.ts";
import { blockingFaults } from "./hint.ts";

/** The newest tick, and the cues that no tick has taken yet. */
export type CueFacts = {
  readonly mode: number;
  readonly faultBits: number;
  readonly waitingCueBits: number;
};

/** Why a reset or start would change nothing now; undefined when it will. */
export function refusalOf(cue: OperatorCue, facts: CueFacts): string | undefined {
  if (cue === OperatorCue.Start) return startRefusal(facts);
  return cue === OperatorCue.Reset ? resetRefusal(facts) : undefined;
}

const isStopped = (mode: number): boolean => mode === Mode.SafeStop || mode === Mode.FaultLatched;

function startRefusal({ mode, waitingCueBits }: CueFacts): string | undefined {
  if (mayMove(mode)) {
    return `nothing to start: already ${modeNames[mode]}`;
  }
  if (!isStopped(mode)) return undefined;
  // In one tick with a reset a start is void, so that the two never add up to motion.
  const isReset = ((waitingCueBits >>> OperatorCue.Reset) & 1) === 1;
  const why = isReset ? "its reset is still on the way, ask again" : "reset first";
  return `start ignored in ${modeNames[mode]}: ${why}`;
}

function resetRefusal({ mode, faultBits }: CueFacts): string | undefined {
  if (!isStopped(mode)) return `nothing to reset in ${modeNames[mode]}`;
  const blocking = blockingFaults(faultBits);
  const lasting = faultRows.find(
    (row) => row.clear === "onPowerCycle" && blocking.includes(row.name),
  );
  if (lasting !== undefined) return `reset refused: ${lasting.name} needs a new run`;
  if (blocking.length === 0) return undefined;
  const are = blocking.length === 1 ? "is" : "are";
  return `reset refused: ${blocking.join(", ")} ${are} still there`;
}

/** What the answer to a stop depends on. */
export type ParkFacts = {
  /** How long parking may take; absent for a robot that is not parked. */
  readonly parkNs: number | undefined;
  readonly isParking: boolean;
};

/** The answer to a cue that was handed on. */
export function handedOnText(cue: OperatorCue, mode: number, facts: ParkFacts): string {
  const { isParking, parkNs } = facts;
  const name = modeNames[mode] ?? "STARTING";
  if (cue === OperatorCue.Reset) return `reset asked in ${name}: nothing moves until a start`;
  if (cue === OperatorCue.Park) {
    if (parkNs === undefined) return `stop asked in ${name}: this robot is not parked, it holds`;
    return `park asked in ${name}: to its rest pose, then it lets go, within ${parkNs / 1e9} s`;
  }
  if (cue === OperatorCue.Stop && isParking) {
    return "stop asked while it is parked: it lets go at once, what it holds up falls";
  }
  if (cue === OperatorCue.Start && mode === Mode.Starting) {
    return `start asked in ${name}: it begins once nothing is missing`;
  }
  return `${cue === OperatorCue.Stop ? "stop" : "start"} asked in ${name}`;
}
