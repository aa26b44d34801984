// The order of stages, lanes and groups, and where their words go, with stages made up. No stage
// here takes time: each begins and ends when it is told so.

import { expect, test } from "bun:test";
import { runGroups } from "./lanes.ts";
import type { Outcome, Stage } from "./lanes.ts";

const passed: Outcome = { passed: 1, failed: 0, skipped: 0, notes: [] };
const failed: Outcome = { passed: 0, failed: 1, skipped: 0, notes: ["why"] };

/** A stage that is over when it is told so, and the moments it began and ended, in `story`. */
function held(name: string, story: string[], outcome = passed) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const run = async (): Promise<Outcome> => {
    story.push(`${name} begins`);
    begun.resolve();
    await gate.promise;
    story.push(`${name} ends`);
    return outcome;
  };
  return { stage: { name, run }, begun: begun.promise, end: gate.resolve };
}

test("lanes go beside each other, groups in turn, and a failure stops nothing", async () => {
  const story: string[] = [];
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) =>
    held(name, story, name === "b" ? failed : passed),
  );
  const running = runGroups([[[a!.stage], [b!.stage, c!.stage]], [[d!.stage]]], () => undefined);
  await Promise.all([a!.begun, b!.begun]);
  b!.end();
  await c!.begun;
  c!.end();
  a!.end();
  await d!.begun;
  d!.end();
  const verdicts = await running;
  expect(story).toEqual([
    ...["a begins", "b begins", "b ends", "c begins"],
    ...["c ends", "a ends", "d begins", "d ends"],
  ]);
  expect(verdicts.map(({ stage, outcome }) => [stage.name, outcome])).toEqual([
    ["a", passed],
    ["b", failed],
    ["c", passed],
    ["d", passed],
  ]);
});

test("what goes on beside the first lane is told after it, and yields", async () => {
  let told = "";
  const story: string[] = [];
  const first = held("first", story);
  const beside: Stage = {
    name: "beside",
    run: async (start) => {
      await first.begun;
      // The program prints how much it yields.
      const loud = await start(["nice"], 10);
      await start(["echo", "unheard"], 10, { isQuiet: true });
      first.end();
      return { ...passed, notes: [loud.output] };
    },
  };
  const [, verdict] = await runGroups([[[first.stage], [beside]]], (text) => {
    told += text;
  });
  const own = Bun.spawnSync(["nice"]).stdout.toString().trim();
  const yields = `${Math.min(19, Number(own) + 5)}\n`;
  expect(verdict!.outcome.notes).toEqual([yields]);
  const [seconds] = verdict!.seconds.toFixed(1).split(" ");
  expect(told.replace(/first: ok, [\d.]+ s/, "first: ok")).toBe(
    `\n[1/2] first\n[1/2] first: ok\n\n[2/2] beside\n${yields}[2/2] beside: ok, ${seconds} s\n`,
  );
});
