// A real process that is stopped and goes on later, as by a signal or a debugger: it
// has lost the world, so it stops, says why and which command goes on, and waits for a person.
//
// Only the path of modes is asserted. The one wait is for the machine's own clock.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { duration } from "../runtime/contracts/units.ts";
import { AWAY_NS_MAX } from "../runtime/core/machine-watch.ts";
import { sessionOrigin, SystemClock } from "../runtime/workers/system-clock.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";

test("a process that stood still for longer than a second waits for reset and start", async () => {
  using scratch = new Scratch();
  const args = ["run", "--json", "--port", "28180", "--policy", "sine", "--task", "none"];
  const run = new ProgramRun(args, { scratch });
  try {
    await run.until(/STARTING → RUNNING/);
    run.signal("SIGSTOP");
    while (!isStopped(run.pid)) await Bun.sleep(5);
    const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
    const untilNs = clock.nowNs() + 1.5 * AWAY_NS_MAX;
    while (clock.nowNs() < untilNs) await Bun.sleep(20);
    run.signal("SIGCONT");
    await run.until(/→ SAFE_STOP: control_away: the process or its machine stood still/);
    await run.until(/Stopped by control_away .* cleared: .*reset, then .*start/);
    for (const act of ["reset", "start"]) {
      const { code, stderr } = await runToEnd([act, "--pid", `${run.pid}`], { scratch });
      expect([code, stderr]).toEqual([0, ""]);
      await run.until(act === "reset" ? /SAFE_STOP → RECOVER: reset/ : /RECOVER → RUNNING: start/);
    }
    run.signal("SIGTERM");
    const { supervisor_path: path } = reportOf(await run.end);
    // A busy machine may hold it up in between; nothing else may.
    const held = path.filter((mode) => mode !== "DEGRADED");
    const whole = held.filter((mode, index) => mode !== held[index - 1]);
    expect(whole.join(" ")).toBe("STARTING RUNNING SAFE_STOP RECOVER RUNNING SAFE_STOP");
  } finally {
    run.signal("SIGKILL");
    await run.end;
  }
}, 90_000);

/** Whether the kernel has stopped it, as the third field of its line says. */
function isStopped(pid: number): boolean {
  const line = readFileSync(`/proc/${pid}/stat`, "utf8");
  return line.slice(line.lastIndexOf(")") + 2).startsWith("T");
}
