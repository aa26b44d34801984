// Proves that the binary is whole: copied alone into an empty folder, with an empty environment, it
// does there what the source does here. Lockstep gives the same trace, streaming starts every
// thread and serves its page and picture, a user's policy file loads, and the binary for other
// machines runs under emulation where that is installed.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onnxModel } from "../runtime/policy/onnx-author.ts";
import type { AuthoredModel } from "../runtime/policy/onnx-author.ts";
import { buildTarget, buildTargets, BuildError } from "./build.ts";
import { ROOT, runCommand } from "./child-process.ts";
import type { CommandResult } from "./child-process.ts";

const COMMAND_SECONDS_MAX = 60;
/** Emulation is some thirty times slower, and compiles the physics again. */
const EMULATED_SECONDS_MAX = 150;
const PORT = 28_180;
const POLL_MS = 20;
const THREADS = ["hf-camera", "hf-control", "hf-policy", "hf-robot"];
const emulators = ["/usr/bin/qemu-aarch64-static", "/usr/bin/qemu-aarch64"];
const EMULATED_LIBRARIES = "/usr/aarch64-linux-gnu";
const LOCKSTEP = ["run", "--time", "lockstep", "--json", "--seed", "3", "--duration"];

/** A policy as a user writes one: it imports nothing. */
const USER_POLICY = `
export function createPolicy(context) {
  const writer = context.writer(context.jointPositions);
  let allocator;
  return {
    name: "user",
    schema: writer.schema,
    selectsMode: false,
    reset(epoch, given) { allocator = given; },
    act(state) {
      const values = writer.begin(state, allocator);
      for (let row = 0; row < writer.horizon; row += 1)
        values.set(state.command, row * writer.width);
      return writer.chunk;
    },
  };
}
`;

/** Answers with the command that it is given. */
const HOLD_MODEL: AuthoredModel = {
  nodes: [{ op: "Identity", inputs: ["command"], output: "actions" }],
  inputs: [{ name: "command", shape: [1, 6] }],
  outputs: [{ name: "actions", shape: [1, 6] }],
};
const HOLD_MAPPING = `kind: policy
schema_version: 1
name: hold-model
description: Holds what is commanded.
joints: [shoulder_pan, shoulder_lift, elbow_flex, wrist_flex, wrist_roll, gripper]
inputs:
  - name: command
    shape: [1, 6]
    from: [command_rad]
output:
  name: actions
  shape: [1, 6]
  space: joint_pos
  dt_ms: 200
`;

class CheckError extends Error {
  override readonly name = "CheckError";
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new CheckError(what);
}

