// The chain of times by which an e-stop stops a robot, added up where a person decides: in the
// check of a profile, and in the status of a run, by the constants of the chip that it hears. The
// sums are written out here.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EstopMode } from "../contracts/estop-codes.ts";
import { EstopStatusSlot } from "../contracts/estop-line.ts";
import { instant } from "../contracts/units.ts";
import { builtinFiles } from "../profile/builtin.ts";
import { createArena } from "../shm/arena.ts";
import { LatestWriter } from "../shm/latest-cell.ts";
import { arenaParts } from "../workers/plan.ts";
import { EstopWatch } from "./estop-watch.ts";
import { exampleStatus, FakeRun, fakeContext, freshFolder, freshUser } from "./fixture.ts";
import { OperatorSocket } from "./operator-socket.ts";
import { runProgram } from "./program.ts";
import { runOptions } from "./run-command.ts";
import { statusReport } from "./status-line.ts";

const POWER_OFF = "power_cut: safe\npower_off: { relay_ms: 10, drive_ms: 20.5 }";
const LACKING = "relay and drive are not in the profile";

/** A copy of the fixture robot that states its relay and drive. */
function toldRobot(): string {
  const file = join(freshFolder(), "told.yaml");
  const text = builtinFiles.get("profiles/document-one.yaml")!;
  writeFileSync(file, text.replace("power_cut: safe", POWER_OFF));
  return file;
}

async function checked(file: string): Promise<string | undefined> {
  const context = fakeContext();
  expect(await runProgram(["profile", "check", file], context)).toBe(0);
  return context.out.text.split("\n").find((line) => line.startsWith("  e-stop"));
}

test("a profile that states relay and drive is told the sum, board and emulated", async () => {
  expect(await checked(toldRobot())).toBe(
    "  e-stop  stands without power 56.5 ms after the last good answer " +
      "(T_wd 25 ms + 1 ms + relay 10 ms + drive 20.5 ms); emulated 75 ms later",
  );
});

test("one that doesn't is told what lacks", async () => {
  expect(await checked("document-one")).toBe(
    "  e-stop  outputs open 26 ms after the last good answer (T_wd 25 ms + 1 ms); " +
      `${LACKING}; emulated 75 ms later`,
  );
});

/** What a run says of a chip with these constants. */
function cutTimeOf(profile: string, silenceMs: number, cutDelayMs: number): string {
  const { plan } = runOptions(profile, { task: "none", policy: "hold" });
  const arena = createArena(arenaParts(plan));
  const status = new LatestWriter(arena.cell("estop-status"));
  const facts = { nowNs: instant(0), isStarting: true, isActive: false, isEnableLost: false };
  const estop = { kind: "board", path: "/dev/x" } as const;
  const watch = new EstopWatch(
    arena,
    { plan, estop, waitsForStart: false },
    undefined,
    () => facts,
    () => undefined,
  );
  expect(watch.cutTime).toBe(""); // nothing is heard yet
  status.record.fill(0);
  status.record[EstopStatusSlot.heard] = 1;
  status.record[EstopStatusSlot.mode] = EstopMode.Armed;
  status.record[EstopStatusSlot.silenceMs] = silenceMs;
  status.record[EstopStatusSlot.cutDelayMs] = cutDelayMs;
  status.publish();
  watch.poll();
  return watch.cutTime;
}

test("a run adds up what its chip says of itself, cut delay included", () => {
  expect(cutTimeOf(toldRobot(), 100, 250)).toBe(
    "stands without power 381.5 ms after the last good answer " +
      "(T_wd 100 ms + 1 ms + cut delay 250 ms + relay 10 ms + drive 20.5 ms)",
  );
  expect(cutTimeOf("so101", 25, 0)).toBe(
    `outputs open 26 ms after the last good answer (T_wd 25 ms + 1 ms); ${LACKING}`,
  );
});

test("status and estop status show it under the e-stop", async () => {
  const cutTime = cutTimeOf("so101", 100, 0);
  const user = freshUser();
  const run = new FakeRun();
  run.shown = { ...exampleStatus, cutTime };
  const socket = OperatorSocket.open(run, 11, user);
  try {
    const context = fakeContext({ user });
    expect(await runProgram(["estop", "status"], context)).toBe(0);
    expect(context.out.text).toBe(`run 11: e-stop emulated: ARMED\n  ${cutTime}\n`);
  } finally {
    socket.close();
  }
  expect(statusReport(run.shown, 11, "holdfast")).toContain(
    `\n  e-stop    emulated: ARMED\n            ${cutTime}\n`,
  );
});
