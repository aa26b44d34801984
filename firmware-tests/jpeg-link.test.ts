// Pictures as JPEG from a robot in one process to a policy in another, on both hosts. The oracle of
// what a policy sees is the same policy on the same scene, sent as pixels; that of what crosses is
// a line between the two that counts.

import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { encodeJpeg } from "../hal/jpeg.ts";
import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../runtime/contracts/obs-transform.ts";
import { SequenceAllocator } from "../runtime/contracts/policy.ts";
import { StateSlot, StateView } from "../runtime/contracts/state.ts";
import { duration } from "../runtime/contracts/units.ts";
import { openRemotePolicy } from "../runtime/link/grpc-remote.ts";
import type { RemotePolicy } from "../runtime/link/remote-policy.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";
import { layoutOf } from "../runtime/workers/plan.ts";
import { sessionOrigin, SystemClock } from "../runtime/workers/system-clock.ts";
import { fixturePolicies } from "./fixture-policies.ts";
import { lockstepRun } from "./lockstep-run.ts";
import { COLOURS_IN_PYTHON, coloursIn, CountingLine, writeSeeTask } from "./picture-rig.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";
import { writePictures } from "./so101-files.ts";

setDefaultTimeout(90_000);
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const FOLDER = join(import.meta.dir, "../scripts/policy-host");
const PYTHON = "/usr/bin/python3";
const PACKAGES = "/usr/lib/python3/dist-packages";
const hasPython = [PYTHON, `${PACKAGES}/grpc`, `${PACKAGES}/numpy`, `${PACKAGES}/PIL`].every(
  (path) => existsSync(path),
);

const task = await writeSeeTask(scratch.folder);
const robots = {
  rgb8: writePictures(scratch.folder, "rgb8"),
  jpeg: writePictures(scratch.folder, "jpeg"),
};
await Bun.write(join(scratch.folder, "colours.py"), COLOURS_IN_PYTHON);

const started: ProgramRun[] = [];
afterEach(async () => {
  for (const host of started.splice(0)) {
    host.signal("SIGKILL");
    await host.end;
  }
});

type Hosted = { readonly host: ProgramRun; readonly port: number };
type Start = (accepts: boolean) => Promise<Hosted>;

async function begin(args: readonly string[], program?: readonly string[]): Promise<Hosted> {
  const host = new ProgramRun(args, {
    scratch,
    cwd: scratch.folder,
    ...(program !== undefined && { program }),
  });
  started.push(host);
  const [, port = ""] = await host.until(/grpc:\/\/127\.0\.0\.1:(\d+)/);
  return { host, port: Number(port) };
}

const startTypeScript: Start = (accepts) => {
  const policy = accepts ? fixturePolicies.colours : fixturePolicies.sees;
  return begin(["host", "--listen", "127.0.0.1:0", "--policy", policy, "--task", task]);
};

const startPython: Start = (accepts) => {
  const program = ["/usr/bin/env", `PYTHONPATH=${FOLDER}`, PYTHON, "-B", "-m", "holdfast_host"];
  const policy = `colours:${accepts ? "Colours" : "Plain"}`;
  return begin(["--listen", "127.0.0.1:0", "--policy", policy], program);
};

const hosts: readonly [name: string, start: Start][] = [
  ["TypeScript", startTypeScript],
  ...(hasPython ? [["Python", startPython] as [string, Start]] : []),
];
if (!hasPython) test.skip("the host in Python: sudo apt-get install python3-pil", () => undefined);

const runArgs = (robot: string, port: number, durationS: number): string[] => [
  ...["run", robot, "--json", "--task", task, "--duration", String(durationS)],
  ...["--policy", `grpc://127.0.0.1:${port}`],
];

const largest = (numbers: readonly number[]): number => Math.max(...numbers.map(Math.abs));

/** What a policy on this host sees of a robot that sends so, and how much crosses for each look. */
async function look(start: Start, encoding: "rgb8" | "jpeg") {
  const { host, port } = await start(true);
  const line = await CountingLine.open(port);
  const ended = await runToEnd(runArgs(robots[encoding], line.port, 2), { scratch });
  line.close();
  host.signal("SIGTERM");
  const seen = coloursIn((await host.end).stderr).filter((each) => largest(each) > 0);
  expect(reportOf(ended).evidence["accepted"]).toBeGreaterThan(5);
  return { colours: seen.at(-1)!, sizeBytes: line.sentCount / seen.length };
}

let pixels: ReturnType<typeof look>;
beforeAll(() => {
  pixels = look(startTypeScript, "rgb8");
});

