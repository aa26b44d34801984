// A policy at 20 Hz that thinks for 150 ms, 100 ms more or less, with sixteen rows of 50 ms: from
// the first chunk of a run on there is always one that applies. In lockstep to the tick; over a
// real host in a process of its own as a figure, held to how long the machine was away itself.
// The same over a link in virtual time: `scenarios/link-delays.test.ts`.

import { afterAll, afterEach, expect, test } from "bun:test";
import { Mode } from "../runtime/contracts/mode.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { isLong, noteFigure } from "./figures.ts";
import { HostProcess, LinkRig, killHosts } from "./link-rig.ts";
import { lockstepRun } from "./lockstep-run.ts";
import { Scratch } from "./process.ts";
import { writeSlowRows } from "./so101-files.ts";

afterEach(killHosts);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
const profile = writeSlowRows(scratch.folder);
const STREAMING_S = isLong ? 60 : 6;
const TICK_MS = 5;

test("60 s of lockstep: no gap from the first chunk on", async () => {
  const gapsAfter = async (seconds: number): Promise<number> => {
    const wait = "--policy-latency uniform:50ms..250ms";
    const args = `${profile} --policy sine --task none ${wait} --duration ${seconds}`;
    const run = await lockstepRun(args.split(" "));
    expect([run.exitCode, run.ticks]).toEqual([0, seconds * 200]);
    // A start voids what was decided before it: one wait, and then never again.
    expect(run.supervisor_path).toEqual(["STARTING", "RUNNING", "DEGRADED", "RUNNING"]);
    return run.coverage_gap_ticks;
  };
  const first = await gapsAfter(1);
  expect(first).toBeLessThanOrEqual(250 / TICK_MS);
  expect(await gapsAfter(60)).toBe(first);
}, 60_000);

test("streaming from a host with that latency: no gap but the machine's own", async () => {
  const slow = ["--latency", "50ms", "--jitter", "200ms", "--robot", profile];
  const host = await HostProcess.start(["--policy", "sine", ...slow]);
  const rig = await LinkRig.open(host.port, loadRobot(profile));
  await rig.until(() => rig.mode === Mode.Running && rig.motionCount > 40, 8_000);
  expect(rig.mode).toBe(Mode.Running);
  rig.forget();
  const before = rig.core.coverageGapTicks;
  await rig.run(STREAMING_S * 1_000);
  const gapTicks = rig.core.coverageGapTicks - before;
  const awayMs = rig.awayNs / 1e6;
  noteFigure({
    part: "policy link",
    case: "coverage gaps, 20 Hz, 150 ± 100 ms, 16 rows of 50 ms",
    measured: `${gapTicks} ticks; the machine was away ${awayMs.toFixed(0)} ms in all`,
    limit: "0 ticks on a machine that is there",
    tries: `${STREAMING_S} s of streaming`,
  });
  expect(rig.motionCount).toBeGreaterThan(0);
  expect(gapTicks * TICK_MS).toBeLessThanOrEqual(awayMs);
  rig.close();
  await host.kill();
}, 120_000);
