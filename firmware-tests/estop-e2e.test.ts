// The whole program beside its emulated e-stop, in real time: without a person nothing arms, a
// board fits its robot, and an end under control says goodbye. The kill matrix has what ends badly.
// Wall time decides nothing here.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { enableByte } from "../drivers/estop/enable-line.ts";
import { EstopOutput } from "../runtime/contracts/estop-codes.ts";
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
  const { code, stdout } = await program.end;
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("Again, without what you did by hand"),
  ]);
});

test("a robot that takes longer to stop gets a board that waits as long, and moves", async () => {
  const run = new KillRun(PORT, "ur5e", "--policy", "sine");
  runs.push(run);
  await run.moving();
  expect(run.isUncut).toBe(true);
  run.program.signal("SIGTERM");
  expect((await run.program.end).code).toBe(0);
});

test("garbage on the enable line cuts, latches and is named at once", async () => {
  const run = await start("--json").moving();
  const { program } = run;
  appendFileSync(run.enablePath, "garbage");
  await program.until(/→ FAULT_LATCHED: estop_open/);
  await program.until(/drives lost power/);
  expect(program.written).toMatch(/enable line \S+ is lost: it said what no board says/);
  expect(program.written).toContain("e-stop emulated: ARMED, enable line lost");
  expect(program.written).not.toContain("following_error");
  expect(run.isUncut).toBe(true); // by the chip's own record
  // What a board would say comes too late: that pipe is not believed any more.
  writeFileSync(run.enablePath, Uint8Array.of(enableByte(EstopOutput.Both)));
  program.signal("SIGTERM");
  const ended = await program.end;
  expect(ended.code).not.toBe(0);
  expect(reportOf(ended).failure).toBe("the e-stop's enable line is lost");
  expect(ended.stderr.match(/drives have power/g)?.length).toBe(1);
});

test("an adapter that is pulled cuts, latches and is named, and no reset helps", async () => {
  const run = await start("--json").moving();
  const { program } = run;
  run.unplug();
  await program.until(/→ FAULT_LATCHED: estop_/);
  await program.until(/drives lost power/);
  await program.until(/the e-stop at \S+ is gone/);
  await program.until(/enable line \S+ is lost: nobody holds its other end/);
  const [reset, begin] = [["reset"], ["start"]] as const;
  for (const act of [reset, begin]) {
    await runToEnd([...act, "--pid", `${program.pid}`], { scratch: run.scratch });
  }
  program.signal("SIGTERM");
  const ended = await program.end;
  expect(ended.code).not.toBe(0);
  expect(reportOf(ended).failure).toMatch(/^the e-stop's (enable )?line is (gone|lost)$/);
  expect(ended.stderr).not.toContain("→ RECOVER");
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
