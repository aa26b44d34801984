// Output whose other end goes away: writes are dropped, nothing is thrown, flushing ends. Once with
// a made-up stream, once with the whole program and real pipes.

import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { WriteStream } from "node:tty";
import { printable, printableLines, StreamOut } from "./output.ts";

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

const outOf = (stream: FakeStream) => new StreamOut(stream as unknown as WriteStream);

test.each(["EPIPE", "EIO", "ENOSPC"])("after %s nothing more is written", async (code) => {
  const stream = new FakeStream();
  const out = outOf(stream);
  out.write("a");
  stream.emit("error", Object.assign(new Error(code), { code }));
  out.write("b");
  expect({ isOut: await out.flush(), written: stream.written }).toEqual({
    isOut: false,
    written: "a",
  });
});

test("a reader that leaves before the last text does not hold up the end", async () => {
  const stream = new FakeStream();
  stream.write = () => true; // never done
  const flushed = outOf(stream).flush();
  stream.emit("error", new Error("EPIPE"));
  expect(await flushed).toBe(false);
  expect(stream.listenerCount("error")).toBe(1);
});

test("text of others is one line, without anything that steers, and cut when it is long", () => {
  expect(printable(" a\n\u001b[2Jb\u0000\u202ec\u2028 ")).toBe("a [2Jb c");
  expect(printable("x".repeat(300))).toBe("x".repeat(300));
  expect(printable("x".repeat(9_000))).toBe(`${"x".repeat(300)}…`);
  expect(printableLines(" a\u0007\n  \u001bb")).toBe(" a\n  b");
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

test("a report as JSON that cannot be written is a failure", async () => {
  const main = `${import.meta.dir}/../main.ts`;
  const run = '"$0" "$1" run document-one --time lockstep --duration 0.1 --json --port 18471';
  const child = Bun.spawn(["bash", "-c", `${run} > /dev/full`, process.execPath, main], {
    stdout: "ignore",
    stderr: "pipe",
  });
  expect(await child.stderr.text()).toEndWith(
    "holdfast: Cannot write the JSON to standard output\n",
  );
  expect(await child.exited).toBe(1);
});
