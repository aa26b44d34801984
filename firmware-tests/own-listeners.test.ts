// What a fresh start can be reached by: the page of a run and the port of a host, on this machine
// alone, whatever profile ships. Everything else is a Unix socket of the user's own.

import { afterAll, afterEach, expect, test } from "bun:test";
import { createServer } from "node:net";
import { robotNames } from "../runtime/profile/builtin.ts";
import { listenersOf } from "./own-listeners.ts";
import { ProgramRun, Scratch } from "./process.ts";

const scratch = new Scratch();
const launched: ProgramRun[] = [];
afterAll(() => scratch[Symbol.dispose]());
afterEach(async () => {
  for (const run of launched.splice(0)) {
    run.signal("SIGKILL");
    await run.end;
  }
});

/** Away from the default, so that a person's own run and its page are left alone. */
const PORT = 28_180;

function launch(args: string): ProgramRun {
  const run = new ProgramRun(args.split(" "), { scratch });
  launched.push(run);
  return run;
}

test("a server on every address is seen as one", async () => {
  const server = createServer().listen(0, "0.0.0.0");
  const { port } = server.address() as { port: number };
  expect(listenersOf(process.pid)).toContain(`0.0.0.0:${port}`);
  await new Promise((resolve) => server.close(resolve));
  expect(listenersOf(process.pid)).not.toContain(`0.0.0.0:${port}`);
});

test.each(robotNames)(
  "a run of %s has its page on this machine, and nothing else",
  async (name) => {
    const run = launch(`run ${name} --time lockstep --port ${PORT}`);
    const [, port] = await run.until(/page: http:\/\/127\.0\.0\.1:(\d+)\//);
    expect(listenersOf(run.pid)).toEqual([`127.0.0.1:${port}`]);
  },
  60_000,
);

test("nor has one in real time, with an e-stop beside it", async () => {
  const run = launch(`run --estop emulated --port ${PORT}`);
  const [, port] = await run.until(/page: http:\/\/127\.0\.0\.1:(\d+)\//);
  expect(listenersOf(run.pid)).toEqual([`127.0.0.1:${port}`]);
}, 60_000);

test("a host has its own port, and that of its metrics where asked", async () => {
  const host = launch(`host --listen 127.0.0.1:${PORT + 1} --metrics ${PORT + 2}`);
  for (const port of [PORT + 1, PORT + 2]) await host.until(new RegExp(`:${port}`));
  const expected = [`127.0.0.1:${PORT + 1}`, `127.0.0.1:${PORT + 2}`];
  expect(listenersOf(host.pid).sort()).toEqual(expected);
}, 60_000);
