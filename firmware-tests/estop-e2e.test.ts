// The whole program beside its emulated e-stop, in real time: a process that is killed or stopped
// loses the drives' power within T_wd of the chip's own time, and one that ends under control says
// goodbye. Wall time decides nothing here: the bounds hold in the time of the chip.

import { isLong } from "./figures.ts";
import { afterEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ProgramRun, Scratch, reportOf, runToEnd } from "./process.ts";

// Two processes paced by the wall clock: on a machine that is busy with other tests the emulator
// slips and trips, as it must. So these run in `scripts/test --long`, on a machine left alone.
const whole = isLong ? test : (): void => undefined;

const SILENCE_US = 100_000;
const TEST_MS = 60_000;
const POLL_MS = 10;
const POLLS_MAX = 1_000;

type Edge = { readonly at_us: number; readonly outputs: number; readonly last_byte_us: number };

let scratch = new Scratch();
const runs: ProgramRun[] = [];
afterEach(() => {
  for (const run of runs.splice(0)) run.signal("SIGKILL"); // nothing to one that has ended
  scratch[Symbol.dispose]();
  scratch = new Scratch();
});

function start(...more: string[]): ProgramRun {
  const args = ["run", "--estop", "emulated", "--task", "none", "--policy", "sine", ...more];
  const run = new ProgramRun([...args, ...more], { scratch });
  runs.push(run);
  return run;
}

/** What the emulated outputs did so far. */
function edges(): Edge[] {
  const folder = join(scratch.runtimeFolder, "holdfast");
  const own = readdirSync(folder).find((name) => name.startsWith("estop-"));
  const path = join(folder, own ?? "none", "events.jsonl");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Edge);
}

/** The change that opened both outputs after they were closed. */
async function cut(): Promise<Edge> {
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    const all = edges();
    const last = all.at(-1);
    if (last?.outputs === 0 && all.at(-2)?.outputs === 3) return last;
    await Bun.sleep(POLL_MS);
  }
  throw new Error(`Cannot find the cut in ${JSON.stringify(edges())}`);
}

function expectSilenceCut({ at_us, last_byte_us }: Edge): void {
  expect(at_us - last_byte_us).toBeGreaterThan(SILENCE_US - 1_000);
  expect(at_us - last_byte_us).toBeLessThanOrEqual(SILENCE_US + 1_000);
}

whole(
  "SIGKILL of the runtime: the emulator lives on and cuts within T_wd + 1 ms of chip time",
  async () => {
    const run = start();
    await run.until(/e-stop emulated: ARMED/);
    run.signal("SIGKILL");
    expectSilenceCut(await cut());
    expect((await run.end).signal).toBe("SIGKILL");
  },
  TEST_MS,
);

whole(
  "SIGSTOP of the runtime: the same cut, and going on again moves nothing",
  async () => {
    const run = start();
    await run.until(/e-stop emulated: ARMED/);
    run.signal("SIGSTOP");
    expectSilenceCut(await cut());
    run.signal("SIGCONT");
    await run.until(/→ FAULT_LATCHED: estop_open/);
    run.signal("SIGTERM");
    const { code, stdout } = await run.end;
    expect(code).toBe(1);
    expect(stdout).toContain("FAULT_LATCHED by estop_open");
  },
  TEST_MS,
);

whole(
  "SIGTERM: a controlled stop, a goodbye, DISARMED, and neither a fault nor a silence",
  async () => {
    const run = start("--json");
    await run.until(/e-stop emulated: ARMED/);
    run.signal("SIGTERM");
    const ended = await run.end;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain("e-stop emulated: DISARMED by host_closed");
    expect(reportOf(ended).supervisor_path).toEqual(["STARTING", "RUNNING", "SAFE_STOP"]);
    const { at_us, last_byte_us } = await cut();
    expect(at_us - last_byte_us).toBeLessThan(SILENCE_US / 2);
  },
  TEST_MS,
);

whole(
  "without a person nothing arms; a command from elsewhere presses the reset",
  async () => {
    const run = start("--no-auto-reset");
    await run.until(/e-stop emulated: WAIT_RESET/);
    expect(run.written).not.toContain("ARMED");
    const arm = await runToEnd(["estop", "arm", "--pid", `${run.pid}`], { scratch });
    expect(arm.stdout + arm.stderr).toContain("e-stop reset pressed");
    await run.until(/e-stop emulated: ARMED/);
    await run.until(/→ RUNNING: start/);
    run.signal("SIGTERM");
    expect((await run.end).code).toBe(0);
  },
  TEST_MS,
);

test("lockstep has no e-stop: a board needs the wall's time, and the run says so", async () => {
  const args = ["run", "--estop", "emulated", "--time", "lockstep", "--duration", "1"];
  const { code, stderr } = await runToEnd(args, { scratch });
  expect([code, stderr]).toEqual([
    2,
    "holdfast: Cannot use --estop: expected --time streaming with it, found --time lockstep\n",
  ]);
});
