// A person at a run: keys and signals, in every order that matters, and that the terminal and the
// ways in are given back.

import { afterEach, expect, jest, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { FakeRun, FakeTerminal, fakeContext } from "./fixture.ts";
import { keyHelp } from "./keys.ts";
import { askRun, runSockets } from "./operator-client.ts";
import { OperatorDesk } from "./operator-desk.ts";

const PLACE = { port: 18_431, hasButton: true };

function sit(isAttached = true) {
  const terminal = new FakeTerminal();
  const context = fakeContext({ keyboard: terminal, pid: 77 });
  const desk = new OperatorDesk(context, context.out, PLACE);
  const run = new FakeRun();
  if (isAttached) desk.attach(run);
  return { terminal, context, desk, run };
}

const AT_ONCE = "holdfast: left at once, without waiting for the robot to rest\n";

afterEach(() => jest.useRealTimers());

test("keys do what they say and the answer is shown", () => {
  const { terminal, context, desk, run } = sit();
  terminal.type(" rs?");
  desk.close();
  expect(run.asked).toEqual(["stop", "reset", "start"]);
  const [page, help, ...answers] = context.out.text.split("\n");
  expect(page).toMatch(/^page: http:\/\/127\.0\.0\.1:184\d\d\/$/);
  expect([help, ...answers]).toEqual([
    keyHelp(true),
    "stop heard",
    "reset heard",
    "start heard",
    keyHelp(true),
    "",
  ]);
});

test.each([
  ["q", []],
  ["qq", []],
  ["\u0003", []],
  ["\u0003\u0003", [130]],
  ["\u001c", []],
  ["\u001c\u0003", [130]],
  ["q\u0003", [130]],
])("typing %j asks once for an end, and leaves with %j", (typed, left) => {
  const { terminal, context, desk, run } = sit();
  terminal.type(typed);
  desk.close();
  expect({ left: context.leftCode, err: context.err.text }).toEqual({
    left: left as number[],
    err: left.length > 0 ? AT_ONCE : "",
  });
  expect(run.asked).toEqual(left.length > 0 ? ["quit", "quit"] : ["quit"]);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU"])(
  "a first %s ends under control, a later one leaves with 130 and gives the terminal back first",
  (signal) => {
    jest.useFakeTimers();
    const { terminal, context, desk, run } = sit();
    // `timeout` signals a process and its group: to a person that is one act.
    for (const each of [signal, signal, "SIGTERM"]) context.signals.emit(each);
    jest.advanceTimersByTime(499);
    context.signals.emit(signal);
    expect({ asked: run.asked, left: context.leftCode, modes: terminal.modes }).toEqual({
      asked: ["quit"],
      left: [],
      modes: [true],
    });
    jest.advanceTimersByTime(1);
    context.signals.emit(signal);
    expect({ asked: run.asked, left: context.leftCode, modes: terminal.modes }).toEqual({
      asked: ["quit", "quit"],
      left: [130],
      modes: [true, false],
    });
    desk.close();
  },
);

test.each([
  ["s\u0003", ["quit"]],
  ["sr ", ["stop"]],
  [" \u0003", ["stop", "quit"]],
])("typing %j while threads still load is %j as soon as it can be", (typed, asked) => {
  const { terminal, desk, run } = sit(false);
  terminal.type(typed);
  desk.attach(run);
  desk.close();
  expect(run.asked).toEqual(asked);
});

test("what is asked from elsewhere is told with who asked, a flood is counted", async () => {
  const { terminal, context, desk, run } = sit();
  const url = /http:\S+/.exec(context.out.text)![0];
  const [socket] = runSockets(context.user);
  context.out.text = "";
  terminal.type(" ");
  await fetch(`${url}stop`, { method: "POST" });
  await askRun(socket!, "reset");
  run.isWilling = false;
  await askRun(socket!, "start");
  await askRun(socket!, "status");
  for (let ask = 0; ask < 10; ask += 1) await askRun(socket!, "stop");
  desk.close();
  expect(run.asked).toEqual(["stop", "stop", "reset", "start", ...Array(10).fill("stop")]);
  expect(context.out.text.split("\n")).toEqual([
    "stop heard",
    "the page: stop heard",
    "another terminal: reset heard",
    "another terminal: start heard",
    "another terminal: stop heard",
    "another terminal: stop heard",
    "… 8 more requests",
    "",
  ]);
});

test("closing gives back terminal, socket and port", async () => {
  const { terminal, context, desk } = sit();
  const path = join(context.user.environment["XDG_RUNTIME_DIR"]!, "holdfast", "77.sock");
  const url = /http:\S+/.exec(context.out.text)![0];
  expect({ isThere: existsSync(path), status: (await fetch(url)).status }).toEqual({
    isThere: true,
    status: 200,
  });
  desk.close();
  expect({
    isThere: existsSync(path),
    modes: terminal.modes,
  }).toEqual({
    isThere: false,
    modes: [true, false],
  });
  expect(await fetch(url).catch(() => "refused")).toBe("refused");
});

test("a signal while a run that is over reports does not end it, only a later one", () => {
  jest.useFakeTimers();
  const { context, desk, run } = sit();
  desk.close();
  for (const signal of ["SIGTERM", "SIGTERM", "SIGUSR1"]) context.signals.emit(signal);
  expect([context.signals.listenerCount("SIGTERM"), run.asked, context.leftCode]).toEqual([
    1,
    [],
    [],
  ]);
  jest.advanceTimersByTime(500);
  context.signals.emit("SIGUSR1");
  expect(context.leftCode).toEqual([]);
  context.signals.emit("SIGTERM");
  expect([run.asked, context.leftCode]).toEqual([[], [130]]);
});

test("a folder that may not be used costs the socket and not the run", () => {
  const context = fakeContext({ pid: 77 });
  const folder = join(context.user.environment["XDG_RUNTIME_DIR"]!, "holdfast");
  symlinkSync("/", folder);
  const user = { ...context.user, uid: context.user.uid + 100_000 };
  const desk = new OperatorDesk({ ...context, user }, context.out, PLACE);
  desk.attach(new FakeRun());
  desk.close();
  expect(context.out.text).toStartWith(
    `Cannot use "${folder}": expected a folder, found a link: ` +
      "holdfast stop will not find this run\npage: ",
  );
});

test("the word that lets the page start is told on a terminal, and in no log", () => {
  const told = [true, false].map((isTerminal) => {
    const context = fakeContext();
    context.out.isTerminal = isTerminal;
    const desk = new OperatorDesk(context, context.out, PLACE);
    desk.attach(new FakeRun());
    desk.close();
    return /page: http:\/\/127\.0\.0\.1:\d+\/(?:#[\w-]{32})?(?=\n)/.exec(context.out.text)?.[0];
  });
  expect(told.map((line) => line?.includes("#"))).toEqual([true, false]);
});

test("an end that is asked for before there is a run is heard", async () => {
  const { terminal, desk } = sit(false);
  terminal.type("q");
  await desk.endAsked;
  desk.close();
});

test("with keys an end is told in keys, and without a terminal in signals", () => {
  const ends = [new FakeTerminal(), undefined].map((keyboard) => {
    const context = fakeContext({ keyboard });
    const desk = new OperatorDesk(context, context.out, PLACE);
    context.signals.emit("SIGTERM");
    desk.close();
    return context.out.text;
  });
  expect(ends).toEqual([
    "ending under control; Ctrl-C leaves at once\n",
    "ending under control; another signal leaves at once\n",
  ]);
});

test("a robot that is parked is let go of by the next interrupt, and left by the last", () => {
  const { terminal, context, desk, run } = sit(false);
  run.parks = true;
  desk.attach(run);
  terminal.type("\u0003\u0003");
  expect([run.asked, context.leftCode]).toEqual([["quit", "letGo"], []]);
  terminal.type("\u0003");
  desk.close();
  expect([run.asked, context.leftCode]).toEqual([["quit", "letGo", "quit"], [130]]);
  const told = context.out.text.split("\n").slice(2, -1);
  expect(told).toEqual([
    "ending under control: parks the robot, then lets go; Ctrl-C lets go at once",
    "warning: lets go at once, what the robot holds up falls",
  ]);
});
