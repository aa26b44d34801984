// The command line as processes, for what only a process meets: a folder that is gone, a full disk
// behind standard output, a pipe where a file is expected, a taken port, signals that come in
// pairs. A command that hangs is killed, which its signal then shows.

import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FROM_SOURCE, ProgramRun, runToEnd, Scratch } from "./process.ts";
import type { Ended } from "./process.ts";

setDefaultTimeout(90_000);
const PORT = 28_390;
const SCRIPTS_RUN = join(import.meta.dir, "../scripts/run");

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});
afterEach(() => scratch[Symbol.dispose]());

const type = (line: string, program?: readonly string[]): Promise<Ended> =>
  runToEnd(line.split(" "), { scratch, ...(program !== undefined && { program }) });

/** The program, started by a shell whose folder is gone. */
function fromNowhere(program: readonly string[] = FROM_SOURCE): readonly string[] {
  const leave = 'cd "$0" && rmdir "$0" && exec "$@"';
  return ["/bin/sh", "-c", leave, scratch.made("gone"), ...program];
}

function fifo(name: string): string {
  const path = join(scratch.folder, name);
  expect(Bun.spawnSync(["mkfifo", "--mode=600", path]).exitCode).toBe(0);
  return path;
}

test("from a folder that is gone a run is stopped, asked and started", async () => {
  const run = new ProgramRun(["run", "ur5e", "--policy", "hold", "--port", `${PORT}`], { scratch });
  await run.until(/→ RUNNING: start/);
  const pid = `--pid ${run.pid}`;
  const stopped = await type(`stop ${pid}`, fromNowhere());
  expect([stopped.code, stopped.stderr]).toEqual([0, ""]);
  await run.until(/→ SAFE_STOP/);
  expect((await type(`status ${pid}`, fromNowhere())).stdout).toContain("SAFE_STOP");
  expect((await type(`reset ${pid}`, fromNowhere([SCRIPTS_RUN]))).code).toBe(0);
  await run.until(/→ RECOVER/);
  expect((await type(`start ${pid}`, fromNowhere())).code).toBe(0);
  await run.until(/RECOVER → RUNNING/);
  expect((await type(`stop --park ${pid}`, fromNowhere([SCRIPTS_RUN]))).code).toBe(0);
  await run.until(/(?:RUNNING → SAFE_STOP.*){2}/s);
  run.signal("SIGTERM");
  expect((await run.end).code).toBe(0);
});

test("a line of JSON that cannot go out is no success", async () => {
  const full = ["/bin/sh", "-c", '"$0" "$@" > /dev/full', ...FROM_SOURCE];
  const { code, stderr } = await type("doctor --json", full);
  expect([code, stderr]).toEqual([1, "holdfast: Cannot write the JSON to standard output\n"]);
});

describe("a pipe where a file belongs is refused by its path, not waited for", () => {
  const refused = async (line: string, message: string) => {
    const { code, signal, stdout, stderr } = await type(line);
    expect([code, signal, stdout, stderr]).toEqual([2, null, "", `holdfast: ${message}\n`]);
  };

  test("a policy, before anything loads", async () => {
    for (const name of ["p.ts", "p.onnx"]) {
      const path = fifo(name);
      const found = `expected a regular file, found a named pipe at "${path}"`;
      await refused(`run --policy ${path}`, `Cannot use --policy: ${found}`);
      await refused(`host --policy ${path}`, `Cannot use --policy: ${found}`);
    }
  });

  test("a picture, before it is drawn", async () => {
    const path = fifo("a.jpg");
    const found = `expected a place to write, found a named pipe at "${path}"`;
    await refused(`snapshot so101 ${path}`, `Cannot use OUT.jpg: ${found}`);
  });

  test("what pairing left", async () => {
    scratch.made("state/holdfast/pairing/host/robots");
    const path = fifo("state/holdfast/pairing/host/robots/x.json");
    const found = "expected a regular file, found something else";
    await refused("pair list", `Cannot use "${path}": ${found}`);
  });

  test("the e-stop's line", async () => {
    const path = fifo("tty");
    const found = `expected a serial line, found a named pipe at "${path}"`;
    await refused(`run --estop ${path}`, `Cannot use --estop: ${found}`);
  });
});

describe("a policy host", () => {
  test("says in one line that its port is taken", async () => {
    using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const at = `127.0.0.1:${taken.port}`;
    const { code, stdout, stderr } = await type(`host --listen ${at}`);
    const found = `expected an address that is free, found ${at}, where another program listens`;
    expect([code, stdout, stderr]).toEqual([2, "", `holdfast: Cannot use --listen: ${found}\n`]);
  });

  test("shows the path of its policy on one line, without what steers a terminal", async () => {
    const path = join(scratch.folder, "a\u001b[2J\nb.js");
    writeFileSync(path, "export const createPolicy = () => undefined;");
    const host = new ProgramRun(["host", "--listen", "127.0.0.1:0", "--policy", path], { scratch });
    await host.until(/on the robot:/);
    host.signal("SIGTERM");
    const { code, stdout } = await host.end;
    expect([code, stdout.split("\n")[0]]).toEqual([
      0,
      expect.stringMatching(/^policy host: \/\S+\/a.?\[2J.?b\.js, on 127\.0\.0\.1:\d+$/),
    ]);
    expect(stdout).not.toContain("\u001b");
  });

  test("ends the same however soon a second signal follows the first", async () => {
    for (const gapMs of [0, 1, 3, 10, 30]) {
      const host = new ProgramRun(["host", "--listen", "127.0.0.1:0"], { scratch });
      await host.until(/on the robot:/);
      host.signal("SIGTERM");
      await Bun.sleep(gapMs);
      host.signal("SIGTERM");
      const { code, signal } = await host.end;
      expect([gapMs, code, signal]).toEqual([gapMs, 0, null]);
    }
  });
});

test("a policy by the wrong ending is refused before anything loads", async () => {
  const path = join(scratch.folder, "p.json");
  writeFileSync(path, "{");
  const { code, stderr } = await type(`run --policy ${path}`);
  const found = `expected a .ts, .js or .onnx file, found "${path}"`;
  expect([code, stderr]).toEqual([2, `holdfast: Cannot use --policy: ${found}\n`]);
});
