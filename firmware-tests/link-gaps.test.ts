// A policy at 20 Hz that thinks for 150 ms, 100 ms more or less, with sixteen rows of 50 ms: from
// the first chunk of a run on there is always one that applies. In lockstep to the tick; over a
// real host in a process of its own too, but where the machine was away for longer than a decision
// has to spare, as the records of that time show.
// The same over a link in virtual time: `scenarios/link-delays.test.ts`.

import { afterAll, afterEach, expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { isLong, noteFigure } from "./figures.ts";
import { unexplainedGaps } from "./held-up.ts";
import type { Steady } from "./held-up.ts";
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
const STEADY: Steady = {
  periodNs: TICK_MS * 1e6,
  windowNs: 16 * 50e6,
  answerNsMax: 250e6,
  pauseNsMax: 50e6,
  forgivesAnswers: true,
};

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
  const left = unexplainedGaps(rig.records, STEADY);
  const ticks = `${gapTicks} ticks, ${left.length} not the machine's`;
  noteFigure({
    part: "policy link",
    case: "coverage gaps, 20 Hz, 150 ± 100 ms, 16 rows of 50 ms",
    measured: `${ticks}, which was away ${awayText(rig)}`,
    limit: "0 ticks that are not the machine's",
    tries: `${STREAMING_S} s of streaming`,
  });
  expect(rig.motionCount).toBeGreaterThan(0);
  expect(left).toEqual([]);
  rig.close();
  await host.kill();
}, 120_000);

const awayText = ({ awayNs, longestAwayNs }: LinkRig): string =>
  `${(awayNs / 1e6).toFixed(0)} ms in all, ${(longestAwayNs / 1e6).toFixed(0)} ms at the longest`;

/** A run of 3 s whose ticks lack a decision for 50 ms at 2 s, and what held it up before that. */
function recordsOf(heldUp: { readonly tickMs?: number; readonly answerMs?: number }) {
  const { tickMs = 0, answerMs = 150 } = heldUp;
  const times = Array.from({ length: 600 }, (_, tick) => tick * TICK_MS);
  return times
    .filter((ms) => ms <= 1_900 - tickMs || ms > 1_900)
    .map((ms) => {
      const record = new Float64Array(TickSlot.joints);
      const isGap = ms >= 2_000 && ms < 2_050;
      record[TickSlot.nowNs] = ms * 1e6;
      record[TickSlot.mode] = Mode.Running;
      record[TickSlot.kind] = isGap ? CommandKind.Hold : CommandKind.Motion;
      record[TickSlot.reason] = isGap ? Reason.NoAction : Reason.Ok;
      record[TickSlot.arrivedNs] = 2_050e6;
      record[TickSlot.chunkStateStampNs] = (2_050 - answerMs) * 1e6;
      return record;
    });
}

test("a gap is the machine's only where that was away for what a decision has to spare", () => {
  const leftCount = (heldUp: Parameters<typeof recordsOf>[0]): number =>
    unexplainedGaps(recordsOf(heldUp), STEADY).length;
  // It spares 250 ms, less 40 for what ticks come and go.
  expect([{}, { tickMs: 190 }, { tickMs: 230 }].map(leftCount)).toEqual([10, 10, 0]);
  expect([{ answerMs: 420 }, { answerMs: 550 }].map(leftCount)).toEqual([10, 0]);
  // What held up both is one hold-up.
  expect(leftCount({ tickMs: 60, answerMs: 430 })).toBe(10);
  expect(leftCount({ tickMs: 120, answerMs: 400 })).toBe(0);
});
