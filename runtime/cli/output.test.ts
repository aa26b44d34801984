// Output whose other end goes away: writes are dropped, nothing is thrown, flushing ends. Once with
// a made-up stream, once with the whole program and real pipes.

import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { WriteStream } from "node:tty";
import { printable, StreamOut } from "./output.ts";

class FakeStream extends EventEmitter {
  written = "";
  isTTY = true;
  columns = 0;

  write(text: string, done?: () => void): boolean {
    this.written += text;
    done?.();
    return true;
  }
}

const outOf = (stream: FakeStream, environment: Record<string, string> = {}) =>
  new StreamOut(stream as unknown as WriteStream, environment);

test.each(["EPIPE", "EIO", "ENOSPC"])("after %s nothing more is written", async (code) => {
  const stream = new FakeStream();
  const out = outOf(stream);
  out.write("a");
  stream.emit("error", Object.assign(new Error(code), { code }));
  out.write("b");
  await out.flush();
  expect({ written: stream.written, isTerminal: out.isTerminal }).toEqual({
    written: "a",
    isTerminal: false,
  });
});

test("a reader that leaves before the last text does not hold up the end", async () => {
  const stream = new FakeStream();
  stream.write = () => true; // never done
  const flushed = outOf(stream).flush();
  stream.emit("error", new Error("EPIPE"));
  await flushed;
  expect(stream.listenerCount("error")).toBe(1);
});

test("colour follows NO_COLOR, and an unknown width is 80", () => {
  const stream = new FakeStream();
  const wants = [{}, { NO_COLOR: "" }, { NO_COLOR: "1" }, { TERM: "dumb" }];
  expect(wants.map((environment) => outOf(stream, environment).hasColour)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(outOf(stream).columnCount).toBe(80);
  stream.columns = 33;
  expect(outOf(stream).columnCount).toBe(33);
});

test("text of others is one line without control characters", () => {
  expect(printable(" a\n\u001b[2Jb\u0000 ")).toBe("a [2Jb");
});

test("a closed pipe, a full disk and closed streams end nothing", async () => {
  const main = `${import.meta.dir}/../main.ts`;
  for (const redirect of [">&-", "> /dev/full", "<&- >&- 2>&-", "| true"]) {
    const child = Bun.spawn(
      [
        "bash",
        "-c",
        `"$0" "$1" version ${redirect}; exit \${PIPESTATUS[0]}`,
        process.execPath,
        main,
      ],
      { stdout: "ignore", stderr: "ignore" },
    );
    expect({ redirect, exitCode: await child.exited }).toEqual({ redirect, exitCode: 0 });
  }
});
