// holdfast stop, reset, start and status against live sockets: none, one, and several runs at
// once. The runs are made up and remember what they were asked.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { CommandContext } from "./command-context.ts";
import { exampleStatus, FakeRun, fakeContext, freshUser } from "./fixture.ts";
import { OperatorSocket } from "./operator-socket.ts";
import { runProgram } from "./program.ts";
import { folderCandidates } from "./runtime-folder.ts";
import { statusReport } from "./status-line.ts";

async function type(line: string, user: CommandContext["user"]) {
  const context = fakeContext({ user });
  const exitCode = await runProgram(line.split(" "), context);
  return { exitCode, out: context.out.text, err: context.err.text };
}

/** Runs with process ids from 11 on, live while `use` works. */
async function withRuns(
  count: number,
  use: (runs: FakeRun[], user: CommandContext["user"]) => Promise<void>,
): Promise<void> {
  const user = freshUser();
  const runs = Array.from({ length: count }, () => new FakeRun());
  const sockets = runs.map((run, index) => OperatorSocket.open(run, 11 + index, user));
  try {
    await use(runs, user);
  } finally {
    for (const socket of sockets) socket.close();
  }
}

test.each(["stop", "reset", "start", "status"])("%s without a run says so", async (method) => {
  expect(await type(method, freshUser())).toEqual({
    exitCode: 1,
    out: "",
    err: 'holdfast: No run is live: start one with "holdfast run"\n',
  });
});

test("one run is asked without a choice", async () => {
  await withRuns(1, async ([run], user) => {
    for (const method of ["stop", "reset", "start"]) {
      expect(await type(method, user)).toEqual({
        exitCode: 0,
        out: `run 11: ${method} heard\n`,
        err: "",
      });
    }
    expect(run!.asked).toEqual(["stop", "reset", "start"]);
    expect((await type("status", user)).out).toBe(
      `${statusReport(exampleStatus, 11, "holdfast")}\n`,
    );
    expect(JSON.parse((await type("status --json", user)).out)).toEqual({
      pid: 11,
      ...exampleStatus,
      causeS: null, // JSON has no word for a figure that is not there
    });
  });
});

test("estop shows, arms and proves by the same way", async () => {
  await withRuns(1, async ([run], user) => {
    expect((await type("estop status", user)).out).toBe("run 11: e-stop emulated: ARMED\n");
    expect((await type("estop arm", user)).out).toBe("run 11: arm heard\n");
    expect((await type("estop reset", user)).out).toBe("run 11: arm heard\n");
    expect((await type("estop prooftest --pid 11", user)).out).toBe("run 11: prooftest heard\n");
    expect(run!.asked).toEqual(["arm", "arm", "prooftest"]);
  });
});

test("a cue that a run does not take is exit code 1", async () => {
  await withRuns(1, async ([run], user) => {
    run!.isWilling = false;
    expect(await type("start", user)).toEqual({
      exitCode: 1,
      out: "run 11: start heard\n",
      err: "",
    });
  });
});

test("stop reaches every run; the others ask which", async () => {
  await withRuns(2, async (runs, user) => {
    expect(await type("stop", user)).toEqual({
      exitCode: 0,
      out: "run 11: stop heard\nrun 12: stop heard\n",
      err: "",
    });
    for (const method of ["reset", "start", "status"]) {
      const expected = "expected --pid to say which run, found 2: 11 (so101), 12 (so101)";
      expect(await type(method, user)).toEqual({
        exitCode: 2,
        out: "",
        err: `holdfast: Cannot use ${method}: ${expected}\n`,
      });
    }
    expect(await type("reset --pid 12", user)).toEqual({
      exitCode: 0,
      out: "run 12: reset heard\n",
      err: "",
    });
    expect(await type("stop --pid 11", user)).toEqual({
      exitCode: 0,
      out: "run 11: stop heard\n",
      err: "",
    });
    expect(await type("start --pid 13", user)).toEqual({
      exitCode: 1,
      out: "",
      err: 'holdfast: No run 13 is live: start one with "holdfast run"\n',
    });
    expect(runs.map((run) => run.asked)).toEqual([
      ["stop", "stop"],
      ["stop", "reset"],
    ]);
  });
});

test("stop reaches a run that was started with another environment", async () => {
  const user = freshUser();
  const run = new FakeRun();
  const socket = OperatorSocket.open(run, 11, { ...user, environment: {} });
  try {
    const answer = { exitCode: 0, out: "run 11: stop heard\n", err: "" };
    expect(await type("stop", user)).toEqual(answer);
    expect(run.asked).toEqual(["stop"]);
  } finally {
    socket.close();
  }
});

test("a run that died leaves no choice to make, and its socket goes", async () => {
  await withRuns(1, async ([run], user) => {
    const script = `
      import { FakeRun } from "${import.meta.dir}/fixture.ts";
      import { OperatorSocket } from "${import.meta.dir}/operator-socket.ts";
      console.log(OperatorSocket.open(new FakeRun(), 99, ${JSON.stringify(user)}).path);
      process.kill(process.pid, "SIGKILL");`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    const path = (await child.stdout.text()).trim();
    expect(existsSync(path)).toBe(true);
    expect(await type("reset", user)).toEqual({
      exitCode: 0,
      out: "run 11: reset heard\n",
      err: "",
    });
    expect({ asked: run!.asked, isThere: existsSync(path) }).toEqual({
      asked: ["reset"],
      isThere: false,
    });
  });
});

test.each(["stop", "reset", "start", "status"])(
  "%s --help says where runs are found",
  async (name) => {
    const { out } = await type(`${name} --help`, freshUser());
    const places = folderCandidates({ uid: 7, environment: { XDG_RUNTIME_DIR: "/its/own" } });
    const words = places.map((path) =>
      path.replace("/its/own", "$XDG_RUNTIME_DIR").replace("7", "UID"),
    );
    expect(words.filter((word) => !out.includes(word))).toEqual([]);
  },
);
