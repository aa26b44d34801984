// A run on a real pseudo-terminal: however it is ended, the terminal is as it was before. The whole
// program once, and its parts around a run that moves nothing for the other ways to end.
// Skipped where there is no `script` to make a terminal with.

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { freshUser } from "./fixture.ts";

const script = Bun.which("script");
/** The whole program starts threads, and other tests may be using the cores. */
const PROGRAM_MS_MAX = 30_000;

const harness = `
  import { FakeRun, fakeContext, startFake } from "${import.meta.dir}/fixture.ts";
  import { canWrite } from "${import.meta.dir}/../../hal/ffi/writable.ts";
  import { ProcessGuard } from "${import.meta.dir}/last-resort.ts";
  import { runProgram } from "${import.meta.dir}/program.ts";
  import { TerminalOut, TerminalRoom } from "${import.meta.dir}/terminal-out.ts";
  const out = new TerminalOut(1, process.stdout, Bun.env, new TerminalRoom(canWrite));
  new ProcessGuard(process.stdin, out);
  const user = { uid: process.getuid(), environment: Bun.env };
  const leave = (code) => process.exit(code);
  const run = new FakeRun();
  const start = startFake(run, () => undefined);
  const startRun = (options, hooks) => {
    run.stop = () => { throw new Error("a bug"); };
    return start(options, hooks);
  };
  const parts = { user, leave, startRun, keyboard: process.stdin };
  const context = { ...fakeContext(parts), out, err: out, signals: process };
  process.exit(await runProgram(["run", "--port", "18451"], context));`;

type Ending = {
  readonly name: string;
  readonly exitCode: number;
  end(type: (text: string) => void, pid: number): void;
};

const endings: readonly Ending[] = [
  { name: "Ctrl-C twice", exitCode: 130, end: (type) => type("\u0003\u0003") },
  { name: "Ctrl-\\", exitCode: 0, end: (type) => type("\u001c") },
  { name: "SIGTERM", exitCode: 0, end: (_, pid) => process.kill(pid, "SIGTERM") },
  { name: "SIGQUIT", exitCode: 0, end: (_, pid) => process.kill(pid, "SIGQUIT") },
  { name: "a throw", exitCode: 70, end: (type) => type(" ") },
];

/** Settings of the terminal before, the exit code, and the settings after. */
async function settingsAround(command: string, end: Ending["end"]): Promise<string[]> {
  const { environment } = freshUser();
  const settings = "stty -a | grep -o -e '.icanon' -e '.echo\\b'";
  const line = [settings, `${command}; echo "exit $?"`, settings].join("; ");
  const child = Bun.spawn([script!, "-qec", line, "/dev/null"], {
    stdin: "pipe",
    stdout: "pipe",
    env: { ...Bun.env, ...environment, SHELL: "/bin/sh", NO_COLOR: "1" },
  });
  let text = "";
  let hasEnded = false;
  for await (const bytes of child.stdout) {
    text += new TextDecoder().decode(bytes);
    if (hasEnded || !text.includes("keys: space stop") || !/RUNNING|STARTING/.test(text)) continue;
    hasEnded = true;
    const names = readdirSync(join(environment["XDG_RUNTIME_DIR"]!, "holdfast"));
    const type = (typed: string) => {
      void child.stdin.write(typed);
      void child.stdin.flush();
    };
    end(type, Number.parseInt(names.find((name) => name.endsWith(".sock"))!, 10));
  }
  return [...(text.match(/^[- ](?:icanon|echo)|exit \d+/gm) ?? [])];
}

const around = (exitCode: number) => [" icanon", " echo", `exit ${exitCode}`, " icanon", " echo"];

test.skipIf(script === null).each(endings)(
  "ended by $name, the terminal is as before",
  async ({ exitCode, end }) => {
    const command = `"${process.execPath}" -e '${harness}'`;
    expect(await settingsAround(command, end)).toEqual(around(exitCode));
  },
);

test.skipIf(script === null)(
  "a terminal that nobody reads holds nobody up, and is told later what it missed",
  async () => {
    const folder = freshUser().environment["XDG_RUNTIME_DIR"]!;
    // Writes more than any buffer on the way takes, says so in a file, goes on until all is out.
    await Bun.write(
      join(folder, "writer.ts"),
      `import { canWrite } from "${import.meta.dir}/../../hal/ffi/writable.ts";
      import { TerminalOut, TerminalRoom } from "${import.meta.dir}/terminal-out.ts";
      const out = new TerminalOut(1, process.stdout, {}, new TerminalRoom(canWrite));
      for (let line = 0; line < 20_000; line += 1) out.writeIfRoom("x".repeat(100) + "\\n");
      out.write("last words");
      await Bun.write("${folder}/full", "");
      let more = 0;
      for (; !(await out.flush()); more += 1) {
        await Bun.sleep(1);
        out.writeIfRoom("there\\n");
      }
      await Bun.write("${folder}/more", String(more));`,
    );
    const reader = `{ while [ ! -e ${folder}/full ]; do sleep 0.02; done; cat; }`;
    const writer = `"${script}" -qec '"${process.execPath}" ${folder}/writer.ts' /dev/null`;
    const child = Bun.spawn(["sh", "-c", `${writer} < /dev/null | ${reader}`], {
      stdout: "pipe",
      timeout: PROGRAM_MS_MAX / 2,
    });
    const text = await child.stdout.text();
    const notices = [...text.matchAll(/^… (\d+) lines? not shown\r+$/gm)];
    const lost = notices.reduce((sum, [, count]) => sum + Number(count), 0);
    const shown = text.match(/^x{100}\r+$/gm)?.length ?? 0;
    const shownMore = text.match(/there\r+$/gm)?.length ?? 0;
    const more = Number(await Bun.file(join(folder, "more")).text());
    expect(shown + shownMore + lost).toBe(20_000 + more);
    expect(lost).toBeGreaterThan(10_000);
  },
  PROGRAM_MS_MAX,
);

test.skipIf(script === null)(
  "the whole program, ended by q, leaves the terminal as before",
  async () => {
    const main = join(import.meta.dir, "../main.ts");
    const command = `"${process.execPath}" "${main}" run document-one --port 18451`;
    expect(await settingsAround(command, (type) => type("q"))).toEqual(around(0));
  },
  PROGRAM_MS_MAX,
);
