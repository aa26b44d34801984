// Signals on a made-up process: all three end a run, and one that was ignored stays so. What was
// ignored is asked of a real process.

import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { ignoredSignals, watchSignals } from "./signals.ts";
import type { EndSignal } from "./signals.ts";

test("each signal is told until watching ends", () => {
  const source = new EventEmitter();
  const seen: EndSignal[] = [];
  const unwatch = watchSignals(source, 0n, (signal) => seen.push(signal));
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) source.emit(signal);
  unwatch();
  source.emit("SIGINT");
  expect({ seen, left: source.eventNames() }).toEqual({
    seen: ["SIGTERM", "SIGHUP", "SIGINT"],
    left: [],
  });
});

test("under nohup a hang-up is left ignored", () => {
  const source = new EventEmitter();
  watchSignals(source, 0b1n, () => undefined);
  expect(source.eventNames()).toEqual(["SIGINT", "SIGTERM"]);
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
