// Whole runs in real time, as processes with real threads: what they schedule, serve and report,
// and how they end: by duration, signals, a kill, a closed terminal, a thread that dies.
//
// Nothing is asserted about how long anything took: another program may have the machine.

import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, copyFileSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { undeclaredRealtime } from "../hal/ffi/threads.ts";
import { fixturePolicies } from "./fixture-policies.ts";
import { FROM_SOURCE, ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";
import type { LaunchOptions, RunJson } from "./process.ts";

const scratch = new Scratch();
const launched: ProgramRun[] = [];
afterAll(() => scratch[Symbol.dispose]());
/** A case that failed leaves nothing running that the next one could take for its own. */
afterEach(async () => {
  for (const run of launched.splice(0)) {
    run.signal("SIGKILL");
    await run.end;
  }
});

/** Away from the default, so that a person's own run and its page are left alone. */
const PORT = 28_080;
/** The threads that may be real-time, and their priorities. */
const declared = { "hf-control": 80, "hf-robot": 70 };
const normal = ["hf-policy", "hf-camera"];

setDefaultTimeout(90_000);

function launch(args: string, options: Partial<LaunchOptions> = {}): ProgramRun {
  const command = `run --json --port ${PORT} ${args}`.trimEnd().split(" ");
  const run = new ProgramRun(command, { scratch, ...options });
  launched.push(run);
  return run;
}

/** The address of the page, once it serves. */
async function pageOf(run: ProgramRun): Promise<string> {
  const [, url = ""] = await run.until(/page: (http:\S+)/);
  return url;
}

async function status(run: ProgramRun): Promise<Record<string, unknown>> {
  const response = await fetch(`${await pageOf(run)}status.json`);
  return (await response.json()) as Record<string, unknown>;
}

/** Asks the run itself until its status fits. */
async function untilStatus(
  run: ProgramRun,
  fits: (status: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  for (;;) {
    const found = await status(run);
    if (fits(found)) return found;
    await Bun.sleep(20);
  }
}

const isMoving = ({ mode, tick }: Record<string, unknown>): boolean =>
  mode === "RUNNING" && (tick as number) > 50;

/** The declared threads and no other are real-time, if the machine grants it at all. */
function expectThreads(run: ProgramRun): void {
  const threads = run.threads();
  const isGranted = !run.written.includes("no real-time priority");
  for (const [name, priority] of Object.entries(declared)) {
    const expected = isGranted ? { policy: "FIFO", priority } : { policy: "OTHER", priority: 0 };
    expect(threads.filter((thread) => thread.name === name)).toMatchObject([expected]);
  }
  for (const name of normal) {
    expect(threads.filter((thread) => thread.name === name)).toMatchObject([{ policy: "OTHER" }]);
  }
  expect(undeclaredRealtime(threads, Object.keys(declared))).toEqual([]);
}

/** Whether this machine lets a program keep its CPUs from idling. */
function mayKeepAwake(): boolean {
  try {
    closeSync(openSync("/dev/cpu_dma_latency", "r+"));
    return true;
  } catch {
    return false;
  }
}

function expectCadence(report: RunJson): void {
  expect(report.supervisor_path[0]).toBe("STARTING");
  expect(report.supervisor_path).toContain("RUNNING");
  expect(report.supervisor_path.at(-1)).toBe("SAFE_STOP");
  expect([report.rate_asked_hz, report.failure]).toEqual([200, null]);
  expect(report.ticks).toBeGreaterThan(50);
  expect(report.safe_entries["stop"]).toBeGreaterThanOrEqual(10); // at rest for ten ticks
  expect(report.trace_hash).toMatch(/^[0-9a-f]{64}$/); // no record was lost
  // A sample is half a period old; what is more is the machine's own lateness.
  const periodUs = 1e6 / report.rate_asked_hz;
  expect(report.sample_age_us.p50).toBeLessThanOrEqual(periodUs + report.wake_us.p99);
}

describe("a run", () => {
  test("has the declared threads, serves its page and picture, and reports", async () => {
    const run = launch("");
    const url = await pageOf(run);
    await untilStatus(run, isMoving);
    expectThreads(run);
    expect(run.hasOpen("/dev/cpu_dma_latency")).toBe(mayKeepAwake());
    expect(await (await fetch(url)).text()).toContain("<title>");
    const picture = await untilPicture(url);
    expect([...picture.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff]); // a JPEG begins so
    const asked = await runToEnd(["status", "--json", "--pid", `${run.pid}`], { scratch });
    expect(JSON.parse(asked.stdout)).toMatchObject({ profile: "so101", timeModel: "streaming" });
    expectThreads(run);
    run.signal("SIGTERM");
    const end = await run.end;
    expect([end.code, end.signal]).toEqual([0, null]);
    expectCadence(reportOf(end));
    expect(scratch.sockets()).toEqual([]);
  });

  test("ends by its duration, with standard input closed and a policy that posts", async () => {
    const args = `--policy ${fixturePolicies.posts} --duration 1`;
    const end = await launch(args, { stdinClosed: true }).end;
    const { supervisor_path: path } = reportOf(end);
    expect([end.code, path.includes("RUNNING"), path.at(-1)]).toEqual([0, true, "SAFE_STOP"]);
  });

  test("as a service waits for a start, and moves nothing before", async () => {
    const run = launch("--wait-for-start");
    const ready = await untilStatus(run, ({ hint }) => hint === "Ready");
    const { commandRad } = ready;
    const later = (ready["tick"] as number) + 400;
    const waited = await untilStatus(run, ({ tick }) => (tick as number) > later);
    expect(waited).toMatchObject({ mode: "STARTING", commandRad });
    await runToEnd(["start", "--pid", `${run.pid}`], { scratch });
    await untilStatus(run, (status) => !Bun.deepEquals(status["commandRad"], commandRad));
    run.signal("SIGTERM");
    expect(reportOf(await run.end).supervisor_path).toEqual(["STARTING", "RUNNING", "SAFE_STOP"]);
  });

  test("ends as well when nobody reads what it prints", async () => {
    const command = `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`;
    const args = [...FROM_SOURCE, "run", "--duration", "1", "--port", `${PORT}`];
    const end = await runToEnd(args, { scratch, program: ["/bin/bash", "-c", command] });
    expect(end.stdout.trimEnd().split("\n")).toEqual([expect.any(String), "0"]);
  });
});

describe("signals", () => {
  /** What a signal asks for is under way, and the arm, which would fall, is laid down first. */
  async function expectParked(run: ProgramRun): Promise<void> {
    const end = await run.end;
    const { supervisor_path: path, parked } = reportOf(end);
    expect([end.code, end.signal, path.at(-1), parked]).toEqual([0, null, "SAFE_STOP", true]);
    expect(end.stderr).toContain("ending under control: parks the robot, then lets go");
  }

  test.each(["SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU"] as const)(
    "%s ends under control",
    async (name) => {
      const run = launch("");
      await untilStatus(run, isMoving);
      run.signal(name);
      await expectParked(run);
    },
  );

  test("SIGTERM as well, and two at once, as `timeout` sends them, are one", async () => {
    const run = launch("");
    await untilStatus(run, isMoving);
    run.signal("SIGTERM");
    await run.until(/ending under control/);
    run.signal("SIGTERM");
    await expectParked(run);
  });

  test("signals that ask for nothing change nothing", async () => {
    const run = launch("");
    await untilStatus(run, isMoving);
    const idle = ["SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO"] as const;
    for (const name of idle) {
      run.signal(name);
      await untilStatus(run, isMoving);
    }
    expectThreads(run);
    run.signal("SIGTERM");
    await expectParked(run);
  });

  test("a later SIGINT leaves at once, without a report", async () => {
    // Its policy thread takes a second to give up on, so that the end can be cut short.
    const run = launch(`--policy ${fixturePolicies.loops}`);
    await untilStatus(run, ({ mode }) => mode === "SAFE_STOP");
    let isOver = false;
    const end = run.end.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      run.signal("SIGINT");
      await Bun.sleep(20);
    }
    const { code, stdout } = await end;
    expect([code, stdout]).toEqual([130, ""]);
  });

  test("a signal while threads still load is not lost", async () => {
    const run = launch("");
    while (!run.threads().some(({ name }) => name === "hf-robot")) await Bun.sleep(5);
    run.signal("SIGTERM");
    const end = await run.end;
    expect([end.code, end.signal]).toEqual([0, null]);
  });
});

/** The SO-101 with its arm turned far to the side: parking takes it some seconds. */
function turnedProfile(): string {
  const profiles = join(import.meta.dir, "../profiles");
  const text = readFileSync(join(profiles, "so101.yaml"), "utf8");
  const path = join(scratch.folder, "turned.yaml");
  writeFileSync(path, text.replace("home_rad: 0\n", "home_rad: 1.9\n"));
  copyFileSync(join(profiles, "models/so101.xml"), join(scratch.made("models"), "so101.xml"));
  return path;
}

describe("an arm that would fall without power", () => {
  test("a second signal lets go at once, with a warning, and still reports", async () => {
    const run = launch(`${turnedProfile()} --policy hold --task none`);
    await untilStatus(run, isMoving);
    run.signal("SIGINT");
    await untilStatus(run, ({ hint }) => hint === "Parks, then lets go");
    while (!run.written.includes("warning: lets go at once")) {
      run.signal("SIGINT");
      await Bun.sleep(20);
    }
    const end = await run.end;
    expect([end.code, reportOf(end).parked]).toEqual([0, false]);
  });

  test("stop --park parks it; reset and start take hold of it again", async () => {
    const run = launch("--policy sine");
    await untilStatus(run, isMoving);
    const pid = ["--pid", `${run.pid}`];
    const asked = await runToEnd(["stop", "--park", ...pid], { scratch });
    expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining("park asked in ")]);
    const { measuredRad } = await untilStatus(run, ({ hint }) =>
      String(hint).includes("has let go"),
    );
    for (const word of ["reset", "start"]) {
      await runToEnd([word, ...pid], { scratch });
      await untilStatus(run, ({ mode }) => mode === (word === "reset" ? "RECOVER" : "RUNNING"));
    }
    const [pan] = measuredRad as number[];
    await untilStatus(run, (now) => Math.abs((now["measuredRad"] as number[])[0]! - pan!) > 0.05);
    run.signal("SIGTERM");
    expect(reportOf(await run.end).parked).toBe(true);
  });

  test("an arm with brakes only stops, whatever it is asked", async () => {
    const run = launch("ur5e --policy hold --task none");
    await untilStatus(run, isMoving);
    const asked = await runToEnd(["stop", "--park", "--pid", `${run.pid}`], { scratch });
    expect(asked.stdout).toContain("this robot is not parked, it holds");
    run.signal("SIGINT");
    const end = await run.end;
    expect([end.code, reportOf(end).parked]).toEqual([0, null]);
    expect(end.stderr).toContain("ending under control; another signal leaves at once");
  });
});

