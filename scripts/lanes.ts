// Runs the stages of `scripts/test`: in turn within a lane, the lanes of a group beside each other,
// one group after the other. The first lane of a group has the machine and shows its output as it
// comes; the others yield to it, and show theirs when the group is over, so that no two mix. A
// stage that fails stops nothing.

import { runCommand } from "./child-process.ts";
import type { CommandResult } from "./child-process.ts";

export type Outcome = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What a reader must know: why it failed, or what was left out. */
  readonly notes: readonly string[];
};

/** Starts a command the way its lane does. What a quiet one prints nobody sees. */
export type Start = (
  argv: readonly string[],
  secondsMax: number,
  options?: { readonly isQuiet: boolean },
) => Promise<CommandResult>;

export type Stage = { readonly name: string; readonly run: (start: Start) => Promise<Outcome> };
export type Lane = readonly Stage[];
/** Lanes that go on beside each other. */
export type Group = readonly Lane[];

export type Verdict = {
  readonly stage: Stage;
  readonly outcome: Outcome;
  readonly seconds: number;
};

/** A quarter of a core that the first lane wants as well, and all of an idle one. */
const YIELD = ["nice", "-n", "5"];

type Write = (text: string) => void;
/** How one lane starts its commands, and where its words go. */
type Place = { readonly start: Start; readonly write: Write };

const inTheOpen: Start = (argv, secondsMax, options) =>
  runCommand(argv, { secondsMax, shown: options?.isQuiet !== true });

/** A place that yields, and what was written there. */
function beside(): Place & { readonly kept: readonly string[] } {
  const kept: string[] = [];
  return {
    kept,
    start: async (argv, secondsMax, options) => {
      const result = await runCommand([...YIELD, ...argv], { secondsMax });
      if (options?.isQuiet !== true) kept.push(result.output);
      return result;
    },
    write: (text) => void kept.push(text),
  };
}

/** Runs everything. The verdicts come in the order of the plan. */
export async function runGroups(
  groups: readonly Group[],
  write: Write,
): Promise<readonly Verdict[]> {
  const stages = groups.flat(2);
  const verdicts = new Map<Stage, Verdict>();
  const runLane = async (lane: Lane, { start, write: say }: Place): Promise<void> => {
    for (const stage of lane) {
      const label = `[${stages.indexOf(stage) + 1}/${stages.length}] ${stage.name}`;
      say(`\n${label}\n`);
      const startedMs = performance.now();
      const outcome = await stage.run(start);
      const seconds = (performance.now() - startedMs) / 1_000;
      verdicts.set(stage, { stage, outcome, seconds });
      const word = outcome.failed === 0 ? "ok" : "FAILED";
      say(`${label}: ${word}, ${seconds.toFixed(1)} s\n`);
    }
  };
  for (const [first = [], ...others] of groups) {
    const places = others.map(() => beside());
    await Promise.all([
      runLane(first, { start: inTheOpen, write }),
      ...others.map((lane, index) => runLane(lane, places[index]!)),
    ]);
    write(places.flatMap(({ kept }) => kept).join(""));
  }
  return stages.map((stage) => verdicts.get(stage)!);
}
