// Output to a terminal that stops reading: nothing is written without room, what is lost is
// counted, and the wait at the end is bounded. A file stands for the terminal, and a table for the
// kernel's answers; `terminal.test.ts` has a real one.

import { expect, test } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { freshFolder } from "./fixture.ts";
import { TerminalOut, TerminalRoom } from "./terminal-out.ts";

/** A terminal in memory that takes as many bytes as `room` says at each write. */
function memoryTerminal(room: () => number) {
  let shown = "";
  const take = (_fd: number, bytes: Buffer, from: number, sizeBytes: number): number => {
    const count = Math.min(sizeBytes, room());
    if (count === 0) throw Object.assign(new Error("full"), { code: "EAGAIN" });
    shown += bytes.toString("latin1", from, from + count);
    return count;
  };
  const out = new TerminalOut(9_999, { columns: 80 }, {}, new TerminalRoom(() => true, take));
  return { out, shown: () => shown };
}

/** How many lines all notices tell as lost. */
const toldLost = (shown: string): number =>
  [...shown.matchAll(/^… (\d+) lines? not shown\r$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);

function terminal(answer: (waitMs: number) => boolean, environment: Record<string, string> = {}) {
  const path = join(freshFolder(), "out");
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

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "every line is shown whole or told once as lost, wherever the terminal is full, seed %d",
  async (seed) => {
    const random = new SeededRandom(seed);
    let isStalled = false;
    let hasRoom = false;
    const { out, shown } = memoryTerminal(() => {
      if (random.next() < 0.2) isStalled = !isStalled;
      if (hasRoom) return Infinity;
      return isStalled ? 0 : Math.floor(120 * random.next());
    });
    let lineCount = 0;
    for (let text = 0; text < 3_000; text += 1) {
      let lines = "";
      for (let left = Math.floor(3 * random.next()); left >= 0; left -= 1) {
        lines += `line ${lineCount}${".".repeat(60 * random.next())}|\n`;
        lineCount += 1;
      }
      out.writeIfRoom(lines);
      if (random.next() < 0.2) out.writeIfRoom("a status that ends no line\r");
    }
    hasRoom = true;
    out.writeIfRoom("");
    expect(await out.flush()).toBe(true);
    const whole = shown().match(/line \d+\.*\|(?=\r?\n)/g) ?? [];
    expect(new Set(whole).size).toBe(whole.length);
    const lost = toldLost(Buffer.from(shown(), "latin1").toString());
    expect(whole.length + lost).toBe(lineCount);
    expect(Math.min(whole.length, lost)).toBeGreaterThan(lineCount / 10);
  },
);

test("a line that only lacks its end is whole, and a notice that was cut is not told again", () => {
  const sizes = [4, 0, 12, 0, 0];
  const { out, shown } = memoryTerminal(() => sizes.shift() ?? Infinity);
  out.writeIfRoom("same\nlost\n");
  out.writeIfRoom("lost\n");
  out.writeIfRoom("lost too\n");
  out.writeIfRoom("there\n");
  const text = Buffer.from(shown(), "latin1").toString();
  expect(text).toBe("same\r\n… 1 line not shown\r\n\r\n… 2 lines not shown\r\nthere\n");
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