test("two runs at once each have a page and a socket; a killed one locks nothing", async () => {
  const first = launch("");
  const taken = Bun.serve({
    hostname: "127.0.0.1",
    port: PORT + 1,
    reusePort: false,
    fetch: () => new Response("mine"),
  });
  try {
    await untilStatus(first, isMoving);
    const second = launch("");
    const urls = [await pageOf(first), await pageOf(second)];
    expect(urls).toEqual([`http://127.0.0.1:${PORT}/`, `http://127.0.0.1:${PORT + 2}/`]);
    await untilStatus(second, isMoving);
    expect(scratch.sockets().toSorted()).toEqual(
      [first, second].map(({ pid }) => `${pid}.sock`).toSorted(),
    );
    const unclear = await runToEnd(["status"], { scratch });
    expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining("2: ")]);

    first.signal("SIGKILL");
    expect((await first.end).signal).toBe("SIGKILL");
    expect(scratch.sockets()).toContain(`${first.pid}.sock`);
    // The next run takes its page, and removes what it left.
    const third = launch("--duration 1");
    expect(await pageOf(third)).toBe(urls[0]!);
    expect((await third.end).code).toBe(0);
    expect(scratch.sockets()).toEqual([`${second.pid}.sock`]);
    // With the dead one out of the way the live one is meant.
    const clear = await runToEnd(["status", "--json"], { scratch });
    expect(JSON.parse(clear.stdout)).toMatchObject({ pid: second.pid });

    const pid = ["--pid", `${second.pid}`];
    const stopped = await runToEnd(["stop", ...pid], { scratch });
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining("stop asked")]);
    await untilStatus(second, ({ mode }) => mode === "SAFE_STOP");
    for (const word of ["reset", "start"]) await runToEnd([word, ...pid], { scratch });
    await untilStatus(second, ({ mode }) => mode === "RUNNING");
    second.signal("SIGTERM");
    const report = reportOf(await second.end);
    const { supervisor_path: path } = report;
    // A tick without a decision, as after a start, shows as DEGRADED between two RUNNING.
    const text = path
      .slice(path.indexOf("SAFE_STOP"))
      .join(" ")
      .replaceAll("RUNNING DEGRADED ", "");
    expect(text.split(" ")).toEqual(["SAFE_STOP", "RECOVER", "RUNNING", "SAFE_STOP"]);
  } finally {
    await taken.stop(true);
  }
});

