// The command line as a person meets it: every bad input is one line, exit code 2, and nothing is
// started. The table is the oracle; each message says what was expected and what was found.

import { expect, test } from "bun:test";
import { join } from "node:path";
import packageFacts from "../../package.json" with { type: "json" };
import { Mode } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { runProgram } from "./program.ts";
import {
  exampleReport,
  FakeRun,
  FakeTerminal,
  fakeContext,
  freshUser,
  startFake,
} from "./fixture.ts";
import { keyHelp } from "./keys.ts";
import type { RunOptions } from "./run-options.ts";

const policyNames =
  "hold, sine, document-sine, trajectory, reach, pick_place, slow, silent, liar, nan, jumpy";
const latencies =
  "150ms, uniform:50ms..250ms, normal:150ms,40ms or exp:150ms (units us, ms, s; at most 60 s)";
const seconds = "seconds above 0 and up to 8640000, such as 10 or 0.5";
const seeds = "a whole number from 0 to 9007199254740991";
const tasks = "none, reach, reach_far, pick_place";

const bad: readonly (readonly [string, string])[] = [
  ["./no-such.yaml", 'Unknown command "./no-such.yaml": see holdfast --help'],
  ["frob", 'Unknown command "frob": see holdfast --help'],
  ["runn", 'Unknown command "runn" (Did you mean run?): see holdfast --help'],
  ["--frob", 'Unknown option "--frob": see holdfast --help'],
  ["run --sed 4", 'Unknown option "--sed" (Did you mean --seed?): see holdfast run --help'],
  [
    "run a b",
    'Too many arguments for "run". Expected 1 argument but got 2: a, b: see holdfast run --help',
  ],
  ["run --duration", 'Option "--duration <S>" argument missing: see holdfast run --help'],
  ["run --duration abc", `Cannot use --duration: expected ${seconds}, found "abc"`],
  ["run --duration 0", `Cannot use --duration: expected ${seconds}, found "0"`],
  ["run --duration -3", `Cannot use --duration: expected ${seconds}, found "-3"`],
  ["run --duration NaN", `Cannot use --duration: expected ${seconds}, found "NaN"`],
  ["run --duration Infinity", `Cannot use --duration: expected ${seconds}, found "Infinity"`],
  ["run --duration 1e3", `Cannot use --duration: expected ${seconds}, found "1e3"`],
  ["run --duration 1 --duration 2", "Cannot use --duration: expected it once, found it twice"],
  ["run --duration=", "Cannot use --duration: expected a value, found nothing"],
  ["run --seed 1.5", `Cannot use --seed: expected ${seeds}, found "1.5"`],
  ["run --seed 0x10", `Cannot use --seed: expected ${seeds}, found "0x10"`],
  ["run --seed 9007199254740992", `Cannot use --seed: expected ${seeds}, found "9007199254740992"`],
  ["run --time stream", 'Cannot use --time: expected one of streaming, lockstep, found "stream"'],
  [
    "run --time lockstpe",
    "Cannot use --time: expected one of streaming, lockstep " +
      '(did you mean "lockstep"?), found "lockstpe"',
  ],
  [
    "run --spin-tail 201",
    'Cannot use --spin-tail: expected microseconds from 0 to 200, found "201"',
  ],
  [
    "run --spin-tail 5 --time lockstep",
    "Cannot use --spin-tail: expected --time streaming with it, found --time lockstep",
  ],
  [
    "run --wait-for-start --time lockstep",
    "Cannot use --wait-for-start: expected --time streaming with it, found --time lockstep",
  ],
  [
    "run document-one --wait-for-start",
    "Cannot use --wait-for-start: expected a robot with starts_in: starting, " +
      "found running in document-one",
  ],
  ["run --port 0", 'Cannot use --port: expected a whole number from 1 to 65535, found "0"'],
  ["run --port 70000", 'Cannot use --port: expected a whole number from 1 to 65535, found "70000"'],
  [
    "run --policy nope",
    `Cannot use --policy: expected one of ${policyNames}, ` +
      'or a path to a .ts, .js or .onnx file, found "nope"',
  ],
  ["run --policy ./nope.ts", 'Cannot use --policy: expected a file, found nothing at "./nope.ts"'],
  [
    "run --estop /dev/ttyUSB999",
    "Cannot use --estop: expected the serial line of a board that is plugged in " +
      '(ls -l /dev/serial/by-id), found nothing at "/dev/ttyUSB999"',
  ],
  [
    "run --policy .",
    "Cannot use --policy: expected one of " +
      `${policyNames}, ` +
      'or a path to a .ts, .js or .onnx file, found "."',
  ],
  ["run --policy ./", 'Cannot use --policy: expected a regular file, found a folder at "./"'],
  [
    "run --policy ./README.md",
    'Cannot use --policy: expected a .ts, .js or .onnx file, found "./README.md"',
  ],
  [
    "run --policy grpc://127.0.0.1:0",
    'Cannot use --policy: expected grpc://HOST:PORT, found "grpc://127.0.0.1:0"',
  ],
  ["run --estop /", 'Cannot use --estop: expected a serial line, found a folder at "/"'],
  ["run --policy-latency 3", `Cannot read the policy latency: expected ${latencies}, found "3"`],
  [
    "run --fault freze:joints",
    'Cannot read fault "freze:joints": column 1: expected one of freeze, drop, delay, noise, ' +
      'corrupt, future, found "freze" (did you mean "freeze"?)',
  ],
  [
    "run --fault freeze:joints --fault drop:arm",
    'Cannot read fault "drop:arm": column 6: expected a source: joints, cube_pose, proprio, ' +
      'localization, found "arm"',
  ],
  [
    "run --task nope",
    `nope: expected one of ${tasks} (did you mean "none"?), or a path, found an unknown name`,
  ],
  ["host --robot ./nope.yaml", "./nope.yaml: expected a file, found nothing there"],
  [
    "host --task nope",
    `nope: expected one of ${tasks} (did you mean "none"?), or a path, found an unknown name`,
  ],
  ["run ./nope.yaml", "./nope.yaml: expected a file, found nothing there"],
  [
    "run ur5e --task pick_place",
    "profiles/tasks/pick_place.yaml: expected a robot with a gripper, found ur5e without one",
  ],
  ["stop --pid x", 'Cannot use --pid: expected a whole number from 1 to 4194304, found "x"'],
  [
    "status now",
    'Too many arguments for "status". Expected 0 arguments but got 1: now: ' +
      "see holdfast status --help",
  ],
  ["profile", "Cannot run holdfast profile: expected one of check, found nothing"],
  ["profile check", 'Missing required argument "FILE": see holdfast profile --help'],
  [
    "bench",
    "Cannot run holdfast bench: expected one of tick, link, gate, sim, core, found nothing",
  ],
  ["bench tock", 'Unknown command "tock" (Did you mean tick?): see holdfast bench --help'],
  ["bench tick --pairs 0", 'Cannot use --pairs: expected a whole number from 1 to 1000, found "0"'],
  ["snapshot so101", 'Missing required argument "OUT.jpg": see holdfast snapshot --help'],
  ["snapshot so101 a.png", 'Cannot use OUT.jpg: expected a name in .jpg, found "a.png"'],
  [
    "snapshot so101 a.jpg --size 8x8",
    'Cannot use --size: expected WIDTHxHEIGHT, each 16 to 4096, such as 640x480, found "8x8"',
  ],
  [
    "snapshot document-one a.jpg",
    "Cannot use PROFILE: expected a robot with a simulated camera, found document-one without one",
  ],
];

