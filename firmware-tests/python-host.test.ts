// The policy host in Python: its own tests, the vectors that both sides share, and whole runs with
// the policy of its README. A policy that answers wrongly moves nothing; a host that is
// killed in the middle of a run leaves a robot that holds, then stops.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { encodeJpeg } from "../hal/jpeg.ts";
import { jpegFault } from "../hal/jpeg-check.ts";
import {
  DT_NS_MAX,
  HORIZON_MAX,
  jointSchema,
  schemaFingerprint,
  toolDeltaSchema,
  WIDTH_MAX,
} from "../runtime/contracts/action.ts";
import {
  OBS_SIDE_PX,
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
} from "../runtime/contracts/obs-transform.ts";
import { ACTION_SCHEMA_VERSION } from "../runtime/contracts/schema-versions.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import {
  JPEG_COUNT_MAX,
  LOAD_NS_MAX,
  PROTOCOL_VERSION,
  RECEIVE_SIZE_BYTES_MAX,
  SEND_SIZE_BYTES_MAX,
} from "../runtime/link/limits.ts";
import { runCommand } from "../scripts/child-process.ts";
import { LinkRig } from "./link-rig.ts";
import { lockstepRun } from "./lockstep-run.ts";
import { ProgramRun, reportOf, runToEnd, Scratch } from "./process.ts";

const FOLDER = join(import.meta.dir, "../scripts/policy-host");
const PYTHON = "/usr/bin/python3";
const PACKAGES = "/usr/lib/python3/dist-packages";
const isHere = [PYTHON, `${PACKAGES}/grpc`, `${PACKAGES}/numpy`].every((path) => existsSync(path));
const pythonTest = test.skipIf(!isHere);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const readme = await Bun.file(join(FOLDER, "README.md")).text();
const wave = /```python\n(.*?)```/s.exec(readme)?.[1] ?? "";

/** Python with this package and no compiled files left behind. */
const python = (...args: string[]) =>
  runCommand([PYTHON, "-B", ...args], {
    secondsMax: 50,
    cwd: FOLDER,
    env: { PYTHONPATH: FOLDER },
  });

type Hosted = { readonly host: ProgramRun; readonly url: string };

/** The host as a user starts it, in the folder of a policy of this text. */
async function hosted(name: string, text: string, policy: string): Promise<Hosted> {
  const cwd = scratch.made(name);
  await Bun.write(join(cwd, "mine.py"), text);
  const program = ["/usr/bin/env", `PYTHONPATH=${FOLDER}`, PYTHON, "-B", "-m", "holdfast_host"];
  const args = ["--policy", `mine:${policy}`, "--listen", "127.0.0.1:0"];
  const host = new ProgramRun(args, { scratch, program, cwd });
  const [, url = ""] = await host.until(/on the robot: holdfast run --policy (grpc:\S+)/);
  return { host, url };
}

/** A run of the arm with no task, and where it stood at its end. */
async function drive(url: string, durationS: number) {
  let handle: RunHandle | undefined;
  const args = ["--task", "none", "--policy", url, "--duration", String(durationS)];
  const report = await lockstepRun(args, (given) => {
    handle = given;
  });
  return { report, commandRad: handle!.status().commandRad };
}