describe("a policy that takes its thread with it", () => {
  const stops = ({ mode }: Record<string, unknown>): boolean => mode === "SAFE_STOP";

  test.each([
    { name: "exits", text: "the policy thread ended: it ended with code 3" },
    { name: "throwsLater", text: "the policy thread ended: thrown from a timer" },
    { name: "throwsNull", text: "the policy thread ended: null" },
  ])("$name: the thread is named, the robot stops, the run says so", async ({ name, text }) => {
    const run = launch(`--policy ${fixturePolicies[name]}`);
    await run.until(new RegExp(text));
    const { tick, hint, acts, policy } = await untilStatus(run, stops);
    expect(policy).toBe("turning"); // what the file calls itself
    // A reset would lead nowhere: the thread is not started again.
    expect([hint, acts]).toEqual([
      expect.stringMatching(new RegExp(`^Stopped by .*: ${text}$`)),
      ["quit"],
    ]);
    await untilStatus(run, (later) => (later["tick"] as number) > (tick as number) + 20);
    run.signal("SIGTERM");
    const end = await run.end;
    const report = reportOf(end);
    expect([end.code, report.failure]).toEqual([1, text]);
    expect(report.safe_entries_control["no_action"]).toBeGreaterThan(0);
    expect(report.supervisor_path.at(-1)).toBe("SAFE_STOP");
  });

  test.each(["loops", "neverAnswers"])(
    "%s: the tick goes on, and a signal still ends the run",
    async (name) => {
      const run = launch(`--policy ${fixturePolicies[name]}`);
      const { tick } = await untilStatus(run, stops);
      await untilStatus(run, (later) => (later["tick"] as number) > (tick as number) + 100);
      run.signal("SIGTERM");
      const end = await run.end;
      const hung = name === "loops" ? "did not end in time: the policy thread" : null;
      expect([end.code, end.signal]).toEqual([hung === null ? 0 : 1, null]);
      const report = reportOf(end);
      expect(report.failure).toBe(hung);
      expect(report.safe_entries_control["no_action"]).toBeGreaterThan(0);
      expect(report.supervisor_path.at(-1)).toBe("SAFE_STOP");
    },
  );

  test("throws: it is told once, and once as the reason of the stop; the run goes on", async () => {
    const run = launch(`--policy ${fixturePolicies.throws}`);
    await untilStatus(run, stops);
    run.signal("SIGTERM");
    const end = await run.end;
    expect(end.code).toBe(0);
    const told = end.stderr.split("\n").filter((line) => line.includes("no idea what to do"));
    expect(told).toEqual([
      expect.stringMatching(/^policy ".*" threw: no idea what to do \(/),
      expect.stringMatching(/SAFE_STOP {2}Stopped by no_action at .*: the policy threw: no idea/),
    ]);
    expect(reportOf(end).safe_entries_policy["policy_threw"]).toBeGreaterThan(0);
  });
});

test("a control thread that asserts is named and dumped, and the run exits with 1", async () => {
  const end = await launch(`--policy ${fixturePolicies.breaksControl}`).end;
  expect([end.code, reportOf(end).failure]).toEqual([
    1,
    "the control thread ended: Assertion failed: the cue is known",
  ]);
  const [dump = ""] = scratch.flightDumps();
  const [head = "", ...ticks] = readFileSync(dump, "utf8").trimEnd().split("\n");
  expect(JSON.parse(head)).toMatchObject({ profile: "so101", seed: 1 });
  expect(ticks.length).toBeGreaterThan(50);
  const { mode } = JSON.parse(ticks.at(-1)!) as { mode: string };
  expect(mode).toMatch(/^(RUNNING|DEGRADED)$/);
});

/** The SO-101 with a start timeout of one second instead of ten. */
function impatientProfile(): string {
  const profiles = join(import.meta.dir, "../profiles");
  const text = readFileSync(join(profiles, "so101.yaml"), "utf8");
  const path = join(scratch.folder, "impatient.yaml");
  writeFileSync(path, text.replace("start_timeout_ms: 10000", "start_timeout_ms: 1000"));
  copyFileSync(join(profiles, "models/so101.xml"), join(scratch.made("models"), "so101.xml"));
  return path;
}

describe("a stop that is over", () => {
  test("is named on every surface until a person goes on", async () => {
    const run = launch("--policy sine --fault freeze:joints@500ms+300ms");
    const cleared = await untilStatus(run, ({ hint }) => String(hint).endsWith("; cleared"));
    expect(cleared["hint"]).toMatch(/^Stopped by stale_state at 0\.7\d s; cleared$/);
    const asked = await runToEnd(["status", "--pid", `${run.pid}`], { scratch });
    expect(asked.stdout).toMatch(/stopped {3}by stale_state, at 0\.7\d s/);
    expect(asked.stdout).toMatch(/cleared: scripts\/run reset, then scripts\/run start\n$/);

    const early = await runToEnd(["start", "--pid", `${run.pid}`], { scratch });
    expect([early.code, early.stdout]).toEqual([
      1,
      expect.stringContaining("start ignored in SAFE_STOP: reset first"),
    ]);
    for (const word of ["reset", "start"]) {
      expect((await runToEnd([word, "--pid", `${run.pid}`], { scratch })).code).toBe(0);
      await untilStatus(run, ({ mode }) => mode === (word === "reset" ? "RECOVER" : "RUNNING"));
    }
    const again = await runToEnd(["reset", "--pid", `${run.pid}`], { scratch });
    expect([again.code, again.stdout]).toEqual([1, expect.stringContaining("nothing to reset")]);
    expect(await status(run)).toMatchObject({ cause: "", causeS: null });
    run.signal("SIGTERM");
    const { stderr } = await run.end;
    expect(stderr).toMatch(/^0\.500 s {2}fault freeze:joints@500ms\+300ms begins$/m);
    expect(stderr).toMatch(
      /^0\.7\d\d s {2}DEGRADED → SAFE_STOP: stale_state: the robot's readings are too old$/m,
    );
    expect(stderr).toMatch(/^\S+ s {2}SAFE_STOP → RECOVER: reset$/m);
    expect(stderr).toMatch(/^\S+ s {2}RUNNING → SAFE_STOP: the end of the run$/m);
  });
});

test("a robot that never speaks latches, says what it lacks, and exits with 1", async () => {
  const run = launch(`${impatientProfile()} --fault drop:joints`);
  const latched = await untilStatus(run, ({ mode }) => mode === "FAULT_LATCHED");
  expect(latched).toMatchObject({ cause: "stale_state", acts: ["reset", "start"] });
  expect(latched["hint"]).toMatch(/^Latched by stale_state at 1\.\d\d s; still there/);
  run.signal("SIGTERM");
  const end = await run.end;
  expect([end.code, reportOf(end).supervisor_path]).toEqual([
    1,
    ["STARTING", "SAFE_STOP", "FAULT_LATCHED"],
  ]);
});

/** Asking makes the camera draw; the first picture comes a little later. */
async function untilPicture(url: string): Promise<Uint8Array> {
  for (;;) {
    const response = await fetch(`${url}frame.jpg`);
    if (response.status === 200) return new Uint8Array(await response.arrayBuffer());
    await Bun.sleep(20);
  }
}

describe("a policy that is not there when the run begins", () => {
  test("one whose thread dies as it starts ends the start, and is named", async () => {
    const end = await launch(`--policy ${fixturePolicies.diesAtStart}`).end;
    expect(end.code).toBe(2);
    expect(end.stderr).toContain("Cannot start the policy thread: ");
  });

  test("one that loads for ever is left by SIGTERM and by SIGINT", async () => {
    // Beside each other: both only wait, and neither gets as far as threads in real time.
    const leave = async (name: NodeJS.Signals): Promise<void> => {
      const run = launch(`--policy ${fixturePolicies.loadsForever}`);
      await run.until(/waiting for the policy thread to load/);
      run.signal(name);
      const end = await run.end;
      expect(end.code).toBe(1);
      expect(end.stderr).toContain("ended before the run began");
    };
    await Promise.all([leave("SIGTERM"), leave("SIGINT")]);
  });
});