describe.each(hosts)("the host in %s", (_name, start) => {
  test("shows its policy what pixels show, for a tenth of the bytes", async () => {
    const raw = await pixels;
    const jpeg = await look(start, "jpeg");
    expect(raw.sizeBytes).toBeGreaterThan(OBS_SIZE_BYTES);
    expect(jpeg.sizeBytes).toBeLessThan(OBS_SIZE_BYTES / 10);
    const [red = 0, green = 0, blue = 0] = raw.colours;
    expect(largest([red - green, green - blue, blue - red])).toBeGreaterThan(10);
    expect(largest(raw.colours.map((each, at) => each - jpeg.colours[at]!))).toBeLessThan(2);
  });

  test("refuses such a robot where the policy does not accept it, on both terminals", async () => {
    const { host, port } = await start(false);
    const ended = await runToEnd(runArgs(robots.jpeg, port, 1), { scratch });
    const why =
      "fields.scene.dtype: expected rgb8, found jpeg: in the robot's profile set " +
      "policy.picture_encoding to rgb8, or let the policy say that it accepts JPEG";
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(why)]);
    await host.until(new RegExp(`so101 was refused: ${RegExp.escape(why)}`));
  });

  test("refuses what is no such picture by name, and decides on the next", async () => {
    const { port } = await start(true);
    const good = await encodeJpeg(new Uint8Array(OBS_SIZE_BYTES).fill(90), 224, 224, 90);
    const bomb = good.slice();
    const sizeAt = Buffer.from(good).indexOf("ffc0", 0, "hex") + 5;
    bomb.fill(0xff, sizeAt, sizeAt + 4);
    const colours = "pixels, 3 colours of 8 bits";
    const cases: readonly (readonly [jpeg: Uint8Array, expected: string, found: string])[] = [
      [Buffer.from("no picture"), "a JPEG", "bytes that begin with 6e6f207069637475"],
      [bomb, `224 x 224 ${colours}`, `65535 x 65535 ${colours}`],
      [good.slice(0, -100), "a whole JPEG", "one that was cut off"],
    ];
    let sent: Uint8Array = good;
    const { policy, act } = await edge(port, () => sent);
    for (const [jpeg, expected, found] of cases) {
      sent = jpeg;
      expect(await act()).toBeNull();
      await untilTold(policy, found);
      const why = `the picture scene: expected ${expected}, found ${found}`;
      expect(policy.trouble).toBe(`the host's policy decides nothing: ${why}`);
    }
    sent = good;
    expect(await act()).not.toBeNull();
    policy.close();
  });
});

/** A status is told once a second at most. */
async function untilTold(policy: RemotePolicy, text: string): Promise<void> {
  while (!policy.trouble.includes(text)) await Bun.sleep(20);
}

/** A robot's end of the link that sends whatever it is given as its picture. */
async function edge(port: number, picture: () => Uint8Array) {
  const robot = loadRobot(robots.jpeg);
  const seeTask = loadTask(task);
  const layout = layoutOf({ robot, task: seeTask });
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const policy = await openRemotePolicy({
    target: `127.0.0.1:${port}`,
    credentials: credentials.createInsecure(),
    tlsName: undefined,
    facts: {
      robot,
      task: seeTask,
      layout,
      manifestSha256: new Uint8Array(0),
      runtimeVersions: {},
    },
    nowNs: () => clock.nowNs(),
    pictures: { transformed: () => new Uint8Array(OBS_SIDE_PX * OBS_SIDE_PX * 3) },
    encodePicture: () => Promise.resolve(picture()),
    waitsForEver: true,
    seed: 1,
    note: () => undefined,
  });
  policy.reset(1, new SequenceAllocator(1));
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  const act = () => {
    const nowNs = clock.nowNs();
    state.record[StateSlot.stampNs] = nowNs;
    for (const field of state.fields) field.set(nowNs, duration(1e9), 1, 0);
    return policy.act(state, nowNs);
  };
  return { policy, act };
}

test("what is decoded as an epoch ends is not shown to the policy after it", async () => {
  const { host, port } = await startTypeScript(true);
  const picture = await encodeJpeg(new Uint8Array(OBS_SIZE_BYTES).fill(90), 224, 224, 90);
  const { policy, act } = await edge(port, () => picture);
  for (let epoch = 2; epoch < 12; epoch += 1) {
    const old = act();
    await Bun.sleep(0); // it is sent
    policy.reset(epoch, new SequenceAllocator(epoch));
    expect(await old).toBeNull();
    expect((await act())?.epoch).toBe(epoch);
  }
  policy.close();
  expect(host.written).not.toContain("forgotten");
});

test("a host that was told of such a robot refuses its policy before it listens", async () => {
  const args = ["host", "--robot", robots.jpeg, "--task", task, "--policy", fixturePolicies.sees];
  const { code, stderr } = await runToEnd(args, { scratch });
  expect(code).toBe(2);
  expect(stderr).toContain("expected one that fits robot so101, found fields.scene.dtype");
});

test("where a task shows no pictures nothing is refused, and lockstep is the same", async () => {
  const { port } = await begin(["host", "--listen", "127.0.0.1:0", "--policy", "sine"]);
  const args = ["--task", "none", "--duration", "1", "--policy", `grpc://127.0.0.1:${port}`];
  const hashes: (string | null)[] = [];
  for (const robot of [robots.jpeg, robots.jpeg, robots.rgb8]) {
    const report = await lockstepRun([robot, ...args]);
    expect([report.exitCode, report.evidence["accepted"]]).toEqual([0, expect.any(Number)]);
    hashes.push(report.trace_hash);
  }
  expect(hashes).toEqual([hashes[0]!, hashes[0]!, hashes[0]!]);
});

test("what ships looks at no picture, so a host of it takes such a robot", async () => {
  const { port } = await begin(["host", "--listen", "127.0.0.1:0", "--task", task]);
  const ended = await runToEnd(runArgs(robots.jpeg, port, 1), { scratch });
  expect(ended.code).toBe(0);
  expect(reportOf(ended).evidence["accepted"]).toBeGreaterThan(1);
});