test.each(bad)("%p is refused with one line that says why", async (line, message) => {
  const context = fakeContext();
  const exitCode = await runProgram(line.split(" "), context);
  expect({ exitCode, out: context.out.text, err: context.err.text }).toEqual({
    exitCode: 2,
    out: "",
    err: `holdfast: ${message}\n`,
  });
});

const profilesFolder = join(import.meta.dir, "../../profiles");

test.each([
  {
    file: "deployments/so101-servo.yaml",
    change: (text: string) => `${text}policy: nope\n`,
    option: "",
    field: "policy",
  },
  {
    file: "tasks/none.yaml",
    change: (text: string) => text.replace("default_policy: hold", "default_policy:   nope"),
    option: "--task ",
    field: "default_policy",
  },
])("a policy that is none is refused at its place in $file", async (wrong) => {
  const text = wrong.change(await Bun.file(join(profilesFolder, wrong.file)).text());
  const path = join(freshUser().environment["XDG_RUNTIME_DIR"]!, "mine.yaml");
  await Bun.write(path, text);
  const lines = text.split("\n");
  const line = lines.findIndex((each) => each.endsWith(" nope"));
  const place = `${path}:${line + 1}:${lines[line]!.indexOf("nope") + 1}`;
  const context = fakeContext();
  const exitCode = await runProgram(`run ${wrong.option}${path}`.split(" "), context);
  expect([exitCode, context.err.text]).toEqual([
    2,
    `holdfast: ${place}: ${wrong.field}: expected one of ${policyNames}, found "nope"\n`,
  ]);
});

async function optionsOf(line: string): Promise<RunOptions> {
  const seen: RunOptions[] = [];
  const context = fakeContext({
    startRun: (options) => {
      seen.push(options);
      return Promise.resolve(exampleReport(options, Mode.SafeStop));
    },
  });
  const exitCode = await runProgram(line.split(" "), context);
  expect({ exitCode, err: context.err.text }).toEqual({ exitCode: 0, err: "" });
  return seen[0]!;
}