/** A folder with the binary and nothing else, and what it may be asked there. */
class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "hf-"));
  readonly work = join(this.folder, "empty");
  readonly #runtime = join(this.folder, "run");
  readonly program: readonly string[];

  constructor(binary: string, emulator: readonly string[] = []) {
    mkdirSync(this.work);
    mkdirSync(this.#runtime, { mode: 0o700 });
    cpSync(binary, join(this.folder, "holdfast"));
    this.program = [...emulator, join(this.folder, "holdfast")];
  }

  /** Through env, so that nothing of this process's own environment is there. */
  command(args: readonly string[]): string[] {
    const own = [`HOME=${this.folder}`, `XDG_RUNTIME_DIR=${this.#runtime}`];
    return ["/usr/bin/env", "-i", ...own, ...this.program, ...args];
  }

  /** Runs to the end; anything but exit code 0 is a failure. */
  async run(args: readonly string[], secondsMax = COMMAND_SECONDS_MAX): Promise<string> {
    const result = await runCommand(this.command(args), { cwd: this.work, secondsMax });
    must(result.code === 0, `${args[0]}: ${ending(result)}\n${result.output}`);
    return result.output;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const ending = ({ code, timedOut }: CommandResult): string =>
  timedOut ? "ran past its time" : `exit status ${code}`;

/** The trace hash of a report, which is the last line of what a run printed. */
function traceOf(output: string): string {
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  const { trace_hash: trace } = JSON.parse(line) as { readonly trace_hash: unknown };
  must(typeof trace === "string" && /^[0-9a-f]{64}$/.test(trace), `a trace hash, not ${trace}`);
  return String(trace);
}

async function sourceTrace(seconds: string): Promise<string> {
  const argv = [process.execPath, "runtime/main.ts", ...LOCKSTEP, seconds];
  const result = await runCommand(argv, { secondsMax: COMMAND_SECONDS_MAX });
  must(result.code === 0, `from source: ${ending(result)}\n${result.output}`);
  return traceOf(result.output);
}

type Check = { readonly name: string; readonly prove: (place: Place) => Promise<void> };

const checks: readonly Check[] = [
  {
    name: "where it was built is no part of it",
    prove: async (place) => {
      const bytes = await Bun.file(place.program.at(-1)!).bytes();
      must(!Buffer.from(bytes.buffer).includes(ROOT), `it holds "${ROOT}"`);
    },
  },
  {
    name: "version, help and every built-in profile",
    prove: async (place) => {
      must((await place.run(["version"])).startsWith("holdfast "), "version names the program");
      must((await place.run(["--help"])).includes("Usage"), "help says how it is used");
      for (const name of ["so101", "ur5e", "document-one", "so101-servo", "pick_place"]) {
        must((await place.run(["profile", "check", name])).trimEnd().endsWith("ok"), name);
      }
    },
  },
  {
    name: "lockstep gives the trace that the source gives",
    prove: async (place) => {
      const [binary, source] = [
        traceOf(await place.run([...LOCKSTEP, "5"])),
        await sourceTrace("5"),
      ];
      must(binary === source, `binary ${binary}, source ${source}`);
    },
  },
  { name: "streaming starts every thread, serves page and picture", prove: proveStreaming },
  { name: "the emulated e-stop is inside, arms, moves and says goodbye", prove: proveEstop },
  {
    name: "the thread of bench tick starts",
    prove: async (place) => {
      await place.run(["bench", "tick", "--json", "--pairs", "1", "--seconds", "1"]);
    },
  },
  {
    name: "snapshot writes a JPEG",
    prove: async (place) => {
      const file = join(place.folder, "out.jpg");
      await place.run(["snapshot", "so101", "--task", "pick_place", "--size", "160x120", file]);
      must(isJpeg(readFileSync(file)), "the file begins as a JPEG does");
    },
  },
  {
    name: "a user's policy file loads by its path",
    prove: async (place) => {
      const file = join(place.folder, "user-policy.ts");
      writeFileSync(file, USER_POLICY);
      const args = ["run", "--time", "lockstep", "--json", "--duration", "1", "--policy", file];
      const line = (await place.run(args)).trimEnd().split("\n").at(-1) ?? "";
      must(line.includes('"supervisor_path":["RUNNING"]'), line);
    },
  },
  {
    name: "a model from an ONNX file decides, by the engine inside",
    prove: async (place) => {
      const file = join(place.folder, "hold.onnx");
      writeFileSync(file, onnxModel(HOLD_MODEL));
      writeFileSync(join(place.folder, "hold.yaml"), HOLD_MAPPING);
      const args = ["run", "--task", "none", "--time", "lockstep", "--json", "--duration", "1"];
      const line =
        (await place.run([...args, "--policy", file])).trimEnd().split("\n").at(-1) ?? "";
      must(/"accepted":\d/.test(line) && !line.includes("rejected"), line);
    },
  },
  { name: "a host and a robot pair, with certificates of their own making", prove: provePairing },
  {
    name: "nothing was written where it ran",
    prove: async (place) => {
      const left = readdirSync(place.work);
      must(left.length === 0, left.join(", "));
    },
  },
];

/** One machine is both; 0.0.0.0 is no loopback address, and Linux dials itself by it. */
async function provePairing(place: Place): Promise<void> {
  const host = Bun.spawn(place.command(["pair", "host", "--listen", "0.0.0.0:0"]), {
    cwd: place.work,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    timeout: COMMAND_SECONDS_MAX * 1_000,
    killSignal: "SIGKILL",
  });
  const decoder = new TextDecoder();
  let said = "";
  let isAsked = false;
  for await (const bytes of host.stdout) {
    said += decoder.decode(bytes, { stream: true });
    const [, port, code = ""] = /:(\d+)\ncode, which it asks for: (\S+)\n/.exec(said) ?? [];
    if (port === undefined || isAsked) continue;
    isAsked = true;
    await place.run(["pair", `grpc://0.0.0.0:${port}`, "--code", code]);
  }
  must((await host.exited) === 0, said);
  const list = (await place.run(["pair", "list"])).trimEnd().split("\n");
  must(list.length === 2 && list.every((line) => line.includes("SHA256:")), list.join(", "));
}

async function proveStreaming(place: Place): Promise<void> {
  const args = ["run", "--json", "--duration", "3", "--port", `${PORT}`];
  const child = Bun.spawn(place.command(args), {
    cwd: place.work,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: COMMAND_SECONDS_MAX * 1_000,
    killSignal: "SIGKILL",
  });
  const ended = Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const [picture, names] = await watch(child.pid, () => child.exitCode === null);
  const [stdout, stderr, code] = await ended;
  must(code === 0, `exit status ${code}\n${stderr}`);
  const missing = THREADS.filter((name) => !names.has(name));
  must(missing.length === 0, `no thread ${missing.join(", ")}`);
  must(picture, "the page and its picture were served");
  traceOf(stdout);
}

/** The run starts the emulator from the binary itself; a person elsewhere asks how it stands. */
async function proveEstop(place: Place): Promise<void> {
  const own = ["--task", "none", "--port", `${PORT + 10}`];
  const args = ["run", "--json", "--estop", "emulated", ...own];
  const child = Bun.spawn(place.command(args), {
    cwd: place.work,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: COMMAND_SECONDS_MAX * 1_000,
    killSignal: "SIGKILL",
  });
  let told = "";
  let isAsked = false;
  const decoder = new TextDecoder();
  for await (const bytes of child.stderr) {
    told += decoder.decode(bytes, { stream: true });
    const isMoving = told.includes("→ RUNNING: start") && told.includes("drives have power");
    if (!isMoving || isAsked) continue;
    isAsked = true;
    try {
      const status = await place.run(["estop", "status", "--pid", String(child.pid)]);
      must(status.includes("emulated: ARMED"), status);
    } finally {
      child.kill("SIGTERM");
    }
  }
  must((await child.exited) === 0, told);
  must(told.includes("e-stop emulated: DISARMED by host_closed"), told);
}

/** While the run lives: whether its page and a picture were served, and the threads it had. */
async function watch(pid: number, isLive: () => boolean): Promise<[boolean, Set<string>]> {
  const names = new Set<string>();
  let hasPage = false;
  let hasPicture = false;
  while (isLive()) {
    for (const name of threadNames(pid)) names.add(name);
    const page = await bytesOf("");
    hasPage ||= page !== undefined && Buffer.from(page).includes("<title>");
    const picture = await bytesOf("frame.jpg");
    hasPicture ||= picture !== undefined && isJpeg(picture);
    await Bun.sleep(POLL_MS);
  }
  return [hasPage && hasPicture, names];
}

function threadNames(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/task`;
    return readdirSync(folder).map((id) => readFileSync(`${folder}/${id}/comm`, "utf8").trim());
  } catch {
    return []; // it ended meanwhile
  }
}

/** Undefined while nobody serves there, and for an empty answer. */
async function bytesOf(path: string): Promise<Uint8Array | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${PORT}/${path}`);
    return response.status === 200 ? new Uint8Array(await response.arrayBuffer()) : undefined;
  } catch {
    return undefined; // not yet, or not any more
  }
}

