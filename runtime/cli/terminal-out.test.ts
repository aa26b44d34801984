// Output to a terminal that stops reading: nothing is written without room, what is lost is
// counted, and the wait at the end is bounded. A file stands for the terminal, and a table for the
// kernel's answers; `terminal.test.ts` has a real one.

import { expect, test } from "bun:test";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TerminalOut, TerminalRoom } from "./terminal-out.ts";

function terminal(answer: (waitMs: number) => boolean, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "hf-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "out");
  const waits: number[] = [];
  const room = new TerminalRoom((_fd, waitMs) => {
    waits.push(waitMs);
    return answer(waitMs);
  });
  const fd = openSync(path, "w");
  const stream = { columns: 33 };
  const out = () => new TerminalOut(fd, stream, environment, room);
  const written = () => readFileSync(path, "utf8");
  return { out: out(), other: out(), stream, waits, written };
}

test("each piece is asked for, and a letter of several bytes stays whole", () => {
  const { out, waits, written } = terminal(() => true);
  const text = "é".repeat(150);
  out.writeIfRoom(`x${text}`);
  expect({ written: written(), waits }).toEqual({ written: `x${text}`, waits: [0, 0, 0] });
});

test("what does not fit is dropped, and its lines are counted once there is room", async () => {
  let roomCount = 1;
  const { out, written } = terminal(() => {
    roomCount -= 1;
    return roomCount >= 0;
  });
  out.writeIfRoom(`${"x".repeat(200)}\n`);
  out.writeIfRoom("a\nb\n");
  out.writeIfRoom("no line");
  expect(await out.flush()).toBe(false);
  roomCount = 9;
  out.writeIfRoom("there\n");
  expect(written()).toBe(`${"x".repeat(120)}\r\n… 3 lines not shown\r\nthere\n`);
  expect(await out.flush()).toBe(true);
});

test("the last words wait for one second in all, whichever output has them", () => {
  const { out, other, waits, written } = terminal(() => false);
  for (const each of [out, other, out]) each.write("the end\n");
  expect(waits.reduce((sum, waitMs) => sum + waitMs, 0)).toBe(1_000);
  expect(written()).toBe("");
});

test("last words go out once there is room", () => {
  const { out, written } = terminal((waitMs) => waitMs > 0);
  out.write("the end\n");
  expect(written()).toBe("the end\n");
});

test("a terminal that is gone gets nothing more", async () => {
  const out = new TerminalOut(9_999, { columns: 0 }, {}, new TerminalRoom(() => true));
  out.write("x");
  expect([out.isTerminal, await out.flush(), out.columnCount]).toEqual([false, false, 80]);
});

test("colour follows NO_COLOR and TERM, and the width is the stream's", () => {
  const wants = [{}, { NO_COLOR: "" }, { NO_COLOR: "1" }, { TERM: "dumb" }];
  expect(wants.map((environment) => terminal(() => true, environment).out.hasColour)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const { out, stream } = terminal(() => true);
  expect(out.columnCount).toBe(33);
  stream.columns = 20;
  expect(out.columnCount).toBe(20);
});