const summary = ({ plan, time, durationS }: RunOptions) => ({
  robot: plan.robot.name,
  task: plan.task.name,
  policy: plan.policy,
  seed: plan.seed,
  faults: plan.faults,
  policyLatency: plan.policyLatency,
  spinTailNs: plan.spinTailNs as number,
  time,
  durationS,
});

const plain = {
  robot: "so101",
  task: "pick_place",
  policy: "pick_place",
  seed: 1,
  faults: [],
  policyLatency: undefined,
  spinTailNs: 0,
  time: "streaming",
  durationS: undefined,
} as const;

const farTask = loadRobot("ur5e").defaultTask;
const reachPolicy = loadTask("reach").defaultPolicy;
const asked: readonly (readonly [string, object])[] = [
  ["run", plain],
  ["run ur5e --policy hold", { ...plain, robot: "ur5e", task: farTask, policy: "hold" }],
  ["run document-one", { ...plain, robot: "document-one", task: "none", policy: "hold" }],
  ["run so101-servo --task reach", { ...plain, task: "reach", policy: reachPolicy }],
  ["run profiles/so101.yaml --policy sine", { ...plain, policy: "sine" }],
  [
    "run --time lockstep --duration 0.5 --seed 0 --policy-latency 150ms",
    { ...plain, time: "lockstep", durationS: 0.5, seed: 0, policyLatency: "150ms" },
  ],
  [
    "run --spin-tail 12.5 --fault freeze:joints --fault noise:localization=0.01@1s+2s%50",
    { ...plain, spinTailNs: 12_500, faults: ["freeze:joints", "noise:localization=0.01@1s+2s%50"] },
  ],
];

test.each(asked)("%p asks for just that", async (line, expected) => {
  expect(summary(await optionsOf(line))).toEqual(expected as ReturnType<typeof summary>);
});

const lockstep = "run ./profiles/so101.yaml --time lockstep --seed 3 --port 18411";

test("a run prints its page, its hint and its report, and how to repeat it", async () => {
  const run = new FakeRun({ mode: "SAFE_STOP", hint: "Stopped", acts: ["reset"] });
  const context = fakeContext({
    program: "scripts/run",
    startRun: startFake(run, () => run.quit()),
  });
  const exitCode = await runProgram(lockstep.split(" "), context);
  const lines = context.out.text.split("\n");
  expect(exitCode).toBe(0);
  expect(lines.slice(0, 4)).toEqual([
    "starting so101: task pick_place, policy pick_place, lockstep",
    expect.stringMatching(/^page: http:\/\/127\.0\.0\.1:184\d\d\/$/),
    "10.040 s  SAFE_STOP  Stopped: scripts/run reset",
    expect.stringMatching(/^Cadence report: so101, .*pick_place/),
  ]);
  // One tick of 5 ms was all that there was of it.
  const again = "scripts/run run ./profiles/so101.yaml --duration 0.005 --time lockstep --seed 3";
  expect(lines.slice(-2)).toEqual([`Again, to the bit: ${again}`, ""]);
});

test.each([
  "run",
  "run so101-servo --task reach --policy sine --seed 9 --duration 2 --fault drop:joints",
])("the command that repeats %p asks for the very same", async (line) => {
  const run = new FakeRun();
  const context = fakeContext({ startRun: startFake(run, () => run.quit()) });
  await runProgram([...line.split(" "), "--port", "18411"], context);
  const again = /^Again[^:]*: holdfast (.*)\n$/m.exec(context.out.text)![1]!;
  expect(summary(await optionsOf(again))).toEqual(summary(await optionsOf(line)));
});

test.each([
  ["run --estop emulated", true],
  ["run", false],
])("the keys of %p name an e-stop: %p", async (line, hasButton) => {
  const run = new FakeRun(); // whatever its status says of one
  const keyboard = new FakeTerminal();
  const context = fakeContext({ keyboard, startRun: startFake(run, () => run.quit()) });
  await runProgram([...line.split(" "), "--port", "18411"], context);
  expect(context.out.text.split("\n")).toContain(keyHelp(hasButton));
});

test("a deployment shows its own name, at the start and in the report", async () => {
  const run = new FakeRun();
  const context = fakeContext({ startRun: startFake(run, () => run.quit()) });
  await runProgram(["run", "so101-servo", "--port", "18411"], context);
  expect(context.out.text).toStartWith("starting so101-servo: task pick_place");
  expect(context.out.text).toContain("Cadence report: so101-servo, pick_place");
});

