// What a person's reset or start will come to, judged by the newest tick before the cue is handed
// on: one that would change nothing is not handed on, and its answer says why. A stop is never
// judged: it is always handed on.

import { Mode, modeNames, OperatorCue } from "../contracts/mode.ts";
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
  if (mode === Mode.Running || mode === Mode.Degraded) {
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

/** The answer to a cue that was handed on. */
export function handedOnText(cue: OperatorCue, mode: number): string {
  const name = modeNames[mode] ?? "STARTING";
  if (cue === OperatorCue.Reset) return `reset asked in ${name}: nothing moves until a start`;
  return `${cue === OperatorCue.Stop ? "stop" : "start"} asked in ${name}`;
}
