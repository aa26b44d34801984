// Signals on a made-up process: which of them end a run, which change nothing, and what a second
// one means. What was ignored at the start is asked of a real process.

import { afterEach, expect, jest, test } from "bun:test";
import { EventEmitter } from "node:events";
import { firstSignal, ignoredSignals, watchSignals } from "./signals.ts";

const ends = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU"];
/** Of those that a process can listen for, all that kill one which does not. */
const idle = ["SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO"];

afterEach(() => jest.useRealTimers());

test("each signal that asks for an end is told, the others are heard and never told", () => {
  const source = new EventEmitter();
  let toldCount = 0;
  watchSignals(source, 0n, () => {
    toldCount += 1;
  });
  expect(source.eventNames()).toEqual([...ends, ...idle]);
  const told = [...idle, ...ends].filter((signal) => {
    const before = toldCount;
    source.emit(signal);
    return toldCount > before;
  });
  expect([told, toldCount]).toEqual([ends, ends.length]);
});

test("under nohup a hang-up is left ignored", () => {
  const source = new EventEmitter();
  watchSignals(source, 0b1n, () => undefined);
  expect(source.eventNames()).toEqual([...ends.filter((signal) => signal !== "SIGHUP"), ...idle]);
});

test("the first signal ends, its echo means nothing, and a later one leaves at once", async () => {
  jest.useFakeTimers();
  const source = new EventEmitter();
  const told: string[] = [];
  const ended = firstSignal(source, () => told.push("left"));
  void ended.then(() => told.push("ended"));
  for (const signal of ["SIGTERM", "SIGTERM", "SIGINT"]) source.emit(signal);
  await ended;
  jest.advanceTimersByTime(499);
  source.emit("SIGTERM");
  expect(told).toEqual(["ended"]);
  jest.advanceTimersByTime(1);
  source.emit("SIGTERM");
  expect(told).toEqual(["ended", "left"]);
});

test("the kernel tells which signals were ignored at the start", async () => {
  const script = `import { ignoredSignals } from "${import.meta.dir}/signals.ts";
    console.log((ignoredSignals() & 1n) === 1n);`;
  const child = Bun.spawn(
    ["sh", "-c", 'trap "" HUP; exec "$0" -e "$1"', process.execPath, script],
    {
      stdout: "pipe",
    },
  );
  expect(await child.stdout.text()).toBe("true\n");
  expect(ignoredSignals()).toBeGreaterThanOrEqual(0n);
});