test("changes of mode are told one by one, and a flood of them summed up at the end", async () => {
  const change = {
    fromMode: Mode.Running,
    toMode: Mode.Degraded,
    nowNs: 3.5e9,
    reason: Reason.NoAction,
    faultBits: 0,
    cueBits: 0,
    refusal: undefined,
  };
  const context = fakeContext({
    startRun: (options, hooks) => {
      for (let count = 0; count < 9; count += 1) hooks.changed(change, 0);
      hooks.changed({ ...change, toMode: Mode.SafeStop }, 0);
      hooks.changed(change, 0);
      return Promise.resolve(exampleReport(options, Mode.SafeStop));
    },
  });
  await runProgram(["run"], context);
  expect(context.out.text.split("\n").slice(1, 9)).toEqual([
    ...Array.from({ length: 5 }, () => "3.500 s  RUNNING → DEGRADED: no_action"),
    "… 4 more changes",
    "3.500 s  RUNNING → SAFE_STOP: no_action: no decision of the policy applies any more",
    "… 1 more change",
  ]);
});

test("the help of run has a line for each policy, task, robot and source", async () => {
  const context = fakeContext();
  await runProgram(["run", "--help"], context);
  const lines = context.out.text.split("\n");
  const names = [
    ...policyNames.split(", "),
    ...tasks.split(", "),
    ...["so101", "ur5e", "document-one", "so101-servo", "so101-servo-payload"],
    ...["joints", "cube_pose"],
  ];
  for (const name of names) {
    const pattern = new RegExp(`^  ${name} +[A-Za-z].{8,}`);
    expect([name, lines.filter((line) => pattern.test(line)).length > 0]).toEqual([name, true]);
  }
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

test("each fault that the help shows is one that a run takes", async () => {
  const context = fakeContext();
  await runProgram(["run", "--help"], context);
  const examples = [...context.out.text.matchAll(/^ {2}(\w+:\w+[=@%]\S+) {2,}\w.+$/gm)].map(
    (found) => found[1]!,
  );
  expect(examples).toHaveLength(6);
  for (const fault of examples) {
    expect((await optionsOf(`run --fault ${fault}`)).plan.faults).toEqual([fault]);
  }
});

test.each(["ur5e", "so101-servo", "./profiles/so101.yaml"])(
  "%s where a command is expected is answered with the command that runs it",
  async (word) => {
    const context = fakeContext({ program: "scripts/run" });
    const exitCode = await runProgram([word, "--duration", "5"], context);
    expect([exitCode, context.err.text]).toEqual([
      2,
      `holdfast: Unknown command "${word}": a robot is run with scripts/run run ${word}\n`,
    ]);
  },
);

test("with --json only JSON is on standard output; a latched fault is exit code 1", async () => {
  const run = new FakeRun();
  const startRun = startFake(run, () => run.quit(), Mode.FaultLatched);
  const context = fakeContext({ startRun });
  const exitCode = await runProgram(["run", "--json", "--port", "18411"], context);
  const report = JSON.parse(context.out.text) as Record<string, unknown>;
  expect({
    exitCode,
    path: report["supervisor_path"],
    lines: context.out.text.split("\n").length,
  }).toEqual({
    exitCode: 1,
    path: ["FAULT_LATCHED"],
    lines: 2,
  });
  expect(context.err.text).toContain("page: http://127.0.0.1:");
});

test("an error that nobody expected is printed with its stack as a bug", async () => {
  const context = fakeContext();
  const exitCode = await runProgram(["run", "--port", "18411"], context);
  expect(exitCode).toBe(70);
  expect(context.err.text).toStartWith(
    `holdfast: this is a bug in holdfast ${packageFacts.version}; please report it\n` +
      "Error: no run was expected\n    at ",
  );
});

test("help, version and an empty line are answered on standard output", async () => {
  for (const [args, expected] of [
    [["--version"], `${packageFacts.version}\n`],
    [["version"], `holdfast ${packageFacts.version}\nBun      ${Bun.version}\n`],
    [["run", "--help"], "Usage: holdfast run [options] [PROFILE]"],
    [["--help"], "Usage: holdfast [options] [command]"],
    [["help"], "Usage: holdfast [options] [command]"],
    [["help", "run"], "Usage: holdfast run [options] [PROFILE]"],
    [["help", "bench", "tick"], "Usage: holdfast bench tick [options]"],
    [[], "Usage: holdfast [options] [command]"],
  ] as const) {
    const context = fakeContext();
    const exitCode = await runProgram(args, context);
    expect({ exitCode, err: context.err.text }).toEqual({ exitCode: 0, err: "" });
    expect(context.out.text).toStartWith(expected);
  }
});

test("help says where files go", async () => {
  const context = fakeContext();
  await runProgram(["--help"], context);
  expect(context.out.text).toContain("$XDG_RUNTIME_DIR/holdfast");
  expect(context.out.text).toContain("$XDG_STATE_HOME/holdfast");
});
