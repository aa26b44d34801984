// Pairing with real processes, each with folders of its own: by what they print, and nothing else,
// a host and a robot come to a run over mutual TLS; a code is shown once and is nowhere after that.
//
// 0.0.0.0 stands for another machine here: it is no loopback address, and Linux dials itself by it.

import { afterEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProgramRun, reportOf, Scratch } from "./process.ts";

const HERE = "grpc://0.0.0.0";
const scratches: Scratch[] = [];
const programs: ProgramRun[] = [];

afterEach(async () => {
  for (const program of programs.splice(0)) program.signal("SIGTERM");
  await Promise.all(programs.map((program) => program.end));
  for (const scratch of scratches.splice(0)) scratch[Symbol.dispose]();
});

function machine(): Scratch {
  const scratch = new Scratch();
  scratches.push(scratch);
  return scratch;
}

function start(scratch: Scratch, ...args: string[]): ProgramRun {
  const program = new ProgramRun(args, { scratch });
  programs.push(program);
  return program;
}

/** Starts `pair host` and reads what its person reads. */
async function waiting(host: Scratch) {
  const program = start(host, "pair", "host", "--listen", "0.0.0.0:0");
  const said = /on the robot: (.* pair grpc:\S+:(\d+))\ncode, which it asks for: (\S+)\n/;
  const [, command = "", port = "", code = ""] = await program.until(said);
  return { program, command, port, code };
}

const fingerprints = (text: string): string[] => text.match(/SHA256:\S+/g) ?? [];

test("pair, host, run, revoke: by the commands that each prints", async () => {
  const [host, robot] = [machine(), machine()];
  const { program: pairing, port, code } = await waiting(host);

  const paired = await start(robot, "pair", `${HERE}:${port}`, "--code", code).end;
  const hosted = await pairing.end;
  expect([paired.code, hosted.code]).toEqual([0, 0]);
  expect(fingerprints(paired.stdout)).toHaveLength(2);
  expect(fingerprints(hosted.stdout)).toEqual(fingerprints(paired.stdout));
  expect(paired.stdout).toContain(`run --policy ${HERE}\n`);
  expect(hosted.stdout).toContain("host --listen 0.0.0.0:7777\n");

  const late = await start(robot, "pair", `${HERE}:${port}`, "--code", code).end;
  expect([late.code, late.stderr]).toEqual([2, expect.stringContaining("a code works once")]);

  const serving = start(host, "host", "--listen", "0.0.0.0:0");
  const [, servedPort = ""] = await serving.until(/on 0\.0\.0\.0:(\d+)\n/);
  const at = `${HERE}:${servedPort}`;
  const asked = ["run", "--json", "--time", "lockstep", "--duration", "0.5", "--policy", at];
  const ran = await start(robot, ...asked).end;
  expect(ran.code).toBe(0);
  const report = reportOf(ran);
  expect(report).toMatchObject({ ticks: 100, failure: null });
  expect(report.supervisor_path.at(-1)).toBe("RUNNING");

  const stranger = await start(machine(), ...asked).end;
  expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringContaining("pair host")]);

  const name = /robot (\S+),/.exec(hosted.stdout)?.[1] ?? "";
  expect((await start(host, "pair", "revoke", name).end).code).toBe(0);
  const revoked = await start(robot, ...asked).end;
  expect([revoked.code, revoked.stderr]).toEqual([2, expect.stringContaining("was revoked")]);

  const told = [paired, hosted, late, ran, stranger, revoked].flatMap((each) => [
    each.stdout,
    each.stderr,
  ]);
  expect(told.filter((text) => text.includes(code))).toEqual([hosted.stdout]);
  expect(told.join("")).not.toContain("PRIVATE KEY");
  for (const text of filesOf(host).concat(filesOf(robot))) expect(text).not.toContain(code);
}, 60_000);

test("a pairing file that cannot be read lets nobody in, and ends no host", async () => {
  const [host, robot] = [machine(), machine()];
  const { program: pairing, port, code } = await waiting(host);
  expect((await start(robot, "pair", `${HERE}:${port}`, "--code", code).end).code).toBe(0);
  expect((await pairing.end).code).toBe(0);
  const serving = start(host, "host", "--listen", "0.0.0.0:0");
  const [, servedPort = ""] = await serving.until(/on 0\.0\.0\.0:(\d+)\n/);
  const asked = ["run", "--json", "--time", "lockstep", "--duration", "0.5", "--policy"];
  const run = () => start(robot, ...asked, `${HERE}:${servedPort}`).end;

  const broken = join(host.stateFolder, "holdfast/pairing/host/robots/broken.json");
  writeFileSync(broken, "{", { mode: 0o600 });
  const refused = await run();
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  await serving.until(/Cannot use ".*broken\.json"/);

  rmSync(broken);
  expect((await run()).code).toBe(0);
  expect(serving.written.match(/Cannot use/g)).toHaveLength(1);
}, 60_000);

test("a code is in no command that is printed, and in no process list", async () => {
  const [host, robot] = [machine(), machine()];
  const { program: pairing, command, port, code } = await waiting(host);
  expect(command).not.toContain(code);
  expect(pairing.written.split("\n").filter((line) => line.includes(code))).toHaveLength(1);
  expect(readFileSync(`/proc/${pairing.pid}/cmdline`, "utf8")).not.toContain(code);
  const typing = new ProgramRun(["pair", `${HERE}:${port}`], {
    scratch: robot,
    stdin: `${code}\n`,
  });
  programs.push(typing);
  const paired = await typing.end;
  expect([paired.code, paired.stderr]).toEqual([0, "code: "]);
  expect((await pairing.end).code).toBe(0);
}, 60_000);

test("three wrong codes end the pairing on the host, with the way to a new one", async () => {
  const [host, robot] = [machine(), machine()];
  const { program: pairing, port, code } = await waiting(host);
  const wrong = code.startsWith("0") ? `1${code.slice(1)}` : `0${code.slice(1)}`;
  for (const words of ["2 left", "1 left", "one that is void"]) {
    const refused = await start(robot, "pair", `${HERE}:${port}`, "--code", wrong).end;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(words)]);
  }
  const { code: ended, stderr } = await pairing.end;
  expect(ended).toBe(1);
  expect(stderr).toContain("not paired: three wrong codes; type");
}, 60_000);

function filesOf({ folder }: Scratch): string[] {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = all.filter((each) => each.isFile());
  return files.map((each) => readFileSync(join(each.parentPath, each.name), "utf8"));
}