test("both sides have the same fingerprints, versions and limits", async () => {
  type Vector = { space: string; joints: string[]; frame: string; fingerprint: number };
  const vectors = (await Bun.file(join(FOLDER, "tests/vectors.json")).json()) as Vector[];
  for (const { space, joints, frame, fingerprint } of vectors) {
    const schema =
      space === "ee_pose_delta"
        ? toolDeltaSchema(frame === "tool" ? "tool" : "base", joints)
        : jointSchema(space as "joint_pos", joints);
    expect(schemaFingerprint(schema)).toBe(fingerprint);
  }
  const source = await Promise.all(
    ["limits", "schema"].map((name) => Bun.file(join(FOLDER, `holdfast_host/${name}.py`)).text()),
  );
  const facts = {
    PROTOCOL_VERSION,
    HORIZON_MAX,
    DT_NS_MAX,
    WIDTH_MAX,
    LOAD_NS_MAX,
    JPEG_COUNT_MAX,
    ACTION_SCHEMA_VERSION,
    OBS_TRANSFORM_VERSION,
    OBS_SIDE_PX,
  };
  for (const [name, value] of Object.entries(facts)) {
    const written = new RegExp(`^${name} = ([\\d_]+)$`, "m").exec(source.join("\n"))?.[1];
    expect(`${name} = ${written?.replaceAll("_", "")}`).toBe(`${name} = ${value}`);
  }
  // What one side sends the other must take.
  expect(source[0]).toContain(`RECEIVE_SIZE_BYTES_MAX = ${SEND_SIZE_BYTES_MAX >> 20} << 20`);
  expect(source[0]).toContain(`SEND_SIZE_BYTES_MAX = ${RECEIVE_SIZE_BYTES_MAX >> 20} << 20`);
  expect(source[1]).toContain(OBS_TRANSFORM_SHA256);
});

pythonTest("both sides judge a JPEG by the same rules, in the same words", async () => {
  const good = await encodeJpeg(new Uint8Array(48 * 32 * 3).fill(90), 48, 32, 90);
  const random = new SeededRandom(1);
  const at = (bytes: Uint8Array): number => Math.floor(random.next() * bytes.length);
  const files = Array.from({ length: 400 }, (_, index) => {
    const broken = index % 4 === 0 ? good.slice(0, at(good)) : good.slice();
    if (broken.length > 0) broken[at(broken)] = Math.floor(random.next() * 256);
    return index % 8 === 1 ? Buffer.concat([broken.subarray(0, at(broken)), broken]) : broken;
  });
  const path = join(scratch.made("jpegs"), "files.json");
  await Bun.write(path, JSON.stringify(files.map((bytes) => Buffer.from(bytes).toString("hex"))));
  const program = `
import json
from holdfast_host.jpeg_check import jpeg_fault
files = json.load(open(${JSON.stringify(path)}))
print(json.dumps([jpeg_fault(bytes.fromhex(each), 48, 32) for each in files]))`;
  const { code, output } = await python("-c", program);
  const faults = files.map((bytes) => jpegFault(bytes, 48, 32));
  const ours = faults.map((fault) => (fault === undefined ? null : [fault.expected, fault.found]));
  expect(new Set(ours.map(String)).size).toBeGreaterThan(10);
  expect({ code, told: JSON.parse(output) as unknown }).toEqual({ code: 0, told: ours });
});

pythonTest("its own tests pass", async () => {
  const { code, output } = await python("-m", "unittest");
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^Ran \d+ tests/m) });
});

pythonTest(
  "in lockstep too a policy is told the rows that the robot will still execute",
  async () => {
    const says = `
        if observation.since_reset_s > 0.5:
            raise ValueError(f"{len(observation.buffered_rows)} rows ahead")
        return rows`;
    const { host, url } = await hosted(
      "ahead",
      wave.replace("\n        return rows", says),
      "Wave",
    );
    await drive(url, 0.7);
    host.signal("SIGTERM");
    // Of 16 rows of 20 ms, asked for 50 ms before with a state a few ms old, two are over.
    expect((await host.end).stderr).toMatch(/act threw: ValueError: 14 rows ahead/);
  },
);

pythonTest(
  "another file under the same name is refused, and the one from before is not",
  async () => {
    const told = [wave, `${wave}# changed`].map((text, index) =>
      hosted(`bytes-${index}`, text, "Wave"),
    );
    const hosts = await Promise.all(told);
    const [first, other] = hosts.map(({ url }) => Number(url.split(":").at(-1)));
    const rig = await LinkRig.open(first!);
    const hears = async (text: RegExp): Promise<void> => {
      while (!text.test(rig.policy.statusText)) await Bun.sleep(10);
    };
    rig.leadTo(other!);
    rig.proxy.reset();
    await hears(
      /refused policy\.manifest_sha256: expected [0-9a-f]{12}, found [0-9a-f]{12}: its file/,
    );
    rig.leadTo(first!);
    await hears(/^connected$/);
    rig.close();
    for (const { host } of hosts) host.signal("SIGTERM");
    await Promise.all(hosts.map(({ host }) => host.end));
  },
);