const isJpeg = (bytes: Uint8Array): boolean => bytes[0] === 0xff && bytes[1] === 0xd8;

const emulated: readonly Check[] = [
  {
    name: "arm64 under emulation: version",
    prove: async (place) => {
      const text = await place.run(["version"], EMULATED_SECONDS_MAX);
      must(text.includes("linux arm64"), text);
    },
  },
  {
    name: "arm64 under emulation: the same trace bit for bit",
    prove: async (place) => {
      const output = await place.run([...LOCKSTEP, "1"], EMULATED_SECONDS_MAX);
      const [arm, source] = [traceOf(output), await sourceTrace("1")];
      must(arm === source, `arm64 ${arm}, source ${source}`);
    },
  },
];

type Tally = { passed: number; failed: number; skipped: number };

async function prove(place: Place, each: Check, tally: Tally): Promise<void> {
  const startedMs = performance.now();
  const seconds = (): string => `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  try {
    await each.prove(place);
    tally.passed += 1;
    console.log(`ok      ${each.name} (${seconds()})`);
  } catch (error) {
    tally.failed += 1;
    const why = error instanceof CheckError ? error.message : String(error);
    console.log(`FAILED  ${each.name} (${seconds()})\n${why}`);
  }
}

async function proveAll(name: string, all: readonly Check[], tally: Tally): Promise<void> {
  const target = buildTargets.find((each) => each.name === name);
  if (target === undefined) throw new BuildError(`Cannot check "${name}": no such target`);
  const emulator = name === process.arch ? [] : [emulatorPath(), "-L", EMULATED_LIBRARIES];
  const place = new Place(await buildTarget(target), emulator);
  try {
    for (const each of all) await prove(place, each, tally);
  } finally {
    place.close();
  }
}

const emulatorPath = (): string => emulators.find((file) => existsSync(file)) ?? "";

if (import.meta.main) {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  await proveAll(process.arch === "arm64" ? "arm64" : "x64", checks, tally);
  if (process.arch === "arm64" || (emulatorPath() !== "" && existsSync(EMULATED_LIBRARIES))) {
    if (process.arch !== "arm64") await proveAll("arm64", emulated, tally);
  } else {
    tally.skipped += emulated.length;
    const packages = "qemu-user-static libc6-arm64-cross";
    console.log(`skipped: arm64 binary under emulation: sudo apt-get install ${packages}`);
  }
  const skipped = tally.skipped === 0 ? "" : `, ${tally.skipped} skipped`;
  console.log(`${tally.passed} passed, ${tally.failed} failed${skipped}`);
  process.exit(tally.failed === 0 ? 0 : 1);
}
