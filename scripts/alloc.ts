// Proves that ticks allocate nothing: a child process warms up, then runs a million ticks between
// two marks while the collector logs, once with and once without the JIT. Any collection between
// the marks fails. A control that makes one small object per tick must show collections, or the
// counter is blind and the proof void. The collector runs once per 8 MB, so 8 bytes a tick show.

import { writeSync } from "node:fs";
import { buildBenchCore } from "../runtime/cli/bench-subject.ts";
import { runCommand } from "./child-process.ts";

const WARM_UP_TICKS = 50_000;
const TICKS = 1_000_000;
const SECONDS_MAX = 240;
const MARK_FROM = "[allocation mark: from]";
const MARK_UNTIL = "[allocation mark: until]";
/** One line of the collector's log per collection. */
const COLLECTION = /\[GC<[^>]*>: START /g;

/** How many collections a log shows between the marks. Throws when a mark is missing. */
export function countCollections(log: string): number {
  const from = log.indexOf(MARK_FROM);
  const until = log.indexOf(MARK_UNTIL);
  if (from === -1 || until < from) throw new Error("Cannot count collections: a mark is missing");
  return log.slice(from, until).match(COLLECTION)?.length ?? 0;
}

type Subject = { tick(): void };

const subjects: Readonly<Record<string, () => Subject>> = {
  core: buildBenchCore,
  control: () => {
    const kept: { value: number }[] = [{ value: 0 }];
    return {
      tick: () => {
        kept[0] = { value: (kept[0]?.value ?? 0) + 1 };
      },
    };
  },
};

/** In the child: the collection before the first mark leaves no debt from the warm-up. */
function runTicks(build: () => Subject): void {
  const subject = build();
  for (let tick = 0; tick < WARM_UP_TICKS; tick += 1) subject.tick();
  Bun.gc(true);
  writeSync(2, `${MARK_FROM}\n`);
  for (let tick = 0; tick < TICKS; tick += 1) subject.tick();
  writeSync(2, `${MARK_UNTIL}\n`);
}

type Run = {
  readonly name: string;
  readonly subject: string;
  readonly env: Readonly<Record<string, string>>;
  readonly allowed: (collections: number) => boolean;
};

const NO_JIT = { BUN_JSC_useJIT: "0" };
const none = (collections: number): boolean => collections === 0;
const some = (collections: number): boolean => collections > 0;

const runs: readonly Run[] = [
  { name: "control with the JIT", subject: "control", env: {}, allowed: some },
  { name: "control without the JIT", subject: "control", env: NO_JIT, allowed: some },
  { name: "core with the JIT", subject: "core", env: {}, allowed: none },
  { name: "core without the JIT", subject: "core", env: NO_JIT, allowed: none },
];

async function judge(run: Run): Promise<boolean> {
  const command = [process.execPath, import.meta.path, run.subject];
  const env = { ...run.env, BUN_JSC_logGC: "1" };
  const result = await runCommand(command, { secondsMax: SECONDS_MAX, env });
  if (result.code !== 0) {
    console.log(
      `${run.name}: failed with exit status ${result.code}\n${result.output.slice(-2_000)}`,
    );
    return false;
  }
  const collections = countCollections(result.output);
  const verdict = run.allowed(collections) ? "as it must be" : "not as it must be";
  const seconds = result.seconds.toFixed(1);
  console.log(
    `${run.name}: ${collections} collections in ${TICKS} ticks, ${verdict} (${seconds} s)`,
  );
  return run.allowed(collections);
}

if (import.meta.main) {
  const build = subjects[process.argv[2] ?? ""];
  if (build !== undefined) {
    runTicks(build);
  } else {
    let failures = 0;
    for (const run of runs) if (!(await judge(run))) failures += 1;
    process.exit(failures === 0 ? 0 : 1);
  }
}
