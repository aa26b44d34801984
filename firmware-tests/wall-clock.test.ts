// B17: the wall clock steps, and nothing but labels changes. A real process in streaming whose wall
// clock is stepped ten times a second, by seconds, hours and years, forward and back.
//
// What is loaded before the C library steps every clock that the program asks it for by name. The
// calls of hal/ffi go past it, so which clock those name is read from their text.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fixturePolicies } from "./fixture-policies.ts";
import { FIRMWARE_OUT, hasHostCompiler, makeFirmware } from "./firmware-build.ts";
import { FROM_SOURCE, ProgramRun, reportOf, Scratch } from "./process.ts";
import type { Ended } from "./process.ts";

const ROOT = join(import.meta.dir, "..");
const DURATION_S = 3;

/** What a busy machine may do to a run; a clock that steps would do something else. */
const LAWFUL = ["operator_stop", "no_action", "world_late", "main_slow"];

if (hasHostCompiler) {
  test("B17: a run under a wall clock that steps goes as any other", async () => {
    makeFirmware("wall-clock");
    using scratch = new Scratch();
    const preload = `LD_PRELOAD=${join(FIRMWARE_OUT, "wall_clock.so")}`;
    const args = ["run", "--json", "--port", "28190", "--task", "none"];
    const policy = ["--policy", fixturePolicies.wallClock, "--duration", `${DURATION_S}`];
    const run = new ProgramRun([...args, ...policy], {
      scratch,
      program: ["/usr/bin/env", preload, ...FROM_SOURCE],
    });
    try {
      await run.until(/the wall clock went back/);
      expectUntouched(await run.end);
    } finally {
      run.signal("SIGKILL"); // nothing to one that has ended
      await run.end;
    }
  }, 90_000);
} else {
  test.skip("a wall clock that steps: sudo apt-get install gcc make libc6-dev", () => {});
}

function expectUntouched(ended: Ended): void {
  const report = reportOf(ended);
  expect([ended.code, ended.signal, report.failure]).toEqual([0, null, null]);
  // The first step forward would have ended it, and the first back would have kept it for ever.
  expect(report.ticks + report.missed_ticks).toBeGreaterThanOrEqual(DURATION_S * 200);
  expect(Object.keys(report.fault_ticks).filter((name) => !LAWFUL.includes(name))).toEqual([]);
  const path = report.supervisor_path.filter((mode) => mode !== "DEGRADED");
  const whole = path.filter((mode, index) => mode !== path[index - 1]);
  expect(whole.join(" ")).toBe("STARTING RUNNING SAFE_STOP");
}

test("what asks the kernel for the time or a sleep names a clock that never steps", () => {
  const asked = new Map<string, Set<string>>();
  for (const path of new Bun.Glob("{runtime,hal,safety,drivers}/**/*.ts").scanSync(ROOT)) {
    if (path.endsWith(".test.ts")) continue;
    const text = readFileSync(join(ROOT, path), "utf8");
    for (const [, clock = ""] of text.matchAll(/\b(?:readClock|clock_\w+)\(([^,)]+)/g)) {
      asked.set(path, (asked.get(path) ?? new Set()).add(clock));
    }
    expect(text).not.toContain("CLOCK_REALTIME");
  }
  // One function stands between, and hands on what it is given.
  const clocks = ["CLOCK_MONOTONIC", "CLOCK_BOOTTIME", "clock: number", "clock"];
  expect(asked).toEqual(new Map([["hal/ffi/monotonic-clock.ts", new Set(clocks)]]));
  const text = readFileSync(join(ROOT, "hal/ffi/monotonic-clock.ts"), "utf8");
  expect(text).toContain("const CLOCK_MONOTONIC = 1;");
  expect(text).toContain("const CLOCK_BOOTTIME = 7;");
});
