// What the e-stop chip must do, as one list that every bench runs: the core on this machine, each
// emulator, a board. It looks at pins and statuses in the chip's own time, and at nothing inside.

import { test } from "bun:test";
import { answersBehaviour } from "./estop-answers.ts";
import { armingBehaviour } from "./estop-arming.ts";
import type { EstopBench } from "./estop-bench.ts";
import { faultsBehaviour } from "./estop-faults.ts";
import { runBehaviour } from "./estop-rig.ts";
import type { Behaviour } from "./estop-rig.ts";
import { stopsBehaviour } from "./estop-stops.ts";

const lists = [armingBehaviour, answersBehaviour, stopsBehaviour, faultsBehaviour];

/** Each by its name. */
export const estopBehaviours: readonly Behaviour[] = lists.flat();

/** Registers a test for each behaviour that is asked for; each runs on a bench of its own. */
export function describeEstop(
  makeBench: () => EstopBench,
  isShown: (behaviour: Behaviour) => boolean = () => true,
): void {
  for (const behaviour of estopBehaviours.filter(isShown)) {
    test(behaviour.name, () => runBehaviour(behaviour, makeBench()), BEHAVIOUR_MS_MAX);
  }
}

/** The slowest emulator on a busy machine. */
const BEHAVIOUR_MS_MAX = 60_000;
