// The whole program beside its emulated e-stop, in real time: without a person nothing arms, a
// board fits its robot, and an end under control says goodbye. The kill matrix has what ends badly.
// Wall time decides nothing here.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { KillRun, T_WD_US } from "./kill-run.ts";
import { reportOf, runToEnd, Scratch } from "./process.ts";

setDefaultTimeout(120_000);
const PORT = 28_340;

const runs: KillRun[] = [];
afterEach(async () => {
  for (const run of runs.splice(0)) await run.close();
});

function start(...more: readonly string[]): KillRun {
  const run = new KillRun(PORT, "--policy", "sine", ...more);
  runs.push(run);
  return run;
}

test("SIGTERM: a controlled stop and a goodbye, neither a fault nor a silence", async () => {
  const run = await start("--json").moving();
  run.program.signal("SIGTERM");
  const ended = await run.program.end;
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain("e-stop emulated: DISARMED by host_closed");
  expect(reportOf(ended).supervisor_path[0]).toBe("STARTING");
  expect(reportOf(ended).supervisor_path.at(-1)).toBe("SAFE_STOP");
  const { at_us: atUs, last_byte_us: lastByteUs } = await run.cut();
  expect(atUs - lastByteUs).toBeLessThan(T_WD_US / 2);
});

test("without a person nothing arms; a command from elsewhere presses the reset", async () => {
  const run = start("--no-auto-reset");
  const { program, scratch } = run;
  await program.until(/e-stop emulated: WAIT_RESET/);
  expect(program.written).not.toContain("ARMED");
  const arm = await runToEnd(["estop", "arm", "--pid", `${program.pid}`], { scratch });
  expect(arm.stdout + arm.stderr).toContain("e-stop reset pressed");
  await run.moving();
  program.signal("SIGTERM");
  expect((await program.end).code).toBe(0);
});

test("a robot that takes longer to stop gets a board that waits as long, and moves", async () => {
  const run = new KillRun(PORT, "ur5e", "--policy", "sine");
  runs.push(run);
  await run.moving();
  expect(run.isUncut).toBe(true);
  run.program.signal("SIGTERM");
  expect((await run.program.end).code).toBe(0);
});

test("lockstep has no e-stop: a board needs the wall's time, and the run says so", async () => {
  using scratch = new Scratch();
  const args = ["run", "--estop", "emulated", "--time", "lockstep", "--duration", "1"];
  const { code, stderr } = await runToEnd(args, { scratch });
  expect([code, stderr]).toEqual([
    2,
    "holdfast: Cannot use --estop: expected --time streaming with it, found --time lockstep\n",
  ]);
});