describe("a run", () => {
  pythonTest("the README's policy is under 20 lines and moves the arm, to the bit", async () => {
    expect(wave.trim().split("\n").length).toBeLessThan(20);
    const { host, url } = await hosted("wave", wave, "Wave");
    const still = await drive(url, 0.1);
    const first = await drive(url, 3);
    const second = await drive(url, 3);
    host.signal("SIGTERM");
    expect((await host.end).code).toBe(0);
    expect(first.report.exitCode).toBe(0);
    expect(first.report.evidence["accepted"]).toBeGreaterThan(50);
    expect(second.report.trace_hash).toBe(first.report.trace_hash);
    const movedRad = first.commandRad.map((rad, joint) => rad - still.commandRad[joint]!);
    // The oracle is the policy's own formula; it is asked twenty times a second.
    expect(movedRad[0]).toBeCloseTo(0.3 * (1 - Math.cos(2.99)), 2);
    for (const rad of movedRad.slice(1)) expect(rad).toBeCloseTo(0, 5);
  });

  // In streaming: in lockstep no time passes while no decision comes.
  pythonTest("a policy that answers wrongly is told once and nothing of it is used", async () => {
    const text = wave.replace("return rows", "return rows * float('nan')");
    const { host, url } = await hosted("nan", text, "Wave");
    const args = `run --task none --duration 2 --json --policy ${url}`.split(" ");
    const report = reportOf(await runToEnd(args, { scratch }));
    host.signal("SIGTERM");
    const { stderr } = await host.end;
    expect(stderr).toMatch(/^so101: act answered no number at row 0, column 0: .* found nan;/m);
    expect(stderr.split("\n").length).toBeLessThan(8);
    expect(report.evidence).toEqual({});
    expect(report.supervisor_path.join()).toContain("SAFE_STOP");
  });

  pythonTest("what ails a policy is told where the robot is", async () => {
    const text = wave.replace("return rows", "return rows[:, :5]");
    const { host, url } = await hosted("narrow", text, "Wave");
    const run = new ProgramRun(["run", "so101", "--task", "none", "--policy", url], { scratch });
    const why =
      "the host's policy decides nothing: act answered the wrong shape: " +
      "expected (16, 6), 16 rows of 6, found (16, 5)";
    await run.until(new RegExp(`STARTING {2}Waits .*: ${RegExp.escape(why)}`));
    run.signal("SIGINT");
    const { stderr, stdout } = await run.end;
    host.signal("SIGTERM");
    await host.end;
    const notes = (stdout + stderr).split("\n").filter((line) => line.startsWith("policy grpc"));
    expect(notes).toEqual([`policy ${url}: connected`, `policy ${url}: ${why}`]);
  });

  pythonTest("a host that is killed leaves a robot that holds, then stops", async () => {
    const dies = `
    def act(self, observation):
        if observation.since_reset_s >= 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.swing(observation)

    def swing(self, observation):`;
    const text = `import os, signal\n${wave.replace("\n    def act(self, observation):", dies)}`;
    const { host, url } = await hosted("dies", text, "Wave");
    const { report, commandRad } = await drive(url, 3);
    const { signal } = await host.end;
    expect(signal).toBe("SIGKILL");
    expect(report.supervisor_path.at(-1)).toContain("SAFE_STOP");
    const lastRad = 0.3 * (1 - Math.cos(1 + 16 * 0.02));
    expect(commandRad[0]).toBeGreaterThan(0);
    expect(commandRad[0]).toBeLessThan(lastRad + 0.02);
  });
});
